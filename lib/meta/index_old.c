/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index_old.c - convert an index of SCR 1.1.8 (VERSION 1; containers.md 1).
 * Its key is the directory below the prefix; each is a dataset and contains its
 * metadata:
 *
 *   CURRENT = dir
 *   DIR  -> dir -> DSET = id
 *   DSET -> id -> DIR -> dir -> COMPLETE, FLUSHED, FAILED, DSET -> descriptor
 */
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "meta/index_impl.h"
#include "str.h"

static int
copy_value(const struct kvtree *from, const char *key, struct kvtree *to,
	   struct error *err)
{
	const char *value = kvtree_value(from, key);

	return value == NULL ? 0 : kvtree_set(to, key, value, err);
}

/* Add the dataset of directory `dir` from its old `entry`. */
static int
take_entry(struct index *ix, const char *dir, int64_t id,
	   const struct kvtree *entry, struct error *err)
{
	const char *complete = kvtree_value(entry, "COMPLETE");
	struct kvtree *desc = kvtree_new(err);
	int rc = -1;

	if (desc == NULL)
		return -1;
	/* The directory becomes the name. */
	if (kvtree_merge(desc, kvtree_get(entry, "DSET"), err) == 0 &&
	    kvtree_set_i64(desc, "ID", id, err) == 0 &&
	    kvtree_set(desc, "NAME", dir, err) == 0)
		rc = index_add(ix, desc,
			       complete == NULL ? -1 : str_eq(complete, "1"),
			       kvtree_value(entry, "FLUSHED"), err);
	kvtree_free(desc);
	if (rc < 0)
		return -1;
	return copy_value(entry, "FAILED", index_entry_node(ix, id), err);
}

static int
take_dir(struct index *ix, const struct kvtree *old, const struct kvtree *k,
	 struct error *err)
{
	const char *dir = kvtree_key(k), *text = kvtree_value(k, "DSET");
	const struct kvtree *entry = NULL;
	uint64_t id = 0;

	if (text == NULL || !value_number(text, DATASET_ID_MAX, &id) || id == 0)
		return value_bad(err, dir, "in DIR: not one dataset id");
	entry = kvtree_get(kvtree_get2(old, "DSET", text), "DIR");
	entry = entry == NULL ? NULL : kvtree_get(entry, dir);
	if (entry == NULL)
		return value_bad(err, dir, "in DIR: its id is not in DSET");
	return take_entry(ix, dir, (int64_t)id, entry, err);
}

struct index *
index_from_old(const struct kvtree *old, struct error *err)
{
	struct index *ix = index_new(err);
	const struct kvtree *k = NULL;

	if (ix == NULL)
		return NULL;
	ix->old = true;
	kvtree_foreach (k, kvtree_get(old, "DIR"))
		if (take_dir(ix, old, k, err) < 0)
			goto fail;
	if (copy_value(old, "CURRENT", ix->tree, err) == 0)
		return ix;
fail:
	index_free(ix);
	return NULL;
}
