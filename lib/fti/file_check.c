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

	if (!f->meta_good)
		fti_find(f, FTI_RULE_META, FTI_META_FIELD(FTI_HASH),
			 "the metadata record differs from its sum (myHash)");
	if (f->kind == FTI_KIND_PARITY)
		return;
	if (!f->complete) {
		fti_find(f, FTI_RULE_STRUCTURE, FTI_FILE_ITSELF,
			 "the records of its blocks and containers do not fit "
			 "each other, or its size");
		return;
	}
	expect(f, FTI_META_FIELD(FTI_FS), (uint64_t)m->fs, f->end, "");
	expect(f, FTI_META_FIELD(FTI_CKPT_SIZE), (uint64_t)m->ckpt_size, f->end,
	       "");
	if (!format->footer)
		return;
	for (size_t i = 0; i < f->ncontainers; i++)
		data += (uint64_t)f->containers[i].c.size;
	expect(f, FTI_META_FIELD(FTI_META_SIZE), (uint64_t)m->meta_size,
	       f->size - data, "");
	expect(f, FTI_META_FIELD(FTI_DATA_SIZE), (uint64_t)m->data_size, data,
	       "");
}

/* Are flags, bytes in use and place of the container possible?  It begins at
 * `at`. */
static void
check_container(struct fti_file *f, size_t i, uint64_t at)
{
	struct fti_container *c = &f->containers[i].c;

	expect(f, FTI_CONTAINER_FIELD(i, FTI_FPTR), c->fptr, at, "");
	c->fptr = at;
	if (c->has_ckpt > 1)
		fti_find(f, FTI_RULE_UNUSED,
			 FTI_CONTAINER_FIELD(i, FTI_HASCKPT),
			 "hasCkpt is %u, expected 0 or 1", c->has_ckpt);
	c->has_ckpt = c->has_ckpt == 1;
	if (c->used >= 0 && c->used <= c->size &&
	    (c->used == 0 ||
	     (at <= f->size && (uint64_t)c->used <= f->size - at)))
		return;
	fti_find(f, FTI_RULE_STRUCTURE, FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE),
		 "chunksize is %" PRId64 ", containersize %" PRId64
		 ", at byte %" PRIu64 " of %" PRIu64,
		 c->used, c->size, at, f->size);
	f->usable = false;
	c->used = 0;
}

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
	if (!f->complete)
		return;
	if (!format->footer)
		at = format->meta;
	for (size_t b = 0; b < f->nblocks; b++) {
		const struct fti_file_block *block = &f->blocks[b];
		const size_t end = b + 1 < f->nblocks ? f->blocks[b + 1].first
						      : f->ncontainers;
		const uint64_t begin = at;

		if (!format->footer)
			at += format->block +
			      (end - block->first) * format->container;
		for (size_t i = block->first; i < end; i++) {
			check_container(f, i, at);
			at += (uint64_t)f->containers[i].c.size;
		}
		expect(f, FTI_BLOCK_FIELD(b, FTI_DBSIZE),
		       (uint64_t)block->b.dbsize, at - begin, "");
	}
	ids = map_new();
	for (size_t i = 0; i < f->ncontainers; i++) {
		struct fti_container *c = &f->containers[i].c;
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
		/* Bytes, or the first container of an empty variable. */
		if (f->usable)
			expect(f, FTI_CONTAINER_FIELD(i, FTI_HASCONTENT),
			       c->has_content, c->used > 0 || var->parts == 0,
			       of);
		if (var->parts > 0 && c->used > 0 &&
		    f->containers[var->last].c.used <
			    f->containers[var->last].c.size)
			fti_find(f, FTI_RULE_STRUCTURE,
				 FTI_CONTAINER_FIELD(i, FTI_CHUNKSIZE),
				 "has data, but the one before it of variable "
				 "%" PRId32 " is not full",
				 c->id);
		c->part = (int32_t)var->parts;
		c->dptr = var->room;
		c->has_content = c->used > 0 || var->parts == 0;
		if (var->parts++ == 0)
			var->first = i;
		else
			f->containers[var->last].next = i;
		var->last = i;
		var->size += (uint64_t)c->used;
		var->room += (uint64_t)c->size;
		f->live += (uint64_t)c->used;
		f->allocated += (uint64_t)c->size;
		f->empty += c->has_content == 0;
	}
	map_free(ids);
}
