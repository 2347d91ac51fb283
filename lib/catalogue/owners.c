/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owners.c - which datasets own which paths: before files are replaced, and to
 * find paths that two datasets own.
 *
 * A dataset owns the paths in its rank2file, because that is what LLNL's
 * library fetches; files in containers are not at their paths.  Each rank2file
 * is read once.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/kvtree.h"
#include "meta/summary.h"
#include "path.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

/* --- The files of one dataset --- */

/* Call fn for each file with a path of its own in the rank2file of dataset
 * `id`.  Stop if it does not return 0, and return that.  A dataset without a
 * good rank2file owns nothing: LLNL's library cannot fetch it. */
static int
each_file(struct catalogue *c, int64_t id,
	  int (*fn)(void *arg, const struct rank2file_file *f,
		    struct error *err),
	  void *arg, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	struct rank2file r;
	int rc = catalogue_dir_open(c, id, &d, &why);

	if (rc == 0)
		rc = rank2file_load(d.fd, RANK2FILE_FILE, &r, &why);
	catalogue_dir_close(&d);
	if (rc < 0)
		return why.kind == ERROR_SYSTEM || why.kind == ERROR_NOMEM
			       ? error_pass(err, &why)
			       : 0;
	for (size_t i = 0; i < r.nranks && rc == 0; i++)
		for (size_t k = 0; k < r.ranks[i].nfiles && rc == 0; k++)
			if (r.ranks[i].files[k].nsegs == 0)
				rc = fn(arg, &r.ranks[i].files[k], err);
	rank2file_free(&r);
	return rc;
}

/* --- Before files are replaced --- */

/* Can a job restart from the dataset? */
static bool
is_listed(const struct index *ix, int64_t id)
{
	struct index_entry e;

	return ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	       (e.complete == 1 || e.current);
}

/* Can --add bring the dataset back? */
static bool
is_complete(struct catalogue *c, int64_t id)
{
	struct summary s = { .complete = -1 };
	struct kvtree *t = catalogue_summary(c, id, &s, NULL, NULL);

	kvtree_free(t);
	return t != NULL && s.complete == 1;
}

static int
is_wanted(void *arg, const struct rank2file_file *f, struct error *err)
{
	(void)err;
	return f->path != NULL && map_get(arg, f->path) != MAP_NONE;
}

/* A search for the owners of paths. */
struct search {
	struct catalogue *c;
	const struct index *ix;
	const struct catalogue_options *o;
	const struct owners_write *w;
	struct map *paths;
};

static int
act_on(const struct search *s, int64_t id, struct error *err)
{
	struct index_entry e = { .name = NULL };
	char shown[256];

	if (s->w->replace || !is_listed(s->ix, id))
		return s->o->work.dry_run ? 0
					  : catalogue_retire(s->c, id, s->w->id,
							     s->o, err);
	if (s->ix != NULL)
		(void)index_find_id(s->ix, id, &e, NULL);
	str_printable(shown, sizeof(shown), e.name != NULL ? e.name : "?");
	return error_set(err, ERROR_DAMAGED,
			 "dataset %" PRId64
			 ": would replace files of dataset %" PRId64
			 " (%s); drop that one from the index first",
			 s->w->id, id, shown);
}

static int
search(const struct search *s, struct error *err)
{
	size_t count = 0;
	int64_t *ids = catalogue_dirs(s->c, &count, err);
	int rc = count == (size_t)-1 ? -1 : 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		/* Its own files may be replaced unless it is another dataset
		 * with the same number. */
		if (ids[i] == s->w->id ||
		    (!is_listed(s->ix, ids[i]) && !is_complete(s->c, ids[i])))
			continue;
		rc = each_file(s->c, ids[i], is_wanted, s->paths, err);
		if (rc > 0)
			rc = act_on(s, ids[i], err);
	}
	mem_free(ids);
	return rc;
}

