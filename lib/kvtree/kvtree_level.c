/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_level.c - memory of a tree, and the lists of children.
 */
#include <string.h>

#include "kvtree/kvtree_impl.h"
#include "map.h"
#include "mem.h"

#define SLAB_MIN ((size_t)64 << 10)
#define SLAB_MAX ((size_t)8 << 20)

/* Longer keys get their own allocation, so at most a quarter of a segment is
 * wasted. */
#define KEY_SHARED (KVTREE_SEGMENT / 4)

/* --- Memory --- */

/* Start the next segment.  Slabs double in size, so a small tree stays
 * small. */
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

struct kvtree *
kvtree_level_node(struct kvtree_tree *tree, const char *key)
{
	struct kvtree *n = kvtree_level_room(tree, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->key = copy_key(tree, key);
	n->next = NULL;
	n->first = NULL;
	return n->key != NULL ? n : NULL;
}

void
kvtree_level_free(struct kvtree_tree *tree)
{
	struct kvtree_slab *slab = NULL;
	struct kvtree_long *l = NULL;

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

static void
index_drop(struct kvtree_level *level)
{
	map_free(level->index);
	level->index = NULL;
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
	struct map *index = NULL;
	struct kvtree **link = (struct kvtree **)&t->first;
	size_t at = 0;

	if (level != NULL) {
		index = index_of(level);
		if (index != NULL) {
			at = map_get(index, key);
			return at != MAP_NONE ? (struct kvtree **)at : NULL;
		}
		link = (struct kvtree **)&level->first;
	}
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
kvtree_level_cut(struct kvtree *t, struct kvtree **link)
{
	struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree *n = *link;

	if (level != NULL) {
		/* The key stays in memory, and in the index with a NULL
		 * link. */
		index_moved(level, n, NULL);
		index_moved(level, n->next, link);
		if (level->tail == &n->next)
			level->tail = link;
		level->count--;
	}
	*link = n->next;
}

void
kvtree_level_relink(struct kvtree *t, struct kvtree *n)
{
	struct kvtree_level *level = kvtree_level_of(t);

	if (level == NULL) {
		t->first = n;
		return;
	}
	index_drop(level);
	level->first = n;
	level->tail = &level->first;
	while (*level->tail != NULL)
		level->tail = &(*level->tail)->next;
}

void
kvtree_level_drop(struct kvtree *t)
{
	struct kvtree_level *level = kvtree_level_of(t);

	if (level == NULL) {
		t->first = NULL;
		return;
	}
	index_drop(level);
	level->first = NULL;
	level->tail = &level->first;
	level->count = 0;
}
