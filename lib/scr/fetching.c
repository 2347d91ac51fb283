/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching.c - choose the dataset to fetch, and fetch it. */
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
#include "scr/fetching_impl.h"
#include "scr/held.h"
#include "scr/onprefix.h"
#include "scr/output.h"
#include "scr/outset.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"

/* --- Which one --- */

struct search {
	struct run *run;
	struct catalogue *c;  /* rank 0 */
	int64_t last;	      /* id of the last one tried; 0: none */
	struct error refused; /* why the newest that may be whole was */
	bool no_stamps;	      /* the index cannot be written */
};

/* Choose the next dataset to try, or NULL.  CURRENT is tried even if it has
 * failed. */
static const struct index_entry *
choose(const struct search *s, const struct index_entry *list, size_t count)
{
	const struct index_entry *best = NULL;

	for (size_t i = 0; i < count && s->last == 0; i++)
		if (list[i].current && list[i].desc.is_ckpt &&
		    list[i].complete == 1)
			best = &list[i];
	for (size_t i = 0; i < count && best == NULL; i++)
		if ((s->last == 0 || list[i].id < s->last) &&
		    list[i].desc.is_ckpt && index_entry_valid(&list[i]))
			best = &list[i];
	return best;
}

/* The descriptor of the next candidate, in *t: for kvtree_free(); NULL: no
 * more. */
static int
next(const struct search *s, struct kvtree **t, struct dataset *d,
     struct error *err)
{
	struct catalogue_entries all = { .index = NULL };
	const struct index_entry *e = NULL;
	int rc = 0;

	if (s->run->world.rank == 0) {
		rc = catalogue_entries(s->c, &all, err);
		e = choose(s, all.list, all.count);
	}
	rc = output_share(s->run, rc, e != NULL ? &e->desc : NULL, t, d, err);
	catalogue_entries_free(&all);
	return rc;
}

/* --- One attempt --- */

/* A dataset that was begun in the caches. */
struct begun {
	struct run *run;
	const struct level *level;
	const struct held_set *s;
	const struct dataset *d; /* as on the prefix */
	struct lists list;
	struct arena *arena;
};

