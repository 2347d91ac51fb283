/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.h - the erasure codes of redundancy sets: XOR and Reed-Solomon over
 * GF(2^8), laid out as formats.md 5.6 and 5.7 say.  Pure functions on
 * buffers, on ISA-L.
 *
 * A set has n members.  Each has a data string (its files end to end, padded
 * with zero bytes) and, in its redundancy file, a body of k chunks.  Both are
 * cut into chunks of the same size.  Stripe s (0 ... n-1) takes exactly one
 * chunk of each member: a data chunk, or a check chunk.  Within a stripe any
 * k chunks can be computed from the others, byte position by byte position.
 *
 * Limits: XOR n >= 2, k = 1; RS 1 <= k < n; both n + k <= CODE_MAX.
 * Threads: a struct code and a struct recipe may be used by any number at
 * once.
 */
#ifndef ENCODE_CODE_H
#define ENCODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum code_type { CODE_XOR, CODE_RS };

#define CODE_MAX 256 /* n + k at most: the field has no more elements */

struct code {
	enum code_type type;
	unsigned n; /* members */
	unsigned k; /* check chunks of each member; failures survived */
};

/* Check the limits above: ERROR_CORRUPT (they come from metadata). */
int code_check(const struct code *c, struct error *err);

/* Data chunks of each member: n - k. */
unsigned code_data_chunks(const struct code *c);

/* Chunk size for a set whose longest data string has `longest` bytes:
 * ceil(longest / (n - k)), at least 1. */
uint64_t code_chunk_size(const struct code *c, uint64_t longest);

/* What a member puts into a stripe. */
struct code_slot {
	bool check;	/* a chunk of the body, not of the data string */
	unsigned index; /* number of the chunk in the body or data string */
};

struct code_slot code_slot(const struct code *c, unsigned member,
			   unsigned stripe);

/* The stripe in which chunk `index` of a member's data string, or of its
 * body, lies: the inverse of code_slot(). */
unsigned code_stripe(const struct code *c, unsigned member,
		     struct code_slot slot);

/*
 * How to compute the lost chunks of one stripe.  `in` and `out` are members
 * in ascending order; `in` has only those that are needed.
 */
struct recipe {
	unsigned nin, nout;
	unsigned char in[CODE_MAX];
	unsigned char out[CODE_MAX];
	bool all_ones;	       /* one output, the exclusive-or of the inputs */
	unsigned char *matrix; /* nout rows of nin coefficients, none zero */
	unsigned char *tables; /* field_expand()ed; one piece with matrix */
};

/*
 * Recipe for stripe `stripe` where lost[m] says that member m's chunk is lost
 * (n flags).  Return a recipe for recipe_free(), or NULL: ERROR_LOST (more
 * than k lost), ERROR_NOMEM.  Where several choices of check chunks give the
 * same answer the lowest row is taken.
 */
struct recipe *recipe_new(const struct code *c, unsigned stripe,
			  const bool *lost, struct error *err);
void recipe_free(struct recipe *r);

/*
 * Recipe that computes `nout` chosen chunks `out` (ascending) from exactly
 * the chosen n - k chunks `in` (ascending): for checking redundancy against
 * itself.  A member may not be in both: ERROR_USAGE.
 */
struct recipe *recipe_from(const struct code *c, unsigned stripe,
			   const unsigned char *in, unsigned nin,
			   const unsigned char *out, unsigned nout,
			   struct error *err);

/* Alignment wanted of all buffers given to recipe_run(), and of `len` for
 * best speed; any length is right. */
#define CODE_ALIGN 64

/*
 * Compute `len` bytes of each lost chunk: in[i] belongs to member r->in[i],
 * out[i] to r->out[i].  Buffers may not overlap.
 */
void recipe_run(const struct recipe *r, size_t len, void *const *in,
		void *const *out);

/*
 * The same with one input at a time, for processes that hold one each: add to
 * every out[] what `in`, the chunk of member r->in[i], contributes to it.
 * Outputs that start as zeros are those of recipe_run() once all nin inputs
 * were added, in whichever order, or once partial sums were added up (by
 * exclusive-or).  `in` may not overlap an output.
 */
void recipe_add(const struct recipe *r, unsigned i, size_t len, const void *in,
		void *const *out);

/* Can stripe `stripe` be solved with these losses?  (At most k lost.) */
bool code_solvable(const struct code *c, unsigned stripe, const bool *lost);

/* Coefficient of member `member`'s data chunk in checksum row `row` (0 ...
 * k-1): E[n + row][member] of formats.md 5.7; XOR: 1. */
unsigned char code_coefficient(const struct code *c, unsigned row,
			       unsigned member);

#endif /* ENCODE_CODE_H */
