/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_impl.h - what the kvtree_*.c files share.  Nobody else but a
 * test of them includes it.
 *
 * A file of 100,000 datasets has millions of nodes, and the time to read it
 * is the time to touch memory: a node is three pointers, and nodes lie one
 * behind the other in the order of the file.  A level (the children of one
 * node) of up to KVTREE_SMALL is a plain list, searched from its start; a
 * larger one has a `struct kvtree_level` with an index.
 *
 * All memory of a tree is found from any of its nodes: it is cut into
 * segments of KVTREE_SEGMENT bytes on a boundary of that size, and each
 * begins with the address of the tree.
 */
#ifndef META_KVTREE_IMPL_H
#define META_KVTREE_IMPL_H

#include <stdatomic.h>

#include "buf.h"
#include "meta/kvtree.h"

#define KVTREE_SMALL 16
#define KVTREE_SEGMENT ((size_t)4096)

struct map;

struct kvtree {
	const char *key;
	struct kvtree *next;
	struct kvtree *first; /* or a struct kvtree_level: see below */
};

/*
 * Children of one node.  The index is made when somebody looks for a key, and
 * by no more than one of several readers: most trees are only walked through.
 */
struct kvtree_level {
	struct kvtree *first;
	struct kvtree **tail; /* where the next last child is hung in */
	size_t count;
	_Atomic(struct map *) index; /* or NULL */
	struct kvtree_level *older;  /* all levels of the tree, to free
					indexes */
};

/* A block of segments. */
struct kvtree_slab {
	struct kvtree_slab *next;
	char *data;
	size_t size;
};

/* A key too long for a segment. */
struct kvtree_long {
	struct kvtree_long *older;
	char text[];
};

/* The tree itself; lies at the start of its first segment. */
struct kvtree_tree {
	struct kvtree_tree *self; /* as every segment begins */
	struct kvtree root;
	char *low, *high;	   /* free part of the segment in use: nodes */
				   /* grow up from its start, keys down */
	char *fresh, *end;	   /* untouched segments of the slab in use */
	struct kvtree_slab *slabs; /* all, in order of use */
	struct kvtree_slab *slab;  /* the one in use; NULL: first segment */
	struct kvtree_level *levels;
	struct kvtree_long *longs;
	struct buf image; /* decoded keys point into it */
};

/* --- Images (formats.md 1.1) --- */

/* formats.md 1.1 */
#define KVTREE_MAGIC UINT32_C(0x951fc3f5)
#define KVTREE_TYPE_TREE 1
#define KVTREE_VERSION 1
#define KVTREE_FLAG_CRC UINT32_C(1)
#define KVTREE_CRC_SIZE 4
#define KVTREE_COUNT_SIZE 4

/* --- Memory and levels (kvtree_level.c) --- */

static inline struct kvtree_tree *
kvtree_tree_of(const struct kvtree *t)
{
	uintptr_t segment = (uintptr_t)t & ~(uintptr_t)(KVTREE_SEGMENT - 1);

	return *(struct kvtree_tree **)segment;
}

/* The level of `t`, or NULL if its children are a plain list. */
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

/* Go on in the next segment.  -1: ENOMEM. */
int kvtree_level_segment(struct kvtree_tree *tree);

/* `size` bytes (a multiple of 8) for nodes and levels, or NULL. */
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

/* A node with no relations; the key is copied. */
struct kvtree *kvtree_level_node(struct kvtree_tree *tree, const char *key);

/* Forget all nodes; clear: keep the memory for the next use. */
void kvtree_level_clear(struct kvtree_tree *tree);
void kvtree_level_free(struct kvtree_tree *tree);

/* Turn the children of `t` into a level.  NULL: ENOMEM, nothing changed. */
struct kvtree_level *kvtree_level_make(struct kvtree *t);

/* The pointer that leads to the child, or NULL. */
struct kvtree **kvtree_level_search(const struct kvtree *t, const char *key);

/* Hang in `n`, whose key is known to be new, as last or first child.  -1:
 * ENOMEM, nothing changed. */
int kvtree_level_add(struct kvtree *t, struct kvtree *n, bool last);

/* Take out the child that *link, of kvtree_level_search(), leads to. */
void kvtree_level_cut(struct kvtree *t, struct kvtree **link);

/* Make `n` (its `next` chain) the children of `t`, of which it had the same
 * in another order. */
void kvtree_level_relink(struct kvtree *t, struct kvtree *n);

/* Forget all children of `t`. */
void kvtree_level_drop(struct kvtree *t);

/* --- Walking --- */

/* A walk over all nodes below one, parents first.  No recursion: how deep a
 * tree is was decided by somebody's file. */
struct kvtree_walk {
	size_t depth;  /* of the node last given: 1 for children of the start */
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

/* The next node; NULL: that was all, or too_deep. */
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

#endif /* META_KVTREE_IMPL_H */
