/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code_plain.h - a plain implementation of formats.md 5.6 and 5.7, for the
 * tests of encode/code.  It computes the matrix by column operations on a
 * Vandermonde matrix and the checks byte by byte.  It shares no code with
 * lib/encode.
 */
#ifndef CODE_PLAIN_H
#define CODE_PLAIN_H

#include "encode/code.h"
#include "scratch.h"

/* Fill the table of products.  Call it before any other function here. */
void fill_product(void);
/* Return `p`, or end the test if it is NULL: an allocation failed. */
void *need(void *p);

/* The k check rows of the matrix, each n long; all ones for XOR.  Caller frees
 * with free(). */
unsigned char *plain_rows(const struct code *c);

/* The check row that a member stores in a stripe, or -1. */
int plain_row(const struct code *c, unsigned member, unsigned stripe);

/* The number, from 0, of the data chunk that a member stores in a stripe. */
unsigned plain_index(const struct code *c, unsigned member, unsigned stripe);

/* Add `factor` times `from` to `sum`. */
void plain_add(unsigned char *sum, const unsigned char *from, size_t len,
	       unsigned char factor);

/* --- A stripe that is whole --- */

struct stripe {
	struct code code;
	unsigned number;
	size_t len;
	unsigned char *chunk[CODE_MAX]; /* the chunk of each member */
};

/* The next number of a pseudo-random series; *state is its seed. */
unsigned noise(uint32_t *state);

/* Fill a stripe with random data, `len` bytes a chunk, and its checks.  Free
 * with stripe_fini(). */
void stripe_init(struct stripe *s, const struct code *c, unsigned number,
		 const unsigned char *rows, size_t len);
void stripe_fini(struct stripe *s);

/* Run `r` on the chunks of the stripe, first all at once, then one by one from
 * the last.  Are the outputs equal to the stripe's chunks? */
bool recipe_right(const struct recipe *r, const struct stripe *s);

/* --- GF(2^16) by definition --- */

/* The product of two polynomials over GF(2), divided by x^16 + x^12 + x^3 + x +
 * 1. */
uint16_t plain_mul(uint16_t a, uint16_t b);

/* The inverse of an element, by trial. */
uint16_t plain_inverse(uint16_t a);

#endif /* CODE_PLAIN_H */
