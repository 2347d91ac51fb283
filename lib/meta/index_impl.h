/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_impl.h - shared by the index*.c files.  No other file includes it.
 */
#ifndef META_INDEX_IMPL_H
#define META_INDEX_IMPL_H

#include "meta/index.h"

struct kvtree;

/*
 * `ids` holds the ids of the DSET table in ascending order.  The array is made
 * when the entry in CURRENT is removed, and dropped when an entry is added.  It
 * contains every id of the table, and may contain ids removed since.  So
 * deleting datasets one by one, newest first, sorts once and visits each
 * dataset once.
 */
struct index {
	struct kvtree *tree;
	int64_t *ids; /* NULL: not made */
	size_t nids;
	/* index_entries() of the file; NULL: none, or changed since. */
	struct index_entry *list;
	bool old; /* converted from VERSION 1 */
};

/* To be called before the index changes. */
void index_changes(struct index *ix);

/* The entry of `id` in the DSET table, or NULL. */
struct kvtree *index_entry_node(const struct index *ix, int64_t id);

/* The same; NULL: ERROR_ABSENT. */
struct kvtree *index_need_node(const struct index *ix, int64_t id,
			       struct error *err);

/* Read the id in entry `k` of the NAME table. */
int index_name_id(const struct kvtree *k, int64_t *out, struct error *err);

#endif /* META_INDEX_IMPL_H */
