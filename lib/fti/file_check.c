/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_check.c - the rules that the records of an FTI-FF file must follow
 * (fti.md 10).
 */
#include <inttypes.h>
#include <stdio.h>

#include "arena.h"
#include "error.h"
#include "fti/file.h"
#include "fti/file_impl.h"
#include "map.h"
#include "mem.h"

/* --- The metadata record --- */

static int
check_size(struct fti_file *f, enum fti_field field, int64_t value,
	   int64_t expected, struct error *err)
{
	if (value == expected)
		return 0;
	return fti_find(f, FTI_RULE_STRUCTURE, FTI_META_FIELD(field), err,
			"%s is %" PRId64 ", expected %" PRId64,
			fti_field_name(field), value, expected);
}

/* The bytes of all records, and of all containers. */
static void
sum_sizes(const struct fti_file *f, int64_t *records, int64_t *data)
{
	const struct fti_format *format = fti_format(f->layout);
	uint64_t sum = 0;

	*records = (int64_t)(format->meta + f->nblocks * format->block +
			     f->ncontainers * format->container);
	for (size_t i = 0; i < f->ncontainers; i++)
		sum += (uint64_t)f->containers[i].c.size;
	*data = (int64_t)sum;
}

static int
check_meta(struct fti_file *f, struct error *err)
{
	const struct fti_format *format = fti_format(f->layout);
	const int64_t size = (int64_t)f->size;
	int64_t records = 0, data = 0;

	if (f->cut > 0)
		return fti_find(f, FTI_RULE_META, FTI_FILE_ITSELF, err,
				"the file is cut: of its metadata record the "
				"last %u bytes are missing",
				f->cut);
	if (!f->meta_good &&
	    fti_find(f, FTI_RULE_META, FTI_META_FIELD(FTI_HASH), err,
		     "the metadata record differs from its sum "
		     "(myHash)") < 0)
		return -1;
	if (f->kind == FTI_KIND_PARITY)
		return 0;
	/* B leaves out empty containers at its end. */
	if (f->layout == FTI_B && f->meta.fs > size)
		return check_size(f, FTI_CKPT_SIZE, f->meta.ckpt_size,
				  f->meta.fs, err);
	if (check_size(f, FTI_FS, f->meta.fs, size, err) < 0 ||
	    check_size(f, FTI_CKPT_SIZE, f->meta.ckpt_size, size, err) < 0)
		return -1;
	if (!format->footer || !f->complete)
		return 0;
	sum_sizes(f, &records, &data);
	if (check_size(f, FTI_META_SIZE, f->meta.meta_size, records, err) < 0)
		return -1;
	return check_size(f, FTI_DATA_SIZE, f->meta.data_size, data, err);
}

/* --- Blocks --- */

/* Say which record made the walk end. */
static int
report_break(struct fti_file *f, struct error *err)
{
	const size_t last = f->nblocks - 1;
	const struct fti_file_block *b = NULL;

	if (fti_format(f->layout)->footer &&
	    (f->nblocks == 0 || f->meta.meta_size < 0 ||
	     f->meta.data_size != (int64_t)f->size - f->meta.meta_size))
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_META_FIELD(FTI_DATA_SIZE), err,
				"dataSize is %" PRId64 ", metaSize %" PRId64
				": no records are there",
				f->meta.data_size, f->meta.meta_size);
	if (f->nblocks == 0)
		return fti_find(f, FTI_RULE_STRUCTURE, FTI_META_FIELD(FTI_FS),
				err, "fs is %" PRId64 ": no records fit",
				f->meta.fs);
	b = &f->blocks[last];
	if (b->b.numvars < 1 ||
	    f->ncontainers - b->first < (uint64_t)b->b.numvars)
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_BLOCK_FIELD(last, FTI_NUMVARS), err,
				"block %zu: numvars is %" PRId64
				": the file has no room for these records",
				last, b->b.numvars);
	if (fti_format(f->layout)->footer)
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_BLOCK_FIELD(last, FTI_NUMVARS), err,
				"block %zu: its records do not end at another "
				"record",
				last);
	return fti_find(f, FTI_RULE_STRUCTURE,
			FTI_BLOCK_FIELD(last, FTI_DBSIZE), err,
			"block %zu: dbsize is %" PRId64
			": no block can begin or end there",
			last, b->b.dbsize);
}

/* Is used, size and place of the container possible?  Adds its size to *at. */
static int
check_place(struct fti_file *f, size_t i, uint64_t *at, struct error *err)
{
	const struct fti_container *c = &f->containers[i].c;
	const bool empty = c->used == 0;

	if (c->size < 0) {
		f->usable = false;
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_CONTAINER_FIELD(i, FTI_CONTAINERSIZE), err,
				"container %zu: containersize is %" PRId64, i,
				c->size);
	}
	if (c->used < 0 || c->used > c->size) {
		f->usable = false;
		if (fti_find(f, FTI_RULE_STRUCTURE,
			     FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE), err,
			     "container %zu: chunksize is %" PRId64
			     ", containersize %" PRId64,
			     i, c->used, c->size) < 0)
			return -1;
	}
	if (c->fptr != *at &&
	    fti_find(f, FTI_RULE_STRUCTURE, FTI_CONTAINER_FIELD(i, FTI_FPTR),
		     err,
		     "container %zu: fptr is %" PRIu64 ", expected %" PRIu64, i,
		     c->fptr, *at) < 0)
		return -1;
	if (!empty &&
	    (c->fptr > f->size || (uint64_t)c->used > f->size - c->fptr))
		f->usable = false;
	/* Sizes beyond the file are found by dbsize; only do not overflow. */
	*at += (uint64_t)c->size > UINT64_MAX / 2 - *at ? 0 : (uint64_t)c->size;
	return 0;
}

