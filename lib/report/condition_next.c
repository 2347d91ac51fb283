/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_next.c - the command to run next for a dataset that was checked.
 */
#include "report/condition_next.h"

#include <stddef.h>

#include "report/condition.h"
#include "report/containers.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "rescue/plan.h"

/* Is the dataset in the caches of a job, and a newer one in the index? */
static bool
is_superseded(const struct overview *s, const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	return h->absent && e->in_cache && !e->flushing &&
	       s->newest[0] > h->id && e->desc.is_ckpt && !e->desc.is_output;
}

/* Does a scavenge look for the files?  Nothing is deleted while they are not
 * even known: nodes may come back. */
static bool
is_elsewhere(const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	return (h->absent && (e->in_cache || e->flushing)) ||
	       (h->status == STATUS_LOST && !e->indexed && h->plan != NULL &&
		h->plan->maps_lost > 0);
}

void
condition_next(const struct overview *s, struct condition *h)
{
	/* NULL: more is wrong than the plan has. */
	const struct plan *plan =
		h->problems.len == 0 && h->deep.nfindings == 0 ? h->plan : NULL;
	const struct next_case n = {
		.status = h->status,
		.absent = h->absent,
		.rebuild = plan != NULL ? report_rebuild(plan) : NULL,
		.kept = h->status == STATUS_DAMAGED && h->deep.nfindings == 0 &&
			(h->plan != NULL
				 ? plan_data_status(h->plan) != STATUS_LOST
				 : h->containers != NULL),
		.packed = h->packed || h->containers != NULL,
		.mend = h->mend,
		.was = h->verify.was,
		.is = h->verify.is,
		.newest = { s->newest[0], s->newest[1] },
	};

	h->next[0] = '\0';
	if (h->status == STATUS_FAILED && h->plan != NULL &&
	    report_chmod(h->plan, h->next, sizeof(h->next))[0] != '\0')
		return;
	/* Of an index that cannot be read, the dataset may have an entry. */
	if ((h->status == STATUS_OK && s->unread) || is_superseded(s, h))
		return;
	if (is_elsewhere(h))
		report_command("scr_postrun", h->prefix, NULL, h->next,
			       sizeof(h->next));
	else
		report_next_step(s->catalogue, s->index, h->id, &n, h->next,
				 sizeof(h->next));
}
