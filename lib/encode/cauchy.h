/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cauchy.h - the erasure code of FTI's level 3: Cauchy Reed-Solomon over
 * GF(2^16) (fti-format(5)).  Pure functions on buffers.
 *
 * A group of k processes has 2k members: data 0 ... k-1, parity k ... 2k-1.
 * All have the same length.  Word by word, parity k+i is the sum over j of
 * data j / (i XOR (k+j)), and any k members determine the others.
 *
 * Threads: any number of threads may use the same struct cauchy.
 */
#ifndef ENCODE_CAUCHY_H
#define ENCODE_CAUCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode/field16.h"

struct error;

/* Limits of k. */
#define CAUCHY_MIN 2
#define CAUCHY_MAX 31

#define CAUCHY_MEMBERS_MAX (2 * CAUCHY_MAX)

/* How to compute members from others.  `in` and `out` are ascending. */
struct cauchy {
	unsigned nin, nout; /* nin is k, or 0 if nout is */
	unsigned char in[CAUCHY_MAX];
	unsigned char out[CAUCHY_MAX];
	uint16_t *matrix; /* nout rows of nin coefficients, all nonzero */
	enum field16_way way;
	void *tables; /* from field16_expand(); also holds `matrix` */
};

/*
 * Make the recipe for the members `wanted` (2k flags) from k members that are
 * neither lost (2k flags) nor wanted: data first, then the lowest parity.  A
 * wanted member that is not lost is computed from the others, for a comparison.
 * Return a recipe for cauchy_free(), or NULL: ERROR_CORRUPT (k outside of its
 * limits, as it comes from metadata), ERROR_LOST (less than k members left),
 * ERROR_NOMEM.
 */
struct cauchy *cauchy_new(unsigned k, const bool *lost, const bool *wanted,
			  struct error *err);
void cauchy_free(struct cauchy *c);

/* Compute `len` bytes of each output, an even number: in[i] belongs to member
 * c->in[i], out[i] to c->out[i].  Buffers may have any alignment, and may not
 * overlap. */
void cauchy_run(const struct cauchy *c, size_t len, void *const *in,
		void *const *out);

#endif /* ENCODE_CAUCHY_H */
