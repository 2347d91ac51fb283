/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/filemap.h"
#include "meta/rank2file.h"
#include "path.h"
#include "scr/fetching.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/naming.h"
#include "scr/onprefix.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "team/say.h"

struct file {
	uint32_t rank; /* that wrote it */
	struct rank2file_file is;
	const char *dir;  /* in the cache, to be removed; or NULL */
	const char *copy; /* there, or NULL */
};

struct restart {
	const struct run *run;
	struct arena *arena;
	const struct held_set *set;
	struct naming naming;
	struct filemap fm;
	/* path on the prefix (away: below it), and its last component: index in
	 * fm.files, or in `files` */
	struct map *paths, *bases;
	/* If run->away is read, the files of all ranks: `raw` has their texts,
	 * for each the rank that wrote it, and what lists_add() adds. */
	bool away;
	uint32_t ranks; /* that wrote the dataset */
	bool packed;
	const char *root; /* of containers */
	struct buf raw;
	size_t count;
	struct file *files; /* in the order of ranks */
};

/* --- Attempts --- */

/* Rank 0: get the unfinished restarts from dataset `d` so far; then add `add`
 * (1), or remove the count (-1).  An unreadable file counts as 0. */
static uint64_t
attempts(struct run *run, const struct dataset *d, int add)
{
	struct error why = ERROR_INIT, unread = ERROR_INIT;
	struct jobfiles_restarts was = { .count = 0 };
	uint64_t count = 0;
	struct kvtree *t = NULL;
	int scr = -1;

	if (run->world.rank != 0)
		return 0;
	scr = jobfiles_open(run->p.prefix, true, &why);
	if (scr >= 0 && jobfiles_restarts(scr, &was, &unread) < 0)
		say_warn("%s: ignored", unread.text);
	if (was.id == (uint64_t)d->id && was.created == (uint64_t)d->created_us)
		count = was.count;
	if (scr >= 0 && add > 0) {
		t = kvtree_new(&why);
		if (t != NULL && kvtree_set_i64(t, "ID", d->id, &why) == 0 &&
		    kvtree_set_i64(t, "CREATED", d->created_us, &why) == 0 &&
		    kvtree_set_u64(t, "ATTEMPTS", count + 1, &why) == 0)
			(void)kvtree_write_file(t, scr, JOBFILES_RESTARTS,
						&why);
		kvtree_free(t);
	}
	if (scr >= 0 && add < 0 && unlinkat(scr, JOBFILES_RESTARTS, 0) < 0 &&
	    errno != ENOENT)
		error_sys(&why, JOBFILES_RESTARTS);
	if (why.kind != ERROR_NONE && !onprefix_unwritable(run, &why))
		say_warn("attempts to restart are not counted: %s", why.text);
	io_close(scr);
	return count;
}

/* --- Which one --- */

/* The newest usable checkpoint in cache, older than `before`; 0: none. */
static int64_t
newest(const struct run *run, int64_t before)
{
	for (size_t i = run->p.any_ranks ? 0 : run->held->count; i-- > 0;) {
		const struct held_set *s = run->held->list[i];

		if (s->d.is_ckpt && !s->barred && s->d.id < before)
			return s->d.id;
	}
	return 0;
}

const struct held_set *
restart_set(const struct run *run)
{
	if (run->away != NULL && run->away->d.id == run->restart_id)
		return run->away;
	return held_find(run->held, run->restart_id);
}

void
restart_check(struct run *run)
{
	if (run->restart_id != 0 &&
	    (run->away != NULL || restart_set(run) == NULL))
		run->restart_id = newest(run, INT64_MAX);
}

void
restart_from_prefix(struct run *run)
{
	run->restart_id = 0;
	for (size_t i = 0; i < run->held->count; i++) {
		const struct held_set *s = run->held->list[i];

		if (!s->barred && !onprefix_valid(run, s->d.id))
			(void)held_bar(run->held, s->d.id,
				       "it could not be flushed");
	}
}

