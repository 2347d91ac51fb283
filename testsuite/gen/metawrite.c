/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metawrite.c - write filemaps, and the small files that list the datasets
 * (formats.md 3.5, 3.7, 4.1, 4.2, 7).
 */
#include <inttypes.h>
#include <limits.h>

#include "arena.h"
#include "crc.h"
#include "gen/gen.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "metatest.h"
#include "path.h"

static int
no_memory(struct error *err)
{
	return error_set(err, ERROR_NOMEM, "out of memory");
}

/* --- Files and their attributes --- */

/* Derive times and mode from rank and number. */
static void
plan_attr(const struct gen *g, uint32_t rank, uint32_t number, uint64_t size,
	  struct attr *a)
{
	*a = (struct attr){
		.size = size,
		.has_size = true,
		.has_owner = true,
		.has_times = true,
		.mode = S_IFREG | (g->mode != 0	   ? g->mode
				   : rank % 2 == 0 ? 0644
						   : 0640),
		.uid = g->uid,
		.gid = g->gid,
	};
	a->mtime.tv_sec = g->time + rank % 60;
	a->mtime.tv_nsec = (long)(rank * 7919 + number * 104729) % 1000000000;
	a->atime = a->ctime = a->mtime;
}

/* The size of a file: `size` plus up to `spread`. */
static uint64_t
plan_size(const struct gen *g, uint32_t rank, uint32_t number)
{
	uint64_t x = ((uint64_t)rank << 32 | number) * UINT64_C(2654435761);

	return g->size + (g->spread > 0 ? x % (g->spread + 1) : 0);
}

static int
plan_rank(struct gen *g, uint32_t rank, struct error *err)
{
	struct gen_rank *r = &g->ranks[rank];

	r->files = arena_alloc(g->arena, g->nfiles, sizeof(*r->files));
	r->map_path = arena_printf(g->arena, "%s/.scr/filemap_%" PRIu32,
				   g->cache_dir, rank);
	if ((g->nfiles > 0 && r->files == NULL) || r->map_path == NULL)
		return no_memory(err);
	for (uint32_t i = 0; i < g->nfiles; i++) {
		struct gen_file *f = &r->files[i];

		f->rel = g->nfiles == 1
				 ? arena_printf(g->arena,
						"%s/rank_%" PRIu32 ".ckpt",
						g->dir, rank)
				 : arena_printf(g->arena,
						"%s/rank_%" PRIu32 "_%" PRIu32
						".ckpt",
						g->dir, rank, i);
		if (f->rel == NULL)
			return no_memory(err);
		f->base = path_base(f->rel);
		f->cache_path =
			arena_printf(g->arena, "%s/%s", g->cache_dir, f->base);
		if (f->cache_path == NULL)
			return no_memory(err);
		plan_attr(g, rank, i, plan_size(g, rank, i), &f->attr);
	}
	return 0;
}

int
metawrite_plan(struct gen *g, struct error *err)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		if (plan_rank(g, r, err) < 0)
			return -1;
	return 0;
}

/* --- Filemaps --- */

static int
add_file(const struct gen *g, struct kvtree *t, const struct gen_file *f,
	 struct error *err)
{
	struct filemap_file entry = {
		.cache_path = f->cache_path,
		.name = f->base,
		.attr = f->attr,
		.complete = true,
		.ranks = g->nranks,
		.has_crc = g->crc,
		.crc = f->crc,
	};
	struct buf orig = BUF_INIT, dir = BUF_INIT;
	int rc = -1;

	if (path_join(&orig, g->recorded, f->rel, err) < 0 ||
	    path_join(&dir, g->recorded, f->rel, err) < 0)
		goto out;
	*strrchr(dir.data, '/') = '\0';
	entry.orig = orig.data;
	entry.dir = dir.data;
	rc = filemap_add(t, &entry, err);
out:
	buf_free(&dir);
	buf_free(&orig);
	return rc;
}

/* Encode and write the filemap of one rank.  The file that was routed last
 * comes first. */
static int
write_filemap(struct gen *g, uint32_t rank, struct kvtree *t, struct buf *out,
	      struct error *err)
{
	struct gen_rank *r = &g->ranks[rank];
	char name[64];

