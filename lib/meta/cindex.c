/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include <stddef.h>

#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"
#include "num.h"

#define AT(member) .at = offsetof(struct cindex_entry, member)

/* scr-dataset(5) */
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
cindex_add(struct kvtree *t, const struct dataset *d, bool bypass,
	   const char *path, struct error *err)
{
	struct kvtree *table = kvtree_put(t, "DSET", err);
	struct kvtree *at = kvtree_put(table, num_str(d->id), err);

	dataset_write(kvtree_put(at, "DSETDESC", err), d, err);
	kvtree_set_u64(at, "BYPASS", bypass, err);
	kvtree_set(at, "PATH", path, err);
	return kvtree_check(t, err);
}

void
cindex_remove(struct kvtree *t, int64_t id)
{
	kvtree_remove(kvtree_get(t, "DSET"), num_str(id));
}

const char *
cindex_current(const struct kvtree *t)
{
	return kvtree_value(t, "CURRENT");
}

int
cindex_set_current(struct kvtree *t, const char *name, struct error *err)
{
	return kvtree_set(t, "CURRENT", name, err);
}

int
nodes_read(const struct kvtree *t, int64_t *out, struct error *err)
{
	return kvtree_i64(t, "NODES", 0, INT32_MAX, out, err);
}

int
nodes_write(int dirfd, uint64_t count, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int rc = 0;

	kvtree_set_u64(t, "NODES", count, err);
	rc = kvtree_write_file(t, dirfd, NODES_FILE, err);
	kvtree_free(t);
	return rc;
}
