/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ark_impl.h - shared by reading and writing of archives.
 */
#ifndef ARCHIVE_ARK_IMPL_H
#define ARCHIVE_ARK_IMPL_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "archive/ark.h"
#include "error.h"

/* Bytes of one read(2) or write(2). */
#define ARK_BLOCK (32 * ARK_RECORD)

/*
 * A locale for uselocale(3) around calls of libarchive, which converts names
 * between the character sets of the thread's locale and of the archive.  UTF-8
 * if requested and available; else "C", in which bytes above 127 are not
 * converted.  Free it with freelocale(3).
 */
locale_t ark_locale(bool utf8);

/* A failure of libarchive, with its errno, and its text or NULL: set *err to
 * `kind` (ERROR_NOMEM for ENOMEM) and "name: path: text"; `path` may be NULL.
 * Returns -1. */
int ark_failed(struct error *err, enum error_kind kind, const char *name,
	       const char *path, int errnum, const char *reason);

#endif /* ARCHIVE_ARK_IMPL_H */
