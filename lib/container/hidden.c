/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/kvwrite.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"

/* Larger kvtree files go into a container. */
#define TREE_MAX ((size_t)1 << 20)

/* --- Create and free --- */

int
hidden_init(struct hidden *h, struct error *err)
{
	*h = (struct hidden){
		.arena = arena_new(),
		.by_name = map_new(),
		.dir_by_path = map_new(),
	};
	return segmap_init(&h->map, 0, err);
}

void
hidden_free(struct hidden *h)
{
	for (size_t i = 0; i < h->ntrees; i++)
		kvtree_free(h->trees[i]);
	mem_free(h->trees);
	mem_free(h->dirs);
	map_free(h->dir_by_path);
	map_free(h->by_name);
	segmap_free(&h->map);
	arena_free(h->arena);
	*h = (struct hidden){ .arena = NULL };
}

int
hidden_add(struct hidden *h, const struct segmap_file *f, struct error *err)
{
	struct segmap *m = &h->map;

	if (map_get(h->by_name, f->path) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT, "%s: named twice",
				 str_shown(f->path));
	if (!MEM_ROOM(m->files, m->nfiles, h->cap) ||
	    map_put(h->by_name, f->path, m->nfiles) < 0)
		return error_no_memory(err);
	m->files[m->nfiles++] = *f;
	return 0;
}

/* A file becomes a tree if encoding the tree gives the same bytes. */
int
hidden_take(struct hidden *h, int dirfd, struct segmap_file f, struct stat *st,
	    struct error *err)
{
	struct buf raw = BUF_INIT, again = BUF_INIT;
	struct kvtree *t = NULL;
	int fd = dir_open_file(dirfd, f.path,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			       0);
	int rc = 0;

	if (fd < 0)
		return error_sys(err, "%s: cannot open", f.path);
	if (fstat(fd, st) < 0)
		rc = error_sys(err, "%s: cannot stat", f.path);
	else if (!S_ISREG(st->st_mode))
		rc = error_set(err, ERROR_DAMAGED, "%s: not a plain file",
			       f.path);
	else
		attr_from_stat(&f.attr, st);
	if (rc == 0 &&
	    dataset_dir_kind(f.path, NULL) != DATASET_DIR_REDUNDANCY &&
	    st->st_size <= (off_t)TREE_MAX) {
		rc = io_read_fd(fd, f.path, TREE_MAX, &raw, err);
		if (rc == 0)
			t = kvtree_decode(raw.data, raw.len, NULL, NULL);
		if (t != NULL)
			rc = kvtree_encode(t, &again, err);
	}
	if (rc == 0 && t != NULL && buf_equal(&again, &raw)) {
		rc = MEM_ROOM(h->trees, h->ntrees, h->trees_cap)
			     ? 0
			     : error_no_memory(err);
		f.tree = t;
	} else {
		f.size = f.attr.size;
	}
	if (rc == 0)
		rc = hidden_add(h, &f, err);
	if (rc == 0 && f.tree != NULL)
		h->trees[h->ntrees++] = t;
	else
		kvtree_free(t);
	buf_free(&again);
	buf_free(&raw);
	close(fd);
	return rc;
}

const struct segmap_file *
hidden_find(const struct hidden *h, const char *name)
{
	size_t at = h->by_name == NULL ? MAP_NONE : map_get(h->by_name, name);

	return at == MAP_NONE ? NULL : &h->map.files[at];
}

int
hidden_add_dir(struct hidden *h, const char *path, const struct attr *attr,
	       struct error *err)
{
	size_t at = map_get(h->dir_by_path, path);

	if (at == MAP_NONE) {
		if (!MEM_ROOM(h->dirs, h->ndirs, h->dirs_cap))
			return error_no_memory(err);
		at = h->ndirs;
		h->dirs[at].path = arena_strdup(h->arena, path);
		if (h->dirs[at].path == NULL ||
		    map_put(h->dir_by_path, h->dirs[at].path, at) < 0)
			return error_no_memory(err);
		h->ndirs++;
	}
	h->dirs[at].attr = *attr;
	return 0;
}

const struct attr *
hidden_dir(const struct hidden *h, const char *path)
{
	size_t at = h->dir_by_path == NULL ? MAP_NONE
					   : map_get(h->dir_by_path, path);

	return at == MAP_NONE ? NULL : &h->dirs[at].attr;
}

/* --- Writing --- */

/* The number of a part, and that of the last part, of the map `r`. */
struct place {
	size_t part, last;
	const struct rank2file *r;
};

/* Does this part list the rank?  The last part also lists files whose names
 * give a rank outside of the job. */
static bool
is_listed(const struct place *p, uint32_t rank)
{
	size_t part = rank / RANK2FILE_PART_RANKS;

	return p->part == (part < p->last ? part : p->last);
}

static int
store_hidden(const struct hidden *h, const struct place *p, struct kvtree *t,
	     struct error *err)
{
	if (h->others != NULL && kvtree_merge(t, h->others, err) < 0)
		return -1;
	for (size_t i = 0; i < h->map.nfiles; i++) {
		const struct segmap_file *f = &h->map.files[i];
		struct kvtree *k = NULL, *sub = NULL;

		if (p != NULL && !is_listed(p, f->rank))
			continue;
		k = kvtree_put(t, f->tree ? "META" : "RED", err);
		k = kvtree_put(k, f->path, err);
		sub = kvtree_put(k, "ATTR", err);
		if (sub == NULL || attr_write(sub, &f->attr, err) < 0)
			return -1;
		if (f->tree == NULL) {
			if (segmap_write_file(&h->map, i, k, err) < 0)
				return -1;
			continue;
		}
		sub = kvtree_put(k, "TREE", err);
		if (sub == NULL || kvtree_merge(sub, f->tree, err) < 0)
			return -1;
	}
	return 0;
}

