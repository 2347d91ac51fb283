/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.h - the erasure codes of redundancy sets: XOR and Reed-Solomon over
 * GF(2^8), with the layout of scr-redset(5).  Pure functions on
 * buffers, computed by ISA-L.
 *
 * A set has n members.  Each has a data string (its files concatenated, padded
 * with zero bytes) and, in its redundancy file, a body of k chunks.  Both are
 * cut into chunks of the same size.  Stripe s (0 ... n-1) contains exactly one
 * chunk of each member: a data chunk or a check chunk.  Within a stripe, any k
 * chunks can be computed from the others, byte position by byte position.
 *
 * Limits: XOR n >= 2, k = 1; RS 1 <= k < n; both n + k <= CODE_MAX.
 *
 * Threads: any number of threads may use the same struct code and struct
 * recipe.
 */
#ifndef ENCODE_CODE_H
#define ENCODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum code_type { CODE_XOR, CODE_RS };

#define CODE_MAX 256 /* limit of n + k: the number of elements of the field */

struct code {
	enum code_type type;
	unsigned n; /* members */
	unsigned k; /* check chunks of each member; failures tolerated */
};

/* Check the limits above.  ERROR_CORRUPT, as they come from metadata. */
int code_check(const struct code *c, struct error *err);

/* Data chunks of each member: n - k. */
unsigned code_data_chunks(const struct code *c);

/* Chunk size for a set whose longest data string has `longest` bytes:
 * ceil(longest / (n - k)), at least 1. */
uint64_t code_chunk_size(const struct code *c, uint64_t longest);

/* The chunk of one member in one stripe. */
struct code_slot {
	bool check;	/* check chunk in the body, else data chunk in the data
			   string */
	unsigned index; /* chunk number in the body or data string */
};

struct code_slot code_slot(const struct code *c, unsigned member,
			   unsigned stripe);

/* The stripe of the chunk `slot` of a member: the inverse of code_slot(). */
unsigned code_stripe(const struct code *c, unsigned member,
		     struct code_slot slot);

/* How to compute the lost chunks of one stripe.  `in` and `out` are members in
 * ascending order; `in` has only the members that are needed. */
struct recipe {
	unsigned nin, nout;
	unsigned char in[CODE_MAX];
	unsigned char out[CODE_MAX];
	bool all_ones;	       /* one output: the exclusive-or of the inputs */
	unsigned char *matrix; /* nout rows of nin coefficients, all nonzero */
	unsigned char *tables; /* from field_expand(); the allocation also holds
				  `matrix` */
};

/*
 * Make the recipe for stripe `stripe`, where lost[m] marks the chunk of member
 * m as lost (n flags).  If several choices of check chunks are possible, take
 * the lowest rows.  Return a recipe for recipe_free(), or NULL: ERROR_LOST
 * (more than k lost), ERROR_NOMEM.
 */
struct recipe *recipe_new(const struct code *c, unsigned stripe,
			  const bool *lost, struct error *err);
void recipe_free(struct recipe *r);

/* Input and output members of a recipe, each list in ascending order. */
struct recipe_members {
	const unsigned char *in;
	unsigned nin;
	const unsigned char *out;
	unsigned nout;
};

/* Make a recipe that computes the chunks `out` from exactly the n - k chunks
 * `in`, for checking redundancy against itself.  A member in both lists is
 * ERROR_USAGE. */
struct recipe *recipe_from(const struct code *c, unsigned stripe,
			   const struct recipe_members *m, struct error *err);

/* Best alignment of the buffers and the length given to recipe_run().  Any
 * alignment is correct, but slower. */
#define CODE_ALIGN 64

/*
 * Compute `len` bytes of each lost chunk: in[i] belongs to member r->in[i],
 * out[i] to r->out[i].  Buffers may not overlap.
 */
void recipe_run(const struct recipe *r, size_t len, void *const *in,
		void *const *out);

#endif /* ENCODE_CODE_H */
