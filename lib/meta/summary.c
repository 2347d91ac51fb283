/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/summary.h"

#include <stddef.h>

#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"

#define AT(member) .at = offsetof(struct summary, member)

static const struct field fields[] = {
	{ "VERSION", FIELD_I64, AT(version), INT32_MAX },
	{ "COMPLETE", FIELD_TRUTH, AT(complete) },
	{ "DSET", FIELD_NODE, AT(desc) },
	{ SUMMARY_REPLACED, FIELD_I64, AT(replaced), DATASET_ID_MAX },
};

int
summary_read(const struct kvtree *t, struct summary *out, struct error *err)
{
	*out = (struct summary){ .version = -1, .complete = -1 };
	return fields_read(fields, sizeof(fields) / sizeof(fields[0]), t, out,
			   err) < 0
		       ? -1
		       : 0;
}

struct kvtree *
summary_load(int dirfd, const char *name, struct stat *st, struct summary *out,
	     struct error *err)
{
	struct kvtree *t = kvtree_read_beneath(dirfd, name, st, err);

	if (t != NULL && summary_read(t, out, err) < 0) {
		kvtree_free(t);
		t = NULL;
	}
	return t;
}

struct kvtree *
summary_build(const struct kvtree *desc, int complete, struct error *err)
{
	struct kvtree *t = kvtree_new(err), *copy = NULL;
	const struct kvtree *k = NULL;

	kvtree_set_u64(t, "VERSION", SUMMARY_VERSION, err);
	if (complete == 1)
		kvtree_set_u64(t, "COMPLETE", 1, err);
	if (desc != NULL)
		copy = kvtree_put(t, "DSET", err);
	/* The descriptor in reverse order: the result of the merge with which
	 * LLNL's tool copies it (kvtree(5)). */
	kvtree_foreach (k, desc)
		kvtree_merge(kvtree_put_first(copy, kvtree_key(k), err), k,
			     err);
	return kvtree_checked(t, err);
}
