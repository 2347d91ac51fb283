/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/kvtree.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "kvtree/kvtree_impl.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "num.h"

#define SLAB_MIN ((size_t)64 << 10)
#define SLAB_MAX ((size_t)8 << 20)

/* Longer keys get their own allocation, so at most a quarter of a segment is
 * wasted. */
#define KEY_SHARED (KVTREE_SEGMENT / 4)

/* --- Memory --- */

/* Slabs double in size, so a small tree stays small. */
int
kvtree_level_segment(struct kvtree_tree *tree)
{
	struct kvtree_slab *slab = NULL;
	size_t size = SLAB_MIN;

	if (tree->fresh == tree->end) {
		if (tree->slabs != NULL)
			size = tree->slabs->size < SLAB_MAX
				       ? 2 * tree->slabs->size
				       : SLAB_MAX;
		slab = mem_alloc(1, sizeof(*slab));
		if (slab == NULL)
			return -1;
		*slab = (struct kvtree_slab){
			.next = tree->slabs,
			.data = mem_aligned(KVTREE_SEGMENT, size),
			.size = size,
		};
		if (slab->data == NULL) {
			mem_free(slab);
			return -1;
		}
		tree->slabs = slab;
		tree->fresh = slab->data;
		tree->end = slab->data + size;
	}
	*(struct kvtree_tree **)(void *)tree->fresh = tree;
	tree->low = tree->fresh + sizeof(struct kvtree_tree *);
	tree->fresh += KVTREE_SEGMENT;
	tree->high = tree->fresh;
	return 0;
}

static const char *
copy_key(struct kvtree_tree *tree, const char *key)
{
	size_t size = strlen(key) + 1;
	struct kvtree_long *l = NULL;

	if (size > KEY_SHARED) {
		l = size < SIZE_MAX - sizeof(*l)
			    ? mem_alloc(1, sizeof(*l) + size)
			    : NULL;
		if (l == NULL)
			return NULL;
		l->older = tree->longs;
		tree->longs = l;
		return memcpy(l->text, key, size);
	}
	if ((size_t)(tree->high - tree->low) < size &&
	    kvtree_level_segment(tree) < 0)
		return NULL;
	tree->high -= size;
	return memcpy(tree->high, key, size);
}

/* Make a node without parent, siblings or children; the key is copied.
 * NULL: ENOMEM. */