bool
restart_is_spent(struct run *run, const struct dataset *d)
{
	return team_most(&run->world, attempts(run, d, 0)) >=
	       run->p.restart_attempts;
}

int
restart_find(struct run *run, struct error *err)
{
	char why[64];

	/* Remove those with too many unfinished restarts.  The last one, if it
	 * is only here, stays: it may not be the cause. */
	while (run->restart_id != 0) {
		const struct held_set *s = restart_set(run);
		const int64_t older = newest(run, run->restart_id);
		bool stays = false;
		const uint64_t n =
			team_most(&run->world, attempts(run, &s->d, 0));

		if (n < run->p.restart_attempts)
			break;
		stays = older == 0 && !onprefix_has(run, s->d.id);
		snprintf(why, sizeof(why), "%llu restarts in a row failed",
			 (unsigned long long)n);
		say_warn_first("dataset %lld `%s': %s%s", (long long)s->d.id,
			       s->d.name, why,
			       stays ? "" : ": removed from the cache");
		onprefix_failed(run, s->d.id);
		if (stays)
			(void)held_bar(run->held, s->d.id, why);
		else if (held_remove(run, s->d.id, err) < 0)
			return -1;
		run->restart_id = older;
	}
	/* The commands read the contents of the caches there. */
	onprefix_note(run, NULL, HELD_NOTED);
	return 0;
}

/* --- The files of all ranks --- */

static int
by_rank(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* As its rank has written them. */
	return x->is.path < y->is.path ? -1 : x->is.path > y->is.path;
}

/* Gather the lists of all ranks, and find the files in them.  Collective. */
static int
gather(struct restart *r, struct error *err)
{
	const struct run *run = r->run;
	struct lists mine;
	const char *at = NULL, *end = NULL;
	struct rank2file_file f;
	size_t n = 0;
	int rc = 0;

	if (lists_read(run, &r->set->d, true, r->arena, &mine, err) < 0)
		return -1;
	r->away = true;
	r->ranks = mine.nranks;
	r->packed = mine.packed;
	r->root = mine.root;
	for (size_t i = 0; i < mine.count; i++) {
		(void)buf_add(&r->raw, &mine.ranks[i], sizeof(mine.ranks[i]));
		lists_add(&r->raw, &mine.files[i], NULL);
	}
	if (team_join(&run->world, 0, &r->raw, err) < 0)
		return -1;
	at = r->raw.data;
	end = at + r->raw.len;
	for (const char *p = at; p < end; n++)
		p = lists_take(p + sizeof(uint32_t), &f, NULL, NULL);
	r->files = arena_alloc(r->arena, n + 1, sizeof(*r->files));
	if (r->files == NULL)
		rc = error_no_memory(err);
	for (; rc == 0 && r->count < n; r->count++) {
		struct file *to = &r->files[r->count];

		memcpy(&to->rank, at, sizeof(to->rank));
		at = lists_take(at + sizeof(to->rank), &to->is, NULL, r->arena);
		if (at == NULL)
			rc = error_no_memory(err);
	}
	if (rc == 0)
		qsort(r->files, n, sizeof(*r->files), by_rank);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (map_put(r->paths, r->files[i].is.path, i) < 0)
			rc = error_no_memory(err);
	return team_agree(&run->world, rc, err);
}

/* --- Begin --- */

