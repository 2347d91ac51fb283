/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - the records of FTI-FF files, in the six layouts that versions of
 * FTI have written (fti-format(5)).
 *
 * A file has one metadata record, and for each block a block record followed by
 * container records.  In A and B the metadata record is first, and each block
 * record stands before its containers; in C to F all records follow the data.
 * Numbers are little-endian.  Fields have the names that FTI's documents use.
 *
 * Pure functions: any number of threads at once.
 */
#ifndef FTI_LAYOUT_H
#define FTI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

enum fti_layout { FTI_A, FTI_B, FTI_C, FTI_D, FTI_E, FTI_F, FTI_LAYOUTS };

enum fti_field {
	/* of the metadata record */
	FTI_CHECKSUM,
	FTI_HASH,
	FTI_CKPT_ID,
	FTI_CKPT_SIZE,
	FTI_META_SIZE,
	FTI_DATA_SIZE,
	FTI_FS,
	FTI_MAX_FS,
	FTI_PT_FS,
	FTI_TIMESTAMP,
	/* of a block record */
	FTI_NUMVARS,
	FTI_DBSIZE,
	/* of a container record */
	FTI_ID,
	FTI_IDX,
	FTI_CONTAINERID,
	FTI_HASCONTENT,
	FTI_HASCKPT,
	FTI_DPTR,
	FTI_FPTR,
	FTI_CHUNKSIZE,
	FTI_CONTAINERSIZE,
	FTI_CHUNK_HASH,
	FTI_FIELDS
};

/* Bytes of a field in its record; size 0: the layout does not have it. */
struct fti_place {
	uint8_t at, size;
};

struct fti_format {
	char letter[2];
	const char *versions;		/* of FTI that write it */
	bool footer;			/* the records follow the data */
	uint8_t meta, block, container; /* bytes of the records */
	struct fti_place fields[FTI_FIELDS];
};

#define FTI_META_MAX 110
#define FTI_RECORD_MAX 64 /* of a block or container */
#define FTI_CHECKSUM_SIZE 33

/* The metadata record.  A field that the layout does not have is -1. */
struct fti_meta {
	char checksum[FTI_CHECKSUM_SIZE]; /* as stored, perhaps without NUL */
	unsigned char hash[HASH_MD5_SIZE];
	int64_t ckpt_id;
	int64_t ckpt_size, meta_size, data_size; /* bytes */
	int64_t fs, max_fs, pt_fs;
	/* Nanoseconds since 1970; E and F have its low 32 bits only. */
	uint64_t timestamp;
};

struct fti_block {
	int64_t numvars; /* container records that follow */
	int64_t dbsize;	 /* bytes; A and B count the records, too */
};

struct fti_container {
	int32_t id;   /* of the variable */
	int32_t part; /* containerid: 0 is the first of the variable */
	int32_t idx;  /* -1: not in this layout */
	uint8_t has_content;
	uint8_t has_ckpt;		   /* 0 in A */
	uint64_t dptr;			   /* offset in the variable */
	uint64_t fptr;			   /* offset in the file */
	int64_t used;			   /* chunksize: bytes in use */
	int64_t size;			   /* containersize: bytes reserved */
	unsigned char hash[HASH_MD5_SIZE]; /* of the bytes in use */
};

/* The records; their fields are fti_first_field[r] ... fti_first_field[r + 1] -
 * 1. */
enum fti_record { FTI_META, FTI_BLOCK, FTI_CONTAINER, FTI_RECORDS };
extern const int fti_first_field[];

size_t fti_record_size(enum fti_layout l, enum fti_record r);

const struct fti_format *fti_format(enum fti_layout l);

/* The layout of a letter, 'A' or 'a' to 'F'.  ERROR_USAGE. */
int fti_layout_parse(const char *text, enum fti_layout *out, struct error *err);

/* "ckptSize". */
const char *fti_field_name(enum fti_field f);

/* Is it a field of the layout? */
bool fti_has(enum fti_layout l, enum fti_field f);

/* A number in a record.  If the layout does not have the field: -1, 0 if it is
 * unsigned. */
int64_t fti_get(enum fti_layout l, enum fti_field f, const void *record);

/* A number in the struct of its record. */
int64_t fti_member(enum fti_field f, const void *of);

/* Can the layout hold the number? */
bool fti_fits(enum fti_layout l, enum fti_field f, uint64_t value);

/* When the file was written, in seconds since 1970; -1: E and F keep only the
 * low 32 bits of the nanoseconds. */
int64_t fti_written(enum fti_layout l, const struct fti_meta *m);

/* Read a record of the size that the format gives into its struct, fti_meta,
 * fti_block or fti_container, and write one.  Bytes between fields are written
 * as 0. */
void fti_record_read(enum fti_layout l, enum fti_record r, const void *record,
		     void *to);
void fti_record_write(enum fti_layout l, enum fti_record r, const void *from,
		      void *record);

/* The sum that the field myHash must have (fti-format(5)).  `h` is an MD5 sum
 * without data. */
void fti_meta_hash(enum fti_layout l, const void *record, struct hash *h,
		   unsigned char to[static HASH_MD5_SIZE]);

#endif /* FTI_LAYOUT_H */