static int
check_flags(struct fti_file *f, size_t i, struct error *err)
{
	const struct fti_container *c = &f->containers[i].c;

	if (c->has_content > 1 &&
	    fti_find(f, FTI_RULE_STRUCTURE,
		     FTI_CONTAINER_FIELD(i, FTI_HASCONTENT), err,
		     "container %zu: hascontent is %u, expected 0 or 1", i,
		     c->has_content) < 0)
		return -1;
	if (c->has_ckpt > 1 &&
	    fti_find(f, FTI_RULE_UNUSED, FTI_CONTAINER_FIELD(i, FTI_HASCKPT),
		     err, "container %zu: hasCkpt is %u, expected 0 or 1", i,
		     c->has_ckpt) < 0)
		return -1;
	if (c->has_content == 0 && c->used != 0)
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_CONTAINER_FIELD(i, FTI_HASCONTENT), err,
				"container %zu: hascontent is 0, but chunksize "
				"is %" PRId64,
				i, c->used);
	return 0;
}

static int
check_block(struct fti_file *f, size_t b, uint64_t *at, struct error *err)
{
	const struct fti_format *format = fti_format(f->layout);
	const struct fti_file_block *block = &f->blocks[b];
	const size_t end =
		b + 1 < f->nblocks ? f->blocks[b + 1].first : f->ncontainers;
	const uint64_t records =
		format->footer ? 0
			       : format->block + (end - block->first) *
							 format->container;
	const uint64_t start = *at;

	*at += records;
	f->blocks[b].start = *at;
	for (size_t i = block->first; i < end; i++)
		if (check_place(f, i, at, err) < 0 ||
		    check_flags(f, i, err) < 0)
			return -1;
	if (block->b.dbsize >= 0 && (uint64_t)block->b.dbsize == *at - start)
		return 0;
	return fti_find(f, FTI_RULE_STRUCTURE, FTI_BLOCK_FIELD(b, FTI_DBSIZE),
			err,
			"block %zu: dbsize is %" PRId64 ", expected %" PRIu64,
			b, block->b.dbsize, *at - start);
}

/* --- Variables --- */

/* Add container `i` to its variable, and check its number and offset. */
static int
add_to_var(struct fti_file *f, struct fti_var *v, size_t i, struct error *err)
{
	const struct fti_container *c = &f->containers[i].c;
	const struct fti_container *before =
		v->parts > 0 ? &f->containers[v->last].c : NULL;

	if (c->part != (int64_t)v->parts &&
	    fti_find(f, FTI_RULE_STRUCTURE,
		     FTI_CONTAINER_FIELD(i, FTI_CONTAINERID), err,
		     "container %zu: containerid is %" PRId32
		     ", expected %zu (variable %" PRId32 ")",
		     i, c->part, v->parts, c->id) < 0)
		return -1;
	if (c->dptr != v->room &&
	    fti_find(f, FTI_RULE_STRUCTURE, FTI_CONTAINER_FIELD(i, FTI_DPTR),
		     err,
		     "container %zu: dptr is %" PRIu64 ", expected %" PRIu64
		     " (variable %" PRId32 ")",
		     i, c->dptr, v->room, c->id) < 0)
		return -1;
	if (before != NULL && before->used < before->size && c->used > 0 &&
	    fti_find(f, FTI_RULE_STRUCTURE,
		     FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE), err,
		     "container %zu: has data, but the one before it of "
		     "variable %" PRId32 " is not full",
		     i, c->id) < 0)
		return -1;
	if (v->parts++ == 0)
		v->first = i;
	else
		f->containers[v->last].next = i;
	v->last = i;
	v->size += (uint64_t)(c->used > 0 ? c->used : 0);
	v->room += (uint64_t)(c->size > 0 ? c->size : 0);
	return 0;
}

static struct fti_var *
var_of(struct fti_file *f, struct map *ids, int32_t id, size_t *room)
{
	char key[16];
	size_t at = 0;
	char *kept = NULL;

	snprintf(key, sizeof(key), "%" PRId32, id);
	at = map_get(ids, key);
	if (at != MAP_NONE)
		return &f->vars[at];
	kept = arena_strdup(f->arena, key); /* the map borrows it */
	if (kept == NULL || !MEM_ROOM(f->vars, f->nvars, *room) ||
	    map_put(ids, kept, f->nvars) < 0)
		return NULL;
	f->vars[f->nvars] = (struct fti_var){ .id = id };
	return &f->vars[f->nvars++];
}

int
fti_file_check(struct fti_file *f, struct error *err)
{
	uint64_t at = 0;
	struct map *ids = NULL;
	size_t room = 0;
	int rc = 0;

	if (f->kind == FTI_KIND_NONE)
		return 0;
	f->usable = f->complete;
	if (check_meta(f, err) < 0)
		return -1;
	if (f->kind == FTI_KIND_PARITY)
		return 0;
	if (!f->complete) {
		f->usable = false;
		return report_break(f, err);
	}
	if (!fti_format(f->layout)->footer)
		at = fti_format(f->layout)->meta;
	for (size_t b = 0; b < f->nblocks; b++)
		if (check_block(f, b, &at, err) < 0)
			return -1;
	ids = map_new();
	rc = ids == NULL ? error_no_memory(err) : 0;
	for (size_t i = 0; rc == 0 && i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;
		struct fti_var *v = var_of(f, ids, c->id, &room);

		rc = v == NULL ? error_no_memory(err)
			       : add_to_var(f, v, i, err);
		f->live += (uint64_t)(c->used > 0 ? c->used : 0);
		f->allocated += (uint64_t)(c->size > 0 ? c->size : 0);
		f->empty += c->has_content == 0;
	}
	map_free(ids);
	return rc;
}
