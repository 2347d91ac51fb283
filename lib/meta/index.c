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

/*
 * --- An index of SCR 1.1.8 (VERSION 1; container-format(5)) ---
 *
 * Its key is the directory below the prefix; each is a dataset and contains its
 * metadata:
 *
 *   CURRENT = dir
 *   DIR  -> dir -> DSET = id
 *   DSET -> id -> DIR -> dir -> COMPLETE, FLUSHED, FAILED, DSET -> descriptor
 */

static void
copy_value(const struct kvtree *from, const char *key, struct kvtree *to)
{
	const char *value = kvtree_value(from, key);

	if (value != NULL)
		kvtree_set(to, key, value, NULL);
}

static int
take_dir(struct index *ix, const struct kvtree *old, const struct kvtree *k,
	 struct error *err)
{
	const char *dir = kvtree_key(k), *text = kvtree_value(k, "DSET");
	const char *complete = NULL;
	const struct kvtree *entry = NULL;
	struct kvtree *desc = NULL;
	uint64_t id = 0;
	int rc = -1;

	if (text == NULL || !value_number(text, DATASET_ID_MAX, &id) || id == 0)
		return value_bad(err, dir, "in DIR: not one dataset id");
	entry = kvtree_get(kvtree_get2(old, "DSET", text), "DIR");
	entry = entry == NULL ? NULL : kvtree_get(entry, dir);
	if (entry == NULL)
		return value_bad(err, dir, "in DIR: its id is not in DSET");
	complete = kvtree_value(entry, "COMPLETE");
	desc = kvtree_new(err);
	/* The directory becomes the name. */
	kvtree_merge(desc, kvtree_get(entry, "DSET"), err);
	kvtree_set_i64(desc, "ID", (int64_t)id, err);
	kvtree_set(desc, "NAME", dir, err);
	rc = kvtree_check(desc, err);
	if (rc == 0)
		rc = index_add(ix, desc,
			       complete == NULL ? -1 : str_eq(complete, "1"),
			       kvtree_value(entry, "FLUSHED"), err);
	kvtree_free(desc);
	copy_value(entry, "FAILED", index_entry_node(ix, (int64_t)id));
	return rc;
}

/* Convert a tree of VERSION 1 into a new index. */
static struct index *
index_from_old(const struct kvtree *old, struct error *err)
{
	struct index *ix = index_new(err);
	const struct kvtree *k = NULL;

	if (ix == NULL)
		return NULL;
	ix->old = true;
	kvtree_foreach (k, kvtree_get(old, "DIR"))
		if (take_dir(ix, old, k, err) < 0)
			goto fail;
	copy_value(old, "CURRENT", ix->tree);
	if (kvtree_check(ix->tree, err) == 0)
		return ix;
fail:
	index_free(ix);
	return NULL;
}

#define INDEX_OLD "1" /* VERSION of SCR 1.1.8 */

/* --- Create and free --- */

struct index *
index_new(struct error *err)
{
	struct kvtree *tree = kvtree_new(err);

	/* VERSION comes first in LLNL's order (scr-dataset(5)). */
	kvtree_set_i64(tree, "VERSION", INDEX_VERSION, err);
	tree = kvtree_checked(tree, err);
	return tree == NULL ? NULL : index_from_tree(tree, err);
}

