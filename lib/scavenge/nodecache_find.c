/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache_find.c - the directories of all datasets in a node's cache, and
 * removing one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scavenge/nodecache.h"
#include "scavenge/nodecache_impl.h"
#include "store/spill.h"
#include "str.h"

void
nodecache_note(struct arena *a, const char **problem, const struct error *why)
{
	if (*problem == NULL)
		*problem = arena_strdup(a, why->text);
}

bool
nodecache_hides(const struct error *why)
{
	return why->kind == ERROR_SYSTEM && why->errnum != ENOTDIR;
}

struct finding {
	struct arena *arena;
	struct nodecache_dataset *list;
	size_t count, cap;
	const char *problem;
	bool unread;
};

/* Note a problem of a directory or of the index.  One that hides datasets is
 * told rather than another. */
static void
note(struct finding *f, const struct error *why)
{
	if (nodecache_hides(why) && !f->unread)
		f->problem = NULL;
	f->unread = f->unread || nodecache_hides(why);
	nodecache_note(f->arena, &f->problem, why);
}

static struct nodecache_dataset *
add_dataset(struct finding *f, int64_t id)
{
	(void)MEM_ROOM(f->list, f->count, f->cap);
	f->list[f->count] = (struct nodecache_dataset){ .id = id, .world = -1 };
	return &f->list[f->count++];
}

/* Add the datasets of the cache index. */
static void
read_index(struct finding *f, const char *cntl)
{
	struct error why = ERROR_INIT;
	struct buf path = BUF_INIT;
	struct cindex_entry *e = NULL;
	struct kvtree *t = NULL;
	size_t count = SIZE_MAX;

	(void)path_join(&path, cntl, CINDEX_FILE, NULL);
	t = kvtree_read_file(AT_FDCWD, path.data, &why);
	if (t != NULL)
		e = cindex_entries(t, &count, &why);
	if (t != NULL && count == SIZE_MAX)
		error_wrap(&why, "%s", path.data);
	if (count == SIZE_MAX)
		note(f, &why);
	for (size_t i = 0; count != SIZE_MAX && i < count; i++) {
		struct nodecache_dataset *new = add_dataset(f, e[i].id);
		struct dataset found, *desc = NULL;

		error_clear(&why);
		new->bypass = e[i].bypass;
		if (e[i].path == NULL || e[i].path[0] != '/')
			error_set(&why, ERROR_CORRUPT,
				  CINDEX_FILE ": dataset %" PRId64
					      ": no absolute PATH",
				  e[i].id);
		else
			new->dir = arena_strdup(f->arena, e[i].path);
		/* Take what its descriptor says. */
		if (e[i].desc != NULL &&
		    dataset_read(e[i].desc, &found, &why) == 0) {
			desc = arena_alloc(f->arena, 1, sizeof(*desc));
			(void)dataset_copy(desc, &found, f->arena, NULL);
			new->desc = desc;
			new->name = desc->name;
			new->ckpt = desc->is_ckpt;
			new->output = desc->is_output;
			new->created = desc->created_us > 0
					       ? (uint64_t)desc->created_us
					       : 0;
		}
		if (why.kind != ERROR_NONE)
			nodecache_note(f->arena, &new->problem, &why);
	}
	mem_free(e);
	kvtree_free(t);
	buf_free(&path);
}

/* Add a directory found by scanning.  It completes an index entry with the same
 * id that lacks a usable directory; else it is a dataset of its own. */
static void
add_dir(struct finding *f, int64_t id, const char *path)
{
	struct nodecache_dataset *lost = NULL;
	struct stat here, there;

	if (stat(path, &here) < 0) {
		struct error why = ERROR_INIT;

		error_sys(&why, "%s: cannot read", path);
		if (errno != ENOENT)
			note(f, &why);
		return;
	}
	if (!S_ISDIR(here.st_mode))
		return;
	for (size_t i = 0; i < f->count; i++) {
		struct nodecache_dataset *e = &f->list[i];

		if (e->id != id)
			continue;
		if (e->dir == NULL || stat(e->dir, &there) < 0)
			lost = lost == NULL ? e : lost;
		else if (here.st_dev == there.st_dev &&
			 here.st_ino == there.st_ino)
			return;
	}
	if (lost == NULL)
		lost = add_dataset(f, id);
	lost->dir = arena_strdup(f->arena, path);
}

/* Scan `path` for datasets.  Its directories node.N are the nodes' views of one
 * store (scr-dataset(5)). */
static void
scan_cache(struct finding *f, const char *path, bool nodes)
{
	struct error why = ERROR_INIT;
	struct buf below = BUF_INIT;
	const struct dirent *de = NULL;
	DIR *dir = opendir(path);

	if (dir == NULL && errno == ENOENT)
		return; /* a node that never cached anything */
	if (dir == NULL) {
		error_sys(&why, "%s: cannot read", path);
		note(f, &why);
		return;
	}
	while ((de = readdir(dir)) != NULL) {
		const int64_t id = dataset_dir_id(de->d_name);

		(void)path_join(&below, path, de->d_name, NULL);
		if (id > 0)
			add_dir(f, id, below.data);
		else if (nodes && str_starts(de->d_name, "node."))
			scan_cache(f, below.data, false);
	}
	closedir(dir);
	buf_free(&below);
}

