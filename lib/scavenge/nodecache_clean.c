/* SPDX-License-Identifier: BSD-3-Clause */
/* nodecache_clean.c - remove a dataset from the cache of a node. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/cindex.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scavenge/nodecache.h"

/* Is the directory, whose path the cache index gives, one of a dataset with
 * this number in a cache of the job? */
static bool
is_in_cache(const struct nodecache_where *w, const char *dir, int64_t id)
{
	char at[PATH_MAX], cache[PATH_MAX];
	bool is = false;

	if (realpath(dir, at) == NULL || dataset_dir_id(path_base(at)) != id)
		return false;
	for (size_t i = 0; i < w->ncachedirs && !is; i++)
		is = realpath(w->cachedirs[i], cache) != NULL &&
		     path_below(at, cache) != NULL;
	return is;
}

/* Remove the entry of the cache index: before the directory, as one that is not
 * whole must not be listed. */
static int
forget(const struct nodecache_where *w, int64_t id, struct error *err)
{
	int dir = dir_open(AT_FDCWD, w->cntl), rc = -1;
	struct kvtree *t = NULL;

	if (dir < 0)
		return error_sys(err, "%s: cannot open", w->cntl);
	t = kvtree_read_file(dir, CINDEX_FILE, err);
	if (t != NULL) {
		cindex_remove(t, id);
		rc = kvtree_write_file(t, dir, CINDEX_FILE, err);
	}
	kvtree_free(t);
	close(dir);
	return rc < 0 ? error_wrap(err, "%s", w->cntl) : 0;
}

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
	/* Another node may remove it from a shared cache meanwhile. */
	if (is_there(d) && !is_in_cache(w, d->dir, d->id) && is_there(d))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not in a cache of the job", d->dir);
	if (is_there(d))
		(void)io_tree_size(AT_FDCWD, d->dir, bytes, NULL);
	if (forget(w, d->id, err) < 0)
		return -1;
	return d->dir == NULL ? 0 : io_remove_tree(AT_FDCWD, d->dir, err);
}

int
nodecache_clean(const struct nodecache_where *w, int64_t id, uint64_t created,
		uint64_t *bytes, struct error *err)
{
	struct nodecache n = { .arena = arena_new() };
	int rc = n.arena == NULL ? error_no_memory(err)
				 : nodecache_dirs(&n, w, err);
	uint64_t other = 0;
	size_t removed = 0;

	*bytes = 0;
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