void
index_free(struct index *ix)
{
	if (ix == NULL)
		return;
	kvtree_free(ix->tree);
	mem_free(ix->ids);
	mem_free(ix->list);
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

/* --- An entry --- */

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

/* The keys of an entry, scr-dataset(5). */
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
	if (out->desc.id > 0 && out->desc.id != id)
		return value_bad(err, kvtree_key(t),
				 "in DSET: the dataset has another id");
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

/* --- All entries --- */

/* An id and its node: sorting these is cheaper than sorting index_entry. */
struct place {
	int64_t id;
	const struct kvtree *node;
};

/* For places and entries: both begin with the id. */
static int
descending(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The entries, in descending order of ids. */
struct listing {
	struct index_entry *list;
	size_t count;
	size_t guess;  /* the entry of the next name: both tables usually have
			  the same order */
	size_t proven; /* names that the entry's descriptor confirms */
};

/* Check name `k` of the NAME table; an entry without a name takes it. */
static int
take_name(struct listing *l, const struct kvtree *k, struct error *err)
{
	struct index_entry *e = NULL;
	int64_t id = 0;

	if (index_name_id(k, &id, err) < 0)
		return -1;
	if (l->guess < l->count && l->list[l->guess].id == id)
		e = &l->list[l->guess];
	else
		e = bsearch(&id, l->list, l->count, sizeof(*e), descending);
	if (e == NULL)
		return value_bad(err, kvtree_key(k),
				 "in NAME: its id is not in DSET");
	l->guess = (size_t)(e - l->list) + 1;
	if (e->desc.name != NULL && !str_eq(e->desc.name, kvtree_key(k)))
		return value_bad(err, kvtree_key(k),
				 "in NAME: the dataset has another name");
	l->proven += e->desc.name != NULL;
	if (e->name == NULL)
		e->name = kvtree_key(k);
	return 0;
}

static bool
is_current(const char *name, const char *current)
{
	return name != NULL && current != NULL && strcmp(name, current) == 0;
}

/* Read and check all entries; for mem_free(), never NULL if there are none. */
static struct index_entry *
read_all(const struct kvtree *tree, size_t count, struct error *err)
{
	const char *current = kvtree_value(tree, "CURRENT");
	const struct kvtree *names = kvtree_get(tree, "NAME"), *k = NULL;
	struct place *places = mem_alloc(count, sizeof(*places));
	struct listing l = {
		.list = mem_alloc(count, sizeof(*l.list)),
		.count = count,
	};
	bool sorted = true;
	size_t n = 0;

	if (places == NULL || l.list == NULL) {
		error_no_memory(err);
		goto fail;
	}
	/* LLNL's files are usually descending already, or ascending after
	 * another copy. */
	kvtree_foreach (k, kvtree_get(tree, "DSET")) {
		uint64_t id = 0;

		if (!value_number(kvtree_key(k), DATASET_ID_MAX, &id) ||
		    id == 0) {
			value_bad(err, kvtree_key(k),
				  "in DSET: not a dataset id");
			goto fail;
		}
		places[n] = (struct place){ (int64_t)id, k };
		sorted = sorted && (n == 0 || places[n - 1].id > places[n].id);
		n++;
	}
	if (!sorted)
		qsort(places, n, sizeof(*places), descending);
	for (size_t i = 0; i < count; i++)
		if (read_entry(places[i].node, places[i].id, &l.list[i], err) <
		    0)
			goto fail;
	/* Check the entries against the NAME table, which has the names of
	 * those without one. */
	kvtree_foreach (k, names)
		if (take_name(&l, k, err) < 0)
			goto fail;
	/* The name in an entry's descriptor must not belong to another entry.
	 * It may be missing in the NAME table.  If each entry confirmed one
	 * name, all are checked. */
	for (size_t i = 0; l.proven < count && i < count; i++) {
		const struct index_entry *e = &l.list[i];
		int64_t id = 0;

		k = e->desc.name != NULL ? kvtree_get(names, e->desc.name)
					 : NULL;
		if (k != NULL &&
		    (index_name_id(k, &id, NULL) < 0 || id != e->id)) {
			value_bad(err, kvtree_key(k),
				  "in NAME: another dataset has this name");
			goto fail;
		}
	}
	for (size_t i = 0; i < count; i++)
		l.list[i].current = is_current(l.list[i].name, current);
	mem_free(places);
	return l.list;
fail:
	mem_free(l.list);
	mem_free(places);
	return NULL;
}

/* --- Make from a file --- */

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
	ix = mem_calloc(1, sizeof(*ix));
	if (ix == NULL) {
		error_no_memory(err);
		goto fail;
	}
	ix->tree = tree;
	ix->list = read_all(tree, index_count(ix), err);
	if (ix->list != NULL)
		return ix;
	index_free(ix);
	return NULL;
fail:
	kvtree_free(tree);
	return NULL;
}

void
index_changes(struct index *ix)
{
	mem_free(ix->list);
	ix->list = NULL;
}

bool
index_is_old(const struct index *ix)
{
	return ix->old;
}

struct kvtree *
index_tree(struct index *ix)
{
	index_changes(ix);
	return ix->tree;
}

/* --- Read --- */

const struct kvtree *
index_desc(const struct index *ix, int64_t id)
{
	return kvtree_get(kvtree_get2(ix->tree, "DSET", num_str(id)), "DSET");
}

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

int
index_find_id(const struct index *ix, int64_t id, struct index_entry *out,
	      struct error *err)
{
	const struct kvtree *entry = index_need_node(ix, id, err), *k = NULL;
	int64_t other = 0;

	if (entry == NULL || read_entry(entry, id, out, err) < 0)
		return -1;
	/* A fetch can leave an entry without a name in its descriptor. */
	if (out->name == NULL)
		kvtree_foreach (k, kvtree_get(ix->tree, "NAME"))
			if (out->name == NULL &&
			    index_name_id(k, &other, NULL) == 0 && other == id)
				out->name = kvtree_key(k);
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

struct index_entry *
index_entries(const struct index *ix, size_t *count, struct error *err)
{
	struct index_entry *entries = NULL;

	*count = index_count(ix);
	if (*count == 0)
		return NULL;
	if (ix->list == NULL) {
		entries = read_all(ix->tree, *count, err);
	} else {
		entries = mem_alloc(*count, sizeof(*entries));
		if (entries != NULL)
			memcpy(entries, ix->list, *count * sizeof(*entries));
		else
			error_no_memory(err);
	}
	if (entries == NULL)
		*count = (size_t)-1;
	return entries;
}

/* --- Validity --- */

void
index_newest(const struct index *ix, int64_t out[2])
{
	struct index_entry *read = NULL;
	const struct index_entry *all = NULL;
	size_t n = 0, k = 0;

	out[0] = out[1] = 0;
	if (ix == NULL)
		return;
	/* Lost datasets ask one by one: no copy for each. */
	if (ix->list != NULL) {
		all = ix->list;
		n = index_count(ix);
	} else {
		all = read = index_entries(ix, &n, NULL);
	}
	for (size_t i = 0; all != NULL && i < n && k < 2; i++)
		if (all[i].desc.is_ckpt && index_entry_valid(&all[i]))
			out[k++] = all[i].id;
	mem_free(read);
}

bool
index_entry_valid(const struct index_entry *e)
{
	return e->complete == 1 && e->failed == NULL;
}

bool
index_entry_later(const struct index_entry *e, int64_t id, int64_t created_us,
		  const char *job)
{
	const int64_t at = e->desc.created_us;
	const bool known = job != NULL && e->desc.job_id != NULL;

	if (known && !str_eq(e->desc.job_id, job))
		return false;
	if (known && e->id != id)
		return e->id > id;
	return at > 0 && created_us > 0 ? at > created_us : e->id > id;
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
