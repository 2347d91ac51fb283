/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - copy a dataset from the cache of a node to the prefix: find ranks
 * and files, run the copy, report a full file system.
 */
#include "scavenge/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "par.h"
#include "progress.h"
#include "rescue/recorded.h"
#include "room.h"
#include "scavenge/copy_impl.h"
#include "transfer/pump.h"

/*
 * A block of this size stays in the processor's cache until it is summed and
 * written.  With blocks of 32 MiB, the default of SCR_FILE_BUF_SIZE, it would
 * have to come from memory each time.  The kernel merges the writes.
 */
#define BLOCK_MAX ((size_t)1 << 20)

/* --- The cache --- */

/* Open all cache directories of the dataset. */
static int
open_dirs(struct copier *c, const struct nodecache_where *w, struct error *err)
{
	struct nodecache n = { .arena = c->arena };
	const char *problem = NULL;

	nodecache_dirs(&n, w);
	problem = n.problem;
	c->dirs = arena_alloc(c->arena, n.ndatasets + 1, sizeof(*c->dirs));
	for (size_t i = 0; i < n.ndatasets; i++) {
		const struct nodecache_dataset *d = &n.datasets[i];
		struct nodecache_dir *dir = &c->dirs[c->ndirs];
		struct error why = ERROR_INIT;

		if (d->id != c->o->id)
			continue;
		if (d->problem != NULL)
			problem = d->problem;
		/* Keep the descriptor for the records of the ranks. */
		if (c->desc == NULL && d->desc != NULL &&
		    d->desc->id == c->o->id) {
			c->desc = kvtree_new(NULL);
			(void)dataset_write(c->desc, d->desc, NULL);
		}
		if (d->dir == NULL)
			continue;
		if (nodecache_dir_open(dir, d->dir, &why) == 0) {
			c->ndirs++;
			continue;
		}
		nodecache_dir_close(dir);
		copy_blame(c, NULL, &why);
		problem = "it cannot be read";
	}
	if (c->ndirs > 0)
		return 0;
	return error_set(err, ERROR_ABSENT,
			 "dataset %" PRId64 ": not in the cache of this node%s"
			 "%s",
			 c->o->id, problem != NULL ? ": " : "",
			 problem != NULL ? problem : "");
}

/* --- Ranks --- */

/* Order by rank.  If a rank has two slots, the one with a filemap comes
 * first. */
static int
compare_rank(const void *x, const void *y)
{
	const struct copy_rank *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->slot->map != b->slot->map)
		return a->slot->map ? -1 : 1;
	return (a->dir > b->dir) - (a->dir < b->dir);
}

static void
find_ranks(struct copier *c)
{
	size_t max = 1, count = 0;
	struct error why = ERROR_INIT;
	struct stat st;

	for (size_t d = 0; d < c->ndirs; d++)
		max += c->dirs[d].count;
	c->ranks = arena_alloc(c->arena, max, sizeof(*c->ranks));
	c->waiting = arena_alloc(c->arena, max, sizeof(*c->waiting));
	for (size_t d = 0; d < c->ndirs; d++)
		for (size_t i = 0; i < c->dirs[d].count; i++) {
			const struct nodecache_slot *s = &c->dirs[d].slots[i];
			struct copy_rank *r = &c->ranks[c->nranks];

			if (c->o->ranks != NULL &&
			    !copy_ranks_has(c->o->ranks, s->rank))
				continue;
			r->rank = s->rank;
			r->dir = &c->dirs[d];
			r->slot = s;
			c->nranks++;
		}
	/* Sort the ranks, keep one slot of each, and read the filemaps. */
	count = c->nranks;
	if (count > 0)
		qsort(c->ranks, count, sizeof(*c->ranks), compare_rank);
	c->nranks = 0;
	for (size_t i = 0; i < count; i++) {
		struct copy_rank *r = &c->ranks[c->nranks];

		if (c->nranks > 0 && r[-1].rank == c->ranks[i].rank)
			continue;
		*r = c->ranks[i];
		/* Metadata on the prefix get the permissions that the filemap
		 * has in the cache. */
		r->mode = dir_stat(r->dir->meta, filemap_str(r->rank), &st,
				   AT_SYMLINK_NOFOLLOW) == 0 &&
					  S_ISREG(st.st_mode)
				  ? (st.st_mode & 0666) | 0600
				  : 0644;
		c->nranks++;
		if (r->slot->map) {
			r->map_here = nodecache_dir_map(r->dir->meta, r->rank,
							&r->image, &r->map,
							c->arena, &why) == 0;
			if (r->map_here)
				continue;
			copy_blame(c, r, &why);
			error_clear(&why);
			c->r->bad++;
		}
		/* If the filemap in the cache is missing or damaged, read one
		 * that was rebuilt on the prefix. */
		if (c->meta_fd < 0 ||
		    nodecache_dir_map(c->meta_fd, r->rank, &r->image, &r->map,
				      c->arena, NULL) < 0)
			r->map = (struct filemap){ .ranks = -1 };
	}
}

