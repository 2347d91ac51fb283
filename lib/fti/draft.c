/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draft.c - drafts made from files and variables; offsets, sizes and records of
 * a file to write.
 */
#include "fti/draft.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/input.h"
#include "mem.h"
#include "num.h"

static void
start(struct fti_draft *d, enum fti_layout layout)
{
	*d = (struct fti_draft){
		.layout = layout,
		.ckpt_id = -1,
		.max_fs = -1,
		.pt_fs = -1,
	};
}

static void
add_block(struct fti_draft *d, size_t first)
{
	(void)MEM_ROOM(d->blocks, d->nblocks, d->room_blocks);
	d->blocks[d->nblocks++] = (struct fti_draft_block){ .first = first };
}

/* Add the first container of a variable. */
static void
add_container(struct fti_draft *d, const struct fti_content *c,
	      const struct fti_content_var *v, uint64_t size)
{
	(void)MEM_ROOM(d->containers, d->ncontainers, d->room_containers);
	d->containers[d->ncontainers] = (struct fti_draft_container){
		.c = {
			.id = v->id,
			.idx = (int32_t)d->ncontainers,
			/* also of a variable without bytes */
			.has_content = 1,
			.used = (int64_t)v->size,
			.size = (int64_t)size,
		},
		.content = c,
		.var = v,
	};
	d->ncontainers++;
}

/* --- The same file --- */

int
fti_describe_same(struct fti_draft *d, const struct fti_checked *c,
		  enum fti_layout layout, struct error *err)
{
	const struct fti_file *f = c->file;

	start(d, layout);
	if (fti_proven(c, err) < 0)
		return -1;
	d->own = mem_calloc(1, sizeof(*d->own));
	d->nown = 1;
	if (fti_content_file(d->own, f, c->source, err) < 0)
		return -1;
	for (size_t b = 0; b < f->nblocks; b++)
		add_block(d, f->blocks[b].first);
	d->containers = mem_calloc(f->ncontainers, sizeof(*d->containers));
	d->ncontainers = d->room_containers = f->ncontainers;
	for (size_t v = 0; v < f->nvars; v++)
		for (size_t i = f->vars[v].first; i != SIZE_MAX;
		     i = f->containers[i].next) {
			struct fti_draft_container *to = &d->containers[i];

			*to = (struct fti_draft_container){
				.c = f->containers[i].c,
				.content = d->own,
				.var = &d->own->vars[v],
			};
			if (to->c.idx < 0)
				to->c.idx = (int32_t)v;
			if (to->c.used == 0)
				continue;
			to->expected = c->sums[i];
			memcpy(to->c.hash, c->sums[i], HASH_MD5_SIZE);
		}
	d->ckpt_id = f->meta.ckpt_id;
	d->timestamp = f->meta.timestamp;
	if (layout == f->layout) {
		d->max_fs = f->meta.max_fs;
		d->pt_fs = f->meta.pt_fs;
	}
	return 0;
}

/* Is it this sum, perhaps with damaged bytes?  Half of them are enough. */
static bool
agrees(const unsigned char *damaged, const unsigned char *sum)
{
	unsigned same = 0;

	for (unsigned i = 0; i < HASH_MD5_SIZE; i++)
		same += damaged[i] == sum[i];
	return same >= HASH_MD5_SIZE / 2;
}

/* Find max_fs, pt_fs and timestamp with which the old sum of the metadata is
 * right; the sizes are known, and the checksum of the file is one of two. */
static bool
find_proven(struct fti_draft *d, const struct fti_checked *c, struct hash *h)
{
	const struct fti_meta *old = &c->file->meta;
	char sums[2][HASH_TEXT];
	bool proven = false;

	for (int writer = 0; writer < 2; writer++)
		fti_checksum(c, writer == 1, h, sums[writer]);
	/* Below level 3 and 2 they are -1. */
	for (unsigned i = 0; i < 8 && !proven; i++) {
		d->max_fs = (i & 2) != 0 ? -1 : old->max_fs;
		d->pt_fs = (i & 4) != 0 ? -1 : old->pt_fs;
		fti_draft_meta(d, sums[i & 1], h);
		proven = agrees(old->hash, d->meta.hash);
	}
	/* Perhaps one byte of a field is damaged. */
	for (unsigned i = 0; i < 2 * 3 * 8 * 256 && !proven; i++) {
		const unsigned field = i / 4096;
		const uint64_t flip = (uint64_t)(i / 2 % 256)
				      << (i / 512 % 8 * 8);

		d->max_fs = old->max_fs ^ (int64_t)(field == 0 ? flip : 0);
		d->pt_fs = old->pt_fs ^ (int64_t)(field == 1 ? flip : 0);
		d->timestamp = old->timestamp ^ (field == 2 ? flip : 0);
		fti_draft_meta(d, sums[i & 1], h);
		proven = memcmp(d->meta.hash, old->hash, HASH_MD5_SIZE) == 0;
	}
	return proven;
}

