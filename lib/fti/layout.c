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

/* What a field is in the struct of its record: bytes or a number. */
enum kind { BYTES, SIGNED, UNSIGNED };

static const struct {
	const char *name;
	enum kind kind;
	size_t at, size; /* of the member */
} fields[FTI_FIELDS] = {
#define MEMBER(type, name) \
	offsetof(struct type, name), sizeof(((struct type *)NULL)->name)
#define META_MEMBER(name) MEMBER(fti_meta, name)
#define CONTAINER_MEMBER(name) MEMBER(fti_container, name)
	[FTI_CHECKSUM] = { "checksum", BYTES, META_MEMBER(checksum) },
	[FTI_HASH] = { "myHash", BYTES, META_MEMBER(hash) },
	[FTI_CKPT_ID] = { "ckptId", SIGNED, META_MEMBER(ckpt_id) },
	[FTI_CKPT_SIZE] = { "ckptSize", SIGNED, META_MEMBER(ckpt_size) },
	[FTI_META_SIZE] = { "metaSize", SIGNED, META_MEMBER(meta_size) },
	[FTI_DATA_SIZE] = { "dataSize", SIGNED, META_MEMBER(data_size) },
	[FTI_FS] = { "fs", SIGNED, META_MEMBER(fs) },
	[FTI_MAX_FS] = { "maxFs", SIGNED, META_MEMBER(max_fs) },
	[FTI_PT_FS] = { "ptFs", SIGNED, META_MEMBER(pt_fs) },
	[FTI_TIMESTAMP] = { "timestamp", UNSIGNED, META_MEMBER(timestamp) },
	[FTI_NUMVARS] = { "numvars", SIGNED, MEMBER(fti_block, numvars) },
	[FTI_DBSIZE] = { "dbsize", SIGNED, MEMBER(fti_block, dbsize) },
	[FTI_ID] = { "id", SIGNED, CONTAINER_MEMBER(id) },
	[FTI_IDX] = { "idx", SIGNED, CONTAINER_MEMBER(idx) },
	[FTI_CONTAINERID] = { "containerid", SIGNED, CONTAINER_MEMBER(part) },
	[FTI_HASCONTENT] = { "hascontent", UNSIGNED,
			     CONTAINER_MEMBER(has_content) },
	[FTI_HASCKPT] = { "hasCkpt", UNSIGNED, CONTAINER_MEMBER(has_ckpt) },
	[FTI_DPTR] = { "dptr", UNSIGNED, CONTAINER_MEMBER(dptr) },
	[FTI_FPTR] = { "fptr", UNSIGNED, CONTAINER_MEMBER(fptr) },
	[FTI_CHUNKSIZE] = { "chunksize", SIGNED, CONTAINER_MEMBER(used) },
	[FTI_CONTAINERSIZE] = { "containersize", SIGNED,
				CONTAINER_MEMBER(size) },
	[FTI_CHUNK_HASH] = { "hash", BYTES, CONTAINER_MEMBER(hash) },
};

const char *
fti_field_name(enum fti_field f)
{
	return fields[f].name;
}

const int fti_first_field[] = { FTI_CHECKSUM, FTI_NUMVARS, FTI_ID, FTI_FIELDS };

size_t
fti_record_size(enum fti_layout l, enum fti_record r)
{
	const struct fti_format *format = &formats[l];

	return r == FTI_META	? format->meta
	       : r == FTI_BLOCK ? format->block
				: format->container;
}

bool
fti_has(enum fti_layout l, enum fti_field f)
{
	return formats[l].fields[f].size > 0;
}

int64_t
fti_get(enum fti_layout l, enum fti_field f, const void *record)
{
	const struct fti_place p = formats[l].fields[f];
	const unsigned char *from = (const unsigned char *)record + p.at;
	const bool is_signed = fields[f].kind == SIGNED;
	uint64_t v = 0;

	if (p.size == 0)
		return is_signed ? -1 : 0;
	for (unsigned i = 0; i < p.size; i++)
		v |= (uint64_t)from[i] << (8 * i);
	if (is_signed && p.size < 8 && (from[p.size - 1] & 0x80) != 0)
		v |= ~UINT64_C(0) << (8 * p.size);
	return (int64_t)v;
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

int64_t
fti_member(enum fti_field f, const void *of)
{
	const void *at = (const unsigned char *)of + fields[f].at;

	return fields[f].size == sizeof(int64_t)   ? *(const int64_t *)at
	       : fields[f].size == sizeof(int32_t) ? *(const int32_t *)at
						   : *(const uint8_t *)at;
}

void
fti_record_read(enum fti_layout l, enum fti_record r, const void *record,
		void *to)
{
	for (int f = fti_first_field[r]; f < fti_first_field[r + 1]; f++) {
		const struct fti_place p = formats[l].fields[f];
		unsigned char *member = (unsigned char *)to + fields[f].at;
		uint64_t v = 0;

		if (fields[f].kind == BYTES) {
			memcpy(member, (const unsigned char *)record + p.at,
			       p.size);
			continue;
		}
		v = (uint64_t)fti_get(l, (enum fti_field)f, record);
		if (fields[f].size == sizeof(uint64_t))
			*(uint64_t *)(void *)member = v;
		else if (fields[f].size == sizeof(uint32_t))
			*(uint32_t *)(void *)member = (uint32_t)v;
		else
			*member = (unsigned char)v;
	}
}

void
fti_record_write(enum fti_layout l, enum fti_record r, const void *from,
		 void *record)
{
	memset(record, 0, fti_record_size(l, r));
	for (int f = fti_first_field[r]; f < fti_first_field[r + 1]; f++) {
		const struct fti_place p = formats[l].fields[f];
		unsigned char *to = (unsigned char *)record + p.at;
		const uint64_t v =
			(uint64_t)fti_member((enum fti_field)f, from);

		if (fields[f].kind == BYTES)
			memcpy(to, (const unsigned char *)from + fields[f].at,
			       p.size);
		for (unsigned i = 0; fields[f].kind != BYTES && i < p.size; i++)
			to[i] = (unsigned char)(v >> (8 * i));
	}
}

void
fti_meta_hash(enum fti_layout l, const void *record, struct hash *h,
	      unsigned char to[static HASH_MD5_SIZE])
{
	/* ptFs before maxFs, unlike their order in the record. */
	static const enum fti_field order[] = {
		FTI_CHECKSUM,  FTI_TIMESTAMP, FTI_CKPT_SIZE, FTI_META_SIZE,
		FTI_DATA_SIZE, FTI_FS,	      FTI_PT_FS,     FTI_MAX_FS,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct fti_place p = formats[l].fields[order[i]];

		hash_update(h, (const unsigned char *)record + p.at, p.size);
	}
	hash_sum(h, to);
}