/* Route the files of this rank, and copy them. */
static enum fetch_verdict
bring(const struct begun *b, struct outset *o, struct error *err)
{
	const struct run *run = b->run;
	const struct lists *list = &b->list;
	struct arena *a = b->arena;
	const char **to = arena_alloc(a, list->count + 1, sizeof(*to));
	const char **names = arena_alloc(a, list->count + 1, sizeof(*names));
	enum fetch_verdict v = FETCH_DONE;

	if (to == NULL || names == NULL) {
		error_no_memory(err);
		v = FETCH_BROKEN;
	}
	for (size_t i = 0; v == FETCH_DONE && i < list->count; i++) {
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
		v = fetching_copy(run, b->level->store, list, to, err);
	for (size_t i = 0; v == FETCH_DONE && i < list->count; i++)
		if (list->files[i].has_crc)
			outset_summed(o, names[i], list->files[i].crc);
	team_turn_done(&run->world, run->p.fetch_width);
	return fetching_agree(&run->world, v, err);
}

/* Do files and bytes match the totals in the descriptor?  Sizes of files may
 * not be recorded. */
static enum fetch_verdict
check_totals(const struct dataset *want, const struct dataset *is,
	     struct error *err)
{
	if (want->files < 0 ||
	    (want->files == is->files && want->bytes == is->bytes))
		return FETCH_DONE;
	error_set(err, ERROR_DAMAGED,
		  "has %" PRId64 " files with %" PRIu64
		  " bytes, expected %" PRId64 " files with %" PRIu64,
		  is->files, is->bytes, want->files, want->bytes);
	return FETCH_BAD;
}

/* Copy its files, and list it. */
static enum fetch_verdict
fill(const struct begun *b, struct error *err)
{
	struct run *run = b->run;
	enum fetch_verdict v = FETCH_DONE;
	struct dataset done = *b->d;
	struct outset *o = outset_begin(run, b->level, b->s->dir, 0, err);

	v = fetching_agree(&run->world, o == NULL ? FETCH_BROKEN : FETCH_DONE,
			   err);
	if (v == FETCH_DONE)
		v = bring(b, o, err);
	if (v == FETCH_DONE && outset_complete(o, true, &done, err) < 0)
		v = FETCH_BROKEN;
	if (v == FETCH_DONE)
		v = check_totals(b->d, &done, err);
	if (v == FETCH_DONE && held_commit(run, &done, err) < 0)
		v = FETCH_BROKEN;
	outset_free(o);
	return v;
}

static enum fetch_verdict
attempt(struct run *run, const struct dataset *d, struct error *err)
{
	const struct level *chosen = levels_choose(
		&run->levels,
		SCR_FLAG_CHECKPOINT | (d->is_output ? SCR_FLAG_OUTPUT : 0),
		d->ckpt_id > 0 ? d->ckpt_id : 1);
	struct level level = *chosen;
	struct begun b = { .run = run, .level = &level, .d = d };
	struct error why = ERROR_INIT;
	enum fetch_verdict v = FETCH_DONE;

	b.arena = arena_new();
	if (b.arena == NULL) {
		error_no_memory(err);
		v = FETCH_BROKEN;
	}
	v = fetching_agree(&run->world, v, err);
	if (v == FETCH_DONE)
		v = fetching_list(run, d, b.arena, &b.list, err);
	level.bypass |= run->p.fetch_bypass;
	if (v == FETCH_DONE && (held_remove(run, d->id, err) < 0 ||
				held_start(run, &level, d, &b.s, err) < 0))
		v = FETCH_BROKEN;
	if (v == FETCH_DONE)
		v = fill(&b, err);
	if (v != FETCH_DONE && b.s != NULL)
		(void)held_remove(run, d->id, &why);
	arena_free(b.arena);
	return v;
}

/* --- Rebuilding on the prefix --- */

/*
 * Rank 0: rebuild missing files of a dataset on the prefix, if possible.  Only
 * what a rebuild calls lost is bad: if it could not look at a file, the dataset
 * may be whole.
 */
static enum fetch_verdict
rebuild_it(struct catalogue *c, int64_t id)
{
	struct error why = ERROR_INIT;
	struct catalogue_options o;
	struct build_result r;

	onprefix_options(&o);
	o.checksums = true;
	if (catalogue_build(c, id, &o, &r, &why) < 0)
		say_debug("dataset %" PRId64 ": not rebuilt: %s", id, why.text);
	if (r.status == STATUS_OK)
		return FETCH_DONE;
	return why.kind == ERROR_SYSTEM || why.kind == ERROR_UNSAFE ||
			       why.kind == ERROR_NOMEM
		       ? FETCH_REFUSED
		       : FETCH_BAD;
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

/* Try one dataset, and try it again if a rebuild helps. */
static enum fetch_verdict
try_one(struct search *s, const struct dataset *d, struct error *err)
{
	const struct team *world = &s->run->world;
	enum fetch_verdict v = FETCH_BROKEN;
	struct error first = ERROR_INIT;

	say_debug_first("Attempting fetch: %s", d->name);
	stamp(s, d->id, CATALOGUE_FETCHED);
	v = attempt(s->run, d, err);
	if (v != FETCH_BAD)
		return v;
	v = world->rank == 0 ? rebuild_it(s->c, d->id) : FETCH_DONE;
	v = (enum fetch_verdict)team_most(world, (uint64_t)v);
	if (v != FETCH_DONE)
		return v;
	error_pass(&first, err);
	error_clear(err);
	say_warn_first("dataset %" PRId64 " (%s): rebuilt on the prefix: %s",
		       d->id, d->name, first.text);
	return attempt(s->run, d, err);
}

/* Report why the dataset was not fetched.  A bad one is marked failed, so that
 * it is not tried again. */
static void
pass_over(struct search *s, const struct dataset *d, enum fetch_verdict v,
	  const struct error *why)
{
	say_warn_first("dataset %" PRId64 " (%s): not fetched: %s", d->id,
		       d->name, why->text);
	if (v == FETCH_REFUSED && s->refused.kind == ERROR_NONE)
		error_as(&s->refused, why, "dataset %" PRId64 " (%s): %s",
			 d->id, d->name, why->text);
	if (v == FETCH_BAD)
		stamp(s, d->id, CATALOGUE_FAILED);
}

/* The fetch took `secs`. */
static void
succeed(struct search *s, const struct dataset *d, double secs)
{
	struct run *run = s->run;
	const struct held_set *is = held_find(run->held, d->id);
	const struct log_line l =
		events_transfer(&is->d, "FETCH", run->p.prefix, is->dir, secs);

	events_add(run, &l);
	stamp(s, d->id, CATALOGUE_RESTARTED);
	onprefix_note(run, &is->d, true);
	run->restart_id = d->id;
	output_raise(run, d->id, d->ckpt_id);
}

/* 1: fetched, or no candidate is left; 0: try the next one; -1: error. */
static int
step(struct search *s, struct error *err)
{
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
	events_dataset(s->run, &d, "FETCH_START", -1);
	v = try_one(s, &d, &why);
	s->last = d.id;
	since = clock_seconds() - since;
	events_dataset(s->run, &d,
		       v == FETCH_DONE ? "FETCH_SUCCESS" : "FETCH_FAIL", since);
	rc = v == FETCH_BROKEN ? -1 : v == FETCH_DONE;
	if (v == FETCH_BROKEN)
		error_as(err, &why, "dataset %" PRId64 " (%s): %s", d.id,
			 d.name, why.text);
	else if (v == FETCH_DONE)
		succeed(s, &d, since);
	else
		pass_over(s, &d, v, &why);
	kvtree_free(t);
	return rc;
}

/* SCR_CURRENT, unless this allocation has honoured it already. */
static int
honour_current(struct run *run, struct error *err)
{
	const char *name = run->p.current, *old = run->held->current;
	struct error why = ERROR_INIT;

	if (name == NULL || *name == '\0' || (old != NULL && str_eq(old, name)))
		return 0;
	if (onprefix_current(run, name, &why) == 0)
		return held_set_current(run, name, err);
	if (why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	say_warn_first("Checkpoint named in SCR_CURRENT does not exist in "
		       "index file: `%s'",
		       name);
	return 0;
}

/* Rank 0: restore datasets that a killed job had retired without replacing any
 * of their files. */
static void
take_back(struct catalogue *c)
{
	struct catalogue_entries all;
	struct catalogue_options o;
	bool any = false;

	(void)catalogue_entries(c, &all, NULL);
	for (size_t i = 0; i < all.count; i++)
		any |= all.list[i].complete == 0 && all.list[i].replaced > 0;
	onprefix_options(&o);
	if (any)
		catalogue_rollback(c, 0, &o);
	catalogue_entries_free(&all);
}

/* Fetch the newest usable checkpoint; *refused: why another one was not
 * fetched, though it may be whole. */
static int
search(struct run *run, struct error *refused, struct error *err)
{
	struct search s = { .run = run };
	int rc = 0;

	if (run->world.rank == 0) {
		s.c = catalogue_open(run->p.prefix, err);
		rc = s.c == NULL ? -1 : 0;
		if (rc == 0)
			take_back(s.c);
	}
	rc = team_agree(&run->world, rc, err);
	while (rc == 0)
		rc = step(&s, err);
	if (s.c != NULL)
		say_warn_lines(catalogue_notice(s.c));
	catalogue_close(s.c);
	error_pass(refused, &s.refused);
	return rc < 0 ? -1 : 0;
}

/* A job that starts from the beginning would in time replace checkpoints that
 * may be whole: it must want that. */
static int
start_over(const struct run *run, const struct error *refused,
	   struct error *err)
{
	const char *why = refused->kind != ERROR_NONE ? refused->text : NULL;
	struct error held = ERROR_INIT;

	for (size_t i = run->held->count; why == NULL && i-- > 0;) {
		const struct held_set *s = run->held->list[i];

		if (!s->d.is_ckpt || s->refused == NULL)
			continue;
		error_set(&held, ERROR_SYSTEM,
			  "dataset %" PRId64 " (%s): in the caches: %s",
			  s->d.id, s->d.name, s->refused);
		why = held.text;
	}
	if (why == NULL || run->p.start_over)
		return 0;
	return error_set(err, ERROR_SYSTEM,
			 "%s; no other checkpoint can be used; to start from "
			 "the beginning instead, set SCR_START_OVER=1",
			 why);
}

int
fetching_latest(struct run *run, struct error *err)
{
	struct error refused = ERROR_INIT;

	run->restart_id = 0;
	if (run->p.fetch &&
	    (honour_current(run, err) < 0 ||
	     (run->restart_id == 0 && search(run, &refused, err) < 0)))
		return -1;
	return run->restart_id == 0 ? start_over(run, &refused, err) : 0;
}
