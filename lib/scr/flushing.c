/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing.c - when a dataset is flushed, and the order of the steps. */
#include "scr/flushing.h"

#include <inttypes.h>

#include "clock.h"
#include "error.h"
#include "meta/dataset.h"
#include "scr/events.h"
#include "scr/held.h"
#include "scr/onprefix.h"
#include "scr/run.h"
#include "team/say.h"

void
flushing_check(const struct run *run)
{
	if (run->p.flush_async)
		say_warn_first(
			"SCR_FLUSH_ASYNC=1: not supported yet: datasets are "
			"flushed while the job waits");
}

/* --- Steps --- */

static int
flush(struct run *run, const struct held_set *s, struct error *err)
{
	struct flushing *f = flushing_plan(run, s, err);
	int rc = -1;

	if (f == NULL)
		return -1;
	team_turn(&run->world, run->p.flush_width);
	rc = flushing_transfer(f, err);
	team_turn_done(&run->world, run->p.flush_width);
	rc = team_agree(&run->world, rc, err);
	if (rc == 0)
		rc = flushing_commit(f, err);
	flushing_free(f);
	return rc;
}

/* After a flush: delete older datasets on the prefix. */
static void
slide(struct run *run, int64_t id)
{
	struct error err = ERROR_INIT;
	const struct held_set *s = held_find(run->held, id);

	if (onprefix_window(run, &s->d, &err) < 0)
		say_warn_first(
			"SCR_PREFIX_SIZE: older datasets stay on the prefix: "
			"%s",
			err.text);
}

/* FLUSH_START and so on; `secs` is negative at the start. */
static void
note(struct run *run, const struct held_set *s, const char *event, double secs)
{
	events_dataset(run, &s->d, event, secs);
	say_debug_first("%s of dataset %" PRId64 " `%s'", event, s->d.id,
			s->d.name);
}

int
flushing_now(struct run *run, int64_t id, struct error *err)
{
	const struct held_set *s = held_find(run->held, id);
	double since = clock_seconds();
	struct log_line l;
	int rc = 0;

	if (s == NULL)
		return error_set(err, ERROR_ABSENT,
				 "dataset %" PRId64 ": not in the cache", id);
	if (onprefix_has(run, id))
		return 0;
	note(run, s, "FLUSH_START", -1);
	rc = flush(run, s, err);
	since = clock_seconds() - since;
	note(run, s, rc == 0 ? "FLUSH_SUCCESS" : "FLUSH_FAIL", since);
	/* The only good copy is not evicted. */
	held_keep(run->held, id, rc < 0);
	if (rc < 0) {
		onprefix_undo(run, &s->d);
		return -1;
	}
	l = events_transfer(&s->d, "FLUSH_SYNC", s->dir, run->p.prefix, since);
	events_add(run, &l);
	slide(run, id);
	return 0;
}

/* --- When --- */

/* Should the dataset be on the prefix? */
static bool
is_due(const struct run *run, const struct held_set *s)
{
	if (s->d.is_output || s->bypass)
		return true;
	return s->d.is_ckpt && run->p.flush > 0 &&
	       s->d.ckpt_id % run->p.flush == 0;
}

static bool
flush_or_say(struct run *run, int64_t id)
{
	struct error err = ERROR_INIT;

	if (flushing_now(run, id, &err) == 0)
		return true;
	if (run->world.rank == 0)
		say_error("dataset %" PRId64
			  ": not flushed, stays in the cache: %s",
			  id, err.text);
	return false;
}

bool
flushing_output(struct run *run, int64_t id)
{
	const struct held_set *s = held_find(run->held, id);

	return s == NULL || !is_due(run, s) || flush_or_say(run, id);
}

bool
flushing_restart(struct run *run)
{
	bool all = true;

	for (size_t i = 0; i < held_count(run->held); i++) {
		const struct held_set *s = held_at(run->held, i);

		if (run->p.flush_on_restart || is_due(run, s))
			all &= flush_or_say(run, s->d.id);
	}
	return all;
}

bool
flushing_finalize(struct run *run)
{
	if (run->p.flush == 0)
		return true;
	for (size_t i = held_count(run->held); i > 0; i--) {
		const struct held_set *s = held_at(run->held, i - 1);

		if (s->d.is_ckpt)
			return flush_or_say(run, s->d.id);
	}
	return true;
}
