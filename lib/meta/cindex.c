/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include <string.h>

#include "error.h"
#include "meta/dataset.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* Read entry `t` of dataset `id`, formats.md 4.1. */
static int
read_entry(const struct kvtree *t, int64_t id, void *entry, struct error *err)
{
	struct cindex_entry *out = entry;
	const struct kvtree *k = NULL;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->id = id;
	kvtree_foreach (k, t) {
		const char *key = kvtree_key(k);

		if (strcmp(key, "PATH") == 0)
			rc = value_str(k, &out->path, err);
		else if (strcmp(key, "BYPASS") == 0)
			rc = value_flag(k, &out->bypass, err);
		else if (strcmp(key, "DSETDESC") == 0)
			out->desc = k;
		if (rc < 0)
			return error_wrap(err, "dataset %lld", (long long)id);
	}
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
