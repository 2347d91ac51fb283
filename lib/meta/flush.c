/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/flush.h"

#include <stddef.h>

#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"
#include "num.h"

/* The values that read_entry() reads. */
struct record {
	struct flush_entry entry;
	const struct kvtree *locations; /* its children are flags */
};

#define AT(member) .at = offsetof(struct record, member)

/* scr-dataset(5) */
static const struct field fields[] = {
	{ "NAME", FIELD_TEXT, AT(entry.name) },
	{ "CKPT", FIELD_FLAG, AT(entry.is_ckpt) },
	{ "OUTPUT", FIELD_FLAG, AT(entry.is_output) },
	{ "LOCATION", FIELD_NODE, AT(locations) },
	{ "DSETDESC", FIELD_NODE, AT(entry.desc) },
};

static int
read_entry(const struct kvtree *t, int64_t id, void *entry, struct error *err)
{
	struct record r = { .entry.id = id };
	struct flush_entry *out = entry;

	if (fields_read(fields, sizeof(fields) / sizeof(fields[0]), t, &r,
			err) < 0)
		return error_wrap(err, "dataset %lld", (long long)id);
	*out = r.entry;
	out->in_cache = kvtree_get(r.locations, "CACHE") != NULL;
	out->on_pfs = kvtree_get(r.locations, "PFS") != NULL;
	out->flushing = kvtree_get(r.locations, "FLUSHING") != NULL;
	out->sync_flushing = kvtree_get(r.locations, "SYNC_FLUSHING") != NULL;
	return 0;
}

int
flush_find(const struct kvtree *t, int64_t id, struct flush_entry *out,
	   struct error *err)
{
	const struct kvtree *entry = NULL;

	if (id > 0)
		entry = kvtree_get2(t, "DATASET", num_str(id));
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

int
flush_put(struct kvtree *t, const struct flush_entry *e,
	  const struct dataset *d, struct error *err)
{
	/* The locations, newest first. */
	const struct {
		bool is;
		const char *key;
	} all[] = {
		{ e->on_pfs, "PFS" },
		{ e->flushing, "FLUSHING" },
		{ e->sync_flushing, "SYNC_FLUSHING" },
		{ e->in_cache, "CACHE" },
	};
	struct kvtree *table = kvtree_put(t, "DATASET", err), *entry = NULL,
		      *at = NULL;

	kvtree_remove(table, num_str(e->id));
	entry = kvtree_put_first(table, num_str(e->id), err);
	dataset_write(kvtree_put(entry, "DSETDESC", err), d, err);
	if (d->is_output)
		kvtree_set(entry, "OUTPUT", "1", err);
	if (d->is_ckpt)
		kvtree_set(entry, "CKPT", "1", err);
	at = kvtree_put(entry, "LOCATION", err);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].is)
			kvtree_put(at, all[i].key, err);
	if (d->name != NULL)
		kvtree_set(entry, "NAME", d->name, err);
	return kvtree_check(t, err);
}

bool
flush_needed(const struct flush_entry *e)
{
	return e->in_cache && !e->on_pfs;
}
