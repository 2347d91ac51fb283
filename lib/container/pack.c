/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.c - pack files into containers.
 *
 *   look     stat all files, check their sizes, keep their attributes
 *   cut      order, segment map, room on the file system
 *   write    files -> containers, with checksums of both
 *   confirm  read containers again, compare checksums
 *   switch   packed.*.scr, parts of rank2file, and by one rename its top file
 *   sweep    remove originals
 */
#include "container/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "container/extract.h"
#include "container/marks.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "par.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "temp.h"
#include "transfer/put.h"
#include "work.h"

#define PART_STEM "rank2file."

/* Count the packed files of `m`, their bytes and containers. */
static void
count(const struct segmap *m, struct pack_result *out)
{
	out->bytes = m->bytes;
	out->containers = m->ncontainers;
	out->files = 0;
	for (size_t i = 0; i < m->nfiles; i++)
		out->files += m->files[i].nsegs > 0;
}

void
pack_init(struct packing *w, struct packed *p, const struct pack_options *po,
	  struct pack_result *out)
{
	*w = (struct packing){
		.p = p,
		.po = po,
		.out = out,
		.arena = arena_new(),
		.parents = pathcache_new(p->file_fd),
		.meta = pathcache_new(p->meta_fd),
	};
	*out = (struct pack_result){ .files = 0 };
	count(&p->map, out);
}

void
pack_fini(struct packing *w)
{
	segmap_free(&w->map);
	hidden_free(&w->hidden);
	pathcache_free(w->parents);
	pathcache_free(w->meta);
	arena_free(w->arena);
}

/* Call fn for each i below `count` in several threads, each with caches of its
 * own: w->caches[worker]. */
static int
each_file(struct packing *w, size_t count,
	  int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	  struct error *err)
{
	struct par *par = work_waiting(w->po->work, w->p->file_fd);
	const unsigned n = par_threads(par);
	int rc = -1;

	w->caches = mem_calloc(n, sizeof(*w->caches));
	rc = par_for(par, count, 4, fn, w, err);
	for (unsigned i = 0; i < n; i++)
		pathcache_pair_fini(&w->caches[i]);
	mem_free(w->caches);
	return rc;
}

/* --- Look --- */

/* Report why a file cannot be packed. */
static int
bad_file(const struct segmap_file *f, const char *why, struct error *err)
{
	return error_set_remedy(err, REMEDY_REBUILD, ERROR_DAMAGED,
				"%s (rank %" PRIu32 "): %s", str_shown(f->path),
				f->rank, why);
}

/* stat one file, which must be a regular file of the recorded size; no link is
 * followed. */
static int
look_at(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct packing *w = arg;
	struct segmap_file *f = &w->map.files[i];
	struct error why = ERROR_INIT;
	struct stat *st = &w->stats[i];
	struct pathcache *dirs =
		pathcache_pair_at(&w->caches[worker], w->p->file_fd);

	if (pathcache_lstat(dirs, f->path, st, &why) < 0)
		return why.kind == ERROR_ABSENT ? bad_file(f, "missing", err)
						: error_pass(err, &why);
	if (!S_ISREG(st->st_mode)) {
		bad_file(f, "not a plain file: it cannot be packed", err);
		return error_remedy(err, REMEDY_NONE);
	}
	if (f->has_size && f->size != (uint64_t)st->st_size)
		return bad_file(f,
				str_printed(128,
					    "%" PRIu64
					    " bytes long, should be %" PRIu64,
					    (uint64_t)st->st_size, f->size),
				err);
	f->size = (uint64_t)st->st_size;
	f->has_size = true;
	attr_from_stat(&f->attr, st);
	return 0;
}

static int
look(struct packing *w, struct error *err)
{
	const struct segmap *from = &w->p->map;

	for (size_t i = 0; i < w->p->r2f.nranks; i++)
		if (!w->p->r2f.ranks[i].present ||
		    w->p->r2f.ranks[i].expected > w->p->r2f.ranks[i].nfiles)
			return error_set_remedy(
				err, REMEDY_INDEX, ERROR_DAMAGED,
				"%s: files of rank %zu are missing: build the "
				"dataset again",
				w->p->dir, i);
	(void)hidden_init(&w->hidden, NULL);
	w->hidden.has_attrs = true;
	w->stats = arena_alloc(w->arena, from->nfiles + 1, sizeof(*w->stats));
	if (segmap_refuse_twins(from, NULL, ERROR_USAGE, "cannot be packed",
				err) < 0 ||
	    pack_sort(w, err) < 0)
		return -1;
	return each_file(w, w->map.nfiles, look_at, err);
}

/* --- Write --- */