static int
compare_dataset(const void *x, const void *y)
{
	const struct nodecache_dataset *a = x, *b = y;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return strcmp(a->dir ? a->dir : "", b->dir ? b->dir : "");
}

void
nodecache_dirs(struct nodecache *n, const struct nodecache_where *w)
{
	struct finding f = { .arena = n->arena };

	if (w->cntl != NULL)
		read_index(&f, w->cntl);
	for (size_t i = 0; i < w->ncachedirs; i++)
		scan_cache(&f, w->cachedirs[i], true);
	n->problem = f.problem;
	n->unread = f.unread;
	n->datasets = arena_alloc(n->arena, f.count + 1, sizeof(*f.list));
	if (f.count > 0) {
		qsort(f.list, f.count, sizeof(*f.list), compare_dataset);
		memcpy(n->datasets, f.list, f.count * sizeof(*f.list));
		n->ndatasets = f.count;
	}
	mem_free(f.list);
}

int64_t
nodecache_named(const struct nodecache_where *w, const char *name,
		struct error *err)
{
	struct nodecache n = { .arena = arena_new() };
	int64_t id = -1, other = -1;

	nodecache_dirs(&n, w);
	for (size_t i = 0; i < n.ndatasets; i++) {
		const struct nodecache_dataset *d = &n.datasets[i];

		if (d->name == NULL || !str_eq(d->name, name) || d->id == id)
			continue;
		other = id;
		id = d->id;
	}
	if (id < 0)
		error_set(err, ERROR_ABSENT,
			  "name:%s: no dataset of this name in the cache",
			  str_shown(name));
	else if (other >= 0)
		id = error_set(err, ERROR_USAGE,
			       "name:%s: the name of several datasets: use "
			       "id:%" PRId64 " or id:%" PRId64,
			       str_shown(name), other, id);
	nodecache_free(&n);
	return id;
}

/* --- Removing a dataset --- */

static bool
is_there(const struct nodecache_dataset *d)
{
	return d->dir != NULL && access(d->dir, F_OK) == 0;
}

static int
remove_dataset(const struct nodecache_where *w,
	       const struct nodecache_dataset *d, uint64_t *bytes,
	       struct error *err)
{
	char store[PATH_MAX], at[PATH_MAX], cache[PATH_MAX];
	struct kvtree *t = NULL;
	bool ours = false;
	int dir = -1, rc = -1;

	/* Is the directory, whose path the cache index gives, one of a dataset
	 * with this number in a cache of the job? */
	if (is_there(d) && realpath(d->dir, at) != NULL &&
	    dataset_dir_id(path_base(at)) == d->id)
		for (size_t i = 0; i < w->ncachedirs; i++)
			ours = ours ||
			       (realpath(w->cachedirs[i], cache) != NULL &&
				path_below(at, cache) != NULL);
	/* Another node may remove it from a shared cache meanwhile. */
	if (!ours && is_there(d))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not in a cache of the job", d->dir);
	if (is_there(d))
		(void)io_tree_size(AT_FDCWD, d->dir, bytes, NULL);
	/* The entry of the cache index goes before the directory, as one that
	 * is not whole must not be listed. */
	dir = dir_open(AT_FDCWD, w->cntl);
	if (dir < 0)
		return error_sys(err, "%s: cannot open", w->cntl);
	t = kvtree_read_file(dir, CINDEX_FILE, err);
	if (t != NULL) {
		cindex_remove(t, d->id);
		rc = kvtree_write_file(t, dir, CINDEX_FILE, err);
	}
	kvtree_free(t);
	close(dir);
	if (rc < 0)
		return error_wrap(err, "%s", w->cntl);
	if (d->dir == NULL)
		return 0;
	/* BASE/USER is perhaps a store in memory. */
	snprintf(store, sizeof(store), "%s/../..", d->dir);
	spill_forget(store, AT_FDCWD, d->dir);
	return io_remove_tree(AT_FDCWD, d->dir, err);
}

int
nodecache_clean(const struct nodecache_where *w, int64_t id, uint64_t created,
		uint64_t *bytes, struct error *err)
{
	struct nodecache n = { .arena = arena_new() };
	uint64_t other = 0;
	size_t removed = 0;
	int rc = 0;

	*bytes = 0;
	nodecache_dirs(&n, w);
	for (size_t i = 0; rc == 0 && i < n.ndatasets; i++) {
		const struct nodecache_dataset *d = &n.datasets[i];

		if (d->id != id)
			continue;
		if (d->created != created) {
			other = d->created > 0 ? d->created : other;
			continue;
		}
		rc = remove_dataset(w, d, bytes, err);
		removed++;
	}
	if (rc == 0 && removed == 0 && other > 0)
		rc = error_set(err, ERROR_ABSENT,
			       "dataset %" PRId64
			       ": not removed: it was created at %" PRIu64
			       ", not at %" PRIu64,
			       id, other, created);
	nodecache_free(&n);
	return rc == 0 && removed == 0 ? 1 : rc;
}
