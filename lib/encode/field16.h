/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field16.h - the finite field GF(2^16) of FTI's level 3: reduction polynomial
 * 0x1100B (fti-format(5)).  Addition is exclusive-or.  In buffers, an element
 * is a word of 2 bytes, little-endian on every processor.
 *
 * Pure functions without allocation: any number of threads at once.
 */
#ifndef ENCODE_FIELD16_H
#define ENCODE_FIELD16_H

#include <stddef.h>
#include <stdint.h>

/* Maximum number of inputs, and of outputs, in one call. */
#define FIELD16_VECTORS_MAX 64

#define FIELD16_WORD 2 /* bytes of an element */

uint16_t field16_mul(uint16_t a, uint16_t b);

/* 1 / a; `a` must not be zero. */
uint16_t field16_inverse(uint16_t a);

/* Implementations of field16_dot(), which compute the same bytes, the slowest
 * first. */
enum field16_way {
	FIELD16_PLAIN, /* any processor */
	FIELD16_AVX2,
};

/* The fastest that this processor can do.  It can do all before it, too. */
enum field16_way field16_best(void);

/* Alignment required of the tables. */
#define FIELD16_ALIGN 64

/* A matrix in expanded form, for one way. */
struct field16_matrix {
	enum field16_way way;
	unsigned nin, nout;
	const void *tables;
};

/* Bytes written by field16_expand() for each coefficient. */
size_t field16_expanded(enum field16_way way);

/* Expand `cells` coefficients, nout rows of nin. */
void field16_expand(enum field16_way way, const uint16_t *matrix,
		    unsigned cells, void *tables);

/* out = matrix * in.  `len` bytes of each buffer, whole words; buffers may have
 * any alignment, and may not overlap.  Bytes outside are not accessed. */
void field16_dot(const struct field16_matrix *m, size_t len, void *const *in,
		 void *const *out);

#endif /* ENCODE_FIELD16_H */