struct restart *
restart_begin(struct run *run, struct error *err)
{
	struct restart *r = mem_calloc(1, sizeof(*r));
	int rc = -1;

	if (r == NULL || (r->arena = arena_new()) == NULL ||
	    (r->paths = map_new()) == NULL || (r->bases = map_new()) == NULL) {
		error_no_memory(err);
	} else {
		r->run = run;
		r->set = restart_set(run);
		rc = naming_begin(&r->naming, run->p.prefix, r->arena, err);
		if (rc == 0 && r->set != run->away)
			rc = held_filemap(r->set, run->world.rank, r->arena,
					  &r->fm, err);
	}
	for (size_t i = 0; rc == 0 && i < r->fm.nfiles; i++) {
		const struct filemap_file *f = &r->fm.files[i];
		const char *path = f->dir == NULL || f->name == NULL
					   ? f->cache_path
					   : arena_printf(r->arena, "%s/%s",
							  f->dir, f->name);

		if (path == NULL || map_put(r->paths, path, i) < 0 ||
		    map_put(r->bases, path_base(path), i) < 0)
			rc = error_no_memory(err);
	}
	rc = team_agree(&run->world, rc, err);
	if (rc == 0 && r->set == run->away)
		rc = gather(r, err);

	if (rc < 0) {
		restart_free(r);
		run->unbegun = run->restart_id;
		return NULL;
	}
	(void)attempts(run, &r->set->d, 1);
	return r;
}

void
restart_free(struct restart *r)
{
	if (r == NULL)
		return;
	/* What was copied into the cache; the last rank of the node removes the
	 * directory. */
	for (size_t i = 0; i < r->count; i++)
		if (r->files[i].dir != NULL)
			(void)io_remove_tree(AT_FDCWD, r->files[i].dir, NULL);
	if (r->away)
		(void)rmdir(r->set->dir);
	buf_free(&r->raw);
	map_free(r->paths);
	map_free(r->bases);
	arena_free(r->arena);
	mem_free(r);
}

/* --- Files --- */

/* Copy a file that is in containers into the cache of this node, into a
 * directory of its own, as other ranks use the cache, too; below the directory
 * of the dataset, which the next SCR_Init() removes if this job is killed. */
static int
copy(const struct restart *r, struct file *is, struct error *err)
{
	const char *dir = arena_printf(r->arena, "%s/%u.%td", r->set->dir,
				       r->run->world.rank, is - r->files);
	const char *to = dir == NULL ? NULL
				     : arena_printf(r->arena, "%s/%s", dir,
						    path_base(is->is.path));
	struct attr none = { .has_size = false };
	const struct lists one = { .count = 1,
				   .files = &is->is,
				   .packed = true,
				   .root = r->root,
				   .attrs = &none };

	if (to == NULL)
		return error_no_memory(err);
	/* A rank of this node that has ended removes the first one. */
	for (int i = 0; i < 100 && is->dir == NULL; i++) {
		if (mkdir(r->set->dir, 0700) < 0 && errno != EEXIST)
			break;
		if (mkdir(dir, 0700) == 0 || errno == EEXIST)
			is->dir = dir;
		else if (errno != ENOENT)
			break;
	}
	if (is->dir == NULL)
		return error_sys(err, "%s: cannot create", dir);
	if (fetching_copy(r->run, r->set->store, r->arena, &one, &to, err) !=
	    FETCH_DONE)
		return -1;
	is->copy = to;
	return 0;
}

/* Write the path `to` of a file, if it can be read. */
static int
write_place(const char *path, const char *to,
	    char file[static SCR_MAX_FILENAME], struct error *err)
{
	if (snprintf(file, SCR_MAX_FILENAME, "%s", to) >= SCR_MAX_FILENAME)
		return error_set(err, ERROR_USAGE,
				 "%s: its path in the cache is too long", path);
	if (dir_access(AT_FDCWD, file, R_OK) < 0)
		return error_sys(err, "%s", file);
	return 0;
}

/* Write the path in cache of file `i` of the filemap, or, if `i` is MAP_NONE,
 * of a file of another rank of this node. */
static int
place(const struct restart *r, size_t i, const char *path,
      char file[static SCR_MAX_FILENAME], struct error *err)
{
	const char *to = i == MAP_NONE ? path : r->fm.files[i].cache_path;

	if (!r->set->bypass)
		to = arena_printf(r->arena, "%s/%s", r->set->dir,
				  path_base(to));
	return to == NULL ? error_no_memory(err)
			  : write_place(path, to, file, err);
}

