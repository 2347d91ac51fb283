/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hidden_read.c - read the parts of packed metadata.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "container/hidden.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"

struct loader {
	struct hidden *h;
	struct segmap *m;
	struct map *by_path; /* path -> file of m; made on demand */
	size_t next;	     /* file of m expected next */
	/* The files of h->map as one rank of a rank2file, for their segments.
	 */
	struct rank2file files;
	size_t files_cap, nred;
	uint32_t rank; /* first rank of the part being read */
	bool partial;  /* m is partial: skip data that m does not need */
};

/* Look up a file of the map: *at, or MAP_NONE.  Parts list files in the order
 * of the map, so the next file is tried first. */
static int
find_path(struct loader *l, const char *path, size_t *at, struct error *err)
{
	if (l->next < l->m->nfiles &&
	    strcmp(l->m->files[l->next].path, path) == 0) {
		*at = l->next++;
		return 0;
	}
	if (l->by_path == NULL)
		l->by_path = segmap_by_path(l->m);
	if (l->by_path == NULL)
		return error_no_memory(err);
	*at = map_get(l->by_path, path);
	if (*at != MAP_NONE)
		l->next = *at + 1;
	return 0;
}

/* META; or, if `red`, RED: each entry is read as a file of a rank2file. */
static int
load_files(struct loader *l, const struct kvtree *table, bool red,
	   struct error *err)
{
	struct rank2file_rank *r = l->files.ranks;
	struct rank2file_file *to = NULL;
	const struct kvtree *k = NULL;

	kvtree_foreach (k, table) {
		struct segmap_file f = {
			.path = kvtree_key(k),
			.rank = l->rank,
			.tree = red ? NULL : kvtree_get(k, "TREE"),
		};

		if (!path_is_clean(f.path) || strchr(f.path, '/') != NULL)
			return error_set(err, ERROR_UNSAFE,
					 "%s: not a plain file name",
					 str_shown(f.path));
		if (attr_read(kvtree_get(k, "ATTR"), &f.attr, err) < 0)
			return -1;
		if (!red && f.tree == NULL)
			return value_bad(err, f.path, "has no TREE");
		if (!MEM_ROOM(r->files, r->nfiles, l->files_cap))
			return error_no_memory(err);
		to = &r->files[r->nfiles++];
		*to = (struct rank2file_file){ .path = f.path };
		if (red && rank2file_read_file(k, l->files.arena, to, err) < 0)
			return -1;
		if (red && to->nsegs == 0 && to->size > 0)
			return value_bad(err, f.path, "has no SEG");
		l->nred += red;
		if (hidden_add(l->h, &f, err) < 0)
			return -1;
	}
	return 0;
}

/* Attributes of files that are not in the map are ignored. */
static int
load_tables(struct loader *l, const struct kvtree *t, struct error *err)
{
	const struct kvtree *k = NULL;
	size_t at = 0;

	kvtree_foreach (k, kvtree_get(t, "FILE")) {
		if (find_path(l, kvtree_key(k), &at, err) < 0)
			return -1;
		if (at != MAP_NONE &&
		    attr_read(k, &l->m->files[at].attr, err) < 0)
			return error_wrap(err, "FILE");
	}
	kvtree_foreach (k, kvtree_get(t, "DIR")) {
		struct attr attr = { .has_size = false };

		if (attr_read(k, &attr, err) < 0)
			return error_wrap(err, "DIR");
		if (path_is_clean(kvtree_key(k)) &&
		    hidden_add_dir(l->h, kvtree_key(k), &attr, err) < 0)
			return -1;
	}
	if (l->partial)
		return 0;
	if (load_files(l, kvtree_get(t, "META"), false, err) < 0)
		return -1;
	return load_files(l, kvtree_get(t, "RED"), true, err);
}

/* The tree of a part with files is kept, as their names and contents are
 * borrowed from it. */
static int
load_tree(struct loader *l, const struct buf *raw, struct error *err)
{
	struct hidden *h = l->h;
	const size_t before = h->map.nfiles;
	struct kvtree *t = NULL;

	if (!MEM_ROOM(h->trees, h->ntrees, h->trees_cap))
		return error_no_memory(err);
	t = kvtree_decode(raw->data, raw->len, NULL, err);
	if (t == NULL)
		return -1;
	h->trees[h->ntrees++] = t;
	if (load_tables(l, t, err) < 0)
		return -1;
	if (h->map.nfiles == before)
		kvtree_free(h->trees[--h->ntrees]);
	return 0;
}

/* Read the part that is listed as `k`, or its second copy: the one that
 * rank2file records, or what both are.  1: neither can be read. */
