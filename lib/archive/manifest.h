/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manifest.h - SHA-256 checksums of files as text, in the form that `sha256sum
 * -c` reads: the last entry of an archive, or of one of its pieces.
 *
 * One line for each file, in the order of the archive: 64 hexadecimal digits,
 * two spaces (or " *"), path.  If the path has a backslash, a line feed or a
 * carriage return, the line starts with a backslash and these are written as
 * \\, \n and \r, as in coreutils.  Pure functions on buffers.
 */
#ifndef ARCHIVE_MANIFEST_H
#define ARCHIVE_MANIFEST_H

#include <stddef.h>

struct arena;
struct buf;
struct error;
struct map;

/* Larger manifests are rejected: check the size before reading one. */
#define MANIFEST_MAX ((size_t)256 << 20)

struct manifest_entry {
	const char *path; /* clean and relative */
	const char *sum;  /* 64 lower-case digits, from hash_text() */
};

struct manifest {
	struct manifest_entry *entries; /* in the order of the lines */
	size_t count, cap;
	struct map *by_path; /* path -> index of its entry */
	struct arena *arena; /* owns paths and checksums */
};

/*
 * Append a line; `path` is one that ark_out_begin() has taken.  ERROR_USAGE:
 * there are too many lines, and `to` is unchanged.
 */
int manifest_add(struct buf *to, const char *sum, const char *path,
		 struct error *err);

/* The most bytes that a line for `path` has. */
size_t manifest_line(const char *path);

/*
 * Parse `len` untrusted bytes.  Free the result with manifest_free().  NULL:
 * ERROR_CORRUPT (a bad line, given by its number; a path twice; too long),
 * ERROR_UNSAFE (a path that is not clean).
 */
struct manifest *manifest_parse(const void *data, size_t len,
				struct error *err);
void manifest_free(struct manifest *m);

#endif /* ARCHIVE_MANIFEST_H */
