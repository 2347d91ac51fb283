/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export.h - write a dataset to one archive, or to pieces of it, and read it
 * back.
 *
 * The archive has the paths of an unpacked dataset: its files, and
 * PREFIX/.scr/scr.dataset.ID/ with rank2file, summary and, if requested,
 * filemaps and redundancy files.  The last entry is a manifest of SHA-256
 * checksums.  So the archive can be unpacked with tar alone, into an empty
 * directory or a prefix, and verified there with `sha256sum -c`.
 */
#ifndef ARCHIVE_EXPORT_H
#define ARCHIVE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/ark.h"
#include "container/packed.h"

struct buf;
struct catalogue;
struct catalogue_options;
struct crew;
struct work;

struct export_options {
	enum ark_filter filter;
	bool redundancy;  /* include filemaps and redundancy files */
	unsigned threads; /* for compression */
	const struct work *work;
	/* Pieces of at most so many bytes, before compression, FILE.001 and so
	 * on; 0: one archive. */
	uint64_t split;
	/* Nodes that write pieces, by this command (crew.h), or NULL; and, in
	 * such a command, its part. */
	struct crew *crew;
	const char *const *argv;
	const char *part;
};

struct export_result {
	int64_t id;
	char name[1024];      /* name of the imported dataset */
	size_t files, hidden; /* users' files; metadata files */
	size_t same;	      /* import: identical files that already existed */
	uint64_t bytes;	      /* of the users' files */
	uint64_t written;     /* export: size of the archive */
	/* Pieces of the archive, and the number of the imported one; 0: the
	 * archive is whole. */
	uint64_t pieces, piece;
};

/*
 * Write the archive to `file`, which gets its name when it is complete and on
 * disk.  NULL or "-": write to standard output.  ERROR_USAGE: an archive, or a
 * piece, cannot hold one of the files; reported before anything is written.
 *
 * In pieces, the first ones are archives of whole files, and the last one also
 * has the metadata.  Each begins with an empty entry of its manifest's name,
 * DATASET_DIR_PIECE, and ends with the manifest, so that a reader knows from
 * the beginning what it reads.  Pieces that an interrupted run has completed
 * are not written again.
 */
int export_to(struct packed *p, const char *file,
	      const struct export_options *eo, struct export_result *out,
	      struct error *err);

/* The files that the pieces of archives have brought in one run, which need
 * not be read again. */
struct import_seen; /* opaque */
struct import_seen *import_seen_new(void);
void import_seen_free(struct import_seen *s);

struct import_options {
	const struct catalogue_options *look;
	struct import_seen *seen;
};

/*
 * Read the archive on `fd`, which may be a pipe (`name` is for messages), into
 * the prefix of `c`, compare it with its manifest, and add the dataset to the
 * index.  No file gets its final name before all of them are verified.
 * ERROR_CORRUPT, ERROR_UNSAFE: the archive is invalid.  ERROR_SYSTEM, without
 * look->replace also if a different file, or a dataset with this id, exists.
 *
 * A piece (out->pieces > 0) is compared with the manifest of the piece; its
 * files are put in place, its metadata into DATASET_DIR_IMPORT.
 */
int import_dataset(struct catalogue *c, int fd, const char *name,
		   const struct import_options *io, struct export_result *out,
		   struct error *err);

/*
 * After pieces of dataset out->id were imported: if all files of the manifest
 * are on the prefix, and right, put the metadata in place, and the dataset into
 * the index.  Returns 1; or 0: files are missing, and `missing` is the list of
 * the pieces that bring them.  ERROR_CORRUPT: all pieces were imported, but a
 * file was changed since.
 */
int import_finish(struct catalogue *c, const struct import_options *io,
		  struct export_result *out, struct buf *missing,
		  struct error *err);

#endif /* ARCHIVE_EXPORT_H */
