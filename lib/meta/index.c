/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/index.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/index_impl.h"
#include "num.h"
#include "str.h"

#define INDEX_OLD "1" /* VERSION of SCR 1.1.8 */

/* --- Create and free --- */

struct index *
index_new(struct error *err)
{
	struct kvtree *tree = kvtree_new(err);

	/* VERSION comes first in LLNL's order (formats.md 3.2). */
	if (tree == NULL ||
	    kvtree_set_i64(tree, "VERSION", INDEX_VERSION, err) < 0) {
		kvtree_free(tree);
		return NULL;
	}
	return index_from_tree(tree, err);
}

void
index_free(struct index *ix)
{
	if (ix == NULL)
		return;
	kvtree_free(ix->tree);
	mem_free(ix->ids);
	mem_free(ix);
}

struct kvtree *
index_entry_node(const struct index *ix, int64_t id)
{
	return id <= 0 ? NULL : kvtree_get2(ix->tree, "DSET", num_str(id));
}

struct kvtree *
index_need_node(const struct index *ix, int64_t id, struct error *err)
{
	struct kvtree *entry = index_entry_node(ix, id);

	if (entry == NULL)
		error_set(err, ERROR_ABSENT, "dataset %lld: not in the index",
			  (long long)id);
	return entry;
}

int
index_name_id(const struct kvtree *k, int64_t *out, struct error *err)
{
	const char *value = kvtree_value(k, "DSET");
	uint64_t id = 0;

	if (value == NULL || !value_number(value, DATASET_ID_MAX, &id) ||
	    id == 0)
		return value_bad(err, kvtree_key(k),
				 "in NAME: not one dataset id");
	*out = (int64_t)id;
	return 0;
}

/* Check that the ID in the descriptor equals the key of `entry`. */
static int
check_id(const struct kvtree *entry, const struct kvtree *desc,
	 struct error *err)
{
	const char *own = kvtree_value(desc, "ID");
	uint64_t id = 0;

	if (!value_number(kvtree_key(entry), DATASET_ID_MAX, &id) || id == 0)
		return value_bad(err, kvtree_key(entry),
				 "in DSET: not a dataset id");
	if (own != NULL && strcmp(own, kvtree_key(entry)) != 0)
		return value_bad(err, kvtree_key(entry),
				 "in DSET: the dataset has another id");
	return 0;
}

/* Check one name against the DSET table.  Both tables usually have the same
 * order, so *guess is the entry expected next.  *proven counts the names that
 * are confirmed by an entry's descriptor. */
static int
check_name(const struct kvtree *table, const struct kvtree *k,
	   const struct kvtree **guess, size_t *proven, struct error *err)
{
	const char *id = kvtree_value(k, "DSET"), *name = NULL;
	const struct kvtree *entry = *guess, *desc = NULL;

	if (id == NULL)
		return value_bad(err, kvtree_key(k),
				 "in NAME: not one dataset id");
	if (entry == NULL || strcmp(kvtree_key(entry), id) != 0)
		entry = kvtree_get(table, id);
	if (entry == NULL)
		return value_bad(err, kvtree_key(k),
				 "in NAME: its id is not in DSET");
	*guess = kvtree_next(entry);
	desc = kvtree_get(entry, "DSET");
	name = kvtree_value(desc, "NAME");
	if (name != NULL && strcmp(name, kvtree_key(k)) != 0)
		return value_bad(err, kvtree_key(k),
				 "in NAME: the dataset has another name");
	*proven += name != NULL;
	return check_id(entry, desc, err);
}

/* The name in an entry's descriptor must not belong to another entry.  It may
 * be missing in the NAME table. */
static int
check_own_name(const struct kvtree *names, const struct kvtree *entry,
	       const struct kvtree *desc, struct error *err)
{
	const char *name = kvtree_value(desc, "NAME");
	const struct kvtree *k = name != NULL ? kvtree_get(names, name) : NULL;
	const char *id = kvtree_value(k, "DSET");

	if (k == NULL || (id != NULL && strcmp(id, kvtree_key(entry)) == 0))
		return 0;
	return value_bad(err, kvtree_key(k),
			 "in NAME: another dataset has this name");
}

static int
check_tables(const struct kvtree *tree, struct error *err)
{
	const struct kvtree *table = kvtree_get(tree, "DSET"), *k = NULL;
	const struct kvtree *names = kvtree_get(tree, "NAME");
	const struct kvtree *guess = kvtree_first(table);
	size_t proven = 0;

	kvtree_foreach (k, names)
		if (check_name(table, k, &guess, &proven, err) < 0)
			return -1;
	/* Each entry confirmed one name, so all entries were checked. */
	if (table == NULL || proven == kvtree_count(table))
		return 0;
	kvtree_foreach (k, table) {
		const struct kvtree *desc = kvtree_get(k, "DSET");

		if (check_id(k, desc, err) < 0 ||
		    check_own_name(names, k, desc, err) < 0)
			return -1;
	}
	return 0;
}

