/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * temp.h - temporary files: a file is written under a name of its own beside
 * its place, and renamed when it is on disk.  Only this module knows how such
 * files are named.
 *
 * The name follows from that of the file, so what an interrupted run left is
 * found, and replaced, by the next one.  `base` is always the name of the file
 * itself, in the directory open as `dirfd`.
 */
#ifndef TEMP_H
#define TEMP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The name of the temporary file for `base` (a path: for its last component):
 * ".scrkit-<16 hex of a hash of the name>.tmp", never too long for a file
 * system.  `to` holds TEMP_NAME_MAX bytes.  Returns `to`.
 */
#define TEMP_NAME_MAX 32
char *temp_name(char *to, const char *base);

/* Is this the name of a temporary file? */
bool temp_is(const char *name);

/*
 * Make the temporary file for `base` anew, for writing, with `mode` & ~umask.
 * What is there under its name (be it a link that somebody planted) is removed,
 * never opened.  Returns a descriptor, or -1 with errno.
 */
int temp_make(int dirfd, const char *base, mode_t mode);

/* Open it again, for writing; -1 with errno. */
int temp_open(int dirfd, const char *base);

/* Is it still the file open as `fd`?  Another process that was not locked out
 * may have removed it, and have made its own. */
bool temp_is_same(int dirfd, const char *base, int fd);

/* Give it its name.  What is in it is on disk.  -1 with errno. */
int temp_commit(int dirfd, const char *base);

/* Remove it; none there is no error.  -1 with errno. */
int temp_remove(int dirfd, const char *base);

#endif /* TEMP_H */
