/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "meta/value.h"

/* LLNL's buffers have 1024 bytes (formats.md 13). */
#define NAME_MAX_BYTES 1023

#define DIR_PREFIX "scr.dataset."

static const struct dataset unknown = {
	.ckpt_id = -1,
	.created_us = -1,
	.files = -1,
	.complete = -1,
};

/* Read COMPLETE or a flag: 0 or 1. */
static int
read_tristate(const struct kvtree *k, int *out, struct error *err)
{
	bool flag = false;

	if (value_flag(k, &flag, err) < 0)
		return -1;
	*out = flag;
	return 0;
}

/* One key of the descriptor, formats.md 3.1; unknown ones are let be. */
static int
read_key(const struct kvtree *k, struct dataset *d, int *flag_ckpt,
	 struct error *err)
{
	const char *key = kvtree_key(k);

	/* By letters: an index has this a hundred thousand times over. */
	switch (key[0]) {
	case 'I':
		if (strcmp(key, "ID") == 0)
			return value_i64(k, DATASET_ID_MAX, &d->id, err);
		break;
	case 'N':
		if (strcmp(key, "NAME") == 0)
			return value_str(k, &d->name, err);
		break;
	case 'U':
		if (strcmp(key, "USER") == 0)
			return value_str(k, &d->user, err);
		break;
	case 'S':
		if (strcmp(key, "SIZE") == 0)
			return value_u64(k, INT64_MAX, &d->bytes, err);
		break;
	case 'J':
		if (strcmp(key, "JOBNAME") == 0)
			return value_str(k, &d->job_name, err);
		if (strcmp(key, "JOBID") == 0)
			return value_str(k, &d->job_id, err);
		break;
	case 'F':
		if (key[1] == 'I' && strcmp(key, "FILES") == 0)
			return value_i64(k, INT64_MAX, &d->files, err);
		if (strcmp(key, "FLAG_CKPT") == 0)
			return read_tristate(k, flag_ckpt, err);
		if (strcmp(key, "FLAG_OUTPUT") == 0)
			return value_flag(k, &d->is_output, err);
		break;
	case 'C':
		if (key[1] == 'R' && strcmp(key, "CREATED") == 0)
			return value_i64(k, INT64_MAX, &d->created_us, err);
		if (key[1] == 'L' && strcmp(key, "CLUSTER") == 0)
			return value_str(k, &d->cluster, err);
		if (key[1] == 'K' && strcmp(key, "CKPT") == 0)
			return value_i64(k, DATASET_ID_MAX, &d->ckpt_id, err);
		if (key[1] == 'O' && strcmp(key, "COMPLETE") == 0)
			return read_tristate(k, &d->complete, err);
		break;
	default:
		break;
	}
	return 0;
}

int
dataset_read(const struct kvtree *t, struct dataset *out, struct error *err)
{
	const struct kvtree *k = NULL;
	int flag_ckpt = -1;

	*out = unknown;
	kvtree_foreach (k, t)
		if (read_key(k, out, &flag_ckpt, err) < 0)
			return -1;
	/* SCR 1.1.8 knew only checkpoints and wrote no flags. */
	out->is_ckpt = flag_ckpt >= 0 ? flag_ckpt : out->ckpt_id >= 0;
	return 0;
}

/* Strings, and numbers that are not negative, if they are recorded. */
static int
write_str(struct kvtree *t, const char *key, const char *value,
	  struct error *err)
{
	return value == NULL ? 0 : kvtree_set(t, key, value, err);
}

static int
write_num(struct kvtree *t, const char *key, int64_t value, struct error *err)
{
	return value < 0 ? 0 : kvtree_set_i64(t, key, value, err);
}

int
dataset_write(struct kvtree *t, const struct dataset *d, struct error *err)
{
	if ((d->id > 0 && kvtree_set_i64(t, "ID", d->id, err) < 0) ||
	    write_str(t, "NAME", d->name, err) < 0 ||
	    kvtree_set_u64(t, "FLAG_CKPT", d->is_ckpt, err) < 0 ||
	    kvtree_set_u64(t, "FLAG_OUTPUT", d->is_output, err) < 0 ||
	    write_num(t, "CREATED", d->created_us, err) < 0 ||
	    write_str(t, "USER", d->user, err) < 0 ||
	    write_str(t, "JOBNAME", d->job_name, err) < 0 ||
	    write_str(t, "JOBID", d->job_id, err) < 0 ||
	    write_str(t, "CLUSTER", d->cluster, err) < 0 ||
	    write_num(t, "CKPT", d->ckpt_id, err) < 0 ||
	    write_num(t, "FILES", d->files, err) < 0)
		return -1;
	if (d->files >= 0 && kvtree_set_u64(t, "SIZE", d->bytes, err) < 0)
		return -1;
	return write_num(t, "COMPLETE", d->complete, err);
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

/* What is not recorded is there as null: readers need no check for it. */
static void
json_text(struct json *obj, const char *key, const char *value)
{
	if (value == NULL)
		json_set_null(obj, key);
	else
		json_set_str(obj, key, value);
}

static void
json_number(struct json *obj, const char *key, int64_t value, int64_t lowest)
{
	if (value < lowest)
		json_set_null(obj, key);
	else
		json_set_i64(obj, key, value);
}

void
dataset_json(const struct dataset *d, struct json *obj)
{
	json_number(obj, "id", d->id, 1);
	json_text(obj, "name", d->name);
	json_set_bool(obj, "checkpoint", d->is_ckpt);
	json_set_bool(obj, "output", d->is_output);
	json_number(obj, "checkpoint_id", d->ckpt_id, 0);
	json_number(obj, "created_us", d->created_us, 0);
	json_text(obj, "user", d->user);
	json_text(obj, "job_name", d->job_name);
	json_text(obj, "job_id", d->job_id);
	json_text(obj, "cluster", d->cluster);
	json_number(obj, "files", d->files, 0);
	if (d->files < 0)
		json_set_null(obj, "bytes");
	else
		json_set_u64(obj, "bytes", d->bytes);
	if (d->complete < 0)
		json_set_null(obj, "complete");
	else
		json_set_bool(obj, "complete", d->complete == 1);
}

int64_t
dataset_dir_id(const char *name)
{
	const size_t len = strlen(DIR_PREFIX);
	uint64_t id = 0;

	if (strncmp(name, DIR_PREFIX, len) != 0 ||
	    !value_number(name + len, DATASET_ID_MAX, &id) || id == 0)
		return -1;
	return (int64_t)id;
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
