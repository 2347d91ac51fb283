/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ark_impl.h - what the reading and the writing half of ark share.
 */
#ifndef CONTAINER_ARK_IMPL_H
#define CONTAINER_ARK_IMPL_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/* A record of tar, and bytes moved by one read(2) or write(2). */
#define ARK_RECORD ((size_t)10240)
#define ARK_BLOCK (32 * ARK_RECORD)

/*
 * A locale for uselocale(3) around calls of libarchive, which converts names
 * between the character set of the thread's locale and that of the archive.
 * UTF-8 if asked for and there; else "C", in which bytes above 127 have no
 * meaning and no conversion.  For freelocale(3), or 0.
 */
locale_t ark_locale(bool utf8, struct error *err);

/* What the first bytes show; as many as are enough to tell. */
enum ark_shape {
	ARK_SHAPE_OTHER, /* tar, cpio, or nothing we know */
	ARK_SHAPE_7ZIP,
	ARK_SHAPE_ZIP,
	ARK_SHAPE_GZIP,
	ARK_SHAPE_XZ,
	ARK_SHAPE_ZSTD,
};
#define ARK_SHAPE_LEN 6
enum ark_shape ark_shape(const unsigned char *data, size_t len);

/* What libarchive says of a failure: its errno, and its text or NULL. */
struct ark_reason {
	int errnum;
	const char *text;
};

/* Set *err to `kind` (ENOMEM: ERROR_NOMEM) and "name: path: text"; the path
 * may be NULL.  Returns -1. */
int ark_failed(struct error *err, enum error_kind kind, const char *name,
	       const char *path, struct ark_reason why);

#endif /* CONTAINER_ARK_IMPL_H */
