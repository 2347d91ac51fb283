/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/value.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "kvtree/kvtree.h"
#include "num.h"
#include "str.h"

int
value_bad(struct error *err, const char *key, const char *why)
{
	return error_set(err, ERROR_CORRUPT, "%s: %s", str_shown(key), why);
}

const struct kvtree *
value_need(const struct kvtree *t, const char *key, struct error *err)
{
	const struct kvtree *k = kvtree_get(t, key);

	if (k == NULL)
		value_bad(err, key, "missing");
	return k;
}

int
value_str(const struct kvtree *k, const char **out, struct error *err)
{
	const struct kvtree *child = kvtree_first(k);

	if (child == NULL || kvtree_next(child) != NULL)
		return value_bad(err, kvtree_key(k), "not exactly one value");
	*out = kvtree_key(child);
	return 0;
}

int
value_u64(const struct kvtree *k, uint64_t max, uint64_t *out,
	  struct error *err)
{
	const char *value = NULL;

	if (value_str(k, &value, err) < 0)
		return -1;
	if (value_number(value, max, out))
		return 0;
	/*
	 * No known program writes hexadecimal or octal, but LLNL's reads them.
	 */
	if (num_u64_any(value, max, out, NULL) == 0)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: \"%s\" is not a number from 0 to %" PRIu64,
			 str_shown(kvtree_key(k)), str_shown(value), max);
}

int
value_u32(const struct kvtree *k, uint32_t max, uint32_t *out,
	  struct error *err)
{
	uint64_t n = 0;

	if (value_u64(k, max, &n, err) < 0)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

int
value_flag(const struct kvtree *k, bool *out, struct error *err)
{
	uint64_t n = 0;

	if (value_u64(k, 1, &n, err) < 0)
		return -1;
	*out = n == 1;
	return 0;
}

const char *
value_scan(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9'))
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return NULL;
	if (n > max)
		return NULL;
	*out = n;
	return s;
}

bool
value_number(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;
	const char *end = value_scan(s, max, &n);

	if (end == NULL || *end != '\0')
		return false;
	*out = n;
	return true;
}

int64_t
value_in_name(const char *name, const char *before, uint64_t max,
	      const char *after)
{
	const size_t len = strlen(before);
	const char *end = NULL;
	uint64_t n = 0;

	if (strncmp(name, before, len) == 0)
		end = value_scan(name + len, max, &n);
	return end != NULL && strcmp(end, after) == 0 ? (int64_t)n : -1;
}
