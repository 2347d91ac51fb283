/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metawrite.c - write filemaps, and the small files that list the datasets
 * (formats.md 3.5, 3.7, 4.1, 4.2, 7).
 */
#include "gen/gen.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "metatest.h"

void *
gen_alloc(struct arena *arena, size_t count, size_t size)
{
	void *p = arena_alloc(arena, count, size);

	must(p != NULL || count == 0);
	return p;
}

const char *
gen_printf(const struct gen *g, const char *format, ...)
{
	char text[PATH_MAX];
	char *copy = NULL;
	va_list ap;

	va_start(ap, format);
	must(vsnprintf(text, sizeof(text), format, ap) < PATH_MAX);
	va_end(ap);
	copy = arena_strdup(g->arena, text);
	must(copy != NULL);
	return copy;
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

void
metawrite_plan(struct gen *g)
{
	for (uint32_t rank = 0; rank < g->nranks; rank++) {
		struct gen_rank *r = &g->ranks[rank];

		r->files = gen_alloc(g->arena, g->nfiles, sizeof(*r->files));
		r->map_path = gen_printf(g, "%s/.scr/filemap_%" PRIu32,
					 g->cache_dir, rank);
		for (uint32_t i = 0; i < g->nfiles; i++) {
			struct gen_file *f = &r->files[i];
			char number[16] = "";
			uint64_t x = ((uint64_t)rank << 32 | i) *
				     UINT64_C(2654435761);

			if (g->nfiles > 1)
				snprintf(number, sizeof(number), "_%" PRIu32,
					 i);
			f->rel = gen_printf(g, "%s/rank_%" PRIu32 "%s.ckpt",
					    g->dir, rank, number);
			f->base = path_base(f->rel);
			f->cache_path =
				gen_printf(g, "%s/%s", g->cache_dir, f->base);
			/* `size` plus up to `spread`. */
			x = g->spread > 0 ? x % (g->spread + 1) : 0;
			plan_attr(g, rank, i, g->size + x, &f->attr);
		}
	}
}

/* --- Filemaps --- */

static void
add_file(const struct gen *g, struct kvtree *t, const struct gen_file *f)
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
	char orig[PATH_MAX], dir[PATH_MAX];

	must(snprintf(orig, sizeof(orig), "%s/%s", g->recorded, f->rel) <
	     PATH_MAX);
	strcpy(dir, orig);
	*strrchr(dir, '/') = '\0';
	entry.orig = orig;
	entry.dir = dir;
	must(filemap_add(t, &entry, NULL) == 0);
}

void
metawrite_filemaps(struct gen *g)
{
	auto_kvtree *t = kvtree_new(NULL);
	auto_buf out = BUF_INIT;
	char name[64];

	for (uint32_t rank = 0; rank < g->nranks; rank++) {
		struct gen_rank *r = &g->ranks[rank];

		tree_clear(t);
		buf_clear(&out);
		/* The file that was routed last comes first. */
		for (uint32_t i = g->nfiles; i-- > 0;)
			add_file(g, t, &r->files[i]);
		must(kvtree_encode(t, &out, NULL) == 0);
		r->map = gen_alloc(g->arena, 1, out.len);
		memcpy(r->map, out.data, out.len);
		plan_attr(g, rank, g->nfiles, out.len, &r->map_attr);
		r->map_attr.mode = S_IFREG | (g->mode != 0 ? g->mode : 0644);
		place_meta(g, rank, filemap_name(name, sizeof(name), rank),
			   &out, &r->map_attr);
	}
}

/* --- Lists of datasets --- */

/* Add the descriptor below `key` of `t`. */
static void
add_descriptor(const struct gen *g, struct kvtree *t, const char *key)
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

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->nfiles; i++)
			d.bytes += g->ranks[r].files[i].attr.size;
	must(dataset_write(kvtree_put(t, key, NULL), &d, NULL) == 0);
}

