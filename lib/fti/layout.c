/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/layout.h"

#include <string.h>

#include "error.h"

/* The records of B to F have no gaps.  They differ in what stands before
 * hascontent, and in the width of sizes and of the timestamp. */
#define SUMS [FTI_CHECKSUM] = { 0, FTI_CHECKSUM_SIZE }, [FTI_HASH] = { 33, 16 }
#define META(width, timestamp) \
	SUMS, [FTI_CKPT_ID] = { 49, 4 }, [FTI_CKPT_SIZE] = { 53, width }, \
	      [FTI_META_SIZE] = { 53 + width, width }, \
	      [FTI_DATA_SIZE] = { 53 + 2 * width, width }, \
	      [FTI_FS] = { 53 + 3 * width, width }, \
	      [FTI_MAX_FS] = { 53 + 4 * width, width }, \
	      [FTI_PT_FS] = { 53 + 5 * width, width }, \
	      [FTI_TIMESTAMP] = { 53 + 6 * width, timestamp }
#define BLOCK(width) [FTI_NUMVARS] = { 0, 4 }, [FTI_DBSIZE] = { 4, width }
#define CONTAINER(at, width) \
	[FTI_ID] = { 0, 4 }, [FTI_CONTAINERID] = { at - 4, 4 }, \
	[FTI_HASCONTENT] = { at, 1 }, [FTI_HASCKPT] = { at + 1, 1 }, \
	[FTI_DPTR] = { at + 2, 8 }, [FTI_FPTR] = { at + 10, 8 }, \
	[FTI_CHUNKSIZE] = { at + 18, width }, \
	[FTI_CONTAINERSIZE] = { at + 18 + width, width }, \
	[FTI_CHUNK_HASH] = { at + 18 + 2 * width, 16 }
#define IDX [FTI_IDX] = { 4, 4 }

static const struct fti_format formats[FTI_LAYOUTS] = {
	[FTI_A] = {
		.letter = "A",
		.versions = "1.1",
		.meta = 96,
		.block = 12,
		.container = 64,
		.fields = {
			SUMS,
			[FTI_CKPT_SIZE] = { 56, 8 },
			[FTI_FS] = { 64, 8 },
			[FTI_MAX_FS] = { 72, 8 },
			[FTI_PT_FS] = { 80, 8 },
			[FTI_TIMESTAMP] = { 88, 8 },
			BLOCK(8),
			[FTI_ID] = { 0, 4 },
			[FTI_IDX] = { 4, 4 },
			[FTI_CONTAINERID] = { 8, 4 },
			[FTI_HASCONTENT] = { 12, 1 },
			[FTI_DPTR] = { 16, 8 },
			[FTI_FPTR] = { 24, 8 },
			[FTI_CHUNKSIZE] = { 32, 8 },
			[FTI_CONTAINERSIZE] = { 40, 8 },
			[FTI_CHUNK_HASH] = { 48, 16 },
		},
	},
	[FTI_B] = {
		.letter = "B",
		.versions = "1.2",
		.meta = 90,
		.block = 12,
		.container = 62,
		.fields = {
			SUMS,
			[FTI_CKPT_SIZE] = { 49, 8 },
			[FTI_FS] = { 57, 8 },
			[FTI_MAX_FS] = { 65, 8 },
			[FTI_PT_FS] = { 73, 8 },
			[FTI_TIMESTAMP] = { 81, 8 },
			BLOCK(8),
			IDX, CONTAINER(12, 8),
		},
	},
	[FTI_C] = {
		.letter = "C",
		.versions = "1.3",
		.footer = true,
		.meta = 110,
		.block = 12,
		.container = 62,
		.fields = { META(8, 8), BLOCK(8), IDX, CONTAINER(12, 8) },
	},
	[FTI_D] = {
		.letter = "D",
		.versions = "1.4",
		.footer = true,
		.meta = 110,
		.block = 12,
		.container = 58,
		.fields = { META(8, 8), BLOCK(8), CONTAINER(8, 8) },
	},
	[FTI_E] = {
		.letter = "E",
		.versions = "1.4.1 to 1.6",
		.footer = true,
		.meta = 82,
		.block = 8,
		.container = 50,
		.fields = { META(4, 4), BLOCK(4), CONTAINER(8, 4) },
	},
	[FTI_F] = {
		.letter = "F",
		.versions = "after 1.6",
		.footer = true,
		.meta = 106,
		.block = 12,
		.container = 58,
		.fields = { META(8, 4), BLOCK(8), CONTAINER(8, 8) },
	},
};