int
fti_describe_repair(struct fti_draft *d, const struct fti_checked *c,
		    struct error *err)
{
	const enum fti_layout l = c->file->layout;
	struct fti_meta meta = c->file->meta;
	unsigned char record[FTI_META_MAX];
	struct hash *h = NULL;

	if (fti_describe_same(d, c, l, err) < 0)
		return -1;
	if (c->file->meta_good)
		return 0;
	/* The sizes; damaged fields are impossible yet. */
	(void)fti_draft_plan(d, NULL);
	h = hash_new(HASH_MD5, err);
	d->unproven = !find_proven(d, c, h);
	hash_free(h);
	if (!d->unproven) {
		/* As a reader has them: a field may have fewer bytes. */
		fti_record_write(l, FTI_META, &d->meta, record);
		fti_record_read(l, FTI_META, record, &meta);
	}
	d->max_fs = meta.max_fs < 0 ? -1 : meta.max_fs;
	d->pt_fs = meta.pt_fs < 0 ? -1 : meta.pt_fs;
	d->timestamp = meta.timestamp;
	return 0;
}

/* --- Variables --- */

/* Add a container for each variable, in one block. */
static int
add_content(struct fti_draft *d, const struct fti_content *c, unsigned room,
	    struct error *err)
{
	for (size_t i = 0; i < c->nvars; i++) {
		const struct fti_content_var *v = &c->vars[i];
		uint64_t more = v->size / 100, rest = v->size % 100;

		if (d->nblocks == 0)
			add_block(d, d->ncontainers);
		if (num_mul(&more, room) < 0 || num_mul(&rest, room) < 0 ||
		    num_add(&more, rest / 100) < 0 ||
		    num_add(&more, v->size) < 0 || more > INT64_MAX)
			return error_set(err, ERROR_USAGE,
					 "variable %" PRId32
					 ": its container would be too large",
					 v->id);
		add_container(d, c, v, more);
	}
	return 0;
}

int
fti_describe_compact(struct fti_draft *d, const struct fti_content *c,
		     unsigned room, enum fti_layout layout, struct error *err)
{
	start(d, layout);
	return add_content(d, c, room, err);
}

int
fti_describe_posix(struct fti_draft *d, const struct fti_content *c,
		   struct error *err)
{
	start(d, FTI_LAYOUTS);
	d->raw = true;
	return add_content(d, c, 0, err);
}

void
fti_describe_bytes(struct fti_draft *d, const struct fti_content *c,
		   const struct fti_content_var *v, uint64_t off, uint64_t len)
{
	start(d, FTI_LAYOUTS);
	d->raw = d->plain = true;
	d->live = len;
	add_block(d, 0);
	add_container(d, c, v, len);
	d->containers[0].c.dptr = off;
	d->containers[0].c.used = (int64_t)len;
}

int
fti_describe_pack(struct fti_draft *d, const struct fti_raw *vars, size_t count,
		  unsigned room, enum fti_layout layout, struct error *err)
{
	start(d, layout);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (vars[i].id == vars[k].id)
				return error_set(err, ERROR_USAGE,
						 "variable %" PRId32
						 " is given twice: %s, %s",
						 vars[i].id,
						 vars[k].source->name,
						 vars[i].source->name);
	d->own = mem_calloc(count + 1, sizeof(*d->own));
	for (size_t i = 0; i < count; i++) {
		struct fti_content *c = &d->own[d->nown++];

		c->source = vars[i].source;
		fti_content_add_var(c, vars[i].id);
		fti_content_add_piece(c, 0, c->source->size);
		if (add_content(d, c, room, err) < 0)
			return -1;
	}
	return 0;
}

/* --- The plan --- */

static const struct fti_format raw_format;

static const struct fti_format *
format_of(const struct fti_draft *d)
{
	return d->raw ? &raw_format : fti_format(d->layout);
}

size_t
fti_draft_block_end(const struct fti_draft *d, size_t block)
{
	return block + 1 < d->nblocks ? d->blocks[block + 1].first
				      : d->ncontainers;
}

size_t
fti_draft_records_size(const struct fti_draft *d, size_t block)
{
	const struct fti_format *format = format_of(d);

	return format->block +
	       (fti_draft_block_end(d, block) - d->blocks[block].first) *
		       format->container;
}

static int
check_fits(const struct fti_draft *d, enum fti_field f, int64_t value,
	   struct error *err)
{
	const unsigned bits = 8U * fti_format(d->layout)->fields[f].size;

