/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/pacing.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "clock.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "scr/events.h"
#include "scr/onprefix.h"
#include "scr/run.h"
#include "site/halt.h"
#include "site/interval.h"
#include "site/job.h"
#include "str.h"
#include "team/say.h"

/* The resource manager may extend a job, so query the end time again after this
 * many seconds. */
#define ASK_END 600

/* Broadcast the answer of rank 0. */
static bool
agree(const struct run *run, bool yes)
{
	team_bytes(&run->world, 0, &yes, sizeof(yes));
	return yes;
}

static int64_t
find_end(void *arg)
{
	struct run *run = arg;
	struct pacing *p = &run->pace;
	struct error why = ERROR_INIT;

	if (p->end_at > 0 && clock_seconds() - p->end_at < ASK_END)
		return p->end;
	p->end_at = clock_seconds();
	if (job_end_of(run->conf, &p->end, &why) < 0) {
		say_warn("end of the job: unknown: %s", why.text);
		p->end = 0;
	}
	return p->end;
}

/* Rank 0: is a condition met?  Then `reason` is the one to record, and `why`
 * has the lines to print. */
static bool
halted(struct run *run, char reason[static ERROR_TEXT_MAX], struct buf *why)
{
	const struct halt_job j = { .now = clock_now(),
				    .halt_seconds = run->p.halt_seconds,
				    .end = find_end,
				    .arg = run };
	struct error err = ERROR_INIT;
	const char *found = NULL;
	struct halt_state s;
	int rc = 0;

	if (halt_load(run->p.prefix, &s, &err) == 0) {
		rc = halt_running(&s, &j, &found, why, &err);
		if (rc > 0)
			snprintf(reason, ERROR_TEXT_MAX, "%s", found);
		halt_state_free(&s);
	} else if (err.kind != ERROR_NOMEM && err.kind != ERROR_ABSENT) {
		snprintf(reason, ERROR_TEXT_MAX, "%s", HALT_DAMAGED);
		rc = buf_printf(why, HALT_LINE "%s", err.text) < 0 ? -1 : 1;
	}
	if (rc < 0)
		say_warn("halt file: %s", err.text);
	return rc > 0;
}

static bool
halted_only(struct run *run)
{
	char reason[ERROR_TEXT_MAX];
	struct buf why = BUF_INIT;
	const bool met = halted(run, reason, &why);

	buf_free(&why);
	return met;
}

/* --- Changes of the halt file --- */

static int
put_reason(struct kvtree *t, void *arg, struct error *err)
{
	char obeyed[ERROR_TEXT_MAX] = "";
	struct halt h;

	/* It may have come to its end as somebody asked for that. */
	if (str_eq(arg, HALT_FINISHED) && halt_read(t, &h, NULL) == 0 &&
	    h.reason != NULL && !str_eq(h.reason, HALT_FINISHED))
		snprintf(obeyed, sizeof(obeyed), "%s", h.reason);
	if (halt_set_reason(t, arg, err) < 0)
		return -1;
	return obeyed[0] == '\0' ? 0 : kvtree_set(t, HALT_OBEYED, obeyed, err);
}

static int
count_down(struct kvtree *t, void *arg, struct error *err)
{
	struct halt h;

	(void)arg;
	if (halt_read(t, &h, err) < 0)
		return -1;
	if (h.checkpoints_left <= 0)
		return 0;
	return halt_set_number(t, "CheckpointsLeft", h.checkpoints_left - 1,
			       err);
}

/* Rank 0.  A halt file that cannot be changed does not stop the job. */
static void
change(struct run *run, unsigned flags,
       int (*fn)(struct kvtree *t, void *arg, struct error *err), void *arg)
{
	struct error why = ERROR_INIT;
	struct halt_state s = { .exists = false };

	if (halt_update(run->p.prefix, flags, fn, arg, &s, &why) < 0 &&
	    !onprefix_unwritable(run, &why))
		say_warn("halt file: %s", why.text);
	halt_state_free(&s);
}

static void
record(struct run *run, const char *reason)
{
	struct log_line l = events_line(NULL);
	char text[ERROR_TEXT_MAX];

	snprintf(text, sizeof(text), "%s", reason);
	if (!str_eq(reason, HALT_DAMAGED))
		change(run, HALT_CREATE, put_reason, text);
	l.event = "HALT";
	l.note = reason;
	events_add(run, &l);
}

/* --- Begin and end --- */

void
pacing_begin(struct run *run)
{
	struct error why = ERROR_INIT;
	bool was = false;

	run->pace = (struct pacing){ .last = clock_seconds() };
	if (run->world.rank == 0 &&
	    halt_begin(run->p.prefix, false, &was, &why) < 0 &&
	    !onprefix_unwritable(run, &why))
		say_warn("halt file: %s", why.text);
}

void
pacing_end(struct run *run)
{
	if (run->world.rank == 0)
		record(run, HALT_FINISHED);
}

/* --- Checkpoints --- */

/* Rank 0.  The first of these that is configured decides. */
static bool
due(struct run *run)
{
	const struct params *p = &run->p;
	const struct pacing *is = &run->pace;
	const double now = clock_seconds();
	double mean = 0;

	if (halted_only(run))
		return true;
	if (p->ckpt_interval > 0 && is->asked % p->ckpt_interval == 0)
		return true;
	if (p->ckpt_seconds > 0 &&
	    (uint64_t)(now - is->last) >= p->ckpt_seconds)
		return true;
	if (p->ckpt_overhead <= 0 || is->checkpoints == 0)
		return p->ckpt_overhead > 0;
	mean = is->spent / (double)is->checkpoints;
	return 100 * mean / (now - is->last + mean) < p->ckpt_overhead;
}

bool
pacing_need(struct run *run)
{
	run->pace.asked++;
	if (run->p.ckpt_implied && run->pace.asked == 1)
		say_warn_first(
			"SCR_CHECKPOINT_SECONDS is not set: a checkpoint "
			"is due every %d seconds",
			INTERVAL_SECONDS);
	return agree(run, run->world.rank == 0 && due(run));
}

void
pacing_wrote(struct run *run)
{
	struct pacing *p = &run->pace;
	struct halt_state s;
	bool counts = false;

	p->last = clock_seconds();
	p->spent += p->last - run->writes_since;
	p->checkpoints++;
	/* Is there a number of checkpoints left to count down? */
	if (run->world.rank == 0 && halt_load(run->p.prefix, &s, NULL) == 0) {
		counts = !s.damaged && s.is.checkpoints_left > 0;
		halt_state_free(&s);
	}
	if (counts)
		change(run, 0, count_down, NULL);
}

/* --- Stopping --- */

bool
pacing_should_exit(struct run *run)
{
	return agree(run, run->world.rank == 0 && halted_only(run));
}

bool
pacing_leave(struct run *run)
{
	char reason[ERROR_TEXT_MAX];
	struct buf why = BUF_INIT;
	const char *text = "";
	bool met = false;

	if (!run->p.halt_exit)
		return false;
	if (run->world.rank == 0)
		met = halted(run, reason, &why);
	if (met && why.data != NULL && str_starts(why.data, HALT_LINE))
		text = why.data + strlen(HALT_LINE);
	if (met && str_eq(reason, HALT_NO_CHECKPOINTS))
		text = "No more checkpoints remaining.";
	if (met) {
		say_warn("Job exiting: %.*s", (int)strcspn(text, "\n"), text);
		record(run, reason);
	}
	buf_free(&why);
	return agree(run, met);
}
