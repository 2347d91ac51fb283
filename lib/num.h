/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * num.h - parse numbers, whole and bounded: "12x", "", " 7", "+7" and a value
 * outside min..max are all rejected with ERROR_USAGE.  The sentence quotes the
 * text and says what was expected.
 */
#ifndef NUM_H
#define NUM_H

#include <stdint.h>

struct error;

/* Parse decimal digits, for int64 with an optional '-'. */
int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out,
	    struct error *err);
int num_i64(const char *s, int64_t min, int64_t max, int64_t *out,
	    struct error *err);

/* Parse a number as strtoull() does with base 0, but whole and bounded: 0x..
 * and octal are legal in byte counts and CRCs (kvtree(5)). */
int num_u64_any(const char *s, uint64_t max, uint64_t *out, struct error *err);

/* Parse a byte count with an optional unit: "4096", "64K", "64KB", "64KiB",
 * "1.5G".  Units are powers of two, up to E, in upper or lower case. */
int num_bytes(const char *s, uint64_t max, uint64_t *out, struct error *err);

/* Parse a decimal number not below 0: "3", "0.5".  The same in any locale. */
int num_decimal(const char *s, double *out, struct error *err);

/* Multiply or add to *a, with a check: 0, or -1 and *a unchanged on
 * overflow. */
int num_mul(uint64_t *a, uint64_t b);
int num_add(uint64_t *a, uint64_t b);

/* For qsort() and bsearch(): order objects by the number that each begins with;
 * num_by_id(): an int64_t, such as an id. */
int num_by_id(const void *a, const void *b);
int num_by_u32(const void *a, const void *b);
int num_by_u64(const void *a, const void *b);

/* Write `n` in decimal digits.  Returns `to`.  Metadata files are full of
 * numbers, and this is several times as fast as printf. */
#define NUM_TEXT 24
char *num_text(char to[static NUM_TEXT], uint64_t n);

/* The same as an argument of a function, valid until the end of the block. */
#define num_str(n) num_text((char[NUM_TEXT]){ 0 }, (uint64_t)(n))

#endif /* NUM_H */
