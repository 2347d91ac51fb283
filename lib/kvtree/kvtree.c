/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/kvtree.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "kvtree/kvtree_impl.h"
#include "kvtree/value.h"
#include "mem.h"
#include "num.h"

/* --- Create and free --- */

struct kvtree *
kvtree_new(struct error *err)
{
	struct kvtree_tree *tree = NULL;

	tree = mem_aligned(KVTREE_SEGMENT, KVTREE_SEGMENT);
	if (tree == NULL) {
		error_no_memory(err);
		return NULL;
	}
	*tree = (struct kvtree_tree){
		.self = tree,
		.root = { .key = "" },
		.low = (char *)(tree + 1),
		.high = (char *)tree + KVTREE_SEGMENT,
	};
	return &tree->root;
}

void
kvtree_free(struct kvtree *t)
{
	if (t == NULL)
		return;
	assert(t == &kvtree_tree_of(t)->root);
	kvtree_level_free(kvtree_tree_of(t));
}

/* --- Read --- */

const char *
kvtree_key(const struct kvtree *t)
{
	return t->key;
}

size_t
kvtree_count(const struct kvtree *t)
{
	const struct kvtree_level *level = kvtree_level_of(t);
	const struct kvtree *n = t->first;
	size_t count = 0;

	if (level != NULL)
		return level->count;
	for (; n != NULL; n = n->next)
		count++;
	return count;
}

struct kvtree *
kvtree_get(const struct kvtree *t, const char *key)
{
	struct kvtree **link = NULL;

	if (t != NULL)
		link = kvtree_level_search(t, key);
	return link != NULL ? *link : NULL;
}

struct kvtree *
kvtree_get2(const struct kvtree *t, const char *key, const char *sub)
{
	return kvtree_get(kvtree_get(t, key), sub);
}

struct kvtree *
kvtree_first(const struct kvtree *t)
{
	return t != NULL ? kvtree_child(t) : NULL;
}

struct kvtree *
kvtree_next(const struct kvtree *t)
{
	return t != NULL ? t->next : NULL;
}

const char *
kvtree_value(const struct kvtree *t, const char *key)
{
	const struct kvtree *value = kvtree_first(kvtree_get(t, key));

	return value != NULL && value->next == NULL ? value->key : NULL;
}

/* The child `key`, or NULL: ERROR_ABSENT. */
static const struct kvtree *
need(const struct kvtree *t, const char *key, struct error *err)
{
	const struct kvtree *k = kvtree_get(t, key);

	if (k == NULL)
		error_set(err, ERROR_ABSENT, "no key %s", key);
	return k;
}

int
kvtree_u64(const struct kvtree *t, const char *key, uint64_t max, uint64_t *out,
	   struct error *err)
{
	const struct kvtree *k = need(t, key, err);

	return k == NULL ? -1 : value_u64(k, max, out, err);
}

int
kvtree_i64(const struct kvtree *t, const char *key, int64_t min, int64_t max,
	   int64_t *out, struct error *err)
{
	const struct kvtree *k = need(t, key, err);
	const char *value = NULL;
	uint64_t n = 0;
	int64_t number = 0;
	bool minus = false;

	if (k == NULL || value_str(k, &value, err) < 0)
		return -1;
	minus = value[0] == '-';
	if (num_u64_any(value + minus, (uint64_t)INT64_MAX + minus, &n, NULL) <
	    0)
		return value_bad(err, key, "not a number");
	/* -(n - 1) - 1 reaches INT64_MIN without passing INT64_MAX. */
	number = minus && n > 0 ? -(int64_t)(n - 1) - 1 : (int64_t)n;
	if (number < min || number > max)
		return error_set(err, ERROR_CORRUPT,
				 "%s: %" PRId64 " is not from %" PRId64
				 " to %" PRId64,
				 key, number, min, max);
	*out = number;
	return 0;
}

/* --- Change --- */