	tree_clear(t);
	buf_clear(out);
	for (uint32_t i = g->nfiles; i-- > 0;)
		if (add_file(g, t, &r->files[i], err) < 0)
			return -1;
	if (kvtree_encode(t, out, err) < 0)
		return -1;
	r->map = arena_alloc(g->arena, 1, out->len);
	if (r->map == NULL)
		return no_memory(err);
	memcpy(r->map, out->data, out->len);
	plan_attr(g, rank, g->nfiles, out->len, &r->map_attr);
	r->map_attr.mode = S_IFREG | (g->mode != 0 ? g->mode : 0644);
	return place_meta(g, rank, filemap_name(name, sizeof(name), rank),
			  r->map, out->len, &r->map_attr, err);
}

int
metawrite_filemaps(struct gen *g, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct buf out = BUF_INIT;
	int rc = t == NULL ? -1 : 0;

	for (uint32_t r = 0; rc == 0 && r < g->nranks; r++)
		rc = write_filemap(g, r, t, &out, err);
	buf_free(&out);
	kvtree_free(t);
	return rc;
}

/* --- Lists of datasets --- */

/* Add the descriptor below `key` of `t`. */
static int
add_descriptor(const struct gen *g, struct kvtree *t, const char *key,
	       struct error *err)
{
	struct dataset d = {
		.id = g->id,
		.name = g->name,
		.is_ckpt = g->is_ckpt,
		.is_output = g->is_output,
		.ckpt_id = g->is_ckpt ? g->id : -1,
		.created_us = g->time * 1000000,
		.user = GEN_USER,
		.job_name = "genjob",
		.job_id = GEN_JOB,
		.cluster = "gencluster",
		.files = (int64_t)g->nranks * g->nfiles,
		.complete = 1,
	};
	struct kvtree *node = kvtree_put(t, key, err);

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->nfiles; i++)
			d.bytes += g->ranks[r].files[i].attr.size;
	return node == NULL ? -1 : dataset_write(node, &d, err);
}

/* Read the tree in file `name` below `dir`; an empty tree if the file is
 * missing. */
static struct kvtree *
read_or_new(int dir, const char *name, struct error *err)
{
	if (faccessat(dir, name, F_OK, 0) < 0)
		return kvtree_new(err);
	return kvtree_read_file(dir, name, err);
}

/* Add `id` as the first child of `table`. */
static struct kvtree *
new_entry(const struct gen *g, struct kvtree *t, const char *table,
	  struct error *err)
{
	struct kvtree *entries = kvtree_put(t, table, err);
	char id[32];

	if (entries == NULL)
		return NULL;
	snprintf(id, sizeof(id), "%" PRId64, g->id);
	kvtree_remove(entries, id);
	return kvtree_put_first(entries, id, err);
}

static int
write_flush(const struct gen *g, struct error *err)
{
	struct kvtree *t = read_or_new(g->prefix_fd, ".scr/" FLUSH_FILE, err);
	struct kvtree *e = t == NULL ? NULL : new_entry(g, t, "DATASET", err);
	int rc = -1;

	if (e == NULL || add_descriptor(g, e, "DSETDESC", err) < 0 ||
	    (g->is_output && kvtree_set_u64(e, "OUTPUT", 1, err) < 0) ||
	    (g->is_ckpt && kvtree_set_u64(e, "CKPT", 1, err) < 0) ||
	    kvtree_set(e, "LOCATION", "CACHE", err) < 0 ||
	    kvtree_set(e, "NAME", g->name, err) < 0)
		goto out;
	rc = kvtree_write_file(t, g->prefix_fd, ".scr/" FLUSH_FILE, err);
out:
	kvtree_free(t);
	return rc;
}

static int
write_nodes(const struct gen *g, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int rc = -1;

	if (t != NULL && kvtree_set_u64(t, "NODES", g->nnodes, err) == 0)
		rc = kvtree_write_file(t, g->prefix_fd, ".scr/" NODES_FILE,
				       err);
	kvtree_free(t);
	return rc;
}

static int
write_cindex(const struct gen *g, uint32_t node, struct error *err)
{
	const char *dir = "cntl/" GEN_USER "/scr." GEN_JOB;
	char path[PATH_MAX];
	struct kvtree *t = NULL, *e = NULL;
	struct buf out = BUF_INIT;
	int rc = -1;

	snprintf(path, sizeof(path), "node%" PRIu32 "/%s/" CINDEX_FILE, node,
		 dir);
	t = read_or_new(g->nodes_fd, path, err);
	e = t == NULL ? NULL : new_entry(g, t, "DSET", err);
	if (e == NULL || add_descriptor(g, e, "DSETDESC", err) < 0 ||
	    kvtree_set_u64(e, "BYPASS", 0, err) < 0 ||
	    kvtree_set(e, "PATH", g->cache_dir, err) < 0 ||
	    kvtree_encode(t, &out, err) < 0)
		goto out;
	rc = place_node_file(g, node, dir, CINDEX_FILE, out.data, out.len, err);
out:
	buf_free(&out);
	kvtree_free(t);
	return rc;
}

