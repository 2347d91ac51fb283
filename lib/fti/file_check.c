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
#include "num.h"

/* Is a number what others make of it?  `of` ends the text. */
static int
expect(struct fti_file *f, struct fti_where where, uint64_t got, uint64_t want,
       const char *of, struct error *err)
{
	const char *name = fti_field_name((enum fti_field)where.field);

	if (got == want)
		return 0;
	return where.field == FTI_FPTR || where.field == FTI_DPTR
		       ? fti_find(f, FTI_RULE_DERIVED, where, err,
				  "%s is %" PRIu64 ", expected %" PRIu64 "%s",
				  name, got, want, of)
		       : fti_find(f, FTI_RULE_DERIVED, where, err,
				  "%s is %" PRId64 ", expected %" PRId64 "%s",
				  name, (int64_t)got, (int64_t)want, of);
}

static int
check_meta(struct fti_file *f, struct error *err)
{
	const struct fti_format *format = fti_format(f->layout);
	const struct fti_meta *m = &f->meta;
	uint64_t data = 0;

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
	if (f->layout == FTI_B && m->fs > (int64_t)f->size)
		return expect(f, FTI_META_FIELD(FTI_CKPT_SIZE),
			      (uint64_t)m->ckpt_size, (uint64_t)m->fs, "", err);
	if (expect(f, FTI_META_FIELD(FTI_FS), (uint64_t)m->fs, f->size, "",
		   err) < 0 ||
	    expect(f, FTI_META_FIELD(FTI_CKPT_SIZE), (uint64_t)m->ckpt_size,
		   f->size, "", err) < 0)
		return -1;
	if (!format->footer || !f->complete)
		return 0;
	for (size_t i = 0; i < f->ncontainers; i++)
		data += (uint64_t)f->containers[i].c.size;
	if (expect(f, FTI_META_FIELD(FTI_META_SIZE), (uint64_t)m->meta_size,
		   format->meta + f->nblocks * format->block +
			   f->ncontainers * format->container,
		   "", err) < 0)
		return -1;
	return expect(f, FTI_META_FIELD(FTI_DATA_SIZE), (uint64_t)m->data_size,
		      data, "", err);
}

/* --- Blocks --- */

/* Say which record made the walk end. */
static int
report_break(struct fti_file *f, struct error *err)
{
	const bool footer = fti_format(f->layout)->footer;
	const size_t last = f->nblocks - 1;
	const struct fti_file_block *b = NULL;

	if (footer &&
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
				"numvars is %" PRId64
				": the file has no room for these records",
				b->b.numvars);
	if (footer)
		return fti_find(f, FTI_RULE_STRUCTURE,
				FTI_BLOCK_FIELD(last, FTI_NUMVARS), err,
				"its records do not end at another record");
	return fti_find(
		f, FTI_RULE_STRUCTURE, FTI_BLOCK_FIELD(last, FTI_DBSIZE), err,
		"dbsize is %" PRId64 ": no block can begin or end there",
		b->b.dbsize);
}

/* Are flags, used, size and place of the container possible?  Adds its size to
 * *at. */
static int
check_container(struct fti_file *f, size_t i, uint64_t *at, struct error *err)
{
	struct fti_container *c = &f->containers[i].c;

	if (c->size < 0) {
		f->usable = false;
		if (fti_find(f, FTI_RULE_STRUCTURE,
			     FTI_CONTAINER_FIELD(i, FTI_CONTAINERSIZE), err,
			     "containersize is %" PRId64, c->size) < 0)
			return -1;
	} else {
		if (expect(f, FTI_CONTAINER_FIELD(i, FTI_FPTR), c->fptr, *at,
			   "", err) < 0)
			return -1;
		c->fptr = *at;
		/* Until its sum tells (fti_check()). */
		if (c->used < 0 || c->used > c->size)
			c->used = c->size;
		if (c->used != 0 && (c->fptr > f->size ||
				     (uint64_t)c->used > f->size - c->fptr))
			f->usable = false;
		/* Sizes beyond the file are found by dbsize; only do not
		 * overflow. */
		*at += (uint64_t)c->size > UINT64_MAX / 2 - *at
			       ? 0
			       : (uint64_t)c->size;
	}
	if (c->has_content > 1 &&
	    fti_find(f, FTI_RULE_DERIVED,
		     FTI_CONTAINER_FIELD(i, FTI_HASCONTENT), err,
		     "hascontent is %u, expected 0 or 1", c->has_content) < 0)
		return -1;
	if (c->has_ckpt > 1 &&
	    fti_find(f, FTI_RULE_UNUSED, FTI_CONTAINER_FIELD(i, FTI_HASCKPT),
		     err, "hasCkpt is %u, expected 0 or 1", c->has_ckpt) < 0)
		return -1;
	return 0;
}

/* The bytes of the containers first ... end - 1 differ from dbsize, by which
 * they would be `want`: is that because of one size?  Offsets tell. */
static int
settle_size(struct fti_file *f, size_t b, size_t end, uint64_t want,
	    struct error *err)
{
	const bool footer = fti_format(f->layout)->footer;
	const size_t first = f->blocks[b].first;
	uint64_t sum = 0, behind = f->size, at = f->blocks[b].start;

