/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing.c - when a dataset is flushed, and the order of the steps. */
#include "scr/flushing.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "clock.h"
#include "error.h"
#include "meta/rank2file.h"
#include "scr/events.h"
#include "scr/flushing_impl.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/onprefix.h"
#include "scr/owned.h"
#include "scr/run.h"
#include "team/say.h"
#include "transfer/put.h"

/*
 * --- The end of a flush ---
 *
 * Datasets whose files are replaced are retired, the files are renamed, and the
 * metadata written.
 */

/* --- Files that are replaced --- */

static void
warn_retired(void *arg, const char *line)
{
	*(bool *)arg = true;
	say_warn("%s", line);
}

static int
make_way(struct flushing *f, const struct team_mail *in, struct error *err)
{
	struct owners_write w = { .id = f->s->d.id, .replace = true };
	struct catalogue_options o;
	struct catalogue *c = NULL;
	const char **paths = NULL;
	size_t count = 0;
	struct rank2file_file file;
	int rc = -1;

	for (size_t i = 0; i < in->count; i++)
		count += lists_count(&in->notes[i]);
	if (count == 0)
		return 0;
	paths = arena_alloc(f->arena, count, sizeof(*paths));
	if (paths == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < in->count; i++) {
		const char *at = in->notes[i].data;
		const char *end = at + in->notes[i].len;

		while (at < end) {
			at = lists_take(at, &file, NULL, NULL);
			paths[w.count++] = file.path;
		}
	}
	w.paths = paths;
	onprefix_options(&o);
	/* If each dataset replaces the one before, one warning will do. */
	o.work.log = f->run->replaces ? NULL : warn_retired;
	o.work.log_arg = &f->run->replaces;
	c = catalogue_open(f->run->p.prefix, err);
	if (c != NULL)
		rc = owners_make_way(c, &w, &o, err);
	catalogue_close(c);
	return rc;
}

/* --- The whole --- */

static int
commit(struct flushing *f, struct error *err)
{
	const struct team *world = &f->run->world;
	const int64_t id = f->s->d.id;
	struct team_mail in = { 0, NULL };
	bool suspect = f->replaces;
	int rc = flushing_gather(f, &in, err);

	if (rc == 0 && f->pack != NULL) {
		rc = flushing_pack_place(f, err);
	} else if (rc == 0 && !f->s->bypass) {
		/* Retire the datasets that have one of the paths, whether a
		 * file exists or not.  If no rank suspects any, this costs one
		 * reduction. */
		for (size_t i = 0; !suspect && i < f->nfiles; i++)
			suspect = owned_elsewhere(f->run->owned,
						  f->files[i].rel, id);
		if (team_any(world, suspect))
			rc = team_agree(world, make_way(f, &in, err), err);
		if (rc < 0)
			return -1;
		rc = put_commit(f->put, err);
		/* The files now belong to this dataset. */
		for (size_t i = 0; rc == 0 && i < f->nfiles; i++)
			rc = owned_add(f->run->owned, f->files[i].rel, id, err);
		rc = team_agree(world, rc, err);
	}
	if (rc == 0)
		rc = flushing_record(f, &in, err);
	return rc < 0 ? -1 : onprefix_complete(f->run, &f->s->d, err);
}

/* --- A flush --- */

/* FLUSH_START, ASYNC_FLUSH_START and so on; `secs` is negative at the start. */
static void
note(struct run *run, const struct held_set *s, const char *event, double secs)
{
	event += s->flying ? 0 : strlen("ASYNC_");
	events_dataset(run, &s->d, event, secs);
	say_debug_first("%s of dataset %" PRId64 " `%s'", event, s->d.id,
			s->d.name);
}

static int
give_up(struct run *run, struct held_set *s, double since)
{
	note(run, s, "ASYNC_FLUSH_FAIL", clock_seconds() - since);
	s->flying = false;
	s->kept = true; /* the only good copy is not evicted */
	onprefix_undo(run, &s->d);
	onprefix_note(run, &s->d, HELD_CACHE);
	return -1;
}

struct flushing *
flushing_begin(struct run *run, struct held_set *s, bool resume,
	       struct error *err)
{
	const double since = clock_seconds();
	struct flushing *f = NULL;

	note(run, s, "ASYNC_FLUSH_START", -1);
	f = flushing_plan(run, s, resume, err);
	if (f == NULL) {
		give_up(run, s, since);
		return NULL;
	}
	f->since = since;
	/* Who watches the job has patience. */
	if ((!s->bypass || s->flying) && s->due != HELD_FLUSHING)
		onprefix_note(run, &s->d, HELD_FLUSHING);
	return f;
}

