/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/regain.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "arena.h"
#include "catalogue/catalogue.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset_dir.h"
#include "meta/filemap.h"
#include "meta/rank2file.h"
#include "path.h"
#include "scr/common.h"
#include "scr/events.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/onprefix.h"
#include "scr/regain_impl.h"
#include "scr/run.h"
#include "str.h"
#include "team/redundancy.h"
#include "team/say.h"

/* --- One dataset --- */

/* Open its directories on this node; a missing one is not an error. */
static int
open_dirs(struct regain *g, struct error *err)
{
	struct error why = ERROR_INIT;

	io_close(g->dirfd);
	io_close(g->metafd);
	g->metafd = -1;
	g->dirfd = dir_open_plain(AT_FDCWD, g->set->dir);
	if (g->dirfd >= 0)
		g->metafd = dir_open_plain(g->dirfd, SCR_DIR);
	if (g->metafd >= 0)
		return 0;
	error_sys(&why, "%s", g->set->dir);
	return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
}

/* Did the same number of ranks write the dataset? */
static int
check_ranks(const struct regain *g, struct error *err)
{
	const struct team *world = &g->run->world;
	uint64_t other = 0;

	for (size_t i = 0; i < g->nparts; i++) {
		const uint64_t n = g->parts[i].ranks > 0
					   ? (uint64_t)g->parts[i].ranks
				   : g->parts[i].rank < world->size
					   ? world->size
					   : (uint64_t)g->parts[i].rank + 1;

		if (n != world->size && n > other)
			other = n;
	}
	other = team_most(world, other);
	if (other == 0)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "written by %" PRIu64 " ranks, but this job has %u: "
			 "start %" PRIu64 " ranks, or save the caches on the "
			 "prefix and set SCR_RESTART_ANY_RANKS=1",
			 other, world->size, other);
}

/*
 * With bypass, and checksums taken in the background, the filemaps have none.
 * The prefix has them, if the flush has ended.  If not, a file that was written
 * to since is another one.  Collective; the result is that of this rank.
 */
static int
know_sums(struct regain *g, struct error *err)
{
	struct filemap *fm = &g->parts[0].fm;
	struct lists l = { .count = 0 };
	bool lacks = false, ended = false;
	struct stat st;

	for (size_t i = 0; i < fm->nfiles; i++)
		lacks |= !fm->files[i].has_crc;
	if (!g->run->p.crc_on_flush || !team_any(&g->run->world, lacks))
		return 0;
	ended = onprefix_has(g->run, g->set->d.id);
	if (ended &&
	    lists_read(g->run, &g->set->d, false, g->arena, &l, NULL) < 0)
		l.count = 0;
	for (size_t i = 0; i < fm->nfiles; i++) {
		struct filemap_file *f = &fm->files[i];
		const char *rel = path_below(f->cache_path, g->run->p.prefix);

		/* Both lists have one order. */
		if (i < l.count && rel != NULL && !f->has_crc &&
		    l.files[i].has_crc && str_eq(l.files[i].path, rel)) {
			f->has_crc = true;
			f->crc = l.files[i].crc;
		} else if (!ended && !f->has_crc &&
			   dir_stat(AT_FDCWD, f->cache_path, &st, 0) == 0 &&
			   !attr_unchanged(&f->attr, &st)) {
			return error_set(err, ERROR_LOST,
					 "rank %u: %s: changed since it was "
					 "complete",
					 g->run->world.rank, f->cache_path);
		}
	}
	return 0;
}

