/* SPDX-License-Identifier: BSD-3-Clause */
#include "redwrite.h"

#include "code_plain.h"

/* Bytes encoded at once. */
#define BLOCK ((size_t)128 << 10)

/* A set that is being encoded. */
struct coding {
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
read_padded(const struct coding *x, uint32_t member, uint64_t off, size_t len)
{
	const uint64_t bytes = x->w->members[member].bytes;
	const uint64_t left = off < bytes ? bytes - off : 0;
	const size_t have = left < len ? (size_t)left : len;

	x->w->read(x->w->arg, member, off, have, x->data);
	memset(x->data + have, 0, len - have);
}

static void
write_red(const struct coding *x, uint32_t member, uint64_t off,
	  const void *data, size_t len)
{
	x->w->write(x->w->arg, member, false, off, data, len);
}

/* Write the descriptor and the header of each member. */
static void
write_trees(struct coding *x)
{
	const struct redwrite *w = x->w;
	const uint32_t *ranks = x->chunk > 0 ? w->ranks : NULL;
	struct redset_desc *d = need(calloc(x->code.n, sizeof(*d)));
	auto_buf out = BUF_INIT;

	for (uint32_t m = 0; m < x->code.n; m++)
		d[m] = w->members[m].desc;
	for (uint32_t m = 0; m < x->code.n; m++) {
		auto_kvtree *desc = redset_descriptor_build(d, m, NULL);
		auto_kvtree *head = redset_header_build(w->members, ranks,
							x->chunk, m, NULL);

		must(kvtree_encode(need(desc), &out, NULL) == 0);
		w->write(w->arg, m, true, 0, out.data, out.len);
		buf_clear(&out);
		must(kvtree_encode(need(head), &out, NULL) == 0);
		write_red(x, m, 0, out.data, out.len);
		x->body[m] = out.len;
		buf_clear(&out);
	}
	free(d);
}

/* Write copies of the data strings of the left neighbours, end to end
 * (formats.md 5.5). */
static void
copy_partners(struct coding *x, uint32_t member)
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
			write_red(x, member, to, x->data, len);
		}
	}
}

/* Encode `len` bytes at `off` of each check chunk of a stripe (5.6, 5.7). */
static void
encode_block(struct coding *x, const unsigned char *rows, unsigned stripe,
	     uint64_t off, size_t len)
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

		write_red(x, m, x->body[m] + row * x->chunk + off,
			  x->sums + row * BLOCK, len);
	}
}

void
redwrite(const struct redwrite *w)
{
	const struct redset_desc *d = &w->members[0].desc;
	const bool rs = d->type == REDSET_RS;
	auto_arena *arena = need(arena_new());
	struct coding x = {
		.w = w,
		.code = { rs ? CODE_RS : CODE_XOR, d->members,
			  rs ? d->failures : 1 },
	};
	unsigned char *rows = NULL;
	uint64_t longest = 1;
	size_t len = 0;

	for (uint32_t m = 0; m < d->members; m++)
		if (w->members[m].bytes > longest)
			longest = w->members[m].bytes;
	if (rs || d->type == REDSET_XOR)
		x.chunk = (longest - 1) / (x.code.n - x.code.k) + 1;
	x.body = need(arena_alloc(arena, x.code.n, sizeof(*x.body)));
	x.data = need(arena_alloc(arena, 1, BLOCK));
	x.sums = need(arena_alloc(arena, x.code.k, BLOCK));
	write_trees(&x);
	for (uint32_t m = 0; d->type == REDSET_PARTNER && m < x.code.n; m++)
		copy_partners(&x, m);
	if (x.chunk > 0)
		rows = plain_rows(&x.code);
	for (unsigned s = 0; x.chunk > 0 && s < x.code.n; s++)
		for (uint64_t off = 0; off < x.chunk; off += len) {
			len = x.chunk - off < BLOCK ? (size_t)(x.chunk - off)
						    : BLOCK;
			encode_block(&x, rows, s, off, len);
		}
	free(rows);
}