/* Add a child `key`, which `t` must not have yet. */
static struct kvtree *
add(struct kvtree *t, const char *key, bool last, struct error *err)
{
	struct kvtree *n = kvtree_level_node(kvtree_tree_of(t), key);

	if (n == NULL || kvtree_level_add(t, n, last) < 0) {
		error_no_memory(err);
		return NULL;
	}
	return n;
}

static struct kvtree *
put(struct kvtree *t, const char *key, bool last, struct error *err)
{
	struct kvtree *n = kvtree_get(t, key);

	return n != NULL || t == NULL ? n : add(t, key, last, err);
}

struct kvtree *
kvtree_put(struct kvtree *t, const char *key, struct error *err)
{
	return put(t, key, true, err);
}

struct kvtree *
kvtree_put_first(struct kvtree *t, const char *key, struct error *err)
{
	return put(t, key, false, err);
}

int
kvtree_set(struct kvtree *t, const char *key, const char *value,
	   struct error *err)
{
	struct kvtree *k = kvtree_get(t, key), *v = kvtree_first(k);

	assert(t != NULL);
	if (v != NULL && v->next == NULL && strcmp(v->key, value) == 0) {
		kvtree_level_drop(v);
		return 0;
	}
	/* Allocate first, so that a failure changes nothing. */
	v = kvtree_level_node(kvtree_tree_of(t), value);
	if (v == NULL)
		return error_no_memory(err);
	k = put(t, key, true, err);
	if (k == NULL)
		return -1;
	kvtree_level_drop(k);
	return kvtree_level_add(k, v, true);
}

int
kvtree_set_u64(struct kvtree *t, const char *key, uint64_t value,
	       struct error *err)
{
	char text[NUM_TEXT];

	return kvtree_set(t, key, num_text(text, value), err);
}

int
kvtree_set_i64(struct kvtree *t, const char *key, int64_t value,
	       struct error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return kvtree_set(t, key, text, err);
}

int
kvtree_set_crc(struct kvtree *t, const char *key, uint32_t value,
	       struct error *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%#" PRIx32, value); /* formats.md 1.3 */
	return kvtree_set(t, key, text, err);
}

void
kvtree_remove(struct kvtree *t, const char *key)
{
	struct kvtree **link = t != NULL ? kvtree_level_search(t, key) : NULL;

	if (link != NULL)
		kvtree_level_cut(t, link);
}

int
kvtree_set_first(struct kvtree *t, const char *key, const char *value,
		 struct error *err)
{
	struct kvtree *k = NULL;

	kvtree_remove(t, key);
	if (value == NULL)
		return 0;
	k = put(t, key, false, err);
	return k == NULL || kvtree_put(k, value, err) == NULL ? -1 : 0;
}

/* --- Merge --- */

static int
merge_level(struct kvtree *t, const struct kvtree *from, size_t depth,
	    struct error *err)
{
	const bool empty = kvtree_child(t) == NULL;
	const struct kvtree *child = NULL;
	struct kvtree *n = NULL;

	if (depth > KVTREE_MAX_DEPTH)
		return error_set(err, ERROR_CORRUPT,
				 "nested deeper than %d levels",
				 KVTREE_MAX_DEPTH);
	kvtree_foreach (child, from) {
		n = empty ? NULL : kvtree_get(t, child->key);
		if (n == NULL)
			n = add(t, child->key, true, err);
		if (n == NULL || (kvtree_child(child) != NULL &&
				  merge_level(n, child, depth + 1, err) < 0))
			return -1;
	}
	return 0;
}

int
kvtree_merge(struct kvtree *t, const struct kvtree *from, struct error *err)
{
	struct kvtree *copy = NULL;
	int rc = 0;

	if (from == NULL || from == t)
		return 0;
	/* `from` must not change while it is read. */
	if (kvtree_tree_of(t) == kvtree_tree_of(from)) {
		copy = kvtree_new(err);
		rc = copy == NULL ? -1 : kvtree_merge(copy, from, err);
		from = copy;
	}
	if (rc == 0)
		rc = merge_level(t, from, 1, err);
	kvtree_free(copy);
	return rc;
}