const struct fti_format *
fti_format(enum fti_layout l)
{
	return &formats[l];
}

int
fti_layout_parse(const char *text, enum fti_layout *out, struct error *err)
{
	for (int l = 0; l < FTI_LAYOUTS; l++)
		if ((text[0] & ~0x20) == formats[l].letter[0] &&
		    text[1] == '\0') {
			*out = (enum fti_layout)l;
			return 0;
		}
	return error_set(err, ERROR_USAGE,
			 "'%s': unknown layout: expected A, B, C, D, E or F",
			 text);
}

const char *
fti_field_name(enum fti_field f)
{
	static const char *const names[FTI_FIELDS] = {
		[FTI_CHECKSUM] = "checksum",
		[FTI_HASH] = "myHash",
		[FTI_CKPT_ID] = "ckptId",
		[FTI_CKPT_SIZE] = "ckptSize",
		[FTI_META_SIZE] = "metaSize",
		[FTI_DATA_SIZE] = "dataSize",
		[FTI_FS] = "fs",
		[FTI_MAX_FS] = "maxFs",
		[FTI_PT_FS] = "ptFs",
		[FTI_TIMESTAMP] = "timestamp",
		[FTI_NUMVARS] = "numvars",
		[FTI_DBSIZE] = "dbsize",
		[FTI_ID] = "id",
		[FTI_IDX] = "idx",
		[FTI_CONTAINERID] = "containerid",
		[FTI_HASCONTENT] = "hascontent",
		[FTI_HASCKPT] = "hasCkpt",
		[FTI_DPTR] = "dptr",
		[FTI_FPTR] = "fptr",
		[FTI_CHUNKSIZE] = "chunksize",
		[FTI_CONTAINERSIZE] = "containersize",
		[FTI_CHUNK_HASH] = "hash",
	};

	return names[f];
}

bool
fti_has(enum fti_layout l, enum fti_field f)
{
	return formats[l].fields[f].size > 0;
}

static bool
is_signed(enum fti_field f)
{
	return f != FTI_TIMESTAMP && f != FTI_HASCONTENT && f != FTI_HASCKPT;
}

int64_t
fti_get(enum fti_layout l, enum fti_field f, const void *record)
{
	const struct fti_place p = formats[l].fields[f];
	const unsigned char *from = (const unsigned char *)record + p.at;
	uint64_t v = 0;

	if (p.size == 0)
		return -1;
	for (unsigned i = 0; i < p.size; i++)
		v |= (uint64_t)from[i] << (8 * i);
	if (is_signed(f) && p.size < 8 && (from[p.size - 1] & 0x80) != 0)
		v |= ~UINT64_C(0) << (8 * p.size);
	return (int64_t)v;
}

static void
put(enum fti_layout l, enum fti_field f, void *record, uint64_t v)
{
	const struct fti_place p = formats[l].fields[f];
	unsigned char *to = (unsigned char *)record + p.at;

	for (unsigned i = 0; i < p.size; i++)
		to[i] = (unsigned char)(v >> (8 * i));
}

bool
fti_fits(enum fti_layout l, enum fti_field f, uint64_t value)
{
	const unsigned bits = 8U * formats[l].fields[f].size;

	return bits == 0 || value <= (UINT64_C(1) << (bits - 1)) - 1;
}

int64_t
fti_written(enum fti_layout l, const struct fti_meta *m)
{
	return formats[l].fields[FTI_TIMESTAMP].size < 8 ||
			       m->timestamp > INT64_MAX
		       ? -1
		       : (int64_t)(m->timestamp / 1000000000);
}

static void
get_bytes(enum fti_layout l, enum fti_field f, const void *record, void *to)
{
	const struct fti_place p = formats[l].fields[f];

	memcpy(to, (const unsigned char *)record + p.at, p.size);
}

static void
put_bytes(enum fti_layout l, enum fti_field f, void *record, const void *from)
{
	const struct fti_place p = formats[l].fields[f];

	memcpy((unsigned char *)record + p.at, from, p.size);
}

