/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching.c - choose the dataset to fetch, and fetch it. */
#include "scr/fetching.h"

#include <inttypes.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "catalogue/written.h"
#include "clock.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "scr/events.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/onprefix.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/restart.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"

/* --- Verdicts --- */

/* Return the worst verdict of all ranks, and the reason of the lowest rank that
 * has it. */
static enum fetch_verdict
agree(const struct team *t, enum fetch_verdict v, struct error *err)
{
	const enum fetch_verdict worst =
		(enum fetch_verdict)team_most(t, (uint64_t)v);

	/* Only ranks with the worst verdict report their error. */
	(void)team_agree(t, worst != FETCH_DONE && v == worst ? -1 : 0, err);
	return worst;
}

/* --- Which one --- */

struct search {
	struct run *run;
	struct catalogue *c;  /* rank 0 */
	int64_t last;	      /* id of the last one tried; 0: none */
	struct error refused; /* why the newest that may be whole was */
	bool packed;	      /* the last one tried is in containers */
	bool no_stamps;	      /* the index cannot be written */
};

/* The descriptor of the next candidate, in *t: for kvtree_free(); NULL: no
 * more.  CURRENT is tried even if it has failed. */
static int
next(const struct search *s, struct kvtree **t, struct dataset *d,
     struct error *err)
{
	struct catalogue_entries all = { .index = NULL };
	const struct index_entry *best = NULL;
	int rc = 0;

	if (s->run->world.rank == 0)
		rc = catalogue_entries(s->c, &all, err);
	for (size_t i = 0; i < all.count && s->last == 0; i++)
		if (all.list[i].current && all.list[i].desc.is_ckpt &&
		    all.list[i].complete == 1)
			best = &all.list[i];
	for (size_t i = 0; i < all.count && best == NULL; i++)
		if ((s->last == 0 || all.list[i].id < s->last) &&
		    all.list[i].desc.is_ckpt && index_entry_valid(&all.list[i]))
			best = &all.list[i];
	rc = output_share(s->run, rc, best != NULL ? &best->desc : NULL, t, d,
			  err);
	catalogue_entries_free(&all);
	return rc;
}

/* --- One attempt --- */

/* Route the files of this rank, and copy them.  With SCR_RESTART_ANY_RANKS
 * (`o` NULL) they stay on the prefix, where all ranks can read them: each rank
 * verifies its share. */
static enum fetch_verdict
bring(const struct run *run, const struct device *store, struct arena *a,
      const struct lists *list, struct outset *o, struct error *err)
{
	const char **to = arena_alloc(a, list->count + 1, sizeof(*to));
	const char **names = arena_alloc(a, list->count + 1, sizeof(*names));
	enum fetch_verdict v = FETCH_DONE;

	if (to == NULL || names == NULL) {
		error_no_memory(err);
		v = FETCH_BROKEN;
	}
	for (size_t i = 0; o != NULL && v == FETCH_DONE && i < list->count;
	     i++) {
		char file[SCR_MAX_FILENAME];

		names[i] = arena_printf(a, "%s/%s", run->p.prefix,
					list->files[i].path);
		if (names[i] == NULL ||
		    outset_route(o, names[i], file, err) < 0 ||
		    (to[i] = arena_strdup(a, file)) == NULL) {
			if (names[i] == NULL || err->kind == ERROR_NONE)
				error_no_memory(err);
			v = FETCH_BROKEN;
		}
	}
	team_turn(&run->world, run->p.fetch_width);
	if (v == FETCH_DONE)
		v = fetching_copy(run, store, a, list, o != NULL ? to : NULL,
				  err);
	for (size_t i = 0; v == FETCH_DONE && i < list->count; i++)
		if (o != NULL && list->files[i].has_crc)
			outset_summed(o, names[i], list->files[i].crc);
	team_turn_done(&run->world, run->p.fetch_width);
	return agree(&run->world, v, err);
}

/* Are these all files of the dataset?  The descriptor may not record how many
 * there are. */
