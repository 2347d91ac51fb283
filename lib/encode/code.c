/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/code.h"

#include <assert.h>
#include <string.h>

#include "encode/field.h"
#include "error.h"
#include "mem.h"

/*
 * Reed-Solomon coding by interpolation.  The matrix of scr-redset(5) is
 * derived from a Vandermonde matrix.  So a stripe is a polynomial p of degree
 * below n over the field: p(j) is the data of member j, or zero if member j
 * holds a check chunk, and p(n + i) is check chunk i.  The values at n points
 * determine p: here, the k zeros and any n - k chunks.  With x the known
 * points, Lagrange's formula is
 *
 *   p(y) = sum over i of p(x[i]) * c[i],
 *   c[i] = product over m != i of (y - x[m]) / (x[i] - x[m])
 *
 * If y is not a known point, c[i] is never zero.  So any n - k chunks suffice,
 * and no matrix is inverted.
 */

int
code_check(const struct code *c, struct error *err)
{
	const bool xor = c->type == CODE_XOR;

	if (!xor&&c->type != CODE_RS)
		return error_set(err, ERROR_CORRUPT, "unknown type of code %d",
				 (int)c->type);
	if (c->k < 1 || c->k >= c->n || (xor&&c->k != 1))
		return error_set(err, ERROR_CORRUPT,
				 "%s set of %u members with %u check chunks: "
				 "impossible",
				 xor? "XOR" : "RS", c->n, c->k);
	/* k < n <= CODE_MAX, so the sum does not wrap. */
	if (c->n > CODE_MAX || c->n + c->k > CODE_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "set of %u members with %u check chunks: more "
				 "than %d together",
				 c->n, c->k, CODE_MAX);
	return 0;
}

unsigned
code_data_chunks(const struct code *c)
{
	return c->n - c->k;
}

uint64_t
code_chunk_size(const struct code *c, uint64_t longest)
{
	unsigned n = code_data_chunks(c);

	/* An empty set has chunks of one byte (scr-redset(5)). */
	return longest == 0 ? 1 : longest / n + (longest % n != 0);
}

/* XOR has the layout of RS with k = 1 (scr-redset(5)). */
struct code_slot
code_slot(const struct code *c, unsigned member, unsigned stripe)
{
	const unsigned n = c->n;
	unsigned row = 0;

	assert(n > 0 && member < n && stripe < n);
	row = (stripe + n - member) % n;
	if (row < c->k)
		return (struct code_slot){ true, row };
	/* Data chunks are numbered by ascending stripe.  Subtract the stripes
	 * below this one in which the member has check chunks. */
	if (member + c->k > c->n)
		return (struct code_slot){ false,
					   stripe - (member + c->k - c->n) };
	return (struct code_slot){ false,
				   stripe > member ? stripe - c->k : stripe };
}

unsigned
code_stripe(const struct code *c, unsigned member, struct code_slot slot)
{
	assert(member < c->n);
	assert(slot.index < (slot.check ? c->k : code_data_chunks(c)));
	if (slot.check)
		return (member + slot.index) % c->n;
	if (member + c->k > c->n)
		return slot.index + (member + c->k - c->n);
	return slot.index < member ? slot.index : slot.index + c->k;
}

/* The point at which the stripe's polynomial has the value of the member's
 * chunk. */
static unsigned char
point(const struct code *c, unsigned member, unsigned stripe)
{
	struct code_slot slot = code_slot(c, member, stripe);

	return (unsigned char)(slot.check ? c->n + slot.index : member);
}

/* Fill in the matrix by Lagrange's formula.  The products are computed once per
 * input and per output, not once per pair. */
static void
fill_matrix(const struct code *c, unsigned stripe, struct recipe *r)
{
	unsigned char known[CODE_MAX] = { 0 }, below[CODE_MAX];
	const unsigned char *x = known + c->k;
	unsigned char *coefficient = r->matrix;
	unsigned zeros = 0;

	/* The known points of the stripe: its k zeros, then the inputs. */
	for (unsigned m = 0; m < c->n; m++)
		if (code_slot(c, m, stripe).check)
			known[zeros++] = (unsigned char)m;
	for (unsigned i = 0; i < r->nin; i++)
		known[zeros + i] = point(c, r->in[i], stripe);
	for (unsigned i = 0; i < r->nin; i++)
		below[i] = field_product(known, c->n, x[i]);
	for (unsigned o = 0; o < r->nout; o++) {
		unsigned char y = point(c, r->out[o], stripe);
		unsigned char above = field_product(known, c->n, y);

		for (unsigned i = 0; i < r->nin; i++)
			*coefficient++ =
				field_div(above, field_mul(y ^ x[i], below[i]));
	}
}

/* Complete a copy of `members`, a recipe whose members are set, by matrix and
 * tables. */
