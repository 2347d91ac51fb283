/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset_dir.h - PREFIX/.scr/scr.dataset.ID, the directory of a dataset's
 * metadata: its name, and the files that belong in it (kvtree(5)).
 */
#ifndef META_DATASET_DIR_H
#define META_DATASET_DIR_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "str.h"

struct error;

/* The directory of all metadata of a prefix or a cache directory. */
#define SCR_DIR ".scr"

/*
 * Open SCR_DIR of the prefix that is open as `prefix_fd`; `prefix` is its name
 * for messages.  If `make`, a missing directory is created, and the prefix
 * synced.  A symbolic link that leads out of the prefix is not followed
 * (ERROR_UNSAFE).  Returns a descriptor to close, or -1: ERROR_ABSENT (only if
 * not `make`), ERROR_SYSTEM.
 */
int dataset_dir_open_scr(int prefix_fd, const char *prefix, bool make,
			 struct error *err);

/* May a job have a file at `path` below the prefix?  False for metadata, and
 * for the file that configures the next job. */
bool dataset_dir_is_data(const char *path);

/* Format of the directory's name, for an int64_t; a buffer size for it; and the
 * name as an argument of a function, valid until the end of the block. */
#define DATASET_DIR_STEM "scr.dataset."
#define DATASET_DIR_FMT DATASET_DIR_STEM "%" PRId64
#define DATASET_DIR_NAME 40
#define dataset_dir_str(id) str_printed(DATASET_DIR_NAME, DATASET_DIR_FMT, id)

/* "scr.dataset.7" -> 7; anything else (sign, leading zeros, suffix): -1. */
int64_t dataset_dir_id(const char *name);

/* Names of our own files in it, except those that have their own modules. */
#define DATASET_DIR_MANIFEST \
	"manifest.sha256" /* of the archive that the dataset came
						  from */
/* of piece 3 of 7 of an archive: of the files in it */
#define DATASET_DIR_PIECE "manifest.%" PRIu64 "-of-%" PRIu64 ".sha256"
#define DATASET_DIR_MARK \
	"rebuild.scr" /* container ranges that a rebuild is writing */
#define DATASET_DIR_GONE \
	".scrkit.gone" /* the dataset's files are deleted; the deletion of its
			  metadata was interrupted */

/* Is it a name by DATASET_DIR_PIECE?  Numbers are 1 to DATASET_DIR_PIECES. */
#define DATASET_DIR_PIECES 999999
bool dataset_dir_piece(const char *name, uint64_t *piece, uint64_t *pieces);

/* "packed.7.scr", a part of the packed metadata -> 7; anything else: -1. */
int64_t dataset_dir_packed(const char *name);

/* Is `name` a second copy?  Store the name of the first one in `to`, which has
 * NAME_MAX + 1 bytes; otherwise store `name`. */
bool dataset_dir_is_copy(const char *name, char *to);

/* The kinds of names in the directory. */
enum dataset_dir_kind {
	DATASET_DIR_FOREIGN, /* belongs to no dataset */
	DATASET_DIR_SUMMARY,
	DATASET_DIR_RANK2FILE,
	DATASET_DIR_RANK2FILE_PART, /* rank2file.LEVEL.RANK */
	DATASET_DIR_FILEMAP,
	DATASET_DIR_REDUNDANCY,
	DATASET_DIR_DESCRIPTOR, /* redundancy descriptor: X.er.R.redset */
	DATASET_DIR_COPIED,	/* list of files copied by a scavenge */
	DATASET_DIR_PACKED,	/* packed.N.scr: packed metadata */
	DATASET_DIR_COPY,	/* second copy of rank2file, a part, packed.N */
	DATASET_DIR_CONTAINERS, /* directory of the containers */
	DATASET_DIR_KEPT,	/* DATASET_DIR_MANIFEST, DATASET_DIR_PIECE */
	DATASET_DIR_MARKED,	/* DATASET_DIR_MARK */
	DATASET_DIR_DELETED,	/* DATASET_DIR_GONE */
	DATASET_DIR_LOCK,	/* of a command working on the dataset */
	DATASET_DIR_TEMP,	/* left by an interrupted run */
	DATASET_DIR_LEFT,	/* written by LLNL's library and tools */
};

/* Return the kind of `name`.  For a filemap, a redundancy file or a redundancy
 * descriptor, store its rank in *rank, unless `rank` is NULL.  For any other
 * kind, *rank is unchanged. */
enum dataset_dir_kind dataset_dir_kind(const char *name, uint32_t *rank);

/* Is it NAME.old or NAME.old1, where NAME is that of a dataset's file or
 * container?  The printed advice sets files aside under such names. */
bool dataset_dir_is_aside(const char *name);

/* Is it a filemap, a redundancy file or a redundancy descriptor?  A rebuild
 * starts from these. */
bool dataset_dir_is_recovery(const char *name);

#endif /* META_DATASET_DIR_H */