int
flushing_end(struct flushing *f, int rc, struct error *err)
{
	struct error why = ERROR_INIT;
	struct run *run = f->run;
	struct held_set *s = f->s;
	const double since = f->since;
	struct log_line l;

	rc = team_agree(&run->world, rc, err);
	if (rc == 0)
		rc = commit(f, err);
	/* Remove what it wrote, unless a map names it. */
	if (rc < 0 && f->pack != NULL && run->world.rank == 0)
		joint_give_up(f->pack->root_fd);
	flushing_free(f);
	if (rc < 0)
		return give_up(run, s, since);
	note(run, s, "ASYNC_FLUSH_SUCCESS", clock_seconds() - since);
	l = events_transfer(&s->d, s->flying ? "FLUSH_ASYNC" : "FLUSH_SYNC",
			    s->dir, run->p.prefix, clock_seconds() - since);
	events_add(run, &l);
	s->flying = s->kept = false;
	if (onprefix_window(run, &s->d, &why) < 0)
		say_warn_first(
			"SCR_PREFIX_SIZE: older datasets stay on the prefix: "
			"%s",
			why.text);
	return 0;
}

int
flushing_now(struct run *run, int64_t id, bool resume, struct error *err)
{
	struct held_set *s = held_find(run->held, id);
	struct flushing *f = NULL;
	int rc = -1;

	if (s == NULL)
		return error_set(err, ERROR_ABSENT,
				 "dataset %" PRId64 ": not in the cache", id);
	flushing_wait(run, INT64_MAX);
	if (onprefix_has(run, id))
		return 0;
	f = flushing_begin(run, s, resume, err);
	if (f == NULL)
		return -1;
	team_turn(&run->world, run->p.flush_width);
	rc = flushing_transfer(f, NULL, NULL, err);
	team_turn_done(&run->world, run->p.flush_width);
	return flushing_end(f, rc, err);
}

/* --- When --- */

bool
flushing_is_due(const struct run *run, const struct held_set *s)
{
	if (s->d.is_output || s->bypass)
		return true;
	return s->d.is_ckpt && run->p.flush > 0 &&
	       s->d.ckpt_id % run->p.flush == 0;
}

void
flushing_say(const struct run *run, int64_t id, const struct error *why)
{
	if (run->world.rank == 0)
		say_error("dataset %" PRId64
			  ": not flushed, stays in the cache: %s",
			  id, why->text);
}

static bool
flush_or_say(struct run *run, int64_t id, bool resume)
{
	struct error err = ERROR_INIT;

	if (flushing_now(run, id, resume, &err) == 0)
		return true;
	flushing_say(run, id, &err);
	return false;
}

/* In the background, if there is anything to read? */
static bool
flies(const struct run *run, const struct held_set *s)
{
	return run->flights != NULL && (!s->bypass || s->unsummed);
}

bool
flushing_output(struct run *run, int64_t id)
{
	struct held_set *s = held_find(run->held, id);

	if (s == NULL || !flushing_is_due(run, s))
		return true;
	return flies(run, s) ? flushing_start(run, s, false)
			     : flush_or_say(run, id, false);
}

bool
flushing_restart(struct run *run)
{
	bool all = true;

	for (size_t i = 0; i < run->held->count; i++) {
		struct held_set *s = run->held->list[i];

		/* The last job may have left that to its thread. */
		s->unsummed = s->bypass && run->p.crc_on_flush;
		if (s->unproven)
			all &= onprefix_valid(run, s->d.id);
		else if (!run->p.flush_on_restart && flushing_is_due(run, s) &&
			 flies(run, s))
			all &= onprefix_has(run, s->d.id) ||
			       flushing_start(run, s, true);
		else if (run->p.flush_on_restart || flushing_is_due(run, s))
			all &= flush_or_say(run, s->d.id, true);
	}
	return all;
}

bool
flushing_finalize(struct run *run)
{
	const bool later = run->flights != NULL && run->p.flush_poststage;
	struct held_set *s = NULL;

	if (later)
		flushing_look(run);
	else
		flushing_wait(run, INT64_MAX);
	for (size_t i = 0; run->p.flush > 0 && i < run->held->count; i++)
		if (run->held->list[i]->d.is_ckpt &&
		    !run->held->list[i]->unproven)
			s = run->held->list[i];
	if (!later)
		return s == NULL || flush_or_say(run, s->d.id, true);
	if (s != NULL && !s->flying && !onprefix_has(run, s->d.id)) {
		s->flying = true;
		onprefix_note(run, &s->d, HELD_FLUSHING);
	}
	flushing_async_end(run, true);
	return true;
}