void
fti_meta_read(enum fti_layout l, const void *record, struct fti_meta *m)
{
	get_bytes(l, FTI_CHECKSUM, record, m->checksum);
	get_bytes(l, FTI_HASH, record, m->hash);
	m->ckpt_id = fti_get(l, FTI_CKPT_ID, record);
	m->ckpt_size = fti_get(l, FTI_CKPT_SIZE, record);
	m->meta_size = fti_get(l, FTI_META_SIZE, record);
	m->data_size = fti_get(l, FTI_DATA_SIZE, record);
	m->fs = fti_get(l, FTI_FS, record);
	m->max_fs = fti_get(l, FTI_MAX_FS, record);
	m->pt_fs = fti_get(l, FTI_PT_FS, record);
	m->timestamp = (uint64_t)fti_get(l, FTI_TIMESTAMP, record);
}

void
fti_meta_write(enum fti_layout l, const struct fti_meta *m, void *record)
{
	memset(record, 0, formats[l].meta);
	put_bytes(l, FTI_CHECKSUM, record, m->checksum);
	put_bytes(l, FTI_HASH, record, m->hash);
	put(l, FTI_CKPT_ID, record, (uint64_t)m->ckpt_id);
	put(l, FTI_CKPT_SIZE, record, (uint64_t)m->ckpt_size);
	put(l, FTI_META_SIZE, record, (uint64_t)m->meta_size);
	put(l, FTI_DATA_SIZE, record, (uint64_t)m->data_size);
	put(l, FTI_FS, record, (uint64_t)m->fs);
	put(l, FTI_MAX_FS, record, (uint64_t)m->max_fs);
	put(l, FTI_PT_FS, record, (uint64_t)m->pt_fs);
	put(l, FTI_TIMESTAMP, record, m->timestamp);
}

void
fti_block_read(enum fti_layout l, const void *record, struct fti_block *b)
{
	b->numvars = fti_get(l, FTI_NUMVARS, record);
	b->dbsize = fti_get(l, FTI_DBSIZE, record);
}

void
fti_block_write(enum fti_layout l, const struct fti_block *b, void *record)
{
	memset(record, 0, formats[l].block);
	put(l, FTI_NUMVARS, record, (uint64_t)b->numvars);
	put(l, FTI_DBSIZE, record, (uint64_t)b->dbsize);
}

void
fti_container_read(enum fti_layout l, const void *record,
		   struct fti_container *c)
{
	c->id = (int32_t)fti_get(l, FTI_ID, record);
	c->part = (int32_t)fti_get(l, FTI_CONTAINERID, record);
	c->idx = (int32_t)fti_get(l, FTI_IDX, record);
	c->has_content = (uint8_t)fti_get(l, FTI_HASCONTENT, record);
	c->has_ckpt = fti_has(l, FTI_HASCKPT)
			      ? (uint8_t)fti_get(l, FTI_HASCKPT, record)
			      : 0;
	c->dptr = (uint64_t)fti_get(l, FTI_DPTR, record);
	c->fptr = (uint64_t)fti_get(l, FTI_FPTR, record);
	c->used = fti_get(l, FTI_CHUNKSIZE, record);
	c->size = fti_get(l, FTI_CONTAINERSIZE, record);
	get_bytes(l, FTI_CHUNK_HASH, record, c->hash);
}

void
fti_container_write(enum fti_layout l, const struct fti_container *c,
		    void *record)
{
	memset(record, 0, formats[l].container);
	put(l, FTI_ID, record, (uint64_t)c->id);
	put(l, FTI_CONTAINERID, record, (uint64_t)c->part);
	put(l, FTI_IDX, record, (uint64_t)c->idx);
	put(l, FTI_HASCONTENT, record, c->has_content);
	put(l, FTI_HASCKPT, record, c->has_ckpt);
	put(l, FTI_DPTR, record, c->dptr);
	put(l, FTI_FPTR, record, c->fptr);
	put(l, FTI_CHUNKSIZE, record, (uint64_t)c->used);
	put(l, FTI_CONTAINERSIZE, record, (uint64_t)c->size);
	put_bytes(l, FTI_CHUNK_HASH, record, c->hash);
}

int
fti_meta_hash(enum fti_layout l, const void *record, struct hash *h,
	      unsigned char to[static HASH_MD5_SIZE], struct error *err)
{
	/* ptFs before maxFs, unlike their order in the record. */
	static const enum fti_field order[] = {
		FTI_CHECKSUM,  FTI_TIMESTAMP, FTI_CKPT_SIZE, FTI_META_SIZE,
		FTI_DATA_SIZE, FTI_FS,	      FTI_PT_FS,     FTI_MAX_FS,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct fti_place p = formats[l].fields[order[i]];

		if (hash_update(h, (const unsigned char *)record + p.at, p.size,
				err) < 0)
			return -1;
	}
	return hash_sum(h, to, err);
}
