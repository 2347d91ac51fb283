/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/flush.h"

#include <string.h>

#include "error.h"
#include "meta/dataset.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* The children of LOCATION are flags. */
static void
read_locations(const struct kvtree *locations, struct flush_entry *out)
{
	out->in_cache = kvtree_get(locations, "CACHE") != NULL;
	out->on_pfs = kvtree_get(locations, "PFS") != NULL;
	out->flushing = kvtree_get(locations, "FLUSHING") != NULL;
	out->sync_flushing = kvtree_get(locations, "SYNC_FLUSHING") != NULL;
}

/* Read entry `t` of dataset `id`, formats.md 3.5. */
static int
read_entry(const struct kvtree *t, int64_t id, void *entry, struct error *err)
{
	struct flush_entry *out = entry;
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

struct flush_entry *
flush_entries(const struct kvtree *t, size_t *count, struct error *err)
{
	return dataset_table(kvtree_get(t, "DATASET"),
			     sizeof(struct flush_entry), read_entry, count,
			     err);
}

bool
flush_needed(const struct flush_entry *e)
{
	return e->in_cache && !e->on_pfs;
}
