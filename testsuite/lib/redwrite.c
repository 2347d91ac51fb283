/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redwrite.c - encode redundancy sets and write their files (formats.md 5).
 *
 * Nothing is read back: the bytes of a lost node's files go into the parity as
 * if they were there, since content.c can make any part of them.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "encode/code.h"
#include "error.h"
#include "gen/gen.h"
#include "mem.h"
#include "meta/kvtree.h"

/* One set while it is encoded. */
struct work {
	const struct gen *g;
	const struct gen_set *set;
	bool map;
	struct redset_member *members; /* with their lists */
	uint64_t chunk, longest;
	uint64_t *body_start;	  /* of each member's redundancy file */
	struct place_file *files; /* those files */
	unsigned char **buffers;  /* GEN_BLOCK for each member */
};

/* `len` bytes from `off` of the data string of `member`, zero behind its
 * end. */
static void
read_string(const struct work *w, uint32_t member, uint64_t off, size_t len,
	    unsigned char *to)
{
	const uint32_t rank = w->set->ranks[member];
	const struct gen_rank *r = &w->g->ranks[rank];
	uint64_t size = 0, part = 0;

	assert(to != NULL);
	for (uint32_t i = 0; i < (w->map ? 1 : w->g->nfiles) && len > 0; i++) {
		size = w->members[member].files[i].attr.size;
		if (off >= size) {
			off -= size;
			continue;
		}
		part = size - off < len ? size - off : len;
		if (w->map)
			memcpy(to, (const char *)r->map + off, part);
		else
			content_fill(rank, i, off, part, to);
		to += part;
		len -= part;
		off = 0;
	}
	memset(to, 0, len);
}

/* --- Headers --- */

static int
list_files(struct work *w, uint32_t member, struct arena *arena,
	   struct error *err)
{
	const struct gen_rank *r = &w->g->ranks[w->set->ranks[member]];
	struct redset_member *m = &w->members[member];

	m->known = true;
	sets_desc(w->g, r->set, member, &m->desc);
	m->nfiles = w->map ? 1 : w->g->nfiles;
	m->files = arena_alloc(arena, m->nfiles, sizeof(*m->files));
	if (m->nfiles > 0 && m->files == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (size_t i = 0; i < m->nfiles; i++) {
		m->files[i].path =
			w->map ? r->map_path : r->files[i].cache_path;
		m->files[i].attr = w->map ? r->map_attr : r->files[i].attr;
		m->bytes += m->files[i].attr.size;
	}
	if (m->bytes > w->longest)
		w->longest = m->bytes;
	return 0;
}

/* <stem>.er.R.redset. */
static int
write_descriptor(const struct work *w, uint32_t member,
		 const struct redset_desc *descs, struct buf *out,
		 struct error *err)
{
	struct redset_name name = {
		.map = w->map,
		.descriptor = true,
		.rank = w->set->ranks[member],
	};
	struct kvtree *t = redset_descriptor_build(descs, member, err);
	char text[128];
	int rc = -1;

	buf_clear(out);
	if (t != NULL && kvtree_encode(t, out, err) == 0)
		rc = place_meta(
			w->g, name.rank,
			redset_name_format(text, sizeof(text), &name, NULL),
			out->data, out->len, NULL, err);
	kvtree_free(t);
	return rc;
}

/* Create the redundancy file of `member` and write its header. */
static int
write_header(const struct work *w, uint32_t member, struct buf *out,
	     struct error *err)
{
	const struct redset_desc *d = &w->members[member].desc;
	const bool coded = d->type == REDSET_XOR || d->type == REDSET_RS;
	struct redset_name name = {
		.map = w->map,
		.rank = d->rank,
		.type = d->type,
		.set = d->set + 1,
		.sets = d->sets,
		.member = member + 1,
		.members = d->members,
	};
	struct kvtree *t =
		redset_header_build(w->members, coded ? w->set->ranks : NULL,
				    w->chunk, member, err);
	char text[128];
	int rc = -1;

