/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_impl.h - what the index*.c files share.  Nobody else includes it.
 */
#ifndef META_INDEX_IMPL_H
#define META_INDEX_IMPL_H

#include "meta/index.h"

struct kvtree;

/* Room for a name in a message. */
#define INDEX_NAME_SHOWN 256

/*
 * `ids` are those of the DSET table, ascending, as they were when the array
 * was made: some may be gone since, none is missing.  It is made when the
 * restart point is removed, and dropped when an entry is added.  So who drops
 * datasets one by one, from the newest down, sorts once, and walks over each
 * of them once.
 */
struct index {
	struct kvtree *tree;
	int64_t *ids; /* NULL: not made */
	size_t nids;
	bool old; /* made of one of VERSION 1 */
};

/* A new one with what a tree of VERSION 1 says. */
struct index *index_from_old(const struct kvtree *old, struct error *err);

/* The entry of `id` in the DSET table, or NULL. */
struct kvtree *index_entry_node(const struct index *ix, int64_t id);

/* The id in entry `k` of the NAME table. */
int index_name_id(const struct kvtree *k, int64_t *out, struct error *err);

/* The name of `id` in the NAME table, for the rare entries whose descriptor
 * has none, as a fetch alone may leave them; or NULL.  O(n). */
const char *index_id_name(const struct index *ix, int64_t id);

#endif /* META_INDEX_IMPL_H */