static enum fetch_verdict
check_counts(int64_t files, uint64_t bytes, const struct dataset *got,
	     struct error *err)
{
	if (files < 0 || (files == got->files && bytes == got->bytes))
		return FETCH_DONE;
	error_set(err, ERROR_DAMAGED,
		  "has %" PRId64 " files with %" PRIu64
		  " bytes, expected %" PRId64 " files with %" PRIu64,
		  got->files, got->bytes, files, bytes);
	return FETCH_BAD;
}

/* Begin the dataset in the caches, copy its files, and list it. */
static enum fetch_verdict
attempt(struct search *of, const struct dataset *d, struct error *err)
{
	struct run *run = of->run;
	struct level level = *levels_choose(
		&run->levels,
		SCR_FLAG_CHECKPOINT | (d->is_output ? SCR_FLAG_OUTPUT : 0),
		d->ckpt_id > 0 ? d->ckpt_id : 1);
	struct arena *a = arena_new();
	const struct held_set *s = NULL;
	struct lists list = { .count = 0 };
	struct dataset done = *d;
	struct outset *o = NULL;
	const bool away = run->p.any_ranks;
	uint64_t sums[2] = { 0, 0 }; /* files, bytes */
	struct error why = ERROR_INIT;
	enum fetch_verdict v = FETCH_DONE;

	if (a == NULL) {
		error_no_memory(err);
		v = FETCH_BROKEN;
	}
	v = agree(&run->world, v, err);
	held_entry_free(run->away);
	run->away = NULL;
	if (v == FETCH_DONE && lists_read(run, d, true, a, &list, err) < 0)
		v = fetching_blame(err);
	of->packed = list.packed;
	level.bypass |= run->p.fetch_bypass;
	if (v == FETCH_DONE && list.packed && level.bypass && !away) {
		level.bypass = false;
		say_warn_first("dataset %" PRId64 " (%s): no bypass: its files "
			       "are in containers, and copied into the cache",
			       d->id, d->name);
	}
	if (v == FETCH_DONE && !away &&
	    (held_remove(run, d->id, err) < 0 ||
	     held_start(run, &level, d, &s, err) < 0))
		v = FETCH_BROKEN;
	if (v == FETCH_DONE && !away) {
		o = outset_begin(run, &level, s->dir, 0, err);
		v = agree(&run->world, o == NULL ? FETCH_BROKEN : FETCH_DONE,
			  err);
	}
	if (v == FETCH_DONE)
		v = bring(run, level.store, a, &list, o, err);
	if (v == FETCH_DONE && away) {
		sums[0] = list.count;
		for (size_t i = 0; i < list.count; i++)
			sums[1] += list.files[i].size;
		team_sum(&run->world, sums, 2);
		done.files = (int64_t)sums[0];
		done.bytes = sums[1];
	} else if (v == FETCH_DONE && outset_complete(o, true, &done, err) < 0)
		v = FETCH_BROKEN;
	if (v == FETCH_DONE)
		v = check_counts(d->files, d->bytes, &done, err);
	if (v == FETCH_DONE && away) {
		run->away = held_entry(&done, level.store, true);
		v = run->away == NULL ? FETCH_BROKEN : FETCH_DONE;
		v = agree(&run->world, v, err);
	} else if (v == FETCH_DONE && held_commit(run, &done, err) < 0)
		v = FETCH_BROKEN;
	outset_free(o);
	if (v != FETCH_DONE && s != NULL)
		(void)held_remove(run, d->id, &why);
	arena_free(a);
	return v;
}

/* --- The loop --- */

/* Rank 0 notes in the index what happens; the fetch does not need it. */
static void
stamp(struct search *s, int64_t id, enum catalogue_stamp what)
{
	struct error why = ERROR_INIT;

	if (s->run->world.rank != 0 ||
	    catalogue_stamp(s->c, id, what, &why) == 0)
		return;
	if (!s->no_stamps)
		say_warn("dataset %" PRId64
			 ": the fetch is not noted in the index: %s",
			 id, why.text);
	s->no_stamps = true;
}

/*
 * Try one dataset.  If files are missing, rank 0 rebuilds it on the prefix, if
 * that is possible, and it is tried again.  Only what the strongest check calls
 * lost is bad: else the dataset may be whole, elsewhere or under another name.
 */
