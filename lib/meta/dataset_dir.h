/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset_dir.h - the directory of a dataset's metadata, PREFIX/.scr/
 * scr.dataset.ID: its name, and what belongs into it (formats.md 1).
 */
#ifndef META_DATASET_DIR_H
#define META_DATASET_DIR_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

/* Where all metadata of a prefix, or of a cache directory, lie. */
#define SCR_DIR ".scr"

/* Its name, for printf() with an int64_t; and room for that name. */
#define DATASET_DIR_FMT "scr.dataset.%" PRId64
#define DATASET_DIR_NAME 40

/* "scr.dataset.7" -> 7; anything else (sign, leading zeros, suffix): -1. */
int64_t dataset_dir_id(const char *name);

/* Files of ours in it, beside those that have modules of their own. */
#define DATASET_DIR_MANIFEST "manifest.sha256" /* of the archive it was in */
#define DATASET_DIR_MARK \
	"rebuild.scr" /* stretches of containers that a
					  rebuild is writing */
#define DATASET_DIR_GONE \
	".scrkit.gone" /* its files were deleted, the rest
					   was to follow */

/* "packed.7.scr", a part of the packed metadata -> 7; anything else: -1. */
int64_t dataset_dir_packed(const char *name);

/* What a name in the directory is. */
enum dataset_dir_kind {
	DATASET_DIR_FOREIGN, /* nothing that a dataset has */
	DATASET_DIR_SUMMARY,
	DATASET_DIR_RANK2FILE,
	DATASET_DIR_RANK2FILE_PART, /* rank2file.LEVEL.RANK */
	DATASET_DIR_FILEMAP,
	DATASET_DIR_REDUNDANCY,
	DATASET_DIR_DESCRIPTOR, /* of redundancy: X.er.R.redset */
	DATASET_DIR_COPIED,	/* what a scavenge has copied */
	DATASET_DIR_PACKED,	/* packed.N.scr: metadata that are packed */
	DATASET_DIR_CONTAINERS, /* the directory of the containers */
	DATASET_DIR_KEPT,	/* DATASET_DIR_MANIFEST */
	DATASET_DIR_MARKED,	/* DATASET_DIR_MARK */
	DATASET_DIR_DELETED,	/* DATASET_DIR_GONE */
	DATASET_DIR_LOCK,	/* of a command that works on it */
	DATASET_DIR_TEMP,	/* left by an interrupted run */
	DATASET_DIR_LEFT,	/* what LLNL's library and tools leave there */
};

/* `rank`, if not NULL, receives the rank of a filemap, a redundancy file or a
 * descriptor; else it is left alone. */
enum dataset_dir_kind dataset_dir_kind(const char *name, uint32_t *rank);

/* Is it a filemap, a redundancy file or a descriptor: what a rebuild starts
 * from? */
bool dataset_dir_is_recovery(const char *name);

#endif /* META_DATASET_DIR_H */
