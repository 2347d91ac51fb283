/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manifest.h - SHA-256 sums of files as text, which `sha256sum -c` checks: the
 * last entry of an archive.
 *
 * One line a file, in the order of the archive: 64 hexadecimal digits, two
 * spaces (or " *"), path.  Where the path has a backslash, a line feed or a
 * carriage return, the line starts with a backslash and these are written as
 * \\, \n and \r, as coreutils do it.  Pure functions on buffers.
 */
#ifndef CONTAINER_MANIFEST_H
#define CONTAINER_MANIFEST_H

#include <stddef.h>

struct buf;
struct error;
struct manifest; /* opaque: a manifest that was read */

/* No manifest is larger: check before reading one into memory. */
#define MANIFEST_MAX ((size_t)256 << 20)

struct manifest_entry {
	const char *path; /* clean and relative */
	const char *sum;  /* 64 lower-case digits, as hash_text() gives it */
};

/*
 * Add a line.  ERROR_UNSAFE: the path is not clean; ERROR_USAGE: `sum` is no
 * sum, or there are too many lines; ERROR_NOMEM.  `to` is then unchanged.
 */
int manifest_add(struct buf *to, const char *sum, const char *path,
		 struct error *err);

/*
 * Read `len` untrusted bytes.  Return a manifest for manifest_free(), or NULL:
 * ERROR_CORRUPT (a line that is none, a path twice, too long; the text gives
 * the line), ERROR_UNSAFE (a path that is not clean), ERROR_NOMEM.
 */
struct manifest *manifest_parse(const void *data, size_t len,
				struct error *err);
void manifest_free(struct manifest *m);

/* How many entries there are, and each, in order; borrowed. */
size_t manifest_count(const struct manifest *m);
const struct manifest_entry *manifest_at(const struct manifest *m, size_t i);

/* The place of the path, for manifest_at(); MANIFEST_NONE: it is not in it. */
#define MANIFEST_NONE ((size_t)-1)
size_t manifest_find(const struct manifest *m, const char *path);

#endif /* CONTAINER_MANIFEST_H */
