/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owners.c - which datasets own which paths: before files are replaced or
 * removed, and to find paths that two datasets own.
 *
 * A dataset owns the paths that its rank2file names, or else its filemaps.  It
 * does not own the path of a file in a container.  The metadata of each dataset
 * are read once.  The table holds hashes of the paths, 32 bytes instead of a
 * hundred.  If two paths had the same hash, a file would stay that could have
 * been removed.
 */
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "path.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

#define SLOTS_MIN ((size_t)1024)

/* --- A table of paths --- */

/* Linear probing, at most 3/4 full. */
struct owners {
	struct map *hasher; /* empty: has the secret of the hash */
	struct owned *slots;
	size_t mask, count;
};

void
owners_free(struct owners *t)
{
	if (t == NULL)
		return;
	map_free(t->hasher);
	mem_free(t->slots);
	mem_free(t);
}

struct owners *
owners_new(struct error *err)
{
	struct owners *t = mem_calloc(1, sizeof(*t));

	if (t != NULL) {
		t->hasher = map_new();
		t->slots = mem_calloc(SLOTS_MIN, sizeof(*t->slots));
		t->mask = SLOTS_MIN - 1;
	}
	if (t != NULL && t->hasher != NULL && t->slots != NULL)
		return t;
	owners_free(t);
	return error_no_memory_null(err);
}

/* The slot of a hash, or the free slot where it belongs. */
static struct owned *
slot_of(struct owned *slots, size_t mask, uint64_t hash)
{
	size_t i = (size_t)hash & mask;

	while (slots[i].hash != 0 && slots[i].hash != hash)
		i = (i + 1) & mask;
	return &slots[i];
}

static uint64_t
hash_of(const struct owners *t, const char *path)
{
	const uint64_t hash = map_hash(t->hasher, path);

	return hash != 0 ? hash : 1;
}

struct owned *
owners_find(const struct owners *t, const char *path)
{
	struct owned *at = NULL;

	if (path != NULL)
		at = slot_of(t->slots, t->mask, hash_of(t, path));
	return at != NULL && at->hash != 0 ? at : NULL;
}

struct owned *
owners_add(struct owners *t, const char *path, struct error *err)
{
	const uint64_t hash = hash_of(t, path);
	const size_t mask = 2 * t->mask + 1;
	struct owned *at = NULL, *to = NULL;

	if (t->count >= (t->mask + 1) / 4 * 3) {
		to = mem_calloc(mask + 1, sizeof(*to));
		if (to == NULL)
			return error_no_memory_null(err);
		for (size_t i = 0; i <= t->mask; i++)
			if (t->slots[i].hash != 0)
				*slot_of(to, mask, t->slots[i].hash) =
					t->slots[i];
		mem_free(t->slots);
		t->slots = to;
		t->mask = mask;
	}
	at = slot_of(t->slots, t->mask, hash);
	t->count += at->hash == 0;
	at->hash = hash;
	return at;
}

/* A table of these paths.  NULL: ERROR_NOMEM. */
static struct owners *
table_of(const char *const *paths, size_t count, struct error *err)
{
	struct owners *t = owners_new(err);

	for (size_t i = 0; i < count && t != NULL; i++)
		if (owners_add(t, paths[i], err) == NULL) {
			owners_free(t);
			t = NULL;
		}
	return t;
}

int
owners_mark(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	    struct owners *t, size_t *found, struct error *why)
{
	const struct rank2file_file *f = NULL;
	struct catalogue_names n;
	int rc = 0;

	*found = 0;
	if (t->count == 0)
		return 0;
	rc = catalogue_names_of(c, id, o, &n, why);
	while (rc == 0 && (f = catalogue_names_next(&n)) != NULL) {
		struct owned *at =
			f->nsegs == 0 ? owners_find(t, f->path) : NULL;

		if (at == NULL)
			continue;
		at->kept = true;
		++*found;
	}
	catalogue_names_free(&n);
	return rc;
}

/* --- Before files are replaced or removed --- */

/* Can a job restart from the dataset? */
static bool
is_listed(const struct index *ix, int64_t id)
{
	struct index_entry e;

	return ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	       (e.complete == 1 || e.current);
}

/* Each dataset but one from which a job can restart, or which --add could bring
 * back. */
struct others {
	struct index *ix; /* NULL: none */
	int64_t *ids;
	size_t count;
};

static void
others_free(struct others *l)
{
	mem_free(l->ids);
	index_free(l->ix);
}

/* List those but `id`; with `all`, every other.  For others_free(), also on
 * failure. */
static int
others_list(struct catalogue *c, int64_t id, bool all, struct others *out,
	    struct error *err)
{
	struct error why = ERROR_INIT;
	size_t count = 0;

