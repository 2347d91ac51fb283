/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include <stddef.h>

#include "error.h"
#include "meta/dataset.h"
#include "meta/fields.h"
#include "meta/kvtree.h"

#define AT(member) .at = offsetof(struct cindex_entry, member)

/* formats.md 4.1 */
static const struct field fields[] = {
	{ "PATH", FIELD_TEXT, AT(path) },
	{ "BYPASS", FIELD_FLAG, AT(bypass) },
	{ "DSETDESC", FIELD_NODE, AT(desc) },
};

static int
read_entry(const struct kvtree *t, int64_t id, void *entry, struct error *err)
{
	struct cindex_entry *out = entry;

	*out = (struct cindex_entry){ .id = id };
	if (fields_read(fields, sizeof(fields) / sizeof(fields[0]), t, out,
			err) < 0)
		return error_wrap(err, "dataset %lld", (long long)id);
	return 0;
}

struct cindex_entry *
cindex_entries(const struct kvtree *t, size_t *count, struct error *err)
{
	return dataset_table(kvtree_get(t, "DSET"), sizeof(struct cindex_entry),
			     read_entry, count, err);
}

int
nodes_read(const struct kvtree *t, int64_t *out, struct error *err)
{
	return kvtree_i64(t, "NODES", 0, INT32_MAX, out, err);
}
