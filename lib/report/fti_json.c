/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_json.c - files of FTI as JSON.
 */
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "hash.h"
#include "json.h"
#include "report/fti.h"

/* The same words as scr_inspect's, where they mean the same. */
static const char *
state_name(const struct fti_checked *c)
{
	switch (c->verdict) {
	case FTI_INTACT:
		return "whole";
	case FTI_REFUSED:
		return "refused";
	case FTI_FOREIGN:
		return "foreign";
	case FTI_UNREAD:
		return "unknown";
	default:
		return "damaged";
	}
}

static struct json *
problems(const struct fti_file *f)
{
	static const char *const rules[] = {
		[FTI_RULE_UNUSED] = "unused",
		[FTI_RULE_STALE] = "stale",
		[FTI_RULE_SUM] = "sum",
		[FTI_RULE_LABEL] = "label",
		[FTI_RULE_DATA] = "data",
		[FTI_RULE_META] = "metadata",
		[FTI_RULE_STRUCTURE] = "structure",
		[FTI_RULE_FORMAT] = "format",
	};
	struct json *list = json_new_array(), *j = NULL;

	for (const struct fti_finding *n = f->findings; n != NULL;
	     n = n->next) {
		j = json_new_object();
		json_set_str(j, "rule", rules[n->rule]);
		json_set_str(j, "text", n->text);
		if (n->at >= 0)
			json_set_i64(j, "offset", n->at);
		if (n->field >= 0)
			json_set_str(j, "field",
				     fti_field_name((enum fti_field)n->field));
		if (n->block != SIZE_MAX)
			json_set_u64(j, "block", n->block);
		if (n->container != SIZE_MAX)
			json_set_u64(j, "container", n->container);
		json_push(list, j);
	}
	return list;
}

static struct json *
variables(const struct fti_file *f)
{
	struct json *list = json_new_array(), *j = NULL;

	for (size_t i = 0; i < f->nvars; i++) {
		j = json_new_object();
		json_set_i64(j, "variable", f->vars[i].id);
		json_set_u64(j, "bytes", f->vars[i].size);
		json_set_u64(j, "bytes_reserved", f->vars[i].room);
		json_set_u64(j, "container_count", f->vars[i].parts);
		json_push(list, j);
	}
	return list;
}

static struct json *
blocks(const struct fti_file *f)
{
	struct json *list = json_new_array(), *j = NULL;

	for (size_t i = 0; i < f->nblocks; i++) {
		j = json_new_object();
		json_set_i64(j, "numvars", f->blocks[i].b.numvars);
		json_set_i64(j, "dbsize", f->blocks[i].b.dbsize);
		json_set_u64(j, "record_offset", f->blocks[i].at);
		json_push(list, j);
	}
	return list;
}

static struct json *
chunks(const struct fti_file *f)
{
	struct json *list = json_new_array(), *j = NULL;
	char hex[HASH_MD5_TEXT];

	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;

		j = json_new_object();
		json_set_u64(j, "block", f->containers[i].block);
		json_set_i64(j, "variable", k->id);
		json_set_i64(j, "containerid", k->part);
		json_set_bool(j, "hascontent", k->has_content != 0);
		json_set_bool(j, "hasckpt", k->has_ckpt != 0);
		json_set_u64(j, "dptr", k->dptr);
		json_set_u64(j, "fptr", k->fptr);
		json_set_i64(j, "chunksize", k->used);
		json_set_i64(j, "containersize", k->size);
		json_set_str(j, "md5", hash_hex(hex, k->hash, HASH_MD5_SIZE));
		json_set_u64(j, "record_offset", f->containers[i].at);
		json_push(list, j);
	}
	return list;
}

static struct json *
metadata(const struct fti_file *f)
{
	struct json *j = json_new_object();
	char hex[HASH_MD5_TEXT], sum[FTI_CHECKSUM_SIZE + 1] = "";

	memcpy(sum, f->meta.checksum, FTI_CHECKSUM_SIZE);
	json_set_u64(j, "record_offset", f->meta_at);
	json_set_str(j, "checksum", sum);
	json_set_str(j, "myhash", hash_hex(hex, f->meta.hash, HASH_MD5_SIZE));
	if (fti_has(f->layout, FTI_CKPT_ID))
		json_set_i64(j, "ckptid", f->meta.ckpt_id);
	json_set_i64(j, "ckptsize", f->meta.ckpt_size);
	if (fti_has(f->layout, FTI_META_SIZE)) {
		json_set_i64(j, "metasize", f->meta.meta_size);
		json_set_i64(j, "datasize", f->meta.data_size);
	}
	json_set_i64(j, "fs", f->meta.fs);
	json_set_i64(j, "maxfs", f->meta.max_fs);
	json_set_i64(j, "ptfs", f->meta.pt_fs);
	json_set_u64(j, "timestamp", f->meta.timestamp);
	return j;
}

struct json *
report_fti_json(const struct fti_checked *c, bool records)
{
	const struct fti_file *f = c->file;
	const char letter[2] = {
		f->kind == FTI_KIND_NONE ? '\0' : fti_format(f->layout)->letter,
		'\0',
	};
	struct json *j = json_new_object();

	json_set_str(j, "path", f->name);
	json_set_u64(j, "bytes", f->size);
	json_set_str(j, "state", state_name(c));
	json_set_bool(j, "data_proven", c->data_good);
	json_set_str(j, "reason", c->unread);
	json_set(j, "problems", problems(f));
	if (f->kind == FTI_KIND_NONE)
		return j;
	json_set_str(j, "layout", letter);
	json_set_str(j, "fti_versions", fti_format(f->layout)->versions);
	json_set_bool(j, "parity", f->kind == FTI_KIND_PARITY);
	if (f->kind == FTI_KIND_DATA) {
		json_set_u64(j, "bytes_used", f->live);
		json_set_u64(j, "bytes_reserved", f->allocated);
		json_set(j, "variables", variables(f));
	}
	if (records) {
		json_set(j, "metadata_record", metadata(f));
		json_set(j, "blocks", blocks(f));
		json_set(j, "chunks", chunks(f));
	}
	return j;
}