	*out = (struct others){ .ix = catalogue_read(c, &why) };
	if (out->ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	out->ids = catalogue_dirs(c, &count, err);
	if (count == (size_t)-1)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const int64_t other = out->ids[i];
		bool counts = all || is_listed(out->ix, other);

		if (other == id)
			continue;
		if (!counts) {
			/* Can --add bring the dataset back? */
			struct summary s = { .complete = -1 };
			struct kvtree *t =
				catalogue_summary(c, other, &s, NULL, NULL);

			counts = t != NULL && s.complete == 1;
			kvtree_free(t);
		}
		if (counts)
			out->ids[out->count++] = other;
	}
	return 0;
}

/* A search for other owners of paths. */
struct search {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct owners *paths;
	const struct owners_write *w; /* NULL: only mark the paths */
};

/* Check each other dataset.  One whose files are unknown cannot be fetched or
 * rebuilt, so it does not count. */
static int
ask_others(const struct search *s, int64_t id, bool all, struct error *err)
{
	const struct owners_write *w = s->w;
	struct others l;
	int rc = others_list(s->c, id, all, &l, err);

	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		struct index_entry e = { .name = NULL };
		struct error why = ERROR_INIT;
		size_t found = 0;
		bool newer = false;

		if (owners_mark(s->c, l.ids[i], s->o, s->paths, &found, &why) <
		    0) {
			rc = catalogue_is_verdict(&why) ? 0
							: error_pass(err, &why);
			continue;
		}
		if (found == 0 || w == NULL)
			continue;
		if (l.ix != NULL)
			(void)index_find_id(l.ix, l.ids[i], &e, NULL);
		newer = w->created > 0 && index_entry_valid(&e) &&
			index_entry_later(&e, w->id, w->created, w->job);
		if (is_listed(l.ix, l.ids[i]) && (!w->replace || newer))
			rc = error_set_remedy(
				err, REMEDY_DECIDE, ERROR_DAMAGED,
				"dataset %" PRId64 ": would replace files of "
				"dataset %" PRId64
				" (%s); drop that one from the index first",
				w->id, l.ids[i],
				str_shown(e.name != NULL ? e.name : "?"));
		else if (!s->o->work.dry_run)
			rc = catalogue_retire(s->c, l.ids[i], w->id, s->o, err);
	}
	others_free(&l);
	return rc;
}

int
owners_make_way(struct catalogue *c, const struct owners_write *w,
		const struct catalogue_options *o, struct error *err)
{
	struct search s = { .c = c, .o = o, .w = w };
	int rc = -1;

	if (w->count == 0)
		return 0;
	s.paths = table_of(w->paths, w->count, err);
	if (s.paths != NULL)
		rc = ask_others(&s, w->id, false, err);
	owners_free(s.paths);
	return rc;
}

int
owners_keep(void *arg, const char *const *paths, size_t count, bool *keep,
	    struct error *err)
{
	const struct owners_guard *g = arg;
	struct search s = { .c = g->catalogue, .o = g->o };
	int rc = -1;

	s.paths = table_of(paths, count, err);
	if (s.paths != NULL)
		rc = ask_others(&s, g->id, g->all, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		keep[i] = owners_find(s.paths, paths[i])->kept;
	owners_free(s.paths);
	return rc;
}

/* Write the absolute path of directory `dirfd`. */
static int
dir_path(int dirfd, char to[static PATH_MAX], struct error *err)
{
	const ssize_t len = readlink(str_printed(64, "/proc/self/fd/%d", dirfd),
				     to, PATH_MAX - 1);

	if (len < 0)
		return error_sys(err, "a directory of files: cannot be found");
	to[len] = '\0';
	return 0;
}

int
owners_ask(void *arg, const struct put *p, struct error *err)
{
	const struct owners_guard *g = arg;
	struct owners_write w = { .id = g->id, .replace = g->o->replace };
	struct arena *arena = arena_new();
	const char **paths = NULL, *rel = NULL;
	char prefix[PATH_MAX], dir[PATH_MAX];
	struct buf full = BUF_INIT;
	int rc = 0, last = -1;

	w.paths = paths = arena_alloc(arena, put_count(p) + 1, sizeof(*paths));
	rc = paths == NULL
		     ? error_no_memory(err)
		     : dir_path(catalogue_prefix_fd(g->catalogue), prefix, err);
	/* List the files that are written, also those that replace nothing: a
	 * dataset with a missing file must not find a file of another dataset
	 * in its place. */
	for (size_t i = 0; i < put_count(p) && rc == 0; i++) {
		const struct put_what *what = put_what(put_at(p, i));

		if (!what->replaces && what->kind != PUT_FILE)
			continue;
		if (what->dirfd != last)
			rc = dir_path(last = what->dirfd, dir, err);
		if (rc == 0)
			rc = path_join(&full, dir, what->path, err);
		rel = rc == 0 ? path_below(full.data, prefix) : NULL;
		if (rel == NULL) /* also outside of the prefix */
			continue;
		paths[w.count] = arena_strdup(arena, rel);
		if (paths[w.count++] == NULL)
			rc = error_no_memory(err);
	}
	if (rc == 0)
		rc = owners_make_way(g->catalogue, &w, g->o, err);
	buf_free(&full);
	arena_free(arena);
	return rc;
}

void
owners_failed(void *arg)
{
	const struct owners_guard *g = arg;

	catalogue_rollback(g->catalogue, g->id, g->o);
}

/* --- Before files are written whose paths are not known yet --- */

/* Does dataset `id` own a file that is missing? */
static int
find_lack(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	  bool *any, struct error *err)
{
	struct pathcache *prefix = pathcache_new(c->prefix_fd);
	const struct rank2file_file *f = NULL;
	struct error why = ERROR_INIT;
	struct catalogue_names n;
	int rc = 0;

	*any = false;
	if (prefix == NULL)
		return error_no_memory(err);
	rc = catalogue_names_of(c, id, o, &n, &why);
	/* The cache lists the directory only on the second call, so call twice.
	 * A packed dataset does not need its empty files. */
	while (rc == 0 && !*any && (f = catalogue_names_next(&n)) != NULL)
		*any = f->path != NULL && f->nsegs == 0 &&
		       !(f->has_size && f->size == 0) &&
		       (pathcache_absent(prefix, f->path) ||
			pathcache_absent(prefix, f->path));
	catalogue_names_free(&n);
	pathcache_free(prefix);
	return rc == 0 || catalogue_is_verdict(&why) ? 0
						     : error_pass(err, &why);
}

int
owners_expect(struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, size_t *retired,
	      struct error *err)
{
	struct others l;
	int rc = others_list(c, id, false, &l, err);

