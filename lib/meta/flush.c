/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/flush.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* LOCATION is a set of flags: its children. */
static void
read_locations(const struct kvtree *locations, struct flush_entry *out)
{
	out->in_cache = kvtree_get(locations, "CACHE") != NULL;
	out->on_pfs = kvtree_get(locations, "PFS") != NULL;
	out->flushing = kvtree_get(locations, "FLUSHING") != NULL;
	out->sync_flushing = kvtree_get(locations, "SYNC_FLUSHING") != NULL;
}

/* Entry `t` of dataset `id`, formats.md 3.5. */
static int
read_entry(const struct kvtree *t, int64_t id, struct flush_entry *out,
	   struct error *err)
{
	const struct kvtree *k = NULL;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->id = id;
	kvtree_foreach (k, t) {
		const char *key = kvtree_key(k);

		if (strcmp(key, "NAME") == 0)
			rc = value_str(k, &out->name, err);
		else if (strcmp(key, "CKPT") == 0)
			rc = value_flag(k, &out->is_ckpt, err);
		else if (strcmp(key, "OUTPUT") == 0)
			rc = value_flag(k, &out->is_output, err);
		else if (strcmp(key, "LOCATION") == 0)
			read_locations(k, out);
		else if (strcmp(key, "DSETDESC") == 0)
			out->desc = k;
		if (rc < 0)
			return error_wrap(err, "dataset %lld", (long long)id);
	}
	return 0;
}

int
flush_find(const struct kvtree *t, int64_t id, struct flush_entry *out,
	   struct error *err)
{
	char key[VALUE_NUMBER];
	const struct kvtree *entry = NULL;

	if (id > 0)
		entry = kvtree_get2(t, "DATASET",
				    value_text(key, (uint64_t)id));
	if (entry == NULL)
		return error_set(err, ERROR_ABSENT,
				 "dataset %lld: no entry in the flush file",
				 (long long)id);
	return read_entry(entry, id, out, err);
}

static int
by_id(const void *a, const void *b)
{
	const struct flush_entry *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct flush_entry *
flush_entries(const struct kvtree *t, size_t *count, struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "DATASET"), *k = NULL;
	struct flush_entry *entries = NULL;
	size_t n = 0;

	*count = 0;
	if (table == NULL || kvtree_count(table) == 0)
		return NULL;
	entries = mem_calloc(kvtree_count(table), sizeof(*entries));
	if (entries == NULL) {
		error_set(err, ERROR_NOMEM, "flush file: out of memory");
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

bool
flush_needed(const struct flush_entry *e)
{
	return e->in_cache && !e->on_pfs;
}
