/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_impl.h - shared by the list of what is exported, the writing of an
 * archive, and that of several pieces.
 */
#ifndef ARCHIVE_EXPORT_IMPL_H
#define ARCHIVE_EXPORT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/export.h"
#include "buf.h"
#include "hash.h"
#include "meta/attr.h"

struct arena;
struct error;
struct segmap_file;

/* One file of the archive: of the user, to be read from files or containers;
 * a file of the metadata directory, or a packed one; or bytes in memory. */
struct export_entry {
	const char *path;		/* in the archive */
	const struct segmap_file *file; /* of a map; NULL: another one */
	bool data;			/* a user's file */
	const char *image;		/* its bytes; NULL: in a file */
	struct attr attr;
	uint64_t size;
};

/* The archive, if it is whole, or one of its pieces. */
struct export_piece {
	const char *path; /* NULL: standard output */
	const char *note; /* of the small file beside it */
	size_t from, to;  /* of the list, `to` not included */
	uint64_t bytes;	  /* of its files */
	uint64_t written; /* of the piece */
	bool done;
};

struct exporting {
	struct packed *p;
	const struct export_options *eo;
	struct export_result *out;
	const char
		*file; /* of the archive, or the begin of its pieces' names */
	struct arena *arena;
	/* The users' files, the redundancy, and from `images` on the metadata
	 * that are in memory. */
	struct export_entry *list;
	size_t count, cap, images;
	struct export_piece *pieces;
	size_t npieces, pieces_cap;
	char digest[HASH_TEXT]; /* of all that decides what pieces have */
	struct buf all;		/* the manifests of all but the last one */
};

/* List what the archive has, with attributes and sizes. */
int export_list(struct exporting *x, struct error *err);

struct export_piece *export_add_piece(struct exporting *x, size_t from);

/* Write a piece, which gets its name when it is complete and on disk; append
 * the manifest of its files.  1: another process was faster. */
int export_piece(struct exporting *x, size_t i, struct buf *manifest,
		 struct error *err);

/* Write the pieces. */
int export_split(struct exporting *x, struct error *err);

/* Is the piece complete, and one of this export?  If so, append its manifest,
 * unless that is NULL. */
bool export_is_done(struct exporting *x, size_t i, struct buf *manifest);

/* Open the directory of the file. */
int export_parent(const char *file, struct error *err);

#endif /* ARCHIVE_EXPORT_IMPL_H */
