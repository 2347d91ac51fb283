/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums_copied.c - checksums computed when files were copied from the caches
 * (meta/copied.h).  They are moved to rank2file.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue_impl.h"
#include "dir.h"
#include "error.h"
#include "meta/copied.h"
#include "meta/kvtree.h"
#include "path.h"

struct taking {
	const struct catalogue_dir *d;
	struct plan *p;
	struct catalogue_sums *sums;
	struct pathcache *files; /* stat cache of the prefix */
	struct arena *arena;	 /* reset for each rank */
	struct kvtree *tree;
	struct buf raw;
};

/* Is the file unchanged since it was copied? */
static bool
is_same(const struct taking *t, const struct copied_file *c)
{
	struct stat st;

	return pathcache_stat(t->files, c->path, &st, NULL) == 0 &&
	       (uint64_t)st.st_size == c->size &&
	       st.st_mtim.tv_sec == c->mtime.tv_sec &&
	       st.st_mtim.tv_nsec == c->mtime.tv_nsec;
}

static void
take_file(struct taking *t, size_t at, const struct copied_file *c)
{
	struct plan_file *f = &t->p->files[at];
	struct catalogue_sum *sum = &t->sums->list[at];

	if (f->state != FILE_PRESENT || f->nsegs > 0 || sum->known ||
	    f->attr.size != c->size || (f->has_crc && f->crc != c->crc) ||
	    !is_same(t, c))
		return;
	sum->known = true;
	sum->carried = !f->has_crc;
	sum->crc = c->crc;
	f->has_crc = true;
	f->crc = c->crc;
}

/* Find the record of each file.  Both lists usually have the same order, so
 * continue the search after the last match. */
static void
take_rank(struct taking *t, const struct plan_rank *r, const struct copied *c)
{
	for (size_t i = 0, k = 0; i < r->nfiles; i++) {
		const char *path = t->p->files[r->first_file + i].path;
		size_t tries = 0;

		if (path == NULL)
			continue;
		while (tries < c->nfiles && strcmp(c->files[k].path, path)) {
			k = (k + 1) % c->nfiles;
			tries++;
		}
		if (tries < c->nfiles)
			take_file(t, r->first_file + i, &c->files[k]);
	}
}

/* Ignore unreadable records: the data will be read again instead. */
static int
take_record(void *arg, const char *name, struct error *err)
{
	struct taking *t = arg;
	int64_t rank = copied_name_rank(name);
	struct error why = ERROR_INIT;
	struct copied c;

	if (rank < 0 || rank >= t->p->nranks || !t->p->ranks[rank].map_known)
		return 0;
	arena_reset(t->arena);
	if (kvtree_read_file_into(t->tree, t->d->fd, name, &t->raw, &why) ==
		    0 &&
	    copied_read(t->tree, t->arena, &c, &why) == 0)
		take_rank(t, &t->p->ranks[rank], &c);
	return why.kind == ERROR_NOMEM ? error_no_memory(err) : 0;
}

int
catalogue_copied_take(struct catalogue *c, const struct catalogue_dir *d,
		      struct plan *p, struct catalogue_sums *sums,
		      struct error *err)
{
	struct taking t = {
		.d = d,
		.p = p,
		.sums = sums,
		.files = pathcache_new(catalogue_prefix_fd(c)),
		.arena = arena_new(),
		.tree = kvtree_new(err),
	};
	int rc = -1;

	if (t.files == NULL || t.arena == NULL || t.tree == NULL)
		error_no_memory(err);
	else
		rc = dir_each(d->fd, d->name, take_record, &t, err);
	pathcache_free(t.files);
	arena_free(t.arena);
	kvtree_free(t.tree);
	buf_free(&t.raw);
	return rc;
}

static int
remove_record(void *arg, const char *name, struct error *err)
{
	const struct catalogue_dir *d = arg;

	if (copied_name_rank(name) >= 0 && unlinkat(d->fd, name, 0) < 0 &&
	    errno != ENOENT)
		return error_sys(err, "%s: cannot remove", name);
	return 0;
}

int
catalogue_copied_sweep(struct catalogue_dir *d, struct error *err)
{
	return dir_each(d->fd, d->name, remove_record, d, err);
}