/* --- Other files in a node's cache (formats.md 7) --- */

/* List the files of one rank that a set over the filemaps, or over the data,
 * protects, and the files of the set.  The library lists those of the node's
 * first rank in order and those of its other ranks in reverse. */
static int
list_shuffle(const struct gen *g, uint32_t rank, bool map, bool first,
	     struct kvtree *to, struct error *err)
{
	const struct gen_rank *r = &g->ranks[rank];
	const uint32_t own = map ? 1 : g->nfiles;
	struct redset_desc d;
	struct redset_name name = { .map = map, .rank = rank };
	char text[128], path[PATH_MAX];
	const char *file = NULL;

	sets_desc(g, r->set, r->member, &d);
	name.type = d.type;
	name.set = d.set + 1;
	name.sets = d.sets;
	name.member = d.member + 1;
	name.members = d.members;
	for (uint32_t k = 0; k < own + 2; k++) {
		uint32_t i = first ? k : own + 1 - k;

		name.descriptor = i == own;
		redset_name_format(text, sizeof(text), &name, NULL);
		snprintf(path, sizeof(path), "%s/.scr/%s", g->cache_dir, text);
		if (i < own)
			file = map ? r->map_path : r->files[i].cache_path;
		else
			file = path;
		if (kvtree_put(to, file, err) == NULL)
			return -1;
	}
	return 0;
}

static int
shuffle_rank(const struct gen *g, uint32_t rank, bool map, bool first,
	     struct kvtree *ranks, struct error *err)
{
	struct kvtree *node = NULL, *files = NULL;
	const uint64_t count = (map ? 1 : g->nfiles) + 2;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu32, rank);
	node = kvtree_put(ranks, text, err);
	if (node == NULL ||
	    (first && kvtree_set_u64(node, "FILES", count, err) < 0))
		return -1;
	files = kvtree_put(node, "FILE", err);
	if (files == NULL || list_shuffle(g, rank, map, first, files, err) < 0)
		return -1;
	return first ? 0 : kvtree_set_u64(node, "FILES", count, err);
}

/* Write `t` into the metadata directory of the node's cache. */
static int
write_cache_tree(const struct gen *g, uint32_t node, const char *name,
		 const struct kvtree *t, struct error *err)
{
	char dir[PATH_MAX];
	struct buf out = BUF_INIT;
	int rc = kvtree_encode(t, &out, err);

	snprintf(dir, sizeof(dir),
		 "cache/" GEN_USER "/scr." GEN_JOB "/scr.dataset.%" PRId64
		 "/.scr",
		 g->id);
	if (rc == 0)
		rc = place_node_file(g, node, dir, name, out.data, out.len,
				     err);
	buf_free(&out);
	return rc;
}

static int
write_shuffle(const struct gen *g, uint32_t node, bool map, struct error *err)
{
	struct kvtree *t = kvtree_new(err), *state = kvtree_new(err);
	struct kvtree *ranks = t == NULL ? NULL : kvtree_put(t, "RANK", err);
	bool first = true;
	int rc = -1;

	if (ranks == NULL || state == NULL ||
	    kvtree_set_u64(state, "STATE", 2, err) < 0)
		goto out;
	for (uint32_t r = 0; r < g->nranks; r++) {
		if (g->ranks[r].node != node)
			continue;
		if (shuffle_rank(g, r, map, first, ranks, err) < 0)
			goto out;
		first = false;
	}
	if (write_cache_tree(g, node,
			     map ? "reddescmap.er.er" : "reddesc.er.er", state,
			     err) < 0)
		goto out;
	rc = write_cache_tree(
		g, node, map ? "reddescmap.er.shuffile" : "reddesc.er.shuffile",
		t, err);
out:
	kvtree_free(state);
	kvtree_free(t);
	return rc;
}

int
metawrite_indexes(const struct gen *g, struct error *err)
{
	if (write_flush(g, err) < 0 || write_nodes(g, err) < 0)
		return -1;
	for (uint32_t k = 0; g->in_cache && k < g->nnodes; k++) {
		if (g->lost[k])
			continue;
		if (write_cindex(g, k, err) < 0)
			return -1;
		if (!g->none && (write_shuffle(g, k, true, err) < 0 ||
				 write_shuffle(g, k, false, err) < 0))
			return -1;
	}
	return 0;
}