int
restart_route(const struct restart *r, const char *name,
	      char file[static SCR_MAX_FILENAME], struct error *err)
{
	const char *path = naming_path(&r->naming, r->arena, name, err);
	size_t i = MAP_NONE;
	int rc = 0;

	if (path == NULL)
		return -1;
	if (r->away) {
		const char *rel = path_below(path, r->run->p.prefix);
		const char *key = rel != NULL ? rel : path;
		struct file *at = NULL;

		i = map_get(r->paths, key);
		if (i == MAP_NONE)
			return error_set(err, ERROR_ABSENT,
					 "%s: dataset %lld `%s' has no such "
					 "file",
					 key, (long long)r->set->d.id,
					 r->set->d.name);
		at = &r->files[i];
		if (r->packed && at->copy == NULL && copy(r, at, err) < 0)
			return -1;
		return write_place(path, r->packed ? at->copy : path, file,
				   err);
	}
	i = map_get(r->paths, path);
	rc = place(r, i, path, file, err);
	/* Old applications route the name without its directory. */
	if (rc < 0 && i == MAP_NONE)
		i = map_get(r->bases, path_base(path));
	if (rc < 0 && i != MAP_NONE)
		rc = place(r, i, path, file, err);
	return rc;
}

uint32_t
restart_ranks(const struct restart *r)
{
	return r->away ? r->ranks : r->run->world.size;
}

int
restart_file(const struct restart *r, size_t i, uint32_t *rank,
	     char name[static SCR_MAX_FILENAME])
{
	const struct filemap_file *is = NULL;
	int len = 0;

	if (i >= (r->away ? r->count : r->fm.nfiles))
		return -1;
	if (r->away) {
		*rank = r->files[i].rank;
		len = snprintf(name, SCR_MAX_FILENAME, "%s/%s",
			       r->run->p.prefix, r->files[i].is.path);
	} else {
		is = &r->fm.files[i];
		*rank = r->run->world.rank;
		len = snprintf(name, SCR_MAX_FILENAME, "%s%s%s",
			       is->dir != NULL ? is->dir : "",
			       is->dir != NULL ? "/" : "",
			       is->dir != NULL && is->name != NULL
				       ? is->name
				       : is->cache_path);
	}
	return len < SCR_MAX_FILENAME ? 0 : -1;
}

/* --- End --- */

int
restart_end(struct run *run, bool valid, struct error *err)
{
	const struct team *world = &run->world;
	const struct held_set *s = restart_set(run);
	const bool away = s == run->away;
	int64_t id = 0;
	struct error why = ERROR_INIT;

	run->unbegun = 0;
	(void)attempts(run, &s->d, -1);
	if (!valid)
		error_set(err, ERROR_LOST,
			  "rank %u reported its files of dataset %lld `%s' as "
			  "not valid",
			  world->rank, (long long)s->d.id, s->d.name);
	if (team_agree(world, valid ? 0 : -1, err) == 0) {
		/* Only on the prefix: SCR_Have_restart() looks again. */
		if (away)
			run->restart_id = 0;
		return 0;
	}
	run->unread = team_any(world, run->unread);
	if (run->unread) {
		run->restart_id = 0;
		return -1;
	}
	/* Choose an older dataset, as no restart from this one succeeds. */
	id = run->restart_id;
	onprefix_failed(run, id);
	if (!away && held_remove(run, id, &why) < 0) {
		(void)held_bar(run->held, id, NULL);
		say_warn_first("dataset %lld: not removed from the cache: %s",
			       (long long)id, why.text);
	}
	run->rejected = true;
	held_entry_free(run->away);
	run->away = NULL;
	run->restart_id = newest(run, INT64_MAX);
	(void)restart_find(run, NULL);
	return -1;
}
