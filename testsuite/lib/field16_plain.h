/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field16_plain.h - multiplication in GF(2^16) by definition, for the tests of
 * encode/field16, encode/cauchy and the parity of FTI.
 */
#ifndef FIELD16_PLAIN_H
#define FIELD16_PLAIN_H

#include <stdint.h>

/* The product of two polynomials over GF(2), divided by x^16 + x^12 + x^3 + x +
 * 1. */
uint16_t plain_mul(uint16_t a, uint16_t b);

/* The inverse of an element, by trial. */
uint16_t plain_inverse(uint16_t a);

#endif /* FIELD16_PLAIN_H */
