/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/summary.h"

#include <string.h>

#include "meta/kvtree.h"
#include "meta/value.h"

int
summary_read(const struct kvtree *t, struct summary *out, struct error *err)
{
	const struct kvtree *k = NULL;
	bool complete = false;

	out->version = -1;
	out->complete = -1;
	out->desc = kvtree_get(t, "DSET");
	k = kvtree_get(t, "VERSION");
	if (k != NULL && value_i64(k, INT32_MAX, &out->version, err) < 0)
		return -1;
	k = kvtree_get(t, "COMPLETE");
	if (k != NULL) {
		if (value_flag(k, &complete, err) < 0)
			return -1;
		out->complete = complete;
	}
	return 0;
}

/* Add DSET with the children of `desc` in reverse order: the result of the
 * merge with which LLNL's tool copies them (formats.md 1.4). */
static int
put_reversed(struct kvtree *t, const struct kvtree *desc, struct error *err)
{
	struct kvtree *copy = kvtree_put(t, "DSET", err), *to = NULL;
	const struct kvtree *k = NULL;

	if (copy == NULL)
		return -1;
	kvtree_foreach (k, desc) {
		to = kvtree_put_first(copy, kvtree_key(k), err);
		if (to == NULL || kvtree_merge(to, k, err) < 0)
			return -1;
	}
	return 0;
}

struct kvtree *
summary_build(const struct kvtree *desc, int complete, struct error *err)
{
	struct kvtree *t = kvtree_new(err);

	if (t == NULL)
		return NULL;
	if (kvtree_set_u64(t, "VERSION", SUMMARY_VERSION, err) < 0 ||
	    (complete == 1 && kvtree_set_u64(t, "COMPLETE", 1, err) < 0) ||
	    (desc != NULL && put_reversed(t, desc, err) < 0)) {
		kvtree_free(t);
		return NULL;
	}
	return t;
}