/* --- Files --- */

static struct copy_item *
add_item(struct copier *c, struct copy_rank *r)
{
	(void)MEM_ROOM(c->items, c->nitems, c->items_cap);
	r->count++;
	c->items[c->nitems] = (struct copy_item){
		.rank = (size_t)(r - c->ranks),
	};
	return &c->items[c->nitems++];
}

/* Mark the item bad without trying to copy it. */
static void
refuse(struct copier *c, struct copy_item *it, const struct error *why)
{
	copy_blame(c, &c->ranks[it->rank], why);
	it->state = COPY_BAD;
}

/* --- The paths of the prefix --- */

/* Filemaps have absolute paths, and the prefix may have another path now:
 * another name of the same directory, or a new place. */

/* If `path` lies below a known path of the prefix, return the rest of it. */
static const char *
below_known(const struct copier *c, const char *path)
{
	const char *rel = NULL;

	for (size_t i = 0; i < 3 && rel == NULL; i++)
		if (c->roots[i] != NULL)
			rel = path_below(path, c->roots[i]);
	return rel;
}

/* No file lies below a known path.  The prefix has another name, which is the
 * longest leading part of the common one that is the same directory; or it was
 * moved, and `prefix` (may be NULL) is the path that a filemap records. */
static int
find_moved(struct copier *c, const struct recorded *r, const char *prefix,
	   struct error *err)
{
	const char *common = r->common.len > 0 ? r->common.data : "/";
	char *path = arena_strdup(c->arena, common);
	struct stat here, there;

	if (fstat(c->prefix_fd, &here) == 0)
		for (; path[0] == '/' && path[1] != '\0';
		     *strrchr(path, '/') = '\0')
			if (stat(path, &there) == 0 &&
			    here.st_dev == there.st_dev &&
			    here.st_ino == there.st_ino) {
				c->roots[2] = path;
				return 0;
			}
	if (prefix == NULL || path_below(common, prefix) == NULL)
		return error_set(
			err, ERROR_USAGE,
			"%s: the filemaps name files below %s: give the old "
			"name of the prefix with --moved-from",
			c->o->prefix, common);
	c->roots[2] = arena_strdup(c->arena, prefix);
	return 0;
}

/* Store `path` as c->roots[i], normalised, or with `resolve` with its links
 * resolved. */
static int
add_root(struct copier *c, size_t i, const char *path, bool resolve,
	 struct error *err)
{
	struct buf name = BUF_INIT;
	int rc = resolve ? path_real(path, &name, err)
			 : path_normal(path, &name, err);

	if (rc == 0 && name.data[0] == '/')
		c->roots[i] = arena_strdup(c->arena, name.data);
	buf_free(&name);
	return rc;
}

/* Find the paths that metadata use for the prefix: c->roots. */
static int
find_roots(struct copier *c, struct error *err)
{
	struct recorded r = { .seen = 0 };
	const char *prefix = NULL;
	bool here = false;
	int rc = 0;

	/* With --moved-from, no other path counts. */
	if (c->o->moved_from != NULL)
		return add_root(c, 0, c->o->moved_from, false, err);
	if (add_root(c, 0, c->o->prefix, true, err) < 0 ||
	    add_root(c, 1, c->o->prefix, false, err) < 0)
		return -1;
	for (size_t i = 0; i < c->nranks; i++) {
		const struct filemap *m = &c->ranks[i].map;

		if (prefix == NULL)
			prefix = m->prefix; /* under our own key */
		for (size_t j = 0; j < m->nfiles; j++) {
			const struct filemap_file *f = &m->files[j];

			if (f->dir == NULL || f->name == NULL ||
			    f->dir[0] != '/')
				continue;
			(void)recorded_show(&r, f, NULL);
			here = here || below_known(c, r.dir.data) != NULL;
		}
	}
	if (!here && r.seen > 0)
		rc = find_moved(c, &r, prefix, err);
	recorded_free(&r);
	return rc;
}

