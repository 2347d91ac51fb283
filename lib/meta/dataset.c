/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/dataset.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "json.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "num.h"
#include "str.h"

/* LLNL's buffers hold 1024 bytes (scr-dataset(5)). */
#define NAME_MAX_BYTES 1023

static const struct dataset unknown = {
	.ckpt_id = -1,
	.created_us = -1,
	.files = -1,
	.complete = -1,
};

#define AT(member) .at = offsetof(struct dataset, member)

/* The keys of a descriptor (scr-dataset(5)), in the order in which LLNL's
 * library writes them.  Reading, writing and JSON output use this table: a new
 * key needs one line here, and a member of struct dataset. */
static const struct field fields[] = {
	{ "ID", FIELD_I64, AT(id), DATASET_ID_MAX, .least = 1, .json = "id" },
	{ "NAME", FIELD_TEXT, AT(name), .json = "name" },
	{ "FLAG_CKPT", FIELD_FLAG, AT(is_ckpt), .json = "checkpoint" },
	{ "FLAG_OUTPUT", FIELD_FLAG, AT(is_output), .json = "output" },
	{ "CREATED", FIELD_I64, AT(created_us), INT64_MAX, .json = "created" },
	{ "USER", FIELD_TEXT, AT(user), .json = "user" },
	{ "JOBNAME", FIELD_TEXT, AT(job_name), .json = "job_name" },
	{ "JOBID", FIELD_TEXT, AT(job_id), .json = "job_id" },
	{ "CLUSTER", FIELD_TEXT, AT(cluster), .json = "cluster" },
	{ "CKPT", FIELD_I64, AT(ckpt_id), DATASET_ID_MAX,
	  .json = "checkpoint_id" },
	{ "FILES", FIELD_I64, AT(files), INT64_MAX, .json = "file_count" },
	{ "SIZE", FIELD_U64, AT(bytes), INT64_MAX, .json = "bytes" },
	{ "COMPLETE", FIELD_TRUTH, AT(complete), .json = "complete" },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

int
dataset_read(const struct kvtree *t, struct dataset *out, struct error *err)
{
	*out = unknown;
	if (fields_read(fields, NFIELDS, t, out, err) < 0)
		return -1;
	/* SCR 1.1.8 supports only checkpoints and writes no flags. */
	if (out->ckpt_id >= 0 && !out->is_ckpt)
		out->is_ckpt = kvtree_get(t, "FLAG_CKPT") == NULL;
	return 0;
}

int64_t
dataset_created(const struct kvtree *t)
{
	struct dataset d;

	return dataset_read(t, &d, NULL) == 0 && d.created_us > 0 ? d.created_us
								  : 0;
}

/* SIZE is recorded if FILES is. */
static bool
is_recorded(const struct dataset *d, const struct field *f)
{
	return f->at == offsetof(struct dataset, bytes) ? d->files >= 0
							: field_recorded(f, d);
}

int
dataset_write(struct kvtree *t, const struct dataset *d, struct error *err)
{
	for (size_t i = 0; i < NFIELDS; i++)
		if (is_recorded(d, &fields[i]))
			field_write(&fields[i], t, d);
	return kvtree_check(t, err);
}

int
dataset_copy(struct dataset *to, const struct dataset *from, struct arena *a,
	     struct error *err)
{
	*to = *from;
	for (size_t i = 0; i < NFIELDS; i++) {
		const char **text = (void *)((char *)to + fields[i].at);

		if (fields[i].kind == FIELD_TEXT && *text != NULL &&
		    (*text = arena_strdup(a, *text)) == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* Write null for members that are not recorded, so that all keys exist. */
void
dataset_json(const struct dataset *d, struct json *obj)
{
	for (size_t i = 0; i < NFIELDS; i++) {
		const struct field *f = &fields[i];
		const void *m = (const char *)d + f->at;

		if (!is_recorded(d, f))
			json_set_null(obj, f->json);
		else if (f->kind == FIELD_TEXT)
			json_set_str(obj, f->json, *(const char *const *)m);
		else if (f->at == offsetof(struct dataset, created_us))
			json_set_time_us(obj, f->json, *(const int64_t *)m);
		else if (f->kind == FIELD_I64)
			json_set_i64(obj, f->json, *(const int64_t *)m);
		else if (f->kind == FIELD_U64)
			json_set_u64(obj, f->json, *(const uint64_t *)m);
		else if (f->kind == FIELD_FLAG)
			json_set_bool(obj, f->json, *(const bool *)m);
		else
			json_set_bool(obj, f->json, *(const int *)m == 1);
	}
}

bool
dataset_differs(const struct dataset *a, const struct dataset *b)
{
	return (a->created_us > 0 && b->created_us > 0 &&
		a->created_us != b->created_us) ||
	       (a->name != NULL && b->name != NULL &&
		!str_eq(a->name, b->name));
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
	qsort(entries, n, size, num_by_id);
	*count = n;
	return entries;
fail:
	mem_free(entries);
	*count = SIZE_MAX;
	return NULL;
}