static struct recipe *
recipe_of(const struct code *c, unsigned stripe, const struct recipe *members,
	  struct error *err)
{
	const size_t cells = (size_t)members->nin * members->nout;
	struct recipe *r = mem_alloc(1, sizeof(*r));

	if (r == NULL)
		return error_no_memory_null(err);
	*r = *members;
	/* One allocation: tables, then the matrix of < CODE_MAX^2 / 4 cells. */
	r->tables = mem_aligned(CODE_ALIGN, cells * (FIELD_EXPANDED + 1));
	if (r->tables == NULL) {
		mem_free(r);
		return error_no_memory_null(err);
	}
	r->matrix = r->tables + cells * FIELD_EXPANDED;
	if (cells == 0)
		return r;
	if (c->type == CODE_XOR)
		memset(r->matrix, 1, cells);
	else
		fill_matrix(c, stripe, r);
	/* One row of ones?  Some RS recipes are, and then XOR is faster. */
	r->all_ones = r->nout == 1;
	for (unsigned i = 0; i < r->nin && r->all_ones; i++)
		r->all_ones = r->matrix[i] == 1;
	field_expand(r->matrix, r->nin, r->nout, r->tables);
	return r;
}

struct recipe *
recipe_new(const struct code *c, unsigned stripe, const bool *lost,
	   struct error *err)
{
	struct recipe r = { .nin = 0 };
	bool use[CODE_MAX] = { false };
	unsigned wanted = 0;

	if (code_check(c, err) < 0)
		return NULL;
	for (unsigned m = 0; m < c->n; m++)
		if (lost[m])
			r.out[r.nout++] = (unsigned char)m;
	if (r.nout > c->k)
		return error_set_null(
			err, ERROR_LOST,
			"stripe %u: %u chunks lost: no more than %u can be "
			"computed",
			stripe, r.nout, c->k);
	/* Choose n - k inputs: all surviving data chunks and, for each lost
	 * one, the lowest surviving check row. */
	for (unsigned m = 0; r.nout > 0 && m < c->n; m++) {
		bool check = code_slot(c, m, stripe).check;

		use[m] = !check && !lost[m];
		wanted += !check && lost[m];
	}
	for (unsigned row = 0; row < c->k && wanted > 0; row++) {
		unsigned m = (stripe + c->n - row) % c->n;

		if (!lost[m]) {
			use[m] = true;
			wanted--;
		}
	}
	assert(wanted == 0); /* at most k are lost */
	for (unsigned m = 0; m < c->n; m++)
		if (use[m])
			r.in[r.nin++] = (unsigned char)m;
	return recipe_of(c, stripe, &r, err);
}

/* Copy a list of members.  It must be ascending, and each must be a member of
 * the set that was not seen before. */
static int
take_members(const struct code *c, const unsigned char *from, unsigned n,
	     unsigned char *to, bool *seen)
{
	if (n > c->n)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		if (from[i] >= c->n || seen[from[i]] ||
		    (i > 0 && from[i] < from[i - 1]))
			return -1;
		seen[from[i]] = true;
		to[i] = from[i];
	}
	return 0;
}

struct recipe *
recipe_from(const struct code *c, unsigned stripe,
	    const struct recipe_members *m, struct error *err)
{
	bool seen[CODE_MAX] = { false };
	struct recipe r = { .nin = m->nin, .nout = m->nout };

	if (code_check(c, err) < 0)
		return NULL;
	if (m->nin != code_data_chunks(c) ||
	    take_members(c, m->in, m->nin, r.in, seen) < 0 ||
	    take_members(c, m->out, m->nout, r.out, seen) < 0)
		return error_set_null(
			err, ERROR_USAGE,
			"recipe: %u inputs, %u outputs: not ascending, or "
			"not of the set",
			m->nin, m->nout);
	return recipe_of(c, stripe, &r, err);
}

void
recipe_free(struct recipe *r)
{
	if (r == NULL)
		return;
	mem_free(r->tables); /* frees the matrix, too */
	mem_free(r);
}

void
recipe_run(const struct recipe *r, size_t len, void *const *in,
	   void *const *out)
{
	const struct field_matrix m = { r->nin, r->nout, r->tables };
	size_t done = 0;
	uintptr_t bits = 0;

	if (r->nout == 0 || len == 0)
		return;
	if (r->all_ones && r->nin == 1) {
		memcpy(out[0], in[0], len);
		return;
	}
	bits = (uintptr_t)out[0];
	for (unsigned i = 0; i < r->nin; i++)
		bits |= (uintptr_t)in[i];
	if (r->all_ones && bits % FIELD_ALIGN == 0) {
		done = len - len % FIELD_ALIGN;
		field_xor(r->nin, done, in, out[0]);
	}
	field_dot(&m, done, len - done, in, out);
}