static enum fetch_verdict
try_one(struct search *s, const struct dataset *d, struct error *err)
{
	const struct team *world = &s->run->world;
	struct error first = ERROR_INIT, why = ERROR_INIT;
	const struct index_entry e = { .id = d->id, .name = d->name };
	struct catalogue_options o;
	struct verify_result is;
	struct build_result r;
	enum fetch_verdict v = FETCH_BROKEN;

	say_debug_first("Attempting fetch: %s", d->name);
	stamp(s, d->id, CATALOGUE_FETCHED);
	v = attempt(s, d, err);
	if (v != FETCH_BAD)
		return v;
	v = FETCH_DONE;
	if (world->rank == 0) {
		onprefix_options(&o);
		o.checksums = true;
		if (catalogue_build(s->c, d->id, &o, &r, &why) < 0)
			say_debug("dataset %" PRId64 ": not rebuilt: %s", d->id,
				  why.text);
		error_clear(&why);
		if (r.status != STATUS_OK)
			v = catalogue_verify(s->c, &e, &o, NULL, &is, &why) ==
						    0 &&
					    is.status == STATUS_LOST
				    ? FETCH_BAD
				    : FETCH_REFUSED;
	}
	v = (enum fetch_verdict)team_most(world, (uint64_t)v);
	error_pass(&first, err);
	if (v != FETCH_DONE && s->packed)
		error_as(err, &first,
			 "%s: verify the containers of dataset id:%" PRId64,
			 first.text, d->id);
	if (v != FETCH_DONE)
		return v;
	error_clear(err);
	say_warn_first("dataset %" PRId64 " (%s): rebuilt on the prefix: %s",
		       d->id, d->name, first.text);
	return attempt(s, d, err);
}

/* 1: fetched, or no candidate is left; 0: try the next one; -1: error. */
static int
step(struct search *s, struct error *err)
{
	struct run *run = s->run;
	struct error why = ERROR_INIT;
	struct dataset d = { .id = 0 };
	struct kvtree *t = NULL;
	enum fetch_verdict v = FETCH_BROKEN;
	double since = clock_seconds();
	int rc = next(s, &t, &d, err);

	if (rc < 0 || t == NULL) {
		kvtree_free(t);
		return rc < 0 ? -1 : 1;
	}
	if (run->p.any_ranks && restart_is_spent(run, &d)) {
		say_warn_first("dataset %" PRId64 " (%s): %u restarts in a row "
			       "failed",
			       d.id, d.name, run->p.restart_attempts);
		stamp(s, d.id, CATALOGUE_FAILED);
		s->last = d.id;
		kvtree_free(t);
		return 0;
	}
	events_dataset(run, &d, "FETCH_START", -1);
	if (!run->p.any_ranks)
		onprefix_moving(run, &d, true);
	v = try_one(s, &d, &why);
	s->last = d.id;
	since = clock_seconds() - since;
	events_dataset(run, &d,
		       v == FETCH_DONE ? "FETCH_SUCCESS" : "FETCH_FAIL", since);
	if (v == FETCH_BROKEN) {
		rc = error_as(err, &why, "dataset %" PRId64 " (%s): %s", d.id,
			      d.name, why.text);
	} else if (v == FETCH_DONE) {
		const struct held_set *is = held_find(run->held, d.id);

		if (run->away == NULL) {
			const struct log_line l = events_transfer(
				&is->d, "FETCH", run->p.prefix, is->dir, since);

			events_add(run, &l);
			onprefix_note(run, &is->d, HELD_PFS);
		}
		stamp(s, d.id, CATALOGUE_RESTARTED);
		run->restart_id = d.id;
		output_raise(run, d.id, d.ckpt_id);
		rc = 1;
	} else {
		say_warn_first("dataset %" PRId64 " (%s): not fetched: %s",
			       d.id, d.name, why.text);
		if (v == FETCH_REFUSED && s->refused.kind == ERROR_NONE)
			error_as(&s->refused, &why,
				 "dataset %" PRId64 " (%s): %s", d.id, d.name,
				 why.text);
		/* It is not tried again. */
		if (v == FETCH_BAD)
			stamp(s, d.id, CATALOGUE_FAILED);
	}
	kvtree_free(t);
	return rc;
}

