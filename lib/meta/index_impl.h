/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_impl.h - shared by the index*.c files.  No other file includes it.
 */
#ifndef META_INDEX_IMPL_H
#define META_INDEX_IMPL_H

#include "meta/index.h"

struct kvtree;

struct index {
	struct kvtree *tree;
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