	if (value == -1 || fti_fits(d->layout, f, (uint64_t)value))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "layout %s holds %s up to %" PRIu64
			 ", but it would be %" PRId64,
			 fti_format(d->layout)->letter, fti_field_name(f),
			 (UINT64_C(1) << (bits - 1)) - 1, value);
}

int
fti_draft_plan(struct fti_draft *d, struct error *err)
{
	const struct fti_format *format = format_of(d);
	uint64_t at = (format->footer ? 0 : format->meta) + d->head_size;
	bool over = false;

	/* Place all blocks and containers. */
	d->data_size = d->live = 0;
	d->meta_size = format->meta + d->head_size;
	for (size_t b = 0; b < d->nblocks; b++) {
		struct fti_draft_block *block = &d->blocks[b];
		const uint64_t records = fti_draft_records_size(d, b);
		const uint64_t begin = at, data = d->data_size;

		block->at = at; /* if the records precede the data */
		if (!format->footer)
			over |= num_add(&at, records) < 0;
		for (size_t i = block->first; i < fti_draft_block_end(d, b);
		     i++) {
			struct fti_container *c = &d->containers[i].c;

			c->fptr = at;
			over |= num_add(&at, (uint64_t)c->size) < 0;
			d->data_size += (uint64_t)c->size;
			d->live += (uint64_t)c->used;
		}
		block->dbsize =
			format->footer ? d->data_size - data : at - begin;
		d->meta_size += records;
	}
	at = d->data_size;
	for (size_t b = 0; format->footer && b < d->nblocks; b++) {
		d->blocks[b].at = at;
		over |= num_add(&at, fti_draft_records_size(d, b)) < 0;
	}
	d->size = d->data_size;
	over |= num_add(&d->size, d->meta_size) < 0;
	/* All sizes in records are at most that of the file. */
	if (over || d->size > INT64_MAX)
		return error_set(err, ERROR_USAGE, "it would be too large");
	if (d->raw)
		return 0;
	if (d->nblocks == 0)
		return error_set(err, ERROR_USAGE, "it would have no variable");
	if (fti_has(d->layout, FTI_CKPT_ID) && d->ckpt_id < 0)
		return error_set(err, ERROR_USAGE,
				 "the id of the checkpoint is not known; "
				 "layout %s holds it",
				 fti_format(d->layout)->letter);
	for (size_t b = 0; b < d->nblocks; b++)
		if (check_fits(d, FTI_NUMVARS,
			       (int64_t)(fti_draft_block_end(d, b) -
					 d->blocks[b].first),
			       err) < 0)
			return -1;
	if (check_fits(d, FTI_CKPT_SIZE, (int64_t)d->size, err) < 0 ||
	    check_fits(d, FTI_CKPT_ID, d->ckpt_id, err) < 0 ||
	    check_fits(d, FTI_MAX_FS, d->max_fs, err) < 0)
		return -1;
	return check_fits(d, FTI_PT_FS, d->pt_fs, err);
}

/* --- Records --- */

void
fti_draft_records(const struct fti_draft *d, size_t block, unsigned char *to)
{
	const struct fti_format *format = format_of(d);
	const struct fti_draft_block *b = &d->blocks[block];
	const size_t end = fti_draft_block_end(d, block);
	const struct fti_block record = {
		.numvars = (int64_t)(end - b->first),
		.dbsize = (int64_t)b->dbsize,
	};

	fti_record_write(d->layout, FTI_BLOCK, &record, to);
	to += format->block;
	for (size_t i = b->first; i < end; i++) {
		fti_record_write(d->layout, FTI_CONTAINER, &d->containers[i].c,
				 to);
		to += format->container;
	}
}

void
fti_draft_meta(struct fti_draft *d, const char *checksum, struct hash *h)
{
	unsigned char record[FTI_META_MAX];
	struct fti_meta *m = &d->meta;

	*m = (struct fti_meta){
		.ckpt_id = d->ckpt_id,
		.ckpt_size = (int64_t)d->size,
		.meta_size = (int64_t)d->meta_size,
		.data_size = (int64_t)d->data_size,
		.fs = (int64_t)d->size,
		.max_fs = d->max_fs,
		.pt_fs = d->pt_fs,
		.timestamp = d->timestamp,
	};
	memcpy(m->checksum, checksum, FTI_CHECKSUM_SIZE);
	if (d->raw)
		return;
	fti_record_write(d->layout, FTI_META, m, record);
	fti_meta_hash(d->layout, record, h, m->hash);
}

void
fti_draft_fini(struct fti_draft *d)
{
	for (size_t i = 0; i < d->nown; i++)
		fti_content_fini(&d->own[i]);
	mem_free(d->own);
	mem_free(d->blocks);
	mem_free(d->containers);
	*d = (struct fti_draft){ .ckpt_id = -1 };
}
