/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * num.h - numbers out of text, bounded and whole: "12x", "", " 7", "+7" and a
 * value outside min..max are all refused, ERROR_USAGE, with a sentence that
 * quotes the text and says what was expected.
 */
#ifndef NUM_H
#define NUM_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Decimal digits, for int64 with an optional '-'. */
int num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out,
	    struct error *err);
int num_i64(const char *s, int64_t min, int64_t max, int64_t *out,
	    struct error *err);

/* As strtoull base 0 reads it (formats.md 1.3: 0x.. and octal are legal in
 * byte counts and CRCs), but whole and bounded. */
int num_u64_any(const char *s, uint64_t max, uint64_t *out, struct error *err);

/*
 * A byte count with an optional unit: "4096", "64K", "64KB", "64KiB", "1.5G";
 * units are powers of two, in either case, up to E.
 */
int num_bytes(const char *s, uint64_t max, uint64_t *out, struct error *err);

/* *a * b and *a + b without wrapping: 0, or -1 and *a unchanged. */
int num_mul(uint64_t *a, uint64_t b);
int num_add(uint64_t *a, uint64_t b);

/* `n` in decimal digits; returns `to`.  Metadata are full of numbers: this is
 * several times as fast as printf. */
#define NUM_TEXT 24
char *num_text(char to[static NUM_TEXT], uint64_t n);

#endif /* NUM_H */