/* Is it the same file, unchanged? */
static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Check that original `i` did not change meanwhile. */
static int
check_unchanged(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct packing *w = arg;
	const char *path = w->map.files[i].path;
	struct stat st;

	if (pathcache_lstat(
		    pathcache_pair_at(&w->caches[worker], w->p->file_fd), path,
		    &st, err) < 0)
		return -1;
	if (!same_file(&st, &w->stats[i]))
		return error_set(err, ERROR_SYSTEM,
				 "%s: changed while it was packed",
				 str_shown(path));
	return 0;
}

/* --- Leftovers --- */

static void
name_all(struct map *named, const struct segmap *m)
{
	for (size_t i = 0; m != NULL && i < m->ncontainers; i++)
		map_put(named, m->containers[i].name, 0);
}

int
pack_sweep(const struct packed *p, const struct segmap *data,
	   const struct segmap *red, bool dry_run, size_t *count,
	   struct error *err)
{
	const int fd = dir_open_plain(p->root_fd, SEGMAP_DIR);
	const char *name = NULL;
	struct map *named = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot open", SEGMAP_DIR);
	named = map_new();
	name_all(named, data);
	name_all(named, red);
	rc = dir_walk(&w, fd, SEGMAP_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const char *full =
			str_printed(NAME_MAX + sizeof(SEGMAP_DIR) + 2,
				    SEGMAP_DIR "/%s", name);

		if ((!segmap_is_container(name) && !temp_is(name)) ||
		    map_get(named, full) != MAP_NONE)
			continue;
		if (!dry_run && unlinkat(fd, name, 0) < 0) {
			if (errno != ENOENT && errno != EISDIR)
				rc = error_sys(err, "%s: cannot remove", full);
		} else if (count != NULL && !temp_is(name)) {
			++*count;
		}
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	map_free(named);
	return rc;
}

/* --- Parts of rank2file --- */

/* Is this the name of a part: "rank2file.0.1", in layout 1
 * "rank2file.0.1.scr"? */
static bool
is_part(const struct packed *p, const char *name)
{
	const char *end = NULL;
	uint64_t n = 0;

	if (!str_starts(name, PART_STEM))
		return false;
	end = value_scan(name + strlen(PART_STEM), INT64_MAX, &n);
	if (end == NULL || *end != '.')
		return false;
	end = value_scan(end + 1, INT64_MAX, &n);
	return end != NULL && str_eq(end, p->layout == 1 ? ".scr" : "");
}

int
pack_sweep_parts(const struct packed *p, struct error *err)
{
	struct map *named = map_new();
	const struct kvtree *k = NULL;
	const char *name = NULL;
	uint64_t level = 0;
	struct dir_walk w;
	int rc = 0;

	/* The top file gives the end of a part's name only; in layout 1, its
	 * path from the dataset's directory. */
	kvtree_foreach (k, kvtree_get(p->r2f.top, "RANK")) {
		const char *file = kvtree_value(k, "FILE");

		if (file == NULL)
			continue;
		map_put(named,
			p->layout == 1
				? path_base(file)
				: arena_printf(p->arena, "%s%s", p->base, file),
			0);
	}
	/* If there are more levels, which only LLNL's library writes, the top
	 * file does not name all parts: remove none. */
	if (kvtree_u64(p->r2f.top, "LEVEL", INT64_MAX, &level, NULL) < 0)
		level = 0;
	rc = dir_walk(&w, p->meta_fd, p->dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		char first[NAME_MAX + 1];
		const bool copy = dataset_dir_is_copy(name, first);
		bool stale = level == 1 && is_part(p, first) &&
			     map_get(named, first) == MAP_NONE;

		/* Only packed datasets have copies. */
		if (copy && !p->is_packed &&
		    (is_part(p, first) || str_eq(first, p->base)))
			stale = true;
		if ((stale || temp_is(name)) &&
		    unlinkat(p->meta_fd, name, 0) < 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot remove", name);
	}
	rc = dir_done(&w, rc, err);
	map_free(named);
	return rc < 0 ? -1 : hidden_sweep(p->meta_fd, &p->r2f, err);
}

/* --- Originals --- */

/* Find the originals of files in `m` that another dataset owns, too. */
static int
find_shared(struct packing *w, const struct segmap *m, struct error *err)
{
	const struct pack_keep *others = &w->po->others;
	const char **paths =
		arena_alloc(w->arena, m->nfiles + 1, sizeof(*paths));

	w->shared = arena_alloc(w->arena, m->nfiles + 1, sizeof(*w->shared));
	/* Files of layout 1 have a directory of their own. */
	if (others->fn == NULL || w->p->layout == 1)
		return 0;
	for (size_t i = 0; i < m->nfiles; i++)
		paths[i] = m->files[i].path;
	if (others->fn(others->arg, paths, m->nfiles, w->shared, err) < 0)
		return -1;
	for (size_t i = 0; i < m->nfiles; i++)
		w->out->shared += w->shared[i] && m->files[i].nsegs > 0;
	if (w->out->shared > 0)
		work_say(w->po->work, "%s: %zu %s another dataset, too: kept",
			 w->p->name, w->out->shared,
			 w->out->shared == 1 ? "file belongs to"
					     : "files belong to");
	return 0;
}

/* Remove one original (a dry run: count it), unless it changed since it was
 * packed. */
static int
remove_original(struct packing *w, struct pathcache *dir, const char *path,
		const struct stat *was, struct error *err)
{
	struct error why = ERROR_INIT;
	const char *base = NULL;
	int parent = pathcache_parent(dir, path, &base, &why);
	struct stat st;

	if (parent < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	if (dir_stat(parent, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot stat", path);
	if (!same_file(&st, was)) {
		atomic_fetch_add(&w->left, 1);
		work_say(w->po->work, "%s: changed since it was packed: kept",
			 path);
		return 0;
	}
	if (!w->po->work->dry_run && unlinkat(parent, base, 0) < 0)
		return error_sys(err, "%s: cannot remove", path);
	atomic_fetch_add(&w->removed, 1);
	return 0;
}

/* Remove original `i`: a file with segments (empty files remain files), or,
 * counted after all files, a metadata file. */
static int
remove_one(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct packing *w = arg;
	const bool data = i < w->map.nfiles;
	const size_t k = data ? i : i - w->map.nfiles;
	struct pathcache *dirs = pathcache_pair_at(
		&w->caches[worker], data ? w->p->file_fd : w->p->meta_fd);

	if (!data)
		return remove_original(w, dirs, w->hidden.map.files[k].path,
				       &w->red_stats[k], err);
	return w->map.files[k].nsegs == 0 || w->shared[k]
		       ? 0
		       : remove_original(w, dirs, w->map.files[k].path,
					 &w->stats[k], err);
}

static int
remove_originals(struct packing *w, struct error *err)
{
	return find_shared(w, &w->map, err) < 0
		       ? -1
		       : each_file(w, w->map.nfiles + w->hidden.map.nfiles,
				   remove_one, err);
}

/* --- All steps --- */

/* Remove metadata files that are equal to their packed contents, and originals
 * with the same bytes and times as packed. */
static int
sweep_originals(struct packing *w, struct error *err)
{
	const struct packed *p = w->p;

	if (find_shared(w, &p->map, err) < 0)
		return -1;
	for (size_t i = 0; i < p->hidden.map.nfiles; i++) {
		const struct segmap_file *f = &p->hidden.map.files[i];
		bool same = false;
		struct stat st;

		if (dir_stat(p->meta_fd, f->path, &st, AT_SYMLINK_NOFOLLOW) <
			    0 ||
		    !S_ISREG(st.st_mode) ||
		    (uint64_t)st.st_size != f->attr.size)
			continue;
		if (pack_compare(p, true, i, w->po->work, &same, err) < 0)
			return -1;
		if (same && remove_original(w, w->meta, f->path, &st, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->map.nfiles; i++) {
		const struct segmap_file *f = &p->map.files[i];
		const struct attr *a = &f->attr;
		struct stat st;
		bool same = false;

		if (f->nsegs == 0 || w->shared[i] || !a->has_times ||
		    pathcache_absent(w->parents, f->path) ||
		    pathcache_stat(w->parents, f->path, &st, NULL) < 0)
			continue;
		if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == f->size &&
		    st.st_mtim.tv_sec == a->mtime.tv_sec &&
		    st.st_mtim.tv_nsec == a->mtime.tv_nsec &&
		    pack_compare(p, false, i, w->po->work, &same, err) < 0)
			return -1;
		if (!same)
			w->left++;
		else if (remove_original(w, w->parents, f->path, &st, err) < 0)
			return -1;
	}
	return 0;
}

/* Remove what an interrupted unpack left under temporary names. */
static int
sweep_temps(const struct packing *w, struct error *err)
{
	const struct packed *p = w->p;
	struct put *put = put_new(&(struct put_options){ .par = NULL }, NULL);
	struct put_what what = { .dirfd = p->file_fd };
	int rc = 0;

	for (size_t i = 0; i < p->map.nfiles; i++) {
		what.path = p->map.files[i].path;
		(void)put_add(put, &what, NULL);
	}
	rc = put_clear(put, err);
	put_free(put);
	return rc;
}

/* Remove leftovers of an interrupted run, and (not with --keep) originals. */
static int
sweep_leftovers(struct packing *w, struct error *err)
{
	const bool dry = w->po->work->dry_run;
	struct packed *p = w->p;

	if (packed_refuse_incomplete(p, err) < 0 ||
	    (!dry && pack_forget_replaced(p, w->po->work, err) < 0) ||
	    pack_sweep(p, &p->map, &p->hidden.map, dry, &w->out->removed, err) <
		    0 ||
	    (!dry &&
	     (pack_sweep_parts(p, err) < 0 || sweep_temps(w, err) < 0)) ||
	    (!w->po->keep && sweep_originals(w, err) < 0))
		return -1;
	/* Write the map again if a file of it is damaged, or has no second
	 * copy.  Last, because the parts listed in p->r2f are removed. */
	if (dry || (p->flaw == NULL && packed_has_copy(p)))
		return 0;
	return pack_switch(p, &p->map, &p->hidden, false, err);
}

/* Keep the attributes of the directories of the files. */
static int
list_dirs(struct packing *w, struct error *err)
{
	struct packed_dirs dirs;
	int rc = packed_dirs(w->p, NULL,
			     work_waiting(w->po->work, w->p->file_fd), w->arena,
			     &dirs, err);

	for (size_t i = 0; rc == 0 && i < dirs.count; i++)
		rc = hidden_add_dir(&w->hidden, dirs.list[i].path,
				    &dirs.list[i].attr, err);
	return rc;
}

static int
pack_new(struct packing *w, struct error *err)
{
	const struct pack_options *po = w->po;
	struct packed *p = w->p;
	uint64_t size = po->size > 0 ? po->size : SEGMAP_SIZE_DEFAULT;
	struct rank2file now;
	int rc = 0;

	/* In layout 1 the dataset is a copy. */
	if (look(w, err) < 0 || (p->layout == 3 && list_dirs(w, err) < 0) ||
	    segmap_cut(&w->map, SEGMAP_DATA, size, 0, err) < 0 ||
	    (po->redundancy && pack_hidden_list(w, size, err) < 0))
		return -1;
	if (w->copied == NULL)
		w->out->spare = pack_judge(w, &w->map);
	if (room_check(p->root_fd, w->map.bytes + w->hidden.map.bytes,
		       "the containers", err) < 0)
		return -1;
	if (po->work->dry_run)
		return po->keep ? 0 : remove_originals(w, err);
	/* The directory of the containers, in layout 1 that of the metadata. */
	if (create_dir(p->root_fd, SEGMAP_DIR, 0777,
		       create_owner(p->root_fd)) == 0)
		rc = io_sync_dir(p->root_fd, p->root, err);
	else if (errno != EEXIST)
		rc = error_sys(err, "%s/%s: cannot make", p->root, SEGMAP_DIR);
	if (rc < 0 || marks_remove(p->meta_fd, err) < 0 ||
	    pack_sweep(p, NULL, NULL, false, NULL, err) < 0 ||
	    pack_sweep_parts(p, err) < 0 ||
	    pack_write(w, &w->map, p->file_fd, err) < 0 ||
	    (po->redundancy &&
	     pack_write(w, &w->hidden.map, p->meta_fd, err) < 0) ||
	    each_file(w, w->map.nfiles, check_unchanged, err) < 0 ||
	    (w->copied != NULL && pack_old_finish(w, w->copied, err) < 0) ||
	    pack_switch(p, &w->map, &w->hidden, true, err) < 0) {
		/* Remove what was written, unless the new map is in place. */
		if (rank2file_load(p->meta_fd, p->base, &now, NULL) < 0)
			return -1;
		if (!segmap_is_packed(&now)) {
			(void)pack_sweep(p, NULL, NULL, false, NULL, NULL);
			(void)pack_sweep_parts(p, NULL);
			if (p->layout == 3)
				(void)unlinkat(p->root_fd, SEGMAP_DIR,
					       AT_REMOVEDIR);
		}
		rank2file_free(&now);
		return -1;
	}
	return po->keep ? 0 : remove_originals(w, err);
}

int
pack(struct packed *p, const struct pack_options *po, struct pack_result *out,
     struct error *err)
{
	struct packing w;
	struct packed q;
	int rc = 0;

	pack_init(&w, p, po, out);
	if (po->layout == 1 && p->layout == 3) {
		rc = pack_old_open(&q, p, err);
		w.p = &q;
		w.copied = p;
		if (rc == 0)
			rc = pack_new(&w, err);
		io_close(q.meta_fd);
		io_close(q.root_fd);
	} else {
		rc = p->is_packed ? sweep_leftovers(&w, err)
				  : pack_new(&w, err);
	}
	if (rc < 0)
		room_explain(p->root_fd, 0, err);
	out->removed += w.removed;
	out->left += w.left;
	out->done_before = p->is_packed;
	if (!p->is_packed)
		count(&w.map, out);
	out->containers += w.hidden.map.ncontainers;
	out->hidden = w.hidden.map.nfiles;
	pack_fini(&w);
	return rc;
}