/* Read the tree at `path`, if it exists, and make the dataset the first entry
 * of `table`. */
static struct kvtree *
read_table(const struct gen *g, const char *path, const char *table,
	   struct kvtree **entry)
{
	struct kvtree *t = exists(path) ? kvtree_read_file(AT_FDCWD, path, NULL)
					: kvtree_new(NULL);
	struct kvtree *entries = NULL;
	const char *id = fmt("%" PRId64, g->id);

	must_be(t != NULL, path);
	entries = kvtree_put(t, table, NULL);
	kvtree_remove(entries, id);
	*entry = kvtree_put_first(entries, id, NULL);
	add_descriptor(g, *entry, "DSETDESC");
	return t;
}

/* --- Other files in a node's cache (formats.md 7) --- */

/* List the files of one rank that a set over the filemaps, or over the data,
 * protects, and the files of the set.  The library lists those of the node's
 * first rank in order and those of its other ranks in reverse. */
static void
list_shuffle(const struct gen *g, uint32_t rank, bool map, bool first,
	     struct kvtree *to)
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
		must(kvtree_put(to, file, NULL) != NULL);
	}
}

static void
write_shuffle(const struct gen *g, uint32_t node, bool map)
{
	auto_kvtree *t = kvtree_new(NULL), *state = kvtree_new(NULL);
	struct kvtree *ranks = kvtree_put(t, "RANK", NULL);
	const uint64_t count = (map ? 1 : g->nfiles) + 2;
	const char *at =
		fmt("%s/node%" PRIu32 "/cache/" GEN_USER "/scr." GEN_JOB
		    "/scr.dataset.%" PRId64 "/.scr/reddesc%s.er",
		    g->nodes_dir, node, g->id, map ? "map" : "");
	bool first = true;

	for (uint32_t r = 0; r < g->nranks; r++) {
		struct kvtree *e = NULL;

		if (g->ranks[r].node != node)
			continue;
		e = kvtree_put(ranks, fmt("%" PRIu32, r), NULL);
		if (first)
			kvtree_set_u64(e, "FILES", count, NULL);
		list_shuffle(g, r, map, first, kvtree_put(e, "FILE", NULL));
		kvtree_set_u64(e, "FILES", count, NULL);
		first = false;
	}
	kvtree_set(state, "STATE", "2", NULL);
	place_tree(fmt("%s.er", at), state);
	place_tree(fmt("%s.shuffile", at), t);
}

void
metawrite_indexes(const struct gen *g)
{
	const char *path = fmt("%s/.scr/" FLUSH_FILE, g->prefix);
	struct kvtree *e = NULL;
	struct kvtree *t = read_table(g, path, "DATASET", &e);

	if (g->is_output)
		kvtree_set(e, "OUTPUT", "1", NULL);
	if (g->is_ckpt)
		kvtree_set(e, "CKPT", "1", NULL);
	kvtree_set(e, "LOCATION", "CACHE", NULL);
	kvtree_set(e, "NAME", g->name, NULL);
	place_tree(path, t);
	tree_clear(t);
	kvtree_set_u64(t, "NODES", g->nnodes, NULL);
	place_tree(fmt("%s/.scr/" NODES_FILE, g->prefix), t);
	kvtree_free(t);
	for (uint32_t k = 0; g->in_cache && k < g->nnodes; k++) {
		if (g->lost[k])
			continue;
		path = fmt("%s/node%" PRIu32 "/cntl/" GEN_USER "/scr." GEN_JOB
			   "/" CINDEX_FILE,
			   g->nodes_dir, k);
		t = read_table(g, path, "DSET", &e);
		kvtree_set(e, "BYPASS", "0", NULL);
		kvtree_set(e, "PATH", g->cache_dir, NULL);
		place_tree(path, t);
		kvtree_free(t);
		if (!g->none) {
			write_shuffle(g, k, true);
			write_shuffle(g, k, false);
		}
	}
}
