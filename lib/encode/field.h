/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field.h - the finite field GF(2^8) of Reed-Solomon redundancy: reduction
 * polynomial 0x11D, generator 2 (scr-redset(5)).  Addition is exclusive-or.
 * Only field.c uses ISA-L, which has the same field.
 *
 * Pure functions without allocation: any number of threads at once.
 */
#ifndef ENCODE_FIELD_H
#define ENCODE_FIELD_H

#include <stddef.h>

/* Maximum number of inputs, and of outputs, in one call. */
#define FIELD_VECTORS_MAX 256

/* Alignment required by field_xor(); field_dot() accepts any. */
#define FIELD_ALIGN 32

/* Bytes written by field_expand() for each coefficient. */
#define FIELD_EXPANDED 32

unsigned char field_mul(unsigned char a, unsigned char b);

/* a / b; `b` must not be zero. */
unsigned char field_div(unsigned char a, unsigned char b);

/* Product of all nonzero y + x[i]; never zero. */
unsigned char field_product(const unsigned char *x, unsigned n,
			    unsigned char y);

/* Expand `nout` rows of `nin` coefficients into the tables for field_dot(),
 * FIELD_EXPANDED * nin * nout bytes. */
void field_expand(const unsigned char *matrix, unsigned nin, unsigned nout,
		  unsigned char *tables);

/* A matrix in expanded form. */
struct field_matrix {
	unsigned nin, nout;
	const unsigned char *tables;
};

/* out = matrix * in, for `len` byte positions from `off`.  Buffers and length
 * may have any alignment; bytes outside the range are not accessed. */
void field_dot(const struct field_matrix *m, size_t off, size_t len,
	       void *const *in, void *const *out);

/* out = sum of nin >= 2 inputs of `len` bytes.  Buffers are aligned to
 * FIELD_ALIGN, and `len` is a multiple of it. */
void field_xor(unsigned nin, size_t len, void *const *in, void *out);

#endif /* ENCODE_FIELD_H */