static struct kvtree *
new_node(struct kvtree_tree *tree, const char *key)
{
	struct kvtree *n = kvtree_level_room(tree, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->key = copy_key(tree, key);
	n->next = NULL;
	n->first = NULL;
	return n->key != NULL ? n : NULL;
}

/* --- The index --- */

/* Return the index of the links to all children of a level, by key; made on
 * first use.  NULL: ENOMEM. */
static struct map *
index_of(const struct kvtree_level *level)
{
	struct kvtree_level *l = (struct kvtree_level *)level;
	struct map *index = l->index, *mine = NULL;

	if (index != NULL)
		return index;
	mine = map_new();
	for (struct kvtree **link = &l->first; mine != NULL && *link != NULL;
	     link = &(*link)->next)
		if (map_put(mine, (*link)->key, (uintptr_t)link) < 0) {
			map_free(mine);
			mine = NULL;
		}
	/* Another reader may have made the index meanwhile. */
	if (mine == NULL ||
	    atomic_compare_exchange_strong(&l->index, &index, mine))
		return mine;
	map_free(mine);
	return index;
}

/* Update the index: `link` now points to `n`.  NULL `link`: no link does. */
static void
index_moved(struct kvtree_level *level, const struct kvtree *n,
	    struct kvtree **link)
{
	if (n != NULL && level->index != NULL)
		map_put(level->index, n->key, (uintptr_t)link);
}

/* --- Children --- */

struct kvtree_level *
kvtree_level_make(struct kvtree *t)
{
	struct kvtree_tree *tree = kvtree_tree_of(t);
	struct kvtree_level *level = kvtree_level_room(tree, sizeof(*level));
	struct kvtree **link = NULL;

	if (level == NULL)
		return NULL;
	*level = (struct kvtree_level){
		.first = t->first,
		.older = tree->levels,
	};
	for (link = &level->first; *link != NULL; link = &(*link)->next)
		level->count++;
	level->tail = link;
	tree->levels = level;
	t->first = (struct kvtree *)((uintptr_t)level + 1);
	return level;
}

struct kvtree **
kvtree_level_search(const struct kvtree *t, const char *key)
{
	const struct kvtree_level *level = kvtree_level_of(t);
	struct map *index = level != NULL ? index_of(level) : NULL;
	const size_t at = index != NULL ? map_get(index, key) : MAP_NONE;
	struct kvtree **link = (struct kvtree **)&t->first;

	if (index != NULL)
		return at != MAP_NONE ? (struct kvtree **)at : NULL;
	if (level != NULL)
		link = (struct kvtree **)&level->first;
	for (; *link != NULL; link = &(*link)->next)
		if (strcmp((*link)->key, key) == 0)
			return link;
	return NULL;
}

int
kvtree_level_add(struct kvtree *t, struct kvtree *n, bool last)
{
	struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree **link = NULL;
	size_t count = 0;

	if (level == NULL) {
		for (link = &t->first; *link != NULL; link = &(*link)->next)
			count++;
		if (count < KVTREE_SMALL) {
			if (!last)
				link = &t->first;
			n->next = *link;
			*link = n;
			return 0;
		}
		level = kvtree_level_make(t);
		if (level == NULL)
			return -1;
	}
	link = last ? level->tail : &level->first;
	if (level->index != NULL &&
	    map_put(level->index, n->key, (uintptr_t)link) < 0)
		return -1;
	index_moved(level, *link, &n->next);
	n->next = *link;
	*link = n;
	if (level->tail == link)
		level->tail = &n->next;
	level->count++;
	return 0;
}

void
kvtree_level_relink(struct kvtree *t, struct kvtree *n)
{
	struct kvtree_level *level = kvtree_level_of(t);

	if (level == NULL) {
		t->first = n;
		return;
	}
	map_free(level->index);
	level->index = NULL;
	level->first = n;
	level->tail = &level->first;
	while (*level->tail != NULL)
		level->tail = &(*level->tail)->next;
}

/* Drop all children of `t`. */
static void
drop_children(struct kvtree *t)
{
	struct kvtree_level *level = kvtree_level_of(t);

	kvtree_level_relink(t, NULL);
	if (level != NULL)
		level->count = 0;
}

/* --- Create and free --- */

struct kvtree *
kvtree_new(struct error *err)
{
	struct kvtree_tree *tree = NULL;

	tree = mem_aligned(KVTREE_SEGMENT, KVTREE_SEGMENT);
	if (tree == NULL)
		return error_no_memory_null(err);
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
	struct kvtree_tree *tree = t != NULL ? kvtree_tree_of(t) : NULL;
	struct kvtree_slab *slab = NULL;
	struct kvtree_long *l = NULL;

	if (t == NULL)
		return;
	assert(t == &tree->root);
	for (; tree->levels != NULL; tree->levels = tree->levels->older)
		map_free(tree->levels->index);
	while ((l = tree->longs) != NULL) {
		tree->longs = l->older;
		mem_free(l);
	}
	buf_free(&tree->image);
	while ((slab = tree->slabs) != NULL) {
		tree->slabs = slab->next;
		mem_free(slab->data);
		mem_free(slab);
	}
	mem_free(tree);
}

int
kvtree_check(const struct kvtree *t, struct error *err)
{
	return t != NULL && !kvtree_tree_of(t)->failed ? 0
						       : error_no_memory(err);
}

struct kvtree *
kvtree_checked(struct kvtree *t, struct error *err)
{
	if (kvtree_check(t, err) == 0)
		return t;
	kvtree_free(t);
	return NULL;
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

static int
fail(struct kvtree *t, struct error *err)
{
	kvtree_tree_of(t)->failed = true;
	return error_no_memory(err);
}

/* Add a child `key`, which `t` must not have yet. */
static struct kvtree *
add(struct kvtree *t, const char *key, bool last, struct error *err)
{
	struct kvtree *n = new_node(kvtree_tree_of(t), key);

	if (n != NULL && kvtree_level_add(t, n, last) == 0)
		return n;
	fail(t, err);
	return NULL;
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

	if (t == NULL)
		return -1;
	if (v != NULL && v->next == NULL && strcmp(v->key, value) == 0) {
		drop_children(v);
		return 0;
	}
	/* Allocate first, so that a failure changes nothing. */
	v = new_node(kvtree_tree_of(t), value);
	k = v == NULL ? NULL : put(t, key, true, err);
	if (k == NULL)
		return fail(t, err);
	drop_children(k);
	return kvtree_level_add(k, v, true) < 0 ? fail(t, err) : 0;
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

	snprintf(text, sizeof(text), "%#" PRIx32, value); /* kvtree(5) */
	return kvtree_set(t, key, text, err);
}

void
kvtree_remove(struct kvtree *t, const char *key)
{
	struct kvtree **link = t != NULL ? kvtree_level_search(t, key) : NULL;
	struct kvtree_level *level = link != NULL ? kvtree_level_of(t) : NULL;
	struct kvtree *n = link != NULL ? *link : NULL;

	if (level != NULL) {
		/* The key stays in memory, and in the index with a NULL
		 * link. */
		index_moved(level, n, NULL);
		index_moved(level, n->next, link);
		if (level->tail == &n->next)
			level->tail = link;
		level->count--;
	}
	if (link != NULL)
		*link = n->next;
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

	if (t == NULL)
		return -1;
	if (from == NULL || from == t)
		return 0;
	/* `from` must not change while it is read. */
	if (kvtree_tree_of(t) == kvtree_tree_of(from)) {
		copy = kvtree_new(err);
		rc = copy == NULL ? fail(t, err)
				  : kvtree_merge(copy, from, err);
		from = copy;
	}
	if (rc == 0)
		rc = merge_level(t, from, 1, err);
	kvtree_free(copy);
	return rc;
}
