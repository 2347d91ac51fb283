/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/watch.h"

#include <stddef.h>

#include "conf.h"
#include "error.h"
#include "fnv.h"
#include "meta/flush.h"
#include "site/jobfiles.h"

void
run_progress_read(const char *prefix, struct run_progress *p)
{
	struct jobfiles_flush f = { .count = 0 };

	*p = (struct run_progress){ .newest = 0 };
	(void)jobfiles_flush_read(prefix, &f, NULL);
	for (size_t i = 0; i < f.count; i++) {
		const struct flush_entry *e = &f.all[i];
		const int64_t seen[] = { (int64_t)p->state, e->id,
					 e->in_cache,	    e->on_pfs,
					 e->flushing,	    e->sync_flushing };

		p->newest = e->id > p->newest ? e->id : p->newest;
		p->flushing = p->flushing || e->flushing || e->sync_flushing;
		p->state = fnv_bytes((const char *)seen, sizeof(seen));
	}
	jobfiles_flush_free(&f);
}

int
run_limits_complete(struct run_limits *l, const struct conf *c,
		    struct error *err)
{
	if ((l->compute == 0 &&
	     conf_u64(c, "SCR_WATCHDOG_TIMEOUT", 0, &l->compute, err) < 0) ||
	    (l->flush == 0 &&
	     conf_u64(c, "SCR_WATCHDOG_TIMEOUT_PFS", 0, &l->flush, err) < 0))
		return -1;
	if (l->compute == 0 && l->start == 0 && l->flush == 0)
		return error_set(err, ERROR_USAGE,
				 "the watchdog has no time: set "
				 "SCR_WATCHDOG_TIMEOUT, or give --timeout");
	l->flush = l->flush > 0 ? l->flush : 2 * l->compute;
	l->start = l->start > 0 ? l->start : 2 * l->compute;
	return 0;
}

void
run_watch_start(struct run_watch *w, const struct run_limits *l,
		const struct run_progress *p, double now)
{
	*w = (struct run_watch){ .limits = *l, .last = *p, .since = now };
}

bool
run_watch_look(struct run_watch *w, const struct run_progress *p, double now)
{
	const struct run_limits *l = &w->limits;
	uint64_t limit = 0;

	if (p->state != w->last.state || p->cached > w->last.cached) {
		w->last = *p;
		w->since = now;
		w->begun = true;
	}
	limit = p->flushing ? l->flush : !w->begun ? l->start : l->compute;
	return limit > 0 && now - w->since > (double)limit;
}