static void
add_file(struct copier *c, struct copy_rank *r, const struct filemap_file *f)
{
	struct copy_item *it = add_item(c, r);
	struct error why = ERROR_INIT;
	const char *path = NULL, *rel = NULL;

	it->file = f;
	it->attr = &f->attr;
	it->from = path_base(f->cache_path);
	it->bypass = nodecache_dir_bypass(f);
	/* The target below the prefix. */
	if (f->dir != NULL && f->name != NULL) {
		path = path_normal_in(c->arena, f->dir, f->name, NULL);
		rel = below_known(c, path);
	}
	if (path == NULL)
		error_set(&why, ERROR_CORRUPT, "%s: no PATH or NAME recorded",
			  f->cache_path);
	else if (rel == NULL || !path_is_clean(rel))
		error_set(&why, ERROR_UNSAFE, "%s: is outside of the prefix %s",
			  path, c->roots[0]);
	else if (!dataset_dir_is_data(rel))
		error_set(&why, ERROR_UNSAFE,
			  "%s: a job has no files among the metadata", rel);
	else
		it->rel = rel;
	if (it->rel != NULL && !f->attr.has_size)
		error_set(&why, ERROR_CORRUPT, "%s: no SIZE recorded", rel);
	else if (it->rel != NULL && !f->complete)
		error_set(&why, ERROR_DAMAGED, "%s: was never completed", rel);
	if (why.kind != ERROR_NONE)
		refuse(c, it, &why);
}

static void
find_items(struct copier *c)
{
	struct map *seen = map_new();
	struct error why = ERROR_INIT;
	struct stat st;

	for (size_t i = 0; i < c->nranks; i++) {
		struct copy_rank *r = &c->ranks[i];

		r->first = c->nitems;
		for (size_t k = 0; k < r->map.nfiles; k++)
			add_file(c, r, &r->map.files[k]);
		for (size_t k = 0; k < r->slot->nred; k++) {
			struct copy_item *it = add_item(c, r);
			struct attr *attr =
				arena_alloc(c->arena, 1, sizeof(*attr));

			it->from = r->slot->red[k];
			it->attr = attr;
			it->rel = arena_printf(c->arena, "%s/%s", c->meta,
					       it->from);
			error_clear(&why);
			if (path_stat_beneath(r->dir->meta, it->from, &st,
					      &why) == 0 &&
			    !S_ISREG(st.st_mode))
				error_set(&why, ERROR_DAMAGED,
					  "%s: not a regular file", it->from);
			if (why.kind == ERROR_NONE)
				attr_from_stat(attr, &st);
			else
				refuse(c, it, &why);
		}
		r->left = r->count;
	}
	/* If two files have the same target, copy the first and refuse the
	 * other. */
	for (size_t i = 0; i < c->nitems; i++) {
		struct copy_item *it = &c->items[i];

		if (it->state != COPY_BAD &&
		    map_get(seen, it->rel) != MAP_NONE) {
			error_clear(&why);
			error_set(&why, ERROR_DAMAGED,
				  "%s: its path is that of another file",
				  it->from);
			refuse(c, it, &why);
		} else if (it->state != COPY_BAD) {
			(void)map_put(seen, it->rel, i);
		}
		c->open_bytes += copy_item_bytes(it);
	}
	map_free(seen);
	progress_phase(c->o->work->progress, "copying", c->open_bytes);
}

/* --- Run --- */

/* Copy the ranks that this process has locked. */
static int
copy_ours(struct copier *c, struct error *err)
{
	const bool dry = c->o->work->dry_run;
	int rc = 0;

	for (size_t i = 0; i < c->nranks && rc == 0 && !dry; i++)
		if (c->ranks[i].ours && c->ranks[i].count == 0)
			rc = copy_rank_finish(c, &c->ranks[i], err);
	if (rc == 0)
		rc = par_for(c->par, c->nitems, 1, copy_item, c, err);
	if (dry)
		return rc;
	/* Put all complete files in place and record them, even if others
	 * failed. */
	if (put_settle(c->put, 0, rc == 0 ? err : NULL) < 0 ||
	    copy_rank_finish_all(c, rc == 0 ? err : NULL) < 0)
		rc = -1;
	if (rc < 0)
		(void)copy_rank_record(c, NULL);
	return rc;
}