	buf_clear(out);
	if (t == NULL || kvtree_encode(t, out, err) < 0)
		goto out;
	w->body_start[member] = out->len;
	redset_name_format(text, sizeof(text), &name, NULL);
	if (place_create(w->g, d->rank, NULL, text, &w->files[member], err) < 0)
		goto out;
	w->files[member].name = "redundancy file";
	rc = place_write(&w->files[member], out->data, out->len, 0, err);
out:
	kvtree_free(t);
	return rc;
}

static int
write_headers(const struct work *w, struct arena *arena, struct error *err)
{
	struct redset_desc *descs =
		arena_alloc(arena, w->set->n, sizeof(*descs));
	struct buf out = BUF_INIT;
	uint32_t m = 0;
	int rc = 0;

	if (descs == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (m = 0; m < w->set->n; m++)
		descs[m] = w->members[m].desc;
	for (m = 0; rc == 0 && m < w->set->n; m++)
		rc = write_descriptor(w, m, descs, &out, err) < 0 ||
				     write_header(w, m, &out, err) < 0
			     ? -1
			     : 0;
	buf_free(&out);
	return rc;
}

/* --- Bodies --- */

/* Copies of the strings of the left neighbours, end to end. */
static int
copy_partners(const struct work *w, uint32_t member, struct error *err)
{
	const uint32_t n = w->set->n;
	uint64_t to = w->body_start[member], off = 0;
	size_t part = 0;

	for (uint32_t d = 1; d <= redset_neighbours(&w->members[member].desc);
	     d++) {
		uint32_t from = (member + n - d) % n;
		uint64_t left = w->members[from].bytes;

		for (off = 0; left > 0; off += part, left -= part, to += part) {
			part = left < GEN_BLOCK ? left : GEN_BLOCK;
			read_string(w, from, off, part, w->buffers[0]);
			if (place_write(&w->files[member], w->buffers[0], part,
					to, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* `len` bytes from `off` of every check chunk of a stripe. */
static int
encode_block(const struct work *w, const struct code *c, unsigned stripe,
	     const struct recipe *recipe, uint64_t off, size_t len,
	     struct error *err)
{
	void *in[CODE_MAX], *out[CODE_MAX];
	struct code_slot slot;
	unsigned i = 0, m = 0;

	for (i = 0; i < recipe->nin; i++) {
		m = recipe->in[i];
		slot = code_slot(c, m, stripe);
		in[i] = w->buffers[m];
		read_string(w, m, slot.index * w->chunk + off, len, in[i]);
	}
	for (i = 0; i < recipe->nout; i++)
		out[i] = w->buffers[recipe->out[i]];
	recipe_run(recipe, len, in, out);
	for (i = 0; i < recipe->nout; i++) {
		m = recipe->out[i];
		slot = code_slot(c, m, stripe);
		if (place_write(&w->files[m], out[i], len,
				w->body_start[m] + slot.index * w->chunk + off,
				err) < 0)
			return -1;
	}
	return 0;
}

static int
encode_stripe(const struct work *w, const struct code *c, unsigned stripe,
	      struct error *err)
{
	struct recipe *recipe = NULL;
	bool lost[CODE_MAX];
	uint64_t off = 0;
	size_t len = 0;
	int rc = 0;

	for (unsigned m = 0; m < c->n; m++)
		lost[m] = code_slot(c, m, stripe).check;
	recipe = recipe_new(c, stripe, lost, err);
	if (recipe == NULL)
		return -1;
	for (; rc == 0 && off < w->chunk; off += len) {
		len = w->chunk - off < GEN_BLOCK ? w->chunk - off : GEN_BLOCK;
		rc = encode_block(w, c, stripe, recipe, off, len, err);
	}
	recipe_free(recipe);
	return rc;
}

static int
write_bodies(const struct work *w, const struct code *c, struct error *err)
{
	uint32_t i = 0;

	if (w->g->type == REDSET_PARTNER) {
		for (i = 0; i < w->set->n; i++)
			if (copy_partners(w, i, err) < 0)
				return -1;
	} else if (w->g->type != REDSET_SINGLE) {
		for (i = 0; i < w->set->n; i++)
			if (encode_stripe(w, c, i, err) < 0)
				return -1;
	}
	return 0;
}

/* --- Sets --- */

static int
prepare(struct work *w, struct arena *arena, struct error *err)
{
	const uint32_t n = w->set->n;

	w->members = arena_alloc(arena, n, sizeof(*w->members));
	w->body_start = arena_alloc(arena, n, sizeof(*w->body_start));
	w->files = arena_alloc(arena, n, sizeof(*w->files));
	w->buffers = arena_alloc(arena, n, sizeof(*w->buffers));
	if (w->members == NULL || w->body_start == NULL || w->files == NULL ||
	    w->buffers == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (uint32_t m = 0; m < n; m++) {
		w->buffers[m] = mem_aligned(CODE_ALIGN, GEN_BLOCK);
		if (w->buffers[m] == NULL)
			return error_set(err, ERROR_NOMEM, "out of memory");
		if (list_files(w, m, arena, err) < 0)
			return -1;
	}
	return 0;
}

static int
write_set(const struct gen *g, const struct gen_set *set, bool map,
	  struct arena *arena, struct error *err)
{
	struct work w = { .g = g, .set = set, .map = map };
	struct code c = {
		.type = g->type == REDSET_RS ? CODE_RS : CODE_XOR,
		.n = set->n,
		.k = g->type == REDSET_RS ? g->failures : 1,
	};
	const bool coded = g->type == REDSET_XOR || g->type == REDSET_RS;
	uint32_t m = 0;
	int rc = -1;

	if (prepare(&w, arena, err) < 0)
		goto out;
	if (coded && code_check(&c, err) < 0)
		goto out;
	w.chunk = coded ? code_chunk_size(&c, w.longest) : 0;
	if (write_headers(&w, arena, err) < 0 || write_bodies(&w, &c, err) < 0)
		goto out;
	rc = 0;
	for (m = 0; rc == 0 && m < set->n; m++)
		rc = place_done(&w.files[m], NULL, err);
out:
	for (m = 0; w.files != NULL && m < set->n; m++)
		place_abort(&w.files[m]);
	for (m = 0; w.buffers != NULL && m < set->n; m++)
		mem_free(w.buffers[m]);
	return rc;
}

int
redwrite(const struct gen *g, bool map, struct error *err)
{
	struct arena *arena = arena_new();
	int rc = 0;

	if (arena == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (uint32_t s = 0; rc == 0 && s < g->nsets; s++) {
		rc = write_set(g, &g->sets[s], map, arena, err);
		arena_reset(arena);
	}
	arena_free(arena);
	return rc;
}
