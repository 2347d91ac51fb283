/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draft.c - offsets, sizes and records of a file to write.
 */
#include "fti/draft.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "fti/content.h"
#include "mem.h"
#include "num.h"

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

/* --- The plan --- */

/* Place the containers of the block from *at.  Adds their sizes to `sizes`.
 * -1: overflow. */
static int
place_containers(struct fti_draft *d, size_t block, uint64_t *at,
		 uint64_t *sizes)
{
	const size_t end = fti_draft_block_end(d, block);

	for (size_t i = d->blocks[block].first; i < end; i++) {
		struct fti_container *c = &d->containers[i].c;

		c->fptr = *at;
		if (num_add(at, (uint64_t)c->size) < 0)
			return -1;
		*sizes += (uint64_t)c->size;
		d->live += (uint64_t)c->used;
	}
	return 0;
}

static int
place_all(struct fti_draft *d)
{
	const struct fti_format *format = format_of(d);
	uint64_t at = format->footer ? 0 : format->meta;

	d->data_size = d->live = 0;
	d->meta_size = format->meta;
	for (size_t b = 0; b < d->nblocks; b++) {
		struct fti_draft_block *block = &d->blocks[b];
		const uint64_t records = fti_draft_records_size(d, b);
		const uint64_t begin = at, data = d->data_size;

		block->at = at; /* if the records precede the data */
		if ((!format->footer && num_add(&at, records) < 0) ||
		    place_containers(d, b, &at, &d->data_size) < 0)
			return -1;
		block->dbsize =
			format->footer ? d->data_size - data : at - begin;
		d->meta_size += records;
	}
	at = d->data_size;
	for (size_t b = 0; format->footer && b < d->nblocks; b++) {
		d->blocks[b].at = at;
		if (num_add(&at, fti_draft_records_size(d, b)) < 0)
			return -1;
	}
	d->size = d->data_size;
	return num_add(&d->size, d->meta_size);
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
	if (place_all(d) < 0)
		return error_set(err, ERROR_USAGE, "it would be too large");
	/* All sizes in records are at most that of the file. */
	if (d->size > INT64_MAX)
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

int
fti_draft_meta(struct fti_draft *d, const char *checksum, struct hash *h,
	       struct error *err)
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
		return 0;
	fti_record_write(d->layout, FTI_META, m, record);
	return fti_meta_hash(d->layout, record, h, m->hash, err);
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
