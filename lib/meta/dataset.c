/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* LLNL's buffers hold 1024 bytes (formats.md 13). */
#define NAME_MAX_BYTES 1023

static const struct dataset unknown = {
	.ckpt_id = -1,
	.created_us = -1,
	.files = -1,
	.complete = -1,
};

/* The type of a member. */
enum kind {
	TEXT,	/* const char *; NULL: not recorded */
	NUMBER, /* int64_t; below `least` means not recorded */
	BYTES,	/* uint64_t; recorded if `files` is recorded */
	FLAG,	/* bool; always written */
	TRUTH,	/* int: 1, 0, -1: not recorded */
};

#define AT(member) offsetof(struct dataset, member)

/* The keys of a descriptor (formats.md 3.1), in the order in which LLNL's
 * library writes them.  Reading, writing and JSON output use this table: a new
 * key needs one line here, and a member of struct dataset. */
static const struct field {
	const char *key, *json;
	enum kind kind;
	size_t at; /* offset in struct dataset */
	int64_t least, most;
} fields[] = {
	{ "ID", "id", NUMBER, AT(id), 1, DATASET_ID_MAX },
	{ "NAME", "name", TEXT, AT(name), 0, 0 },
	{ "FLAG_CKPT", "checkpoint", FLAG, AT(is_ckpt), 0, 0 },
	{ "FLAG_OUTPUT", "output", FLAG, AT(is_output), 0, 0 },
	{ "CREATED", "created_us", NUMBER, AT(created_us), 0, INT64_MAX },
	{ "USER", "user", TEXT, AT(user), 0, 0 },
	{ "JOBNAME", "job_name", TEXT, AT(job_name), 0, 0 },
	{ "JOBID", "job_id", TEXT, AT(job_id), 0, 0 },
	{ "CLUSTER", "cluster", TEXT, AT(cluster), 0, 0 },
	{ "CKPT", "checkpoint_id", NUMBER, AT(ckpt_id), 0, DATASET_ID_MAX },
	{ "FILES", "files", NUMBER, AT(files), 0, INT64_MAX },
	{ "SIZE", "bytes", BYTES, AT(bytes), 0, INT64_MAX },
	{ "COMPLETE", "complete", TRUTH, AT(complete), 0, 0 },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

/* A pointer to a member, by its type. */
union member {
	const char **text;
	int64_t *number;
	uint64_t *bytes;
	bool *flag;
	int *truth;
	void *any;
};

static union member
member(const struct dataset *d, const struct field *f)
{
	return (union member){ .any = (char *)d + f->at };
}

static bool
is_recorded(const struct dataset *d, const struct field *f)
{
	const union member m = member(d, f);

	switch (f->kind) {
	case TEXT:
		return *m.text != NULL;
	case NUMBER:
		return *m.number >= f->least;
	case BYTES:
		return d->files >= 0;
	case TRUTH:
		return *m.truth >= 0;
	default:
		return true;
	}
}

static int
read_field(const struct kvtree *k, const struct field *f, struct dataset *d,
	   struct error *err)
{
	const union member m = member(d, f);
	bool truth = false;

	switch (f->kind) {
	case TEXT:
		return value_str(k, m.text, err);
	case NUMBER:
		return value_i64(k, f->most, m.number, err);
	case BYTES:
		return value_u64(k, (uint64_t)f->most, m.bytes, err);
	case FLAG:
		return value_flag(k, m.flag, err);
	default:
		if (value_flag(k, &truth, err) < 0)
			return -1;
		*m.truth = truth;
		return 0;
	}
}

int
dataset_read(const struct kvtree *t, struct dataset *out, struct error *err)
{
	const struct kvtree *k = NULL;
	bool has_kind = false;
	size_t i = 0, tried = 0;

	*out = unknown;
	/* An index may have 100,000 descriptors.  Keys usually come in the
	 * order of the table, so start the search at the next one.  Ignore
	 * unknown keys. */
	kvtree_foreach (k, t) {
		const char *key = kvtree_key(k);

		for (tried = 0; tried < NFIELDS; tried++, i++) {
			if (i == NFIELDS)
				i = 0;
			if (strcmp(key, fields[i].key) == 0)
				break;
		}
		if (tried == NFIELDS)
			continue;
		if (read_field(k, &fields[i], out, err) < 0)
			return -1;
		has_kind = has_kind || fields[i].at == AT(is_ckpt);
		i++;
	}
	/* SCR 1.1.8 supports only checkpoints and writes no flags. */
	if (!has_kind)
		out->is_ckpt = out->ckpt_id >= 0;
	return 0;
}

static int
write_field(struct kvtree *t, const struct dataset *d, const struct field *f,
	    struct error *err)
{
	const union member m = member(d, f);

	switch (f->kind) {
	case TEXT:
		return kvtree_set(t, f->key, *m.text, err);
	case NUMBER:
		return kvtree_set_i64(t, f->key, *m.number, err);
	case BYTES:
		return kvtree_set_u64(t, f->key, *m.bytes, err);
	case FLAG:
		return kvtree_set_u64(t, f->key, *m.flag, err);
	default:
		return kvtree_set_i64(t, f->key, *m.truth, err);
	}
}

int
dataset_write(struct kvtree *t, const struct dataset *d, struct error *err)
{
	for (size_t i = 0; i < NFIELDS; i++)
		if (is_recorded(d, &fields[i]) &&
		    write_field(t, d, &fields[i], err) < 0)
			return -1;
	return 0;
}

/* Write null for members that are not recorded, so that all keys exist. */
void
dataset_json(const struct dataset *d, struct json *obj)
{
	for (size_t i = 0; i < NFIELDS; i++) {
		const struct field *f = &fields[i];
		const union member m = member(d, f);

		if (!is_recorded(d, f))
			json_set_null(obj, f->json);
		else if (f->kind == TEXT)
			json_set_str(obj, f->json, *m.text);
		else if (f->kind == NUMBER)
			json_set_i64(obj, f->json, *m.number);
		else if (f->kind == BYTES)
			json_set_u64(obj, f->json, *m.bytes);
		else
			json_set_bool(obj, f->json,
				      f->kind == FLAG ? *m.flag
						      : *m.truth == 1);
	}
}

bool
dataset_name_ok(const char *name)
{
	const unsigned char *c = (const unsigned char *)name;

	for (; *c != '\0'; c++)
		if (*c < ' ' || *c == 0x7f)
			return false;
	return *name != '\0' && strlen(name) <= NAME_MAX_BYTES;
}

static int
by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void *
dataset_table(const struct kvtree *table, size_t size,
	      int (*read)(const struct kvtree *entry, int64_t id, void *out,
			  struct error *err),
	      size_t *count, struct error *err)
{
	const struct kvtree *k = NULL;
	char *entries = NULL;
	size_t n = 0;

	*count = 0;
	if (table == NULL || kvtree_count(table) == 0)
		return NULL;
	entries = mem_calloc(kvtree_count(table), size);
	if (entries == NULL) {
		error_no_memory(err);
		goto fail;
	}
	kvtree_foreach (k, table) {
		uint64_t id = 0;

		if (!value_number(kvtree_key(k), DATASET_ID_MAX, &id) ||
		    id == 0) {
			value_bad(err, kvtree_key(k), "not a dataset id");
			goto fail;
		}
		if (read(k, (int64_t)id, entries + n++ * size, err) < 0)
			goto fail;
	}
	qsort(entries, n, size, by_id);
	*count = n;
	return entries;
fail:
	mem_free(entries);
	*count = SIZE_MAX;
	return NULL;
}
