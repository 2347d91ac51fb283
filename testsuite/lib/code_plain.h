/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code_plain.h - a plain version of formats.md 5.6 and 5.7 for the tests of
 * encode/code: the matrix by column operations on a Vandermonde matrix, checks
 * byte by byte, nothing shared with what is tested.
 */
#ifndef CODE_PLAIN_H
#define CODE_PLAIN_H

#include "encode/code.h"
#include "scratch.h"

/* Make the table of products, which the others need. */
void fill_product(void);
/* What malloc() or a constructor has returned; NULL ends the test. */
void *need(void *p);

/* The k check rows (each n long) of the matrix; XOR: ones.  For free(). */
unsigned char *plain_rows(const struct code *c);

/* The check row that a member holds in a stripe, or -1. */
int plain_row(const struct code *c, unsigned member, unsigned stripe);

/* Which of its data chunks a member has in a stripe: counted from 0. */
unsigned plain_index(const struct code *c, unsigned member, unsigned stripe);

/* Add `factor` times `from` to `sum`. */
void plain_add(unsigned char *sum, const unsigned char *from, size_t len,
	       unsigned char factor);

/* --- A stripe that is whole --- */

struct stripe {
	struct code code;
	unsigned number;
	size_t len;
	unsigned char *chunk[CODE_MAX]; /* of each member */
};

/* The next of a series of numbers that begins at *state. */
unsigned noise(uint32_t *state);

/* A stripe of `len` bytes a chunk, whose data are random; for stripe_fini(). */
void stripe_init(struct stripe *s, const struct code *c, unsigned number,
		 const unsigned char *rows, size_t len);
void stripe_fini(struct stripe *s);

/* Run `r` on the stripe's inputs, at once and then one by one, the last one
 * first: are the outputs the stripe's? */
bool recipe_right(const struct recipe *r, const struct stripe *s);

#endif /* CODE_PLAIN_H */
