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
struct crew_part;
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
	uint64_t pieces;      /* of the archive; 0: it is whole */
	/* Of an import.  Of pieces: the number, if it is one; which are given,
	 * and which are not, as "3, 5-7"; with the last one, its file, and what
	 * is not there for the dataset to be complete.  Valid until
	 * import_free(). */
	bool complete;
	uint64_t piece;
	const char *given, *lacking, *last, *first; /* the first missing file */
	size_t missing, missing_hidden; /* files; metadata among them */
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

/*
 * An import: of one archive, or of pieces of one, which are read as a single
 * archive, in any order.  For import_free().  Nothing gets its final name
 * before import_commit().
 */
struct import; /* opaque */
struct import *import_new(struct catalogue *c,
			  const struct catalogue_options *o, struct error *err);
void import_free(struct import *x);

/*
 * Read the archive on `fd`, which may be a pipe (`name` is for messages), and
 * compare it with its manifest.  After a failure only import_free() is left.
 * ERROR_CORRUPT, ERROR_UNSAFE: the archive is invalid, or not a piece of the
 * same archive.
 */
int import_read(struct import *x, int fd, const char *name, struct error *err);

/* The number of pieces that there are, if pieces were read; else 0. */
uint64_t import_pieces(const struct import *x);

/* If these files are all pieces of one archive, for import_share(): the number
 * of the last piece among them; else `count`.  Reads their first entries. */
size_t import_last(const char *const *paths, size_t count,
		   const struct work *work);

/*
 * If the last piece, and no other, was read: let nodes import the others of
 * `paths`, by the command `argv` (crew.h), which has room for them and NULL
 * behind its end; not if metadata might be replaced.  import_did(): piece `i`
 * need not be read here.
 */
int import_share(struct import *x, struct crew *crew, const char **argv,
		 const char *const *paths, size_t count, struct error *err);
bool import_did(const struct import *x, size_t i);

/* After all other pieces were read: is there what nodes have imported?  If not,
 * read those pieces, too. */
bool import_confirm(struct import *x);

/* In such a command: import the pieces of the part.  Those from one with
 * metadata on are left to the caller.  ERROR_DAMAGED: the pieces are others
 * than the caller sees. */
struct import_sum {
	uint64_t pieces, placed; /* files, without those that were there */
	uint64_t sum;		 /* of all files */
};
int import_part(struct catalogue *c, const struct catalogue_options *o,
		const char *const *paths, const struct crew_part *is,
		struct import_sum *total, struct error *err);

/*
 * Put the files in place.  If the dataset is out->complete, that is, all files
 * were read, or are on the prefix and right, also its metadata, and add it to
 * the index.  ERROR_CORRUPT: pieces contradict each other.  ERROR_SYSTEM,
 * without o->replace also if a different file, or a dataset with this id,
 * exists.
 */
int import_commit(struct import *x, struct export_result *out,
		  struct error *err);

#endif /* ARCHIVE_EXPORT_H */
