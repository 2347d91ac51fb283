/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_check.c - the rules that the records of an FTI-FF file must follow
 * (fti-format(5)).
 */
#include <inttypes.h>
#include <stdio.h>

#include "arena.h"
#include "fti/file.h"
#include "map.h"
#include "mem.h"
#include "num.h"

/* Is a number what others make of it?  `of` ends the text. */
static void
expect(struct fti_file *f, struct fti_where where, uint64_t got, uint64_t want,
       const char *of)
{
	const char *name = fti_field_name((enum fti_field)where.field);

	if (got == want)
		return;
	if (where.field == FTI_FPTR || where.field == FTI_DPTR)
		fti_find(f, FTI_RULE_DERIVED, where,
			 "%s is %" PRIu64 ", expected %" PRIu64 "%s", name, got,
			 want, of);
	else
		fti_find(f, FTI_RULE_DERIVED, where,
			 "%s is %" PRId64 ", expected %" PRId64 "%s", name,
			 (int64_t)got, (int64_t)want, of);
}

static void
check_meta(struct fti_file *f)
{
	const struct fti_format *format = fti_format(f->layout);
	const struct fti_meta *m = &f->meta;
	uint64_t data = 0;

	if (f->cut > 0) {
		fti_find(f, FTI_RULE_META, FTI_FILE_ITSELF,
			 "the file is cut: of its metadata record the last %u "
			 "bytes are missing",
			 f->cut);
		return;
	}
	if (!f->meta_good)
		fti_find(f, FTI_RULE_META, FTI_META_FIELD(FTI_HASH),
			 "the metadata record differs from its sum (myHash)");
	if (f->kind == FTI_KIND_PARITY)
		return;
	/* B leaves out empty containers at its end. */
	if (f->layout == FTI_B && m->fs > (int64_t)f->size) {
		expect(f, FTI_META_FIELD(FTI_CKPT_SIZE), (uint64_t)m->ckpt_size,
		       (uint64_t)m->fs, "");
		return;
	}
	expect(f, FTI_META_FIELD(FTI_FS), (uint64_t)m->fs, f->size, "");
	expect(f, FTI_META_FIELD(FTI_CKPT_SIZE), (uint64_t)m->ckpt_size,
	       f->size, "");
	if (!format->footer || !f->complete)
		return;
	for (size_t i = 0; i < f->ncontainers; i++)
		data += (uint64_t)f->containers[i].c.size;
	expect(f, FTI_META_FIELD(FTI_META_SIZE), (uint64_t)m->meta_size,
	       format->meta + f->nblocks * format->block +
		       f->ncontainers * format->container,
	       "");
	expect(f, FTI_META_FIELD(FTI_DATA_SIZE), (uint64_t)m->data_size, data,
	       "");
}

/* --- Blocks --- */

/* Say which record made the walk end. */
static void
report_break(struct fti_file *f)
{
	const bool footer = fti_format(f->layout)->footer;
	const size_t last = f->nblocks - 1;
	const struct fti_file_block *b =
		f->nblocks > 0 ? &f->blocks[last] : NULL;

	if (footer &&
	    (b == NULL || f->meta.meta_size < 0 ||
	     f->meta.data_size != (int64_t)f->size - f->meta.meta_size))
		fti_find(f, FTI_RULE_STRUCTURE, FTI_META_FIELD(FTI_DATA_SIZE),
			 "dataSize is %" PRId64 ", metaSize %" PRId64
			 ": no records are there",
			 f->meta.data_size, f->meta.meta_size);
	else if (b == NULL)
		fti_find(f, FTI_RULE_STRUCTURE, FTI_META_FIELD(FTI_FS),
			 "fs is %" PRId64 ": no records fit", f->meta.fs);
	else if (b->b.numvars < 1 ||
		 f->ncontainers - b->first < (uint64_t)b->b.numvars)
		fti_find(f, FTI_RULE_STRUCTURE,
			 FTI_BLOCK_FIELD(last, FTI_NUMVARS),
			 "numvars is %" PRId64
			 ": the file has no room for these records",
			 b->b.numvars);
	else if (footer)
		fti_find(f, FTI_RULE_STRUCTURE,
			 FTI_BLOCK_FIELD(last, FTI_NUMVARS),
			 "its records do not end at another record");
	else
		fti_find(f, FTI_RULE_STRUCTURE,
			 FTI_BLOCK_FIELD(last, FTI_DBSIZE),
			 "dbsize is %" PRId64
			 ": no block can begin or end there",
			 b->b.dbsize);
}

/* Are flags, used, size and place of the container possible?  Adds its size to
 * *at. */