	*retired = 0;
	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		bool any = false;

		rc = find_lack(c, l.ids[i], o, &any, err);
		if (!any)
			continue;
		++*retired;
		rc = catalogue_retire(c, l.ids[i], id, o, err);
	}
	others_free(&l);
	return rc;
}

/* --- Paths that two datasets own --- */

struct overlaps {
	struct owners *t;
	struct owners_overlap *list; /* by id */
	size_t now;		     /* index of the dataset being read */
};

static void
count_path(struct owners_overlap *o, int64_t other, const char *path,
	   bool differ, bool again)
{
	if (other > o->other) {
		o->other = other;
		str_printable(o->path, sizeof(o->path), path);
	}
	o->files += !again;
	o->differ |= differ;
}

/* Compare with the previous dataset that owns the path, if any. */
static int
note(struct overlaps *s, const struct rank2file_file *f, struct error *err)
{
	struct owned *at = NULL, was;
	bool sums = false, differ = false, shared = false;

	if (f->path == NULL || f->nsegs > 0)
		return 0;
	at = owners_add(s->t, f->path, err);
	if (at == NULL)
		return -1;
	was = *at;
	if (was.left == s->now + 1)
		return 0;
	sums = was.has_crc && f->has_crc;
	differ = (sums && was.crc != f->crc) ||
		 (was.has_size && f->has_size && was.size != f->size);
	shared = was.left > 0 && (differ || !sums);
	if (shared) {
		struct owners_overlap *last = &s->list[was.left - 1];
		struct owners_overlap *now = &s->list[s->now];

		count_path(last, now->id, f->path, differ, was.kept);
		count_path(now, last->id, f->path, differ, false);
	}
	*at = (struct owned){
		.hash = was.hash,
		.left = (uint32_t)s->now + 1,
		.kept = shared,
		.has_size = f->has_size,
		.size = f->size,
		.has_crc = f->has_crc,
		.crc = f->crc,
	};
	return 0;
}

int
owners_overlaps(struct catalogue *c, const struct index *ix,
		const struct catalogue_options *o, struct owners_overlap **out,
		size_t *count, struct error *err)
{
	struct overlaps s = { .t = owners_new(err) };
	size_t n = 0;
	struct index_entry *e = index_entries(ix, &n, err);
	int rc = s.t == NULL || n == (size_t)-1 ? -1 : 0;

	*out = NULL;
	*count = 0;
	if (rc == 0) {
		s.list = mem_calloc(n + 1, sizeof(*s.list));
		rc = s.list == NULL ? error_no_memory(err) : 0;
	}
	/* The entries are in descending order of ids. */
	for (size_t i = n; rc == 0 && i-- > 0;) {
		const struct rank2file_file *f = NULL;
		struct error why = ERROR_INIT;
		struct catalogue_names names;

		if (!index_entry_valid(&e[i]))
			continue;
		s.list[s.now].id = e[i].id;
		rc = catalogue_names_of(c, e[i].id, o, &names, &why);
		while (rc == 0 && (f = catalogue_names_next(&names)) != NULL)
			rc = note(&s, f, &why);
		catalogue_names_free(&names);
		/* Unusable metadata are reported by the verification of the
		 * dataset. */
		if (rc < 0)
			rc = catalogue_is_verdict(&why) ? 0
							: error_pass(err, &why);
		s.now++;
	}
	for (size_t i = 0; i < s.now && rc == 0; i++)
		if (s.list[i].files > 0)
			s.list[(*count)++] = s.list[i];
	if (rc == 0)
		*out = s.list;
	else
		mem_free(s.list);
	mem_free(e);
	owners_free(s.t);
	return rc;
}