/* Verify the files, and rebuild what is lost. */
static int
rebuild_files(struct regain *g, struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue_options o;
	struct catalogue *c = NULL;
	int64_t by = 0;
	int rc = 0;

	if (!g->set->bypass) {
		do {
			if (regain_set(g, false, err) < 0)
				return -1;
			rc = regain_compare(g, &why);
		} while (team_any(&g->run->world, g->damaged));
		return rc == 0 ? 0 : error_pass(err, &why);
	}
	rc = know_sums(g, err);
	regain_verify(g);
	/* Has a newer dataset replaced the files on the prefix? */
	if (rc == 0 && g->run->world.rank == 0) {
		onprefix_options(&o);
		c = catalogue_open(g->run->p.prefix, err);
		rc = c == NULL ? -1
			       : catalogue_replaced(c, g->set->d.id, &o, &by,
						    err);
		catalogue_close(c);
		if (rc == 0 && by > 0)
			rc = error_set(err, ERROR_LOST,
				       "dataset %" PRId64
				       " has replaced its files",
				       by);
	}
	if (rc == 0)
		rc = regain_check(g, err);
	return team_agree(&g->run->world, rc, err);
}

/*
 * Find the parameters of the protection in the names of the redundancy files.
 */
static int
describe(const struct regain *g, bool map, struct sets_mine *set,
	 struct redundancy_job *out, struct error *err)
{
	const struct regain_part *p = &g->parts[0];
	const struct regain_red *r = &p->red[map];
	size_t n = map ? 1 : p->fm.nfiles;