static int
read_any(struct loader *l, int dirfd, const struct kvtree *k, struct buf *raw,
	 struct error *err)
{
	const struct kvtree *meta = kvtree_get(k, "META");
	struct error why = ERROR_INIT;
	struct buf copy = BUF_INIT;
	uint64_t count = 0;
	bool sound = false;
	int rc = kvtree_read_sound(dirfd, kvtree_key(k), raw, &why);

	if (rc == 0 && (kvtree_get(k, "CRC") == NULL ||
			rank2file_has_sum(k, raw->data, raw->len)))
		return 0;
	if (rc == 0)
		error_set(&why, ERROR_CORRUPT,
			  "%s: not the part that rank2file records",
			  kvtree_key(k));
	else if (why.kind != ERROR_CORRUPT && why.kind != ERROR_ABSENT &&
		 why.errnum != EIO)
		return error_pass(err, &why);
	sound = kvtree_read_sound(dirfd,
				  str_printed(NAME_MAX + 1, RANK2FILE_COPY "%s",
					      kvtree_key(k)),
				  &copy, NULL) == 0;
	if (rc == 0 && sound && buf_equal(&copy, raw)) {
		buf_free(&copy);
		return 0;
	}
	rc = sound && rank2file_has_sum(k, copy.data, copy.len) ? 0 : -1;
	buf_free(raw);
	*raw = copy;
	if (l->h->flaw == NULL || (rc < 0 && !l->h->unread))
		l->h->flaw = arena_strdup(l->h->arena, why.text);
	if (rc == 0)
		return 0;
	l->h->unread = true;
	/* A part without META was written by an older version. */
	if (meta == NULL
		    ? l->files.containers != NULL
		    : value_u64(meta, INT64_MAX, &count, NULL) < 0 || count > 0)
		l->h->incomplete = true;
	return 1;
}

static int
load_part(struct loader *l, int dirfd, const struct kvtree *k,
	  struct error *err)
{
	const char *name = kvtree_key(k);
	int64_t n = dataset_dir_packed(name);
	struct buf raw = BUF_INIT;
	bool needed = !l->partial;
	int rc = 0;

	if (n < 0)
		return error_set(err, ERROR_UNSAFE,
				 "%s: not the name of packed metadata",
				 str_shown(name));
	n -= n % RANK2FILE_PART_RANKS;
	l->rank = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	/* Is any file of the map in this part? */
	for (size_t i = 0; !needed && i < l->m->nfiles; i++)
		needed = l->m->files[i].rank / RANK2FILE_PART_RANKS ==
			 l->rank / RANK2FILE_PART_RANKS;
	if (!needed)
		return 0;
	rc = read_any(l, dirfd, k, &raw, err);
	if (rc == 0 && load_tree(l, &raw, err) < 0)
		rc = error_wrap(err, "%s", name);
	buf_free(&raw);
	return rc < 0 ? -1 : 0;
}

int
hidden_load(struct hidden *h, int dirfd, const struct rank2file *r,
	    struct segmap *m, struct error *err)
{
	const struct kvtree *list = kvtree_get(r->containers, "HIDDEN");
	const struct kvtree *k = NULL;
	struct loader l = { .h = h, .m = m, .partial = r->partial };
	struct segmap map = { .arena = NULL };
	int rc = 0;

	if (hidden_init(h, err) < 0) {
		hidden_free(h);
		return -1;
	}
	if (kvtree_first(list) == NULL)
		return 0;
	h->has_attrs = true;
	l.files = (struct rank2file){
		.containers = kvtree_get(r->containers, "RED"),
		.arena = h->arena,
		.nranks = 1,
		.ranks = arena_alloc(h->arena, 1, sizeof(*l.files.ranks)),
	};
	if (l.files.ranks == NULL)
		rc = error_no_memory(err);
	kvtree_foreach (k, list)
		if (rc == 0)
			rc = load_part(&l, dirfd, k, err);
	if (l.nred == 0)
		l.files.containers = NULL;
	if (rc == 0)
		rc = segmap_read(&map, &l.files, err);
	for (size_t i = 0; rc == 0 && i < map.nfiles; i++) {
		map.files[i].rank = h->map.files[i].rank;
		map.files[i].attr = h->map.files[i].attr;
		map.files[i].tree = h->map.files[i].tree;
	}
	segmap_free(&h->map);
	h->map = map;
	map_free(l.by_path);
	if (l.files.ranks != NULL)
		mem_free(l.files.ranks->files);
	if (rc < 0)
		hidden_free(h);
	return rc;
}
