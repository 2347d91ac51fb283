/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "code_plain.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "redwrite.h"

/* Bytes encoded at once. */
#define BLOCK ((size_t)128 << 10)

/* A set that is being encoded. */
struct work {
	const struct redwrite *w;
	struct code code;
	uint64_t chunk;
	uint64_t *body;	     /* offset of the body in each redundancy file */
	unsigned char *data; /* BLOCK bytes */
	unsigned char *sums; /* BLOCK bytes for each check row */
};

/* Read `len` bytes at `off` of a member's data string into x->data, padded with
 * zeros behind its end. */
static void
read_padded(const struct work *x, uint32_t member, uint64_t off, size_t len)
{
	const uint64_t bytes = x->w->members[member].bytes;
	const uint64_t left = off < bytes ? bytes - off : 0;
	const size_t have = left < len ? (size_t)left : len;

	x->w->read(x->w->arg, member, off, have, x->data);
	memset(x->data + have, 0, len - have);
}

/* Encode `t`, write it as the descriptor or header of a member, and free it. */
static int
write_tree(const struct work *x, uint32_t member, bool descriptor,
	   struct kvtree *t, struct error *err)
{
	struct buf out = BUF_INIT;
	int rc = -1;

	if (t != NULL && kvtree_encode(t, &out, err) == 0)
		rc = x->w->write(x->w->arg, member, descriptor, 0, out.data,
				 out.len, err);
	if (!descriptor)
		x->body[member] = out.len;
	buf_free(&out);
	kvtree_free(t);
	return rc;
}

static int
write_trees(const struct work *x, struct arena *arena, struct error *err)
{
	const struct redwrite *w = x->w;
	const uint32_t *ranks = x->chunk > 0 ? w->ranks : NULL;
	struct redset_desc *d = arena_alloc(arena, x->code.n, sizeof(*d));

	if (d == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (uint32_t m = 0; m < x->code.n; m++)
		d[m] = w->members[m].desc;
	for (uint32_t m = 0; m < x->code.n; m++)
		if (write_tree(x, m, true, redset_descriptor_build(d, m, err),
			       err) < 0 ||
		    write_tree(x, m, false,
			       redset_header_build(w->members, ranks, x->chunk,
						   m, err),
			       err) < 0)
			return -1;
	return 0;
}

/* Write copies of the data strings of the left neighbours, end to end
 * (formats.md 5.5). */
static int
copy_partners(const struct work *x, uint32_t member, struct error *err)
{
	const struct redset_desc *desc = &x->w->members[member].desc;
	uint64_t to = x->body[member];
	size_t len = 0;

	for (uint32_t d = 1; d <= redset_neighbours(desc); d++) {
		uint32_t from = (member + x->code.n - d) % x->code.n;
		uint64_t bytes = x->w->members[from].bytes;

		for (uint64_t off = 0; off < bytes; off += len, to += len) {
			len = bytes - off < BLOCK ? (size_t)(bytes - off)
						  : BLOCK;
			read_padded(x, from, off, len);
			if (x->w->write(x->w->arg, member, false, to, x->data,
					len, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* Encode `len` bytes at `off` of each check chunk of a stripe (5.6, 5.7). */
static int
encode_block(const struct work *x, const unsigned char *rows, unsigned stripe,
	     uint64_t off, size_t len, struct error *err)
{
	const unsigned n = x->code.n, k = x->code.k;

	memset(x->sums, 0, k * BLOCK);
	for (unsigned m = 0; m < n; m++) {
		if (plain_row(&x->code, m, stripe) >= 0)
			continue;
		read_padded(x, m,
			    plain_index(&x->code, m, stripe) * x->chunk + off,
			    len);
		for (unsigned row = 0; row < k; row++)
			plain_add(x->sums + row * BLOCK, x->data, len,
				  rows[(size_t)row * n + m]);
	}
	for (unsigned row = 0; row < k; row++) {
		unsigned m = (stripe + n - row) % n;

		if (x->w->write(x->w->arg, m, false,
				x->body[m] + row * x->chunk + off,
				x->sums + row * BLOCK, len, err) < 0)
			return -1;
	}
	return 0;
}

static int
write_bodies(const struct work *x, struct error *err)
{
	unsigned char *rows = NULL;
	size_t len = 0;
	int rc = 0;

	if (x->w->members[0].desc.type == REDSET_PARTNER)
		for (uint32_t m = 0; rc == 0 && m < x->code.n; m++)
			rc = copy_partners(x, m, err);
	if (x->chunk == 0)
		return rc;
	rows = plain_rows(&x->code);
	for (unsigned s = 0; s < x->code.n; s++)
		for (uint64_t off = 0; rc == 0 && off < x->chunk; off += len) {
			len = x->chunk - off < BLOCK ? (size_t)(x->chunk - off)
						     : BLOCK;
			rc = encode_block(x, rows, s, off, len, err);
		}
	free(rows);
	return rc;
}

int
redwrite(const struct redwrite *w, struct error *err)
{
	const struct redset_desc *d = &w->members[0].desc;
	const bool coded = d->type == REDSET_XOR || d->type == REDSET_RS;
	struct arena *arena = arena_new();
	struct work x = { .w = w, .code = { .n = d->members, .k = 1 } };
	uint64_t longest = 1;
	int rc = -1;

	x.code.type = d->type == REDSET_RS ? CODE_RS : CODE_XOR;
	if (d->type == REDSET_RS)
		x.code.k = d->failures;
	for (uint32_t m = 0; m < d->members; m++)
		if (w->members[m].bytes > longest)
			longest = w->members[m].bytes;
	if (coded)
		x.chunk = (longest - 1) / (x.code.n - x.code.k) + 1;
	if (arena != NULL) {
		x.body = arena_alloc(arena, x.code.n, sizeof(*x.body));
		x.data = arena_alloc(arena, 1, BLOCK);
		x.sums = arena_alloc(arena, x.code.k, BLOCK);
	}
	if (x.body == NULL || x.data == NULL || x.sums == NULL)
		error_set(err, ERROR_NOMEM, "out of memory");
	else if (write_trees(&x, arena, err) == 0)
		rc = write_bodies(&x, err);
	arena_free(arena);
	return rc;
}