	*set = (struct sets_mine){
		.type = r->is.type,
		.set = r->is.set - 1,
		.sets = r->is.sets,
		.member = r->is.member - 1,
		.members = r->is.members,
	};
	*out = (struct redundancy_job){
		.world = &g->run->world, .set = set, .map = map, .nfiles = n
	};
	if (r->name == NULL)
		return error_set(err, ERROR_LOST,
				 "rank %u: its redundancy file is missing",
				 p->rank);
	out->files = arena_alloc(g->arena, n, sizeof(*out->files));
	if (out->files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		/* In the order of routing, as in the redundancy file. */
		const char *base =
			map ? filemap_str(p->rank)
			    : path_base(p->fm.files[n - 1 - i].cache_path);

		out->files[i].path = arena_printf(
			g->arena, "%s/%s", map ? g->meta : g->set->dir, base);
		if (out->files[i].path == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* Write the lists of the node, and list the dataset on all nodes. */
static int
commit(struct regain *g, struct error *err)
{
	const struct team *world = &g->run->world;
	struct sets_mine sets[2];
	struct redundancy_job data = { .dir = NULL }, map = { .dir = NULL };
	struct common c = { .run = g->run,
			    .store = g->set->store,
			    .dir = g->set->dir,
			    .meta = g->meta,
			    .metafd = g->metafd,
			    .data = g->set->bypass ? NULL : &data,
			    .map = &map,
			    .created_us = g->set->d.created_us };
	int rc = describe(g, true, &sets[1], &map, err);

	if (rc == 0 && !g->set->bypass)
		rc = describe(g, false, &sets[0], &data, err);
	if (team_agree(world, rc, err) < 0 || common_write(&c, err) < 0)
		return -1;
	return held_commit(g->run, &g->set->d, err);
}

static int
regain_one(struct run *run, const struct held_set *set, struct error *err)
{
	struct regain g = { .run = run,
			    .set = set,
			    .arena = arena_new(),
			    .dirfd = -1,
			    .metafd = -1 };
	bool unread = false;
	int rc = 0;

	if (g.arena != NULL)
		g.meta = arena_printf(g.arena, "%s/" SCR_DIR, set->dir);
	rc = g.meta == NULL ? error_no_memory(err) : open_dirs(&g, err);
	rc = team_agree(&run->world, rc, err);
	if (rc == 0)
		rc = regain_list(&g, err);
	if (rc == 0) {
		for (size_t i = 0; rc == 0 && i < g.nparts; i++)
			rc = regain_look(&g, &g.parts[i], err);
		rc = team_agree(&run->world, rc, err);
	}
	if (rc == 0)
		rc = check_ranks(&g, err);
	if (rc == 0)
		rc = held_place(run, set->d.id, err);
	if (rc == 0)
		rc = team_agree(&run->world, open_dirs(&g, err), err);
	if (rc == 0)
		rc = regain_move(&g, err);
	if (rc == 0)
		rc = regain_set(&g, true, err);
	if (rc == 0)
		rc = regain_commit(&g, err);
	/* From here on the names of rebuilt redundancy files are known. */
	if (rc == 0)
		rc = rebuild_files(&g, err);
	if (rc == 0 &&
	    team_any(&run->world, g.changed || !set->here || g.nparts > 1)) {
		rc = commit(&g, err);
		if (rc == 0)
			rc = regain_drop(&g, err);
	}
	if (rc < 0) {
		/* If a file was unreadable, it may be right: do not report the
		 * dataset as lost. */
		for (size_t i = 0; i < g.nparts; i++)
			unread |= g.parts[i].unread;
		if (team_any(&g.run->world, unread) && err->kind == ERROR_LOST)
			err->kind = ERROR_SYSTEM;
	}
	io_close(g.metafd);
	io_close(g.dirfd);
	mem_free(g.parts);
	mem_free(g.moved.list);
	arena_free(g.arena);
	return rc;
}

/* --- All of them --- */

/* Regain the dataset, and remove it if it is lost.  run->restart_id becomes the
 * newest whole checkpoint, unless an output dataset before it was lost. */
static int
regain_next(struct run *run, const struct held_set *s, bool *output_lost,
	    struct error *err)
{
	const int64_t id = s->d.id;
	const double since = clock_seconds();
	struct error why = ERROR_INIT;
	bool whole = false, kept = false;

	events_dataset(run, &s->d, "REBUILD_START", -1);
	onprefix_moving(run, &s->d, false);
	whole = regain_one(run, s, &why) == 0;
	events_dataset(run, &s->d, whole ? "REBUILD_SUCCESS" : "REBUILD_FAIL",
		       clock_seconds() - since);
	if (whole) {
		say_debug_first("Rebuilt dataset %lld `%s'", (long long)id,
				s->d.name);
		if (s->d.is_ckpt && !*output_lost)
			run->restart_id = id;
		return 0;
	}
	if (s->d.is_output && !s->d.is_ckpt && !onprefix_has(run, id))
		*output_lost = true;
	/* Could another run use the dataset? */
	kept = why.kind == ERROR_USAGE || why.kind == ERROR_SYSTEM ||
	       why.kind == ERROR_DAMAGED || why.kind == ERROR_NOMEM;
	say_warn_first("dataset %lld `%s': %s; %s", (long long)id, s->d.name,
		       why.text,
		       kept ? "not used for this restart, stays in the cache"
			    : "removed from the cache");
	if (!kept)
		return held_remove(run, id, err);
	held_bar(run->held, id, why.text)->unproven = true;
	return 0;
}

int
regain_all(struct run *run, struct error *err)
{
	const size_t n = run->held->count;
	const double since = clock_seconds();
	const struct held_set *s = NULL;
	bool output_lost = false;
	int64_t id = 0;
	int rc = 0;

	run->restart_id = 0;
	if (!run->p.distribute || run->p.cache_purge)
		return held_purge(run, err);
	while (rc == 0 && (s = held_after(run->held, id)) != NULL) {
		id = s->d.id;
		rc = regain_next(run, s, &output_lost, err);
	}
	id = run->restart_id;
	while (rc == 0 && (s = held_after(run->held, id)) != NULL) {
		id = s->d.id;
		if (!s->barred)
			rc = held_remove(run, id, err);
	}
	if (n > 0) {
		/* Log the end of the restart, if there was a dataset to restart
		 * from. */
		s = held_find(run->held, run->restart_id);
		events_dataset(run, s != NULL ? &s->d : NULL,
			       s != NULL ? "RESTART_SUCCESS" : "RESTART_FAIL",
			       clock_seconds() - since);
	}
	return rc;
}
