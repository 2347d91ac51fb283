/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field.h - the finite field GF(2^8) of Reed-Solomon redundancy: reduction
 * polynomial 0x11D, generator 2 (formats.md 5.7).  Addition is exclusive-or.
 * field.c is the only file that knows ISA-L, whose field is the same one.
 *
 * Pure functions, nothing allocated: any number of threads at once.
 */
#ifndef ENCODE_FIELD_H
#define ENCODE_FIELD_H

#include <stddef.h>

/* Most inputs, and most outputs, of one call. */
#define FIELD_VECTORS_MAX 256

/* field_xor() wants buffers aligned so; field_dot() takes any. */
#define FIELD_ALIGN 32

/* Bytes that field_expand() writes for each coefficient. */
#define FIELD_EXPANDED 32

unsigned char field_mul(unsigned char a, unsigned char b);

/* a / b; `b` may not be zero. */
unsigned char field_div(unsigned char a, unsigned char b);

/* The product of all y + x[i], but those that are zero: never zero. */
unsigned char field_product(const unsigned char *x, unsigned n,
			    unsigned char y);

/* Make from `nout` rows of `nin` coefficients the tables field_dot() works
 * with: FIELD_EXPANDED * nin * nout bytes. */
void field_expand(const unsigned char *matrix, unsigned nin, unsigned nout,
		  unsigned char *tables);

/* A matrix in expanded form. */
struct field_matrix {
	unsigned nin, nout;
	const unsigned char *tables;
};

/* out = matrix * in, for each of `len` byte positions from `off`: buffers and
 * length of any alignment, nothing outside of them touched. */
void field_dot(const struct field_matrix *m, size_t off, size_t len,
	       void *const *in, void *const *out);

/* out += column `i` of the matrix * in: field_dot() one input at a time. */
void field_add(const struct field_matrix *m, unsigned i, size_t len,
	       const void *in, void *const *out);

/* out = the sum of nin >= 2 inputs of `len` bytes: buffers on FIELD_ALIGN, and
 * `len` a multiple of it. */
void field_xor(unsigned nin, size_t len, void *const *in, void *out);

#endif /* ENCODE_FIELD_H */