static void
check_container(struct fti_file *f, size_t i, uint64_t *at)
{
	struct fti_container *c = &f->containers[i].c;

	if (c->size < 0) {
		f->usable = false;
		fti_find(f, FTI_RULE_STRUCTURE,
			 FTI_CONTAINER_FIELD(i, FTI_CONTAINERSIZE),
			 "containersize is %" PRId64, c->size);
	} else {
		expect(f, FTI_CONTAINER_FIELD(i, FTI_FPTR), c->fptr, *at, "");
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
	if (c->has_content > 1)
		fti_find(f, FTI_RULE_DERIVED,
			 FTI_CONTAINER_FIELD(i, FTI_HASCONTENT),
			 "hascontent is %u, expected 0 or 1", c->has_content);
	if (c->has_ckpt > 1)
		fti_find(f, FTI_RULE_UNUSED,
			 FTI_CONTAINER_FIELD(i, FTI_HASCKPT),
			 "hasCkpt is %u, expected 0 or 1", c->has_ckpt);
}

/* The bytes of the containers first ... end - 1 differ from dbsize, by which
 * they would be `want`: is that because of one size?  Offsets tell. */
static void
settle_size(struct fti_file *f, size_t b, size_t end, uint64_t want)
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
		expect(f, FTI_CONTAINER_FIELD(i, FTI_CONTAINERSIZE),
		       (uint64_t)c->size, size, "");
		c->size = (int64_t)size;
		return;
	}
}

/* --- Variables --- */

void
fti_file_check(struct fti_file *f)
{
	const struct fti_format *format = fti_format(f->layout);
	uint64_t at = 0;
	struct map *ids = NULL;
	size_t room = 0;

	if (f->kind == FTI_KIND_NONE)
		return;
	f->usable = f->complete;
	check_meta(f);
	if (f->kind == FTI_KIND_PARITY)
		return;
	if (!f->complete) {
		report_break(f);
		return;
	}
	if (!format->footer)
		at = format->meta;
	for (size_t b = 0; b < f->nblocks; b++) {
		struct fti_file_block *block = &f->blocks[b];
		const size_t end = b + 1 < f->nblocks ? f->blocks[b + 1].first
						      : f->ncontainers;
		const uint64_t begin = at;

		if (!format->footer)
			at += format->block +
			      (end - block->first) * format->container;
		block->start = at;
		expect(f, FTI_BLOCK_FIELD(b, FTI_NUMVARS),
		       (uint64_t)block->b.numvars, end - block->first, "");
		settle_size(f, b, end,
			    (uint64_t)block->b.dbsize - (at - begin));
		for (size_t i = block->first; i < end; i++)
			check_container(f, i, &at);
		expect(f, FTI_BLOCK_FIELD(b, FTI_DBSIZE),
		       (uint64_t)block->b.dbsize, at - begin, "");
	}
	ids = map_new();
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;
		const char *key = num_str(c->id);
		size_t v = map_get(ids, key);
		struct fti_var *var = NULL;
		char of[32];

		if (v == MAP_NONE) {
			(void)MEM_ROOM(f->vars, f->nvars, room);
			v = f->nvars++;
			f->vars[v] = (struct fti_var){ .id = c->id };
			/* The map borrows the key. */
			map_put(ids, arena_strdup(f->arena, key), v);
		}
		var = &f->vars[v];
		/* Check its number and offset. */
		snprintf(of, sizeof(of), " (variable %" PRId32 ")", c->id);
		/* The number of a container and its offset prove each other; if
		 * both are wrong, it is perhaps that of another variable. */
		if ((uint64_t)c->part != var->parts && c->dptr != var->room)
			fti_find(f, FTI_RULE_STRUCTURE,
				 FTI_CONTAINER_FIELD(i, FTI_ID),
				 "id is %" PRId32
				 ", but containerid and dptr do not fit",
				 c->id);
		expect(f, FTI_CONTAINER_FIELD(i, FTI_CONTAINERID),
		       (uint64_t)c->part, var->parts, of);
		expect(f, FTI_CONTAINER_FIELD(i, FTI_DPTR), c->dptr, var->room,
		       of);
		if (var->parts++ == 0)
			var->first = i;
		else
			f->containers[var->last].next = i;
		var->last = i;
		var->room += (uint64_t)(c->size > 0 ? c->size : 0);
		f->allocated += (uint64_t)(c->size > 0 ? c->size : 0);
		f->empty += c->has_content == 0;
	}
	map_free(ids);
	fti_file_measure(f);
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

void
fti_file_check_lengths(struct fti_file *f)
{
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;
		const int64_t was = f->containers[i].used;
		const struct fti_where where =
			FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE);

		if (was != c->used && f->containers[i].settled) {
			expect(f, where, (uint64_t)was, (uint64_t)c->used, "");
		} else if (was != c->used) {
			f->usable = false;
			fti_find(f, FTI_RULE_STRUCTURE, where,
				 "chunksize is %" PRId64
				 ", containersize %" PRId64,
				 was, c->size);
		}
		if (c->has_content == 0 && c->used != 0)
			fti_find(f, FTI_RULE_DERIVED,
				 FTI_CONTAINER_FIELD(i, FTI_HASCONTENT),
				 "hascontent is 0, but chunksize is %" PRId64,
				 c->used);
	}
	for (size_t v = 0; v < f->nvars; v++)
		for (size_t i = f->vars[v].first, next = 0; i != SIZE_MAX;
		     i = next) {
			const struct fti_container *c = &f->containers[i].c;

			next = f->containers[i].next;
			if (next != SIZE_MAX && c->used < c->size &&
			    f->containers[next].c.used > 0)
				fti_find(f, FTI_RULE_STRUCTURE,
					 FTI_CONTAINER_FIELD(next,
							     FTI_CHUNKSIZE),
					 "has data, but the one before it of "
					 "variable %" PRId32 " is not full",
					 c->id);
		}
}