	/* Where the block ends. */
	if (footer)
		behind = b + 1 < f->nblocks ? f->containers[end].c.fptr
					    : f->blocks[0].at;
	else if (b + 1 < f->nblocks)
		behind = f->blocks[b + 1].at;
	else if (f->layout == FTI_B && f->meta.fs > (int64_t)f->size)
		behind = (uint64_t)f->meta.fs;
	for (size_t i = first; i < end; i++)
		sum += (uint64_t)f->containers[i].c.size;
	/* Behind those that are right; its own offset may be damaged, too. */
	for (size_t i = first; sum != want && i < end; i++) {
		struct fti_container *c = &f->containers[i].c;
		const uint64_t size =
			(i + 1 < end ? f->containers[i + 1].c.fptr : behind) -
			at;

		at += (uint64_t)c->size;
		if (size > behind || sum - (uint64_t)c->size + size != want)
			continue;
		if (expect(f, FTI_CONTAINER_FIELD(i, FTI_CONTAINERSIZE),
			   (uint64_t)c->size, size, "", err) < 0)
			return -1;
		c->size = (int64_t)size;
		return 0;
	}
	return 0;
}

static int
check_block(struct fti_file *f, size_t b, uint64_t *at, struct error *err)
{
	const struct fti_format *format = fti_format(f->layout);
	struct fti_file_block *block = &f->blocks[b];
	const size_t end =
		b + 1 < f->nblocks ? f->blocks[b + 1].first : f->ncontainers;
	const uint64_t begin = *at;

	if (!format->footer)
		*at += format->block + (end - block->first) * format->container;
	block->start = *at;
	if (expect(f, FTI_BLOCK_FIELD(b, FTI_NUMVARS),
		   (uint64_t)block->b.numvars, end - block->first, "",
		   err) < 0 ||
	    settle_size(f, b, end, (uint64_t)block->b.dbsize - (*at - begin),
			err) < 0)
		return -1;
	for (size_t i = block->first; i < end; i++)
		if (check_container(f, i, at, err) < 0)
			return -1;
	return expect(f, FTI_BLOCK_FIELD(b, FTI_DBSIZE),
		      (uint64_t)block->b.dbsize, *at - begin, "", err);
}

/* --- Variables --- */

/* Add container `i` to its variable, and check its number and offset. */
static int
add_to_var(struct fti_file *f, struct fti_var *v, size_t i, struct error *err)
{
	const struct fti_container *c = &f->containers[i].c;
	char of[32];

	snprintf(of, sizeof(of), " (variable %" PRId32 ")", c->id);
	/* The number of a container and its offset prove each other; if both
	 * are wrong, it is perhaps that of another variable. */
	if ((uint64_t)c->part != v->parts && c->dptr != v->room &&
	    fti_find(f, FTI_RULE_STRUCTURE, FTI_CONTAINER_FIELD(i, FTI_ID), err,
		     "id is %" PRId32 ", but containerid and dptr do not fit",
		     c->id) < 0)
		return -1;
	if (expect(f, FTI_CONTAINER_FIELD(i, FTI_CONTAINERID),
		   (uint64_t)c->part, v->parts, of, err) < 0 ||
	    expect(f, FTI_CONTAINER_FIELD(i, FTI_DPTR), c->dptr, v->room, of,
		   err) < 0)
		return -1;
	if (v->parts++ == 0)
		v->first = i;
	else
		f->containers[v->last].next = i;
	v->last = i;
	v->room += (uint64_t)(c->size > 0 ? c->size : 0);
	return 0;
}

static struct fti_var *
var_of(struct fti_file *f, struct map *ids, int32_t id, size_t *room)
{
	const char *key = num_str(id), *kept = NULL;
	const size_t at = map_get(ids, key);

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
		f->allocated += (uint64_t)(c->size > 0 ? c->size : 0);
		f->empty += c->has_content == 0;
	}
	map_free(ids);
	fti_file_measure(f);
	return rc;
}

void
fti_file_measure(struct fti_file *f)
{
	f->live = 0;
	for (size_t v = 0; v < f->nvars; v++) {
		f->vars[v].size = 0;
		for (size_t i = f->vars[v].first; i != SIZE_MAX;
		     i = f->containers[i].next)
			if (f->containers[i].c.used > 0)
				f->vars[v].size +=
					(uint64_t)f->containers[i].c.used;
		f->live += f->vars[v].size;
	}
}

/* The bytes in use of a container. */
static int
check_length(struct fti_file *f, size_t i, struct error *err)
{
	const bool proven = f->containers[i].settled;
	const struct fti_container *c = &f->containers[i].c;
	const int64_t was = f->containers[i].used;
	const struct fti_where where = FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE);

	if (was != c->used && proven &&
	    expect(f, where, (uint64_t)was, (uint64_t)c->used, "", err) < 0)
		return -1;
	if (was != c->used && !proven) {
		f->usable = false;
		if (fti_find(f, FTI_RULE_STRUCTURE, where, err,
			     "chunksize is %" PRId64 ", containersize %" PRId64,
			     was, c->size) < 0)
			return -1;
	}
	if (c->has_content == 0 && c->used != 0)
		return fti_find(f, FTI_RULE_DERIVED,
				FTI_CONTAINER_FIELD(i, FTI_HASCONTENT), err,
				"hascontent is 0, but chunksize is %" PRId64,
				c->used);
	return 0;
}

int
fti_file_check_lengths(struct fti_file *f, struct error *err)
{
	for (size_t i = 0; i < f->ncontainers; i++)
		if (check_length(f, i, err) < 0)
			return -1;
	for (size_t v = 0; v < f->nvars; v++)
		for (size_t i = f->vars[v].first, next = 0; i != SIZE_MAX;
		     i = next) {
			const struct fti_container *c = &f->containers[i].c;

			next = f->containers[i].next;
			if (next != SIZE_MAX && c->used < c->size &&
			    f->containers[next].c.used > 0 &&
			    fti_find(f, FTI_RULE_STRUCTURE,
				     FTI_CONTAINER_FIELD(next, FTI_CHUNKSIZE),
				     err,
				     "has data, but the one before it of "
				     "variable %" PRId32 " is not full",
				     c->id) < 0)
				return -1;
		}
	return 0;
}