/* Fetch the newest usable checkpoint; *refused: why another one was not
 * fetched, though it may be whole. */
static int
search(struct run *run, struct error *refused, struct error *err)
{
	struct search s = { .run = run };
	struct catalogue_entries all = { .index = NULL };
	struct catalogue_options o;
	bool any = false;
	int rc = 0;

	if (run->world.rank == 0) {
		s.c = catalogue_open(run->p.prefix, err);
		rc = s.c == NULL ? -1 : 0;
	}
	/* Restore datasets that a killed job had retired without replacing any
	 * of their files. */
	if (s.c != NULL)
		(void)catalogue_entries(s.c, &all, NULL);
	for (size_t i = 0; i < all.count; i++)
		any |= all.list[i].complete == 0 && all.list[i].replaced > 0;
	onprefix_options(&o);
	if (any)
		catalogue_rollback(s.c, 0, &o);
	catalogue_entries_free(&all);
	rc = team_agree(&run->world, rc, err);
	while (rc == 0)
		rc = step(&s, err);
	/* One that the application itself has rejected may be replaced. */
	if (rc > 0 && run->restart_id == 0 && !run->rejected &&
	    !run->p.start_over && s.refused.kind == ERROR_NONE)
		(void)onprefix_none_kept(run, &s.refused);
	if (s.c != NULL)
		say_warn_lines(catalogue_notice(s.c));
	catalogue_close(s.c);
	error_pass(refused, &s.refused);
	return rc < 0 ? -1 : 0;
}

/* A job that starts from the beginning, or with SCR_RESTART_ANY_RANKS from an
 * older checkpoint, would in time replace checkpoints that may be whole: it
 * must want that. */
static int
start_over(const struct run *run, const struct error *refused,
	   struct error *err)
{
	const char *why = run->restart_id == 0 && refused->kind != ERROR_NONE
				  ? refused->text
				  : NULL;
	struct error held = ERROR_INIT;

	for (size_t i = run->held->count; why == NULL && i-- > 0;) {
		const struct held_set *s = run->held->list[i];

		if (!s->d.is_ckpt || s->refused == NULL ||
		    s->d.id <= run->restart_id || onprefix_valid(run, s->d.id))
			continue;
		error_set(&held, ERROR_SYSTEM,
			  "dataset %" PRId64 " (%s): in the caches: %s",
			  s->d.id, s->d.name, s->refused);
		why = held.text;
	}
	if (why == NULL || run->p.start_over)
		return 0;
	return error_set(err, ERROR_SYSTEM,
			 run->restart_id != 0
				 ? "%s; to start from an older checkpoint "
				   "instead, set SCR_START_OVER=1"
				 : "%s; no other checkpoint can be used; to "
				   "start from the beginning instead, set "
				   "SCR_START_OVER=1",
			 why);
}

int
fetching_latest(struct run *run, struct error *err)
{
	const char *name = run->p.current, *old = run->held->current;
	struct error refused = ERROR_INIT, why = ERROR_INIT;

	run->restart_id = 0;
	if (run->unread)
		return error_set(err, ERROR_SYSTEM,
				 "a file of a checkpoint could not be copied "
				 "into the cache: make room there, and start "
				 "the job again");
	/* SCR_CURRENT, unless this allocation has honoured it already. */
	if (run->p.fetch && name != NULL && *name != '\0' &&
	    (old == NULL || !str_eq(old, name))) {
		if (onprefix_current(run, name, &why) == 0) {
			if (held_set_current(run, name, err) < 0)
				return -1;
		} else if (why.kind != ERROR_ABSENT) {
			return error_pass(err, &why);
		} else {
			say_warn_first("Checkpoint named in SCR_CURRENT does "
				       "not exist in index file: `%s'",
				       name);
		}
	}
	if (run->p.fetch && run->restart_id == 0 &&
	    search(run, &refused, err) < 0)
		return -1;
	if ((run->restart_id != 0 && !run->p.any_ranks) ||
	    start_over(run, &refused, err) == 0)
		return 0;
	run->restart_id = 0;
	return -1;
}