int
owners_make_way(struct catalogue *c, const struct owners_write *w,
		const struct catalogue_options *o, struct error *err)
{
	struct error why = ERROR_INIT;
	struct search s = { .c = c, .o = o, .w = w };
	struct index *ix = NULL;
	int rc = 0;

	if (w->count == 0)
		return 0;
	ix = catalogue_read(c, &why);
	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	s.ix = ix;
	s.paths = map_new();
	if (s.paths == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; i < w->count && rc == 0; i++)
		if (map_put(s.paths, w->paths[i], i) < 0)
			rc = error_no_memory(err);
	if (rc == 0)
		rc = search(&s, err);
	map_free(s.paths);
	index_free(ix);
	return rc;
}

/* Write the absolute path of `path` below directory `dirfd`. */
static int
full_path(int dirfd, const char *path, struct buf *to, struct error *err)
{
	char link[64], dir[PATH_MAX];
	ssize_t len = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	len = readlink(link, dir, sizeof(dir) - 1);
	if (len < 0)
		return error_sys(err, "%s: cannot find its directory", path);
	dir[len] = '\0';
	return path[0] == '\0' ? path_join(to, "", dir, err)
			       : path_join(to, dir, path, err);
}

/* The path relative to the prefix, in `arena`; NULL with *err unset: outside of
 * it. */
static const char *
below_prefix(const struct put_what *what, const char *prefix,
	     struct arena *arena, struct error *err)
{
	struct buf full = BUF_INIT;
	const char *rel = NULL, *kept = NULL;

	if (full_path(what->dirfd, what->path, &full, err) == 0) {
		rel = path_below(full.data, prefix);
		kept = rel == NULL ? NULL : arena_strdup(arena, rel);
		if (rel != NULL && kept == NULL)
			error_no_memory(err);
	}
	buf_free(&full);
	return kept;
}

static int
list_replaced(const struct put *p, struct owners_write *w, const char *prefix,
	      struct arena *arena, struct error *err)
{
	const char **paths =
		arena_alloc(arena, put_count(p) + 1, sizeof(*paths));
	struct error why = ERROR_INIT;

	if (paths == NULL)
		return error_no_memory(err);
	w->paths = paths;
	for (size_t i = 0; i < put_count(p); i++) {
		const struct put_what *what = put_what(put_at(p, i));

		if (!what->replaces)
			continue;
		paths[w->count] = below_prefix(what, prefix, arena, &why);
		if (why.kind != ERROR_NONE)
			return error_pass(err, &why);
		w->count += paths[w->count] != NULL;
	}
	return 0;
}

int
owners_ask(void *arg, const struct put *p, struct error *err)
{
	const struct owners_guard *g = arg;
	struct owners_write w = { .id = g->id, .replace = g->o->replace };
	struct arena *arena = arena_new();
	struct buf prefix = BUF_INIT;
	int rc = -1;

	if (arena == NULL)
		error_no_memory(err);
	else if (full_path(catalogue_prefix_fd(g->catalogue), "", &prefix,
			   err) == 0 &&
		 list_replaced(p, &w, prefix.data, arena, err) == 0)
		rc = owners_make_way(g->catalogue, &w, g->o, err);
	if (rc == 0 && g->renew)
		rc = catalogue_retire(g->catalogue, g->id, g->id, g->o, err);
	buf_free(&prefix);
	arena_free(arena);
	return rc;
}

/* --- Paths that two datasets own --- */

/* A path of a dataset, by its hash. */
struct owned {
	uint64_t hash;
	size_t dataset; /* index in the list of overlaps */
	uint64_t size;
	uint32_t crc;
	bool has_size, has_crc;
};

struct overlaps {
	struct map *hasher; /* empty: has the secret of the hash */
	struct owned *files;
	size_t count, cap;
	struct owners_overlap *list; /* by id */
	size_t datasets;
};

static int
note_owned(void *arg, const struct rank2file_file *f, struct error *err)
{
	struct overlaps *s = arg;

	if (f->path == NULL)
		return 0;
	if (!MEM_ROOM(s->files, s->count, s->cap))
		return error_no_memory(err);
	s->files[s->count++] = (struct owned){
		.hash = map_hash(s->hasher, f->path),
		.dataset = s->datasets,
		.size = f->size,
		.crc = f->crc,
		.has_size = f->has_size,
		.has_crc = f->has_crc,
	};
	return 0;
}