/* Open the prefix, and the directory of the dataset's metadata in it. */
static int
open_prefix(struct copier *c, struct error *err)
{
	struct error why = ERROR_INIT;
	int scr = -1;

	c->prefix_fd = dir_open(AT_FDCWD, c->o->prefix);
	if (c->prefix_fd < 0)
		return error_sys(err, "%s: cannot open", c->o->prefix);
	c->owner = create_owner(c->prefix_fd);
	snprintf(c->meta, sizeof(c->meta), SCR_DIR "/" DATASET_DIR_FMT,
		 c->o->id);
	c->meta_fd = path_open_dir(c->prefix_fd, c->meta, &why);
	if (c->meta_fd < 0 && why.kind == ERROR_ABSENT &&
	    !c->o->work->dry_run) {
		/* Make it, on disk.  scr_postrun has made it before it starts
		 * many nodes. */
		error_clear(&why);
		scr = dataset_dir_open_scr(c->prefix_fd, c->o->prefix, true,
					   &why);
		if (scr >= 0 &&
		    create_dir(scr, path_base(c->meta), 0777, c->owner) < 0 &&
		    errno != EEXIST)
			error_sys(&why, "%s: cannot make", c->meta);
		else if (scr >= 0 && io_sync_dir(scr, SCR_DIR, &why) == 0)
			c->meta_fd = path_open_dir(c->prefix_fd, c->meta, &why);
		io_close(scr);
	}
	if (c->meta_fd >= 0 ||
	    (c->o->work->dry_run && why.kind == ERROR_ABSENT))
		return 0;
	return error_as(err, &why, "%s/%s", c->o->prefix, why.text);
}

int
copy_run(const struct nodecache_where *w, const struct copy_options *o,
	 struct copy_result *r, struct error *err)
{
	struct copier c = {
		.o = o,
		.r = r,
		.arena = arena_new(),
		.block = o->block == 0		? PUMP_BLOCK
			 : o->block < BLOCK_MAX ? o->block
						: BLOCK_MAX,
		.prefix_fd = -1,
		.meta_fd = -1,
		.finished = clock_seconds(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	size_t taken = 0;
	int rc = -1;

	*r = (struct copy_result){ .files = 0 };
	if (open_dirs(&c, w, err) == 0 && open_prefix(&c, err) == 0) {
		find_ranks(&c);
		rc = find_roots(&c, err);
	}
	if (rc == 0) {
		find_items(&c);
		if (o->containers)
			rc = copy_pack_begin(&c, err);
		c.par = work_waiting(o->work, c.prefix_fd);
		c.nworkers = par_threads(c.par);
		c.workers = mem_calloc(c.nworkers, sizeof(*c.workers));
	}
	for (unsigned i = 0; i < c.nworkers; i++)
		c.workers[i] = (struct copy_worker){
			.parents = pathcache_new(c.prefix_fd),
			.block = mem_aligned(PUMP_ALIGN, c.block),
			.other = mem_aligned(PUMP_ALIGN, c.block),
		};
	for (size_t n = 0; n < c.nranks && rc == 0; n += taken) {
		rc = copy_turn_begin(&c, &taken, err);
		if (rc == 0 && taken > 0)
			rc = copy_ours(&c, err);
		copy_turn_end(&c);
	}
	if (rc < 0 && room_is_short(err)) {
		room_explain(c.prefix_fd, c.open_bytes, err);
		error_wrap(err, "%s: full", o->prefix);
	}
	r->files = r->copied + r->adopted + r->skipped + r->taken + r->bad;
	for (unsigned i = 0; i < c.nworkers; i++) {
		pathcache_free(c.workers[i].parents);
		mem_free(c.workers[i].block);
		mem_free(c.workers[i].other);
	}
	mem_free(c.workers);
	copy_pack_end(&c);
	mem_free(c.items);
	for (size_t i = 0; i < c.nranks; i++) {
		buf_free(&c.ranks[i].image);
		map_free(c.ranks[i].old_by_path);
	}
	for (size_t i = 0; i < c.ndirs; i++)
		nodecache_dir_close(&c.dirs[i]);
	kvtree_free(c.desc);
	io_close(c.meta_fd);
	io_close(c.prefix_fd);
	pthread_mutex_destroy(&c.lock);
	arena_free(c.arena);
	return rc;
}
