/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - what all typed views do alike: read a number or a string that
 * hangs below a key (formats.md 1.3), and numbers that are keys or parts of
 * file names.
 *
 * The views walk over the children of a node once and look at each key, in
 * place of asking for one key after the other: that is what makes reading
 * filemaps of many thousand files cheap.
 */
#ifndef META_VALUE_H
#define META_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kvtree;

/* Room for any 64-bit number as text. */
#define VALUE_NUMBER 24

/*
 * The value of the key that `k` is (the name of its only child) as a number
 * 0..max, decimal, or as strtoull base 0 reads it; or as text.
 * ERROR_CORRUPT: several values or none, no number, out of range; the sentence
 * names the key.
 */
int value_u64(const struct kvtree *k, uint64_t max, uint64_t *out,
	      struct error *err);
int value_u32(const struct kvtree *k, uint32_t max, uint32_t *out,
	      struct error *err);
int value_str(const struct kvtree *k, const char **out, struct error *err);

/* The same for 0 or 1. */
int value_flag(const struct kvtree *k, bool *out, struct error *err);

/* The same as int64_t, 0..max. */
int value_i64(const struct kvtree *k, int64_t max, int64_t *out,
	      struct error *err);

/*
 * Read the decimal number 0..max at the start of `s`, in the one way it is
 * written: no sign, no leading zeros.  Returns what stands behind it, or NULL.
 */
const char *value_scan(const char *s, uint64_t max, uint64_t *out);

/* The same where nothing may follow: keys such as ranks and dataset ids. */
bool value_number(const char *s, uint64_t max, uint64_t *out);

/* The number as text, the inverse of value_number(); returns `to`. */
char *value_text(char to[static VALUE_NUMBER], uint64_t n);

/* ERROR_CORRUPT: "KEY: " and `why`, the key made printable.  Returns -1. */
int value_bad(struct error *err, const char *key, const char *why);

#endif /* META_VALUE_H */
