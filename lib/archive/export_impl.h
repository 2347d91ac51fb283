/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_impl.h - shared by the export to one archive and to pieces of it.
 */
#ifndef ARCHIVE_EXPORT_IMPL_H
#define ARCHIVE_EXPORT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/export.h"
#include "buf.h"
#include "meta/attr.h"

struct arena;
struct error;
struct hash;
struct segmap_file;
struct stripe_cache;

/* One file of the archive, to be read from files or containers: a user's file,
 * a file of the metadata directory, or a packed one. */
struct export_entry {
	const char *path;		/* in the archive */
	const struct segmap_file *file; /* of a map; NULL: a metadata file */
	bool data;			/* a user's file */
	struct attr attr;
	uint64_t size;
};

/* What is exported, without the metadata that are written last. */
struct exporting {
	struct packed *p;
	const struct export_options *eo;
	struct export_result *out;
	const char
		*name; /* of the archive, or of the first part of its names */
	struct arena *arena;
	struct export_entry *list;
	size_t count, cap;
};

/* One archive of it. */
struct exported {
	struct exporting *x;
	struct ark_out *ark; /* NULL: only the bound is computed */
	uint64_t bound;	     /* ark_bound() of the metadata */
	struct hash *hash;
	struct buf manifest;
	unsigned char *block; /* STEP bytes */
	struct arena *arena;
	struct stripe_cache *cache;
};

/* List the users' files and, if requested, the redundancy, with attributes and
 * sizes.  For export_list_free(), also on failure. */
int export_list(struct exporting *x, struct error *err);
void export_list_free(struct exporting *x);

/* Start the archive a->x on `fd`, called `name`.  For export_end(), also on
 * failure. */
int export_begin(struct exported *a, int fd, const char *name,
		 struct error *err);
void export_end(struct exported *a);

/* Write the files `from` to `to` - 1 of the list, with their directories. */
int export_entries(struct exported *a, size_t from, size_t to,
		   struct error *err);

/* Write the metadata of the dataset. */
int export_metadata(struct exported *a, struct error *err);

/* Write the file `name` of the metadata directory, whose bytes are in
 * memory. */
int export_bytes(struct exported *a, const char *name, const struct buf *bytes,
		 struct error *err);

/* The same, with a line of the manifest. */
int export_image(void *archive, const char *name, const struct buf *image,
		 struct error *err);

/* Open the directory of the file. */
int export_parent(const char *file, struct error *err);

/* Let `fn` write the file, which gets its name when it is complete and on disk.
 * `shared`: another process may write the same; if it was faster, fn() and this
 * return 1. */
int export_file(const char *file, bool shared,
		int (*fn)(void *arg, int fd, uint64_t *written,
			  struct error *err),
		void *arg, struct error *err);

/* export_to() in pieces. */
int export_split(struct packed *p, const char *file,
		 const struct export_options *eo, struct export_result *out,
		 struct error *err);

#endif /* ARCHIVE_EXPORT_IMPL_H */
