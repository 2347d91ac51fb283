/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/index_impl.h"
#include "num.h"
#include "str.h"

/* Remove `key` from the table, and the table if it becomes empty, as LLNL's
 * tools do. */
static void
remove_from(struct index *ix, const char *table, const char *key)
{
	struct kvtree *t = kvtree_get(ix->tree, table);

	if (t == NULL)
		return;
	kvtree_remove(t, key);
	if (kvtree_count(t) == 0)
		kvtree_remove(ix->tree, table);
}

int
index_set_current(struct index *ix, const char *name, struct error *err)
{
	struct index_entry e = { .name = NULL };

	if (name != NULL) {
		if (index_find_name(ix, name, &e, err) < 0)
			return -1;
		if (!e.desc.is_ckpt)
			return error_set(err, ERROR_USAGE,
					 "%s: not a checkpoint",
					 str_shown(name));
	}
	index_changes(ix);
	/* LLNL's tools set it as the first key. */
	return kvtree_set_first(ix->tree, "CURRENT", e.name, err);
}

/* Move CURRENT from dataset `id` to the latest valid checkpoint before it. */
static int
move_current(struct index *ix, int64_t id, struct error *err)
{
	const struct kvtree *table = kvtree_get(ix->tree, "DSET"), *k = NULL;
	const char *name = NULL;
	struct index_entry e;
	size_t low = 0, high = 0;

	if (ix->ids == NULL) { /* the index is not empty */
		ix->ids = mem_alloc(kvtree_count(table), sizeof(*ix->ids));
		if (ix->ids == NULL)
			return error_no_memory(err);
		kvtree_foreach (k, table) {
			uint64_t n = 0;

			if (value_number(kvtree_key(k), DATASET_ID_MAX, &n))
				ix->ids[ix->nids++] = (int64_t)n;
		}
		qsort(ix->ids, ix->nids, sizeof(*ix->ids), num_by_id);
	}
	for (high = ix->nids; low < high;) { /* count the ids below `id` */
		size_t middle = low + (high - low) / 2;

		if (ix->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	/* On an error the entry is removed or unusable, so skip it. */
	while (name == NULL && low-- > 0)
		if (index_find_id(ix, ix->ids[low], &e, NULL) == 0 &&
		    index_entry_valid(&e) && e.desc.is_ckpt)
			name = e.name;
	index_changes(ix);
	return kvtree_set_first(ix->tree, "CURRENT", name, err);
}

int
index_retire(struct index *ix, int64_t id, struct error *err)
{
	struct index_entry e;

	if (index_find_id(ix, id, &e, err) < 0 ||
	    index_set_extra(ix, id, "COMPLETE", "0", err) < 0)
		return -1;
	return e.current ? move_current(ix, id, err) : 0;
}

int
index_remove(struct index *ix, const char *name, struct error *err)
{
	const struct kvtree *k = kvtree_get2(ix->tree, "NAME", name);
	const char *current = index_current(ix);
	int64_t id = 0;

	if (k == NULL)
		return error_set(err, ERROR_ABSENT, "%s: not in the index",
				 str_shown(name));
	if (index_name_id(k, &id, err) < 0)
		return -1;
	/* The caller's string may be part of an entry that is removed first. */
	name = kvtree_key(k);
	if (current != NULL && strcmp(current, name) == 0 &&
	    move_current(ix, id, err) < 0)
		return -1;
	index_changes(ix);
	remove_from(ix, "DSET", num_str(id));
	remove_from(ix, "NAME", name);
	return 0;
}

int
index_add(struct index *ix, const struct kvtree *desc, int complete,
	  const char *stamp, struct error *err)
{
	struct dataset d;
	struct kvtree *k = NULL;
	struct index_entry old;
	int64_t other = 0;

	if (dataset_read(desc, &d, err) < 0)
		return -1;
	if (d.id <= 0)
		return value_bad(err, "ID", "missing from the descriptor");
	if (d.name == NULL)
		return value_bad(err, "NAME", "missing from the descriptor");
	index_changes(ix);
	mem_free(ix->ids);
	ix->ids = NULL;
	ix->nids = 0;
	/* Remove the entries with this name or id.  CURRENT does not change. */
	k = kvtree_get2(ix->tree, "NAME", d.name);
	if (k != NULL && index_name_id(k, &other, NULL) == 0)
		remove_from(ix, "DSET", num_str(other));
	if (index_find_id(ix, d.id, &old, NULL) == 0) {
		if (old.name != NULL)
			remove_from(ix, "NAME", old.name);
		remove_from(ix, "DSET", num_str(d.id));
	}
	remove_from(ix, "NAME", d.name);
	/* NAME -> name -> DSET -> id; DSET -> id -> FLUSHED, COMPLETE, DSET: as
	 * the first ones of their tables. */
	k = kvtree_put(ix->tree, "NAME", err);
	k = kvtree_put_first(k, d.name, err);
	kvtree_set_i64(k, "DSET", d.id, err);
	k = kvtree_put(ix->tree, "DSET", err);
	k = kvtree_put_first(k, num_str(d.id), err);
	if (stamp != NULL)
		kvtree_set(k, "FLUSHED", stamp, err);
	if (complete >= 0)
		kvtree_set_i64(k, "COMPLETE", complete, err);
	kvtree_merge(kvtree_put(k, "DSET", err), desc, err);
	return kvtree_check(ix->tree, err);
}

int
index_set_extra(struct index *ix, int64_t id, const char *key,
		const char *value, struct error *err)
{
	struct kvtree *entry = index_need_node(ix, id, err);

	if (entry == NULL)
		return -1;
	index_changes(ix);
	if (value != NULL)
		kvtree_set(entry, key, value, err);
	else
		kvtree_remove(entry, key);
	return kvtree_check(entry, err);
}

int
index_add_extra(struct index *ix, int64_t id, const char *key,
		const char *value, struct error *err)
{
	struct kvtree *all = NULL;

	index_changes(ix);
	all = kvtree_put(index_need_node(ix, id, err), key, err);
	return kvtree_put(all, value, err) == NULL ? -1 : 0;
}

const char *
index_extra(const struct index *ix, int64_t id, const char *key)
{
	return kvtree_value(index_entry_node(ix, id), key);
}