static int
by_hash(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->dataset > y->dataset) - (x->dataset < y->dataset);
}

/* Count one path with `n` owners, by dataset. */
static void
count_owners(struct overlaps *s, const struct owned *f, size_t n)
{
	bool differ = false, same = true;

	for (size_t i = 1; i < n; i++) {
		const bool sums = f[i].has_crc && f[0].has_crc;

		if (f[i].dataset == f[0].dataset)
			continue;
		differ |= (sums && f[i].crc != f[0].crc) ||
			  (f[i].has_size && f[0].has_size &&
			   f[i].size != f[0].size);
		same = same && sums;
	}
	if (f[n - 1].dataset == f[0].dataset || (same && !differ))
		return;
	for (size_t i = 0; i < n; i++) {
		struct owners_overlap *o = &s->list[f[i].dataset];
		size_t last = f[n - 1].dataset;

		/* The highest id is the last owner's, or the one before it. */
		for (size_t k = n; last == f[i].dataset && k-- > 0;)
			last = f[k].dataset;
		if (s->list[last].id > o->other)
			o->other = s->list[last].id;
		o->files++;
		o->differ |= differ;
	}
}

/* Find the name of a path that was counted for a dataset. */
struct naming {
	const struct overlaps *s;
	struct owners_overlap *o;
};

static int
name_path(void *arg, const struct rank2file_file *f, struct error *err)
{
	struct naming *n = arg;
	const struct overlaps *s = n->s;
	const uint64_t hash =
		f->path != NULL ? map_hash(s->hasher, f->path) : 0;
	size_t low = 0, high = s->count;

	(void)err;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->files[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->count && s->files[low].hash == hash; low++)
		if (s->list[s->files[low].dataset].id == n->o->other) {
			str_printable(n->o->path, sizeof(n->o->path), f->path);
			return 1;
		}
	return 0;
}

static int
collect(struct catalogue *c, const struct index *ix, struct overlaps *s,
	struct error *err)
{
	size_t count = 0;
	struct index_entry *e = index_entries(ix, &count, err);
	int rc = count == (size_t)-1 ? -1 : 0;

	s->hasher = map_new();
	s->list = mem_calloc(count + 1, sizeof(*s->list));
	if (rc == 0 && (s->hasher == NULL || s->list == NULL))
		rc = error_no_memory(err);
	/* The entries are in descending order of ids. */
	for (size_t i = count; i-- > 0 && rc == 0;) {
		if (!index_entry_valid(&e[i]))
			continue;
		s->list[s->datasets].id = e[i].id;
		rc = each_file(c, e[i].id, note_owned, s, err);
		s->datasets++;
	}
	mem_free(e);
	return rc;
}

int
owners_overlaps(struct catalogue *c, const struct index *ix,
		struct owners_overlap **out, size_t *count, struct error *err)
{
	struct overlaps s = { .hasher = NULL };
	int rc = collect(c, ix, &s, err);

	*out = NULL;
	*count = 0;
	if (rc == 0 && s.count > 0)
		qsort(s.files, s.count, sizeof(*s.files), by_hash);
	for (size_t i = 0, end = 0; rc == 0 && i < s.count; i = end) {
		for (end = i + 1;
		     end < s.count && s.files[end].hash == s.files[i].hash;)
			end++;
		count_owners(&s, &s.files[i], end - i);
	}
	for (size_t i = 0; i < s.datasets && rc == 0; i++) {
		struct naming n = { &s, &s.list[i] };

		if (s.list[i].files == 0)
			continue;
		if (each_file(c, s.list[i].id, name_path, &n, err) < 0)
			rc = -1;
		s.list[(*count)++] = s.list[i];
	}
	if (rc == 0)
		*out = s.list;
	else
		mem_free(s.list);
	mem_free(s.files);
	map_free(s.hasher);
	return rc;
}
