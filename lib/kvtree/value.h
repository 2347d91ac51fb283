/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.h - helpers of the typed views: read the number or string below a key
 * (kvtree(5)), and numbers in keys and file names.
 *
 * The views walk over the children of a node once and switch on each key,
 * instead of looking up one key after the other.  This keeps filemaps of many
 * thousand files cheap to read.
 */
#ifndef KVTREE_VALUE_H
#define KVTREE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct kvtree;

/* Read the value of the key `k` (the name of its only child) as a string, or as
 * a number 0..max: decimal, or as strtoull() with base 0.  ERROR_CORRUPT names
 * the key: no value or several, not a number, out of range. */
int value_u64(const struct kvtree *k, uint64_t max, uint64_t *out,
	      struct error *err);
int value_u32(const struct kvtree *k, uint32_t max, uint32_t *out,
	      struct error *err);
int value_str(const struct kvtree *k, const char **out, struct error *err);

/* The same for 0 or 1. */
int value_flag(const struct kvtree *k, bool *out, struct error *err);

/* Find a key that is required.  NULL: ERROR_CORRUPT, "KEY: missing". */
const struct kvtree *value_need(const struct kvtree *t, const char *key,
				struct error *err);

/* Read a decimal number 0..max at the start of `s`, without sign or leading
 * zeros.  Return the text after it, or NULL. */
const char *value_scan(const char *s, uint64_t max, uint64_t *out);

/* The same, but nothing may follow: keys such as ranks and dataset ids.  The
 * inverse of num_text(). */
bool value_number(const char *s, uint64_t max, uint64_t *out);

/* The number 0..max in a file name, between `before` and `after`; -1: `name` is
 * another one. */
int64_t value_in_name(const char *name, const char *before, uint64_t max,
		      const char *after);

/* Set ERROR_CORRUPT: "KEY: why", with the key made printable.  Return -1. */
int value_bad(struct error *err, const char *key, const char *why);

#endif /* KVTREE_VALUE_H */