int
hidden_write(const struct hidden *h, struct kvtree *t, struct error *err)
{
	return store_hidden(h, NULL, t, err);
}

/* Add `name` with its attributes to table `key` of the part. */
static int
store_attr(struct kvtree *t, const char *key, const char *name,
	   const struct attr *a, struct error *err)
{
	struct kvtree *list = kvtree_put(t, key, err);
	struct kvtree *k = kvtree_put(list, name, err);

	return k == NULL ? -1 : attr_write(k, a, err);
}

/* The directories of the part's files. */
static int
store_dirs(const struct hidden *h, const struct segmap *m,
	   const struct place *p, struct kvtree *t, struct error *err)
{
	char dir[PATH_MAX] = "";

	for (size_t i = 0; h->ndirs > 0 && i < m->nfiles; i++) {
		const char *path = m->files[i].path;
		const size_t len = (size_t)(path_base(path) - path);
		const struct attr *a = NULL;

		if (!is_listed(p, m->files[i].rank) || len == 0 ||
		    len > sizeof(dir) ||
		    (strncmp(dir, path, len - 1) == 0 && dir[len - 1] == '\0'))
			continue;
		memcpy(dir, path, len - 1);
		dir[len - 1] = '\0';
		a = hidden_dir(h, dir);
		if (a != NULL && store_attr(t, "DIR", dir, a, err) < 0)
			return -1;
	}
	return 0;
}

/* Encode the tables of a part, and those of the part of rank2file. */
static int
build_part(const struct hidden *h, const struct segmap *m,
	   const struct place *p, struct buf *out, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct kvwrite w;
	int rc = t == NULL ? -1 : 0;

	for (size_t i = 0; i < m->nfiles && h->has_attrs && rc == 0; i++)
		if (is_listed(p, m->files[i].rank))
			rc = store_attr(t, "FILE", m->files[i].path,
					&m->files[i].attr, err);
	if (rc == 0 &&
	    (store_dirs(h, m, p, t, err) < 0 || store_hidden(h, p, t, err) < 0))
		rc = -1;
	if (rc == 0) {
		kvtree_begin(&w, out, (uint32_t)kvtree_count(t) + 1);
		kvtree_put_children(&w, t);
		kvwrite_key(&w, RANK2FILE_SPARE, RANK2FILE_PART_KEYS);
		rc = rank2file_put_part(&w, p->r,
					p->part * RANK2FILE_PART_RANKS,
					RANK2FILE_PART_RANKS, err);
	}
	if (rc == 0)
		rc = kvtree_seal(&w, err);
	kvtree_free(t);
	return rc;
}

int
hidden_store_part(const struct hidden *h, const struct hidden_part *part,
		  const struct segmap *m, const struct rank2file *r,
		  struct error *err)
{
	const struct place p = {
		.r = r,
		.part = part->first / RANK2FILE_PART_RANKS,
		.last = r->nranks > 0 ? (r->nranks - 1) / RANK2FILE_PART_RANKS
				      : 0,
	};
	const char *name =
		str_printed(RANK2FILE_SPARE_NAME, RANK2FILE_SPARE_FMT,
			    (uint64_t)part->first + r->generation);
	struct buf image = BUF_INIT;
	struct kvtree *k = NULL;
	size_t meta = 0;
	int rc = build_part(h, m, &p, &image, err);

	if (rc < 0)
		rc = error_wrap(err, "%s", name);
	for (size_t i = 0; i < h->map.nfiles; i++)
		meta += is_listed(&p, h->map.files[i].rank);
	kvtree_foreach (k, h->others)
		meta += kvtree_count(k);
	if (rc == 0)
		k = rank2file_set_sum(part->list, name, &image, err);
	if (k == NULL || kvtree_set_u64(k, "META", meta, err) < 0)
		rc = -1;
	else
		rc = rank2file_write(part->dirfd, name, &image,
				     rank2file_has_copies(r), err);
	buf_free(&image);
	return rc;
}

int
hidden_store(const struct hidden *h, int dirfd, const struct segmap *m,
	     struct rank2file *r, struct error *err)
{
	struct kvtree *table = kvtree_get(r->top, "CTR");
	struct hidden_part part = {
		.dirfd = dirfd,
		.list = kvtree_put(table, "HIDDEN", err),
	};

	/* Also of no ranks: attributes of directories. */
	do {
		if (part.list == NULL ||
		    hidden_store_part(h, &part, m, r, err) < 0)
			return -1;
		part.first += RANK2FILE_PART_RANKS;
	} while (part.first < r->nranks);
	if (h->map.ncontainers == 0)
		return 0;
	table = kvtree_put(table, "RED", err);
	return table == NULL ? -1
			     : segmap_write_containers(&h->map, table, err);
}

/* --- Sweep --- */

int
hidden_sweep(int dirfd, const struct rank2file *r, struct error *err)
{
	const struct kvtree *stay = kvtree_get(r->containers, "HIDDEN");
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, dirfd, "the metadata directory", err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		char first[NAME_MAX + 1];

		(void)dataset_dir_is_copy(name, first);
		if (dataset_dir_packed(first) >= 0 &&
		    kvtree_get(stay, first) == NULL &&
		    unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot remove", name);
	}
	return dir_done(&w, rc, err);
}
