/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/events.h"

#include "clock.h"
#include "error.h"
#include "meta/dataset.h"
#include "scr/onprefix.h"
#include "scr/run.h"
#include "site/eventlog.h"
#include "team/say.h"

struct log_line
events_line(const struct dataset *d)
{
	struct log_line l = { LOG_LINE_NONE };

	if (d != NULL) {
		l.name = d->name;
		l.dataset = d->id;
	}
	return l;
}

struct log_line
events_transfer(const struct dataset *d, const char *what, const char *from,
		const char *to, double secs)
{
	struct log_line l = events_line(d);

	l.xfer = what;
	l.from = from;
	l.to = to;
	l.secs = secs;
	l.bytes = (double)d->bytes;
	l.files = d->files;
	return l;
}

void
events_add(struct run *run, const struct log_line *l)
{
	struct error why = ERROR_INIT;
	struct log_line full = *l;

	if (run->world.rank != 0 || run->no_log)
		return;
	full.user = run->p.user;
	full.job_id = run->p.job_id;
	if (eventlog_add(run->p.prefix, run->conf, &full, &why) == 0 ||
	    onprefix_unwritable(run, &why))
		return;
	say_warn("event log: no more events are written: %s", why.text);
	run->no_log = true;
}

void
events_dataset(struct run *run, const struct dataset *d, const char *event,
	       double secs)
{
	struct log_line l = events_line(d);

	l.event = event;
	l.secs = secs;
	events_add(run, &l);
}

void
events_compute(struct run *run, bool begins)
{
	struct log_line l = events_line(NULL);

	l.event = begins ? "COMPUTE_START" : "COMPUTE_END";
	if (begins)
		run->computes_since = clock_seconds();
	else
		l.secs = clock_seconds() - run->computes_since;
	events_add(run, &l);
}