struct index *
index_from_tree(struct kvtree *tree, struct error *err)
{
	const char *text = kvtree_value(tree, "VERSION");
	struct index *ix = NULL;
	int64_t version = 0;

	if (text != NULL && str_eq(text, INDEX_OLD)) {
		ix = index_from_old(tree, err);
		kvtree_free(tree);
		return ix;
	}
	if (kvtree_i64(tree, "VERSION", INDEX_VERSION, INDEX_VERSION, &version,
		       err) < 0) {
		if (err != NULL && err->kind == ERROR_ABSENT)
			err->kind = ERROR_CORRUPT;
		goto fail;
	}
	if (check_tables(tree, err) < 0)
		goto fail;
	ix = mem_calloc(1, sizeof(*ix));
	if (ix == NULL) {
		error_no_memory(err);
		goto fail;
	}
	ix->tree = tree;
	return ix;
fail:
	kvtree_free(tree);
	return NULL;
}

bool
index_is_old(const struct index *ix)
{
	return ix->old;
}

struct kvtree *
index_tree(struct index *ix)
{
	return ix->tree;
}

/* --- Read --- */

size_t
index_count(const struct index *ix)
{
	const struct kvtree *table = kvtree_get(ix->tree, "DSET");

	return table == NULL ? 0 : kvtree_count(table);
}

const char *
index_current(const struct index *ix)
{
	return kvtree_value(ix->tree, "CURRENT");
}

/* Return the latest child of `t`, or NULL.  Stamps sort as text. */
static const char *
latest(const struct kvtree *t)
{
	const struct kvtree *k = NULL;
	const char *last = NULL;

	kvtree_foreach (k, t)
		if (last == NULL || strcmp(kvtree_key(k), last) > 0)
			last = kvtree_key(k);
	return last;
}

/* The keys of an entry, formats.md 3.2. */
struct record {
	const struct kvtree *desc, *flushed, *failed, *fetched;
	int64_t replaced;
	int complete;
};

#define AT(member) .at = offsetof(struct record, member)

static const struct field fields[] = {
	{ "FLUSHED", FIELD_NODE, AT(flushed) },
	{ "COMPLETE", FIELD_TRUTH, AT(complete) },
	{ "DSET", FIELD_NODE, AT(desc) },
	{ "FAILED", FIELD_NODE, AT(failed) },
	{ "FETCHED", FIELD_NODE, AT(fetched) },
	{ INDEX_REPLACED, FIELD_I64, AT(replaced), .most = DATASET_ID_MAX },
};

/* Read entry `t` of dataset `id`, except what other tables hold. */
static int
read_entry(const struct kvtree *t, int64_t id, struct index_entry *out,
	   struct error *err)
{
	struct record r = { .complete = -1 };

	if (fields_read(fields, sizeof(fields) / sizeof(fields[0]), t, &r,
			err) < 0 ||
	    dataset_read(r.desc, &out->desc, err) < 0)
		return error_wrap(err, "dataset %lld", (long long)id);
	out->id = id;
	out->name = out->desc.name;
	out->complete = r.complete;
	out->replaced = r.replaced;
	out->flushed = latest(r.flushed);
	out->failed = latest(r.failed);
	out->fetched = latest(r.fetched);
	out->fetches = r.fetched == NULL ? 0 : kvtree_count(r.fetched);
	out->current = false;
	return 0;
}

const char *
index_id_name(const struct index *ix, int64_t id)
{
	const struct kvtree *k = NULL;
	int64_t other = 0;

	kvtree_foreach (k, kvtree_get(ix->tree, "NAME"))
		if (index_name_id(k, &other, NULL) == 0 && other == id)
			return kvtree_key(k);
	return NULL;
}

static bool
is_current(const char *name, const char *current)
{
	return name != NULL && current != NULL && strcmp(name, current) == 0;
}

int
index_find_id(const struct index *ix, int64_t id, struct index_entry *out,
	      struct error *err)
{
	const struct kvtree *entry = index_need_node(ix, id, err);

	if (entry == NULL || read_entry(entry, id, out, err) < 0)
		return -1;
	if (out->name == NULL)
		out->name = index_id_name(ix, id);
	out->current = is_current(out->name, index_current(ix));
	return 0;
}

int
index_find_name(const struct index *ix, const char *name,
		struct index_entry *out, struct error *err)
{
	const struct kvtree *k = kvtree_get2(ix->tree, "NAME", name);
	int64_t id = 0;

	if (k == NULL)
		return error_set(err, ERROR_ABSENT, "%s: not in the index",
				 str_shown(name));
	if (index_name_id(k, &id, err) < 0 ||
	    read_entry(index_entry_node(ix, id), id, out, err) < 0)
		return -1;
	out->name = kvtree_key(k);
	out->current = is_current(out->name, index_current(ix));
	return 0;
}

