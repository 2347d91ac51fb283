/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_impl.h - shared by the kvtree_*.c files.  Only they and their unit
 * test include it.
 *
 * A file of 100,000 datasets has millions of nodes, and reading it is bound by
 * memory access.  Therefore a node is three pointers, and nodes are stored in
 * the order of the file.  A level (the children of one node) of up to
 * KVTREE_SMALL nodes is a plain list, searched linearly.  A larger level has a
 * `struct kvtree_level` with an index.
 *
 * Any node leads to its tree: memory consists of segments of KVTREE_SEGMENT
 * bytes, aligned to their size, and each segment begins with the address of the
 * tree.
 */
#ifndef KVTREE_KVTREE_IMPL_H
#define KVTREE_KVTREE_IMPL_H

#include <stdatomic.h>

#include "buf.h"
#include "kvtree/kvtree.h"

#define KVTREE_SMALL 16
#define KVTREE_SEGMENT ((size_t)4096)

struct map;

struct kvtree {
	const char *key;
	struct kvtree *next;
	struct kvtree *first; /* or a tagged kvtree_level: kvtree_level_of() */
};

/* The children of one node.  The first lookup makes the index, because most
 * trees are only walked.  If several readers make it at once, one index is
 * kept. */
struct kvtree_level {
	struct kvtree *first;
	struct kvtree **tail; /* link to which the next last child is added */
	size_t count;
	_Atomic(struct map *) index; /* NULL: not made yet */
	struct kvtree_level *older;  /* list of all levels of the tree, for
					freeing their indexes */
};

/* A contiguous block of segments. */
struct kvtree_slab {
	struct kvtree_slab *next;
	char *data;
	size_t size;
};

/* A key that is too long for a segment. */
struct kvtree_long {
	struct kvtree_long *older;
	char text[];
};

/* The tree itself, at the start of its first segment. */
struct kvtree_tree {
	struct kvtree_tree *self; /* each segment begins with this pointer */
	struct kvtree root;
	char *low, *high;	   /* free part of the current segment: nodes */
				   /* grow upwards, keys grow downwards */
	char *fresh, *end;	   /* unused segments of the current slab */
	struct kvtree_slab *slabs; /* all, the current one first; NULL: still in
				      the first segment */
	struct kvtree_level *levels;
	struct kvtree_long *longs;
	struct buf image; /* decoded keys point into it */
	bool failed;	  /* no memory for an addition: kvtree_check() */
};

/* --- Images (kvtree(5)) --- */

#define KVTREE_MAGIC UINT32_C(0x951fc3f5)
#define KVTREE_TYPE_TREE 1
#define KVTREE_VERSION 1
#define KVTREE_FLAG_CRC UINT32_C(1)
#define KVTREE_COUNT_SIZE 4

/* --- Memory and levels --- */

static inline struct kvtree_tree *
kvtree_tree_of(const struct kvtree *t)
{
	uintptr_t segment = (uintptr_t)t & ~(uintptr_t)(KVTREE_SEGMENT - 1);

	return *(struct kvtree_tree **)segment;
}

/* The level of `t`, or NULL if its children are a plain list.  Bit 0 of `first`
 * marks a level. */
static inline struct kvtree_level *
kvtree_level_of(const struct kvtree *t)
{
	uintptr_t p = (uintptr_t)t->first;

	return p & 1 ? (struct kvtree_level *)(p - 1) : NULL;
}

static inline struct kvtree *
kvtree_child(const struct kvtree *t)
{
	struct kvtree_level *level = kvtree_level_of(t);

	return level != NULL ? level->first : t->first;
}

/* Switch to the next segment. -1: ENOMEM. */
int kvtree_level_segment(struct kvtree_tree *tree);

/* Allocate `size` bytes (a multiple of 8) for a node or a level, or return
 * NULL. */
static inline void *
kvtree_level_room(struct kvtree_tree *tree, size_t size)
{
	char *p = NULL;

	if ((size_t)(tree->high - tree->low) < size &&
	    kvtree_level_segment(tree) < 0)
		return NULL;
	p = tree->low;
	tree->low += size;
	return p;
}

/* Convert the children of `t` from a list into a level.  NULL: ENOMEM, and
 * nothing has changed. */
struct kvtree_level *kvtree_level_make(struct kvtree *t);

/* Return the link that points to the child `key`, or NULL. */
struct kvtree **kvtree_level_search(const struct kvtree *t, const char *key);

/* Add `n` as the last or first child.  Its key must be new. -1: ENOMEM, and
 * nothing has changed. */
int kvtree_level_add(struct kvtree *t, struct kvtree *n, bool last);

/* Replace the children of `t` by the list `n`, which holds the same nodes in
 * another order. */
void kvtree_level_relink(struct kvtree *t, struct kvtree *n);

/* --- Walk --- */

/* A pre-order walk over all nodes below one node.  It does not recurse, because
 * the depth of a tree comes from an untrusted file. */
struct kvtree_walk {
	size_t depth;  /* of the node last returned; children of the start have
			  1 */
	bool too_deep; /* stopped at KVTREE_MAX_DEPTH */
	const struct kvtree *at[KVTREE_MAX_DEPTH + 1];
};

static inline void
kvtree_walk_start(struct kvtree_walk *w, const struct kvtree *t)
{
	w->depth = 0;
	w->too_deep = false;
	w->at[0] = t;
}

/* Return the next node.  NULL: the walk is done, or too_deep is set. */
static inline const struct kvtree *
kvtree_walk_next(struct kvtree_walk *w)
{
	const struct kvtree *n = kvtree_child(w->at[w->depth]);

	if (n != NULL) {
		if (w->depth == KVTREE_MAX_DEPTH) {
			w->too_deep = true;
			return NULL;
		}
		w->at[++w->depth] = n;
		return n;
	}
	for (; w->depth > 0; w->depth--) {
		n = w->at[w->depth]->next;
		if (n != NULL) {
			w->at[w->depth] = n;
			return n;
		}
	}
	return NULL;
}

#endif /* KVTREE_KVTREE_IMPL_H */
