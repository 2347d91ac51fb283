/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* Entry `t` of dataset `id`, formats.md 4.1. */
static int
read_entry(const struct kvtree *t, int64_t id, struct cindex_entry *out,
	   struct error *err)
{
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

static int
by_id(const void *a, const void *b)
{
	const struct cindex_entry *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct cindex_entry *
cindex_entries(const struct kvtree *t, size_t *count, struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "DSET"), *k = NULL;
	struct cindex_entry *entries = NULL;
	size_t n = 0;

	*count = 0;
	if (table == NULL || kvtree_count(table) == 0)
		return NULL;
	entries = mem_calloc(kvtree_count(table), sizeof(*entries));
	if (entries == NULL) {
		error_set(err, ERROR_NOMEM, "cache index: out of memory");
		goto fail;
	}
	kvtree_foreach (k, table) {
		uint64_t id = 0;

		if (!value_number(kvtree_key(k), DATASET_ID_MAX, &id)) {
			value_bad(err, kvtree_key(k), "not a dataset id");
			goto fail;
		}
		if (read_entry(k, (int64_t)id, &entries[n++], err) < 0)
			goto fail;
	}
	qsort(entries, n, sizeof(*entries), by_id);
	*count = n;
	return entries;
fail:
	mem_free(entries);
	*count = (size_t)-1;
	return NULL;
}

int
nodes_read(const struct kvtree *t, int64_t *out, struct error *err)
{
	return kvtree_i64(t, "NODES", 0, INT32_MAX, out, err);
}