/* An id and its node: sorting these is cheaper than sorting index_entry. */
struct place {
	int64_t id;
	const struct kvtree *node;
};

static int
descending(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->id < y->id) - (x->id > y->id);
}

/* Return the ids and nodes of all entries, in descending order of ids.  LLNL's
 * files are usually descending already, or ascending after another copy. */
static struct place *
sorted_places(const struct kvtree *table, size_t count, struct error *err)
{
	struct place *places = mem_alloc(count, sizeof(*places));
	const struct kvtree *k = NULL;
	bool sorted = true;
	size_t n = 0;

	if (places == NULL) {
		error_no_memory(err);
		return NULL;
	}
	kvtree_foreach (k, table) {
		uint64_t id = 0;

		/* Valid: checked by index_from_tree(). */
		value_number(kvtree_key(k), DATASET_ID_MAX, &id);
		places[n].id = (int64_t)id;
		places[n].node = k;
		sorted = sorted && (n == 0 || places[n - 1].id > places[n].id);
		n++;
	}
	if (!sorted)
		qsort(places, n, sizeof(*places), descending);
	return places;
}

/* Fill in missing names from the NAME table, in one pass. */
static void
name_nameless(const struct index *ix, struct index_entry *entries,
	      const struct place *places, size_t count)
{
	const struct place *found = NULL;
	const struct kvtree *k = NULL;
	struct place key = { .node = NULL };

	kvtree_foreach (k, kvtree_get(ix->tree, "NAME")) {
		if (index_name_id(k, &key.id, NULL) < 0)
			continue;
		found = bsearch(&key, places, count, sizeof(key), descending);
		if (found != NULL && entries[found - places].name == NULL)
			entries[found - places].name = kvtree_key(k);
	}
}

struct index_entry *
index_entries(const struct index *ix, size_t *count, struct error *err)
{
	const size_t n = index_count(ix);
	const char *current = index_current(ix);
	struct index_entry *entries = NULL;
	struct place *places = NULL;
	bool nameless = false;
	size_t i = 0;

	*count = 0;
	if (n == 0)
		return NULL;
	*count = (size_t)-1;
	places = sorted_places(kvtree_get(ix->tree, "DSET"), n, err);
	if (places == NULL)
		return NULL;
	entries = mem_alloc(n, sizeof(*entries));
	if (entries == NULL) {
		error_no_memory(err);
		goto fail;
	}
	for (i = 0; i < n; i++) {
		if (read_entry(places[i].node, places[i].id, &entries[i], err) <
		    0)
			goto fail;
		nameless = nameless || entries[i].name == NULL;
	}
	if (nameless)
		name_nameless(ix, entries, places, n);
	for (i = 0; i < n; i++)
		entries[i].current = is_current(entries[i].name, current);
	mem_free(places);
	*count = n;
	return entries;
fail:
	mem_free(entries);
	mem_free(places);
	return NULL;
}

/* --- Validity --- */

void
index_newest(const struct index *ix, int64_t out[2])
{
	size_t n = 0, k = 0;
	struct index_entry *all =
		ix != NULL ? index_entries(ix, &n, NULL) : NULL;

	out[0] = out[1] = 0;
	for (size_t i = 0; all != NULL && i < n && k < 2; i++)
		if (all[i].desc.is_ckpt && index_entry_valid(&all[i]))
			out[k++] = all[i].id;
	mem_free(all);
}

bool
index_entry_valid(const struct index_entry *e)
{
	return e->complete == 1 && e->failed == NULL;
}

bool
index_entry_newer(const struct index_entry *a, const struct index_entry *b)
{
	const int64_t at = a->desc.created_us, bt = b->desc.created_us;

	return at > 0 && bt > 0 ? at > bt : a->id > b->id;
}

const char *
index_entry_reason(const struct index_entry *e, char *to, size_t size)
{
	char shown[INDEX_STAMP_SIZE * 2];

	if (e->complete == 0 && e->replaced > 0)
		snprintf(to, size, "files replaced by dataset %lld",
			 (long long)e->replaced);
	else if (e->complete == 0)
		snprintf(to, size, "never completed");
	else if (e->complete < 0)
		snprintf(to, size, "not recorded as complete");
	else if (e->failed != NULL)
		snprintf(to, size, "last fetch failed %s",
			 str_printable(shown, sizeof(shown), e->failed));
	else if (size > 0)
		to[0] = '\0';
	return to;
}

char *
index_stamp(char to[static INDEX_STAMP_SIZE], int64_t t)
{
	const time_t at = t < 0 ? time(NULL) : (time_t)t;
	struct tm tm;

	/* A year beyond 9999 does not fit. */
	if (localtime_r(&at, &tm) == NULL ||
	    strftime(to, INDEX_STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(to, INDEX_STAMP_SIZE, "9999-12-31T23:59:59");
	return to;
}
