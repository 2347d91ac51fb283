/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * temp.h - temporary files: a file is written under a temporary name in its
 * directory, and renamed when it is on disk.  Only this module defines the
 * names.
 *
 * The temporary name is derived from the name of the file, so that the next run
 * finds and replaces a file left by an interrupted run.  `base` is always the
 * final name of the file, in the directory open as `dirfd`.
 */
#ifndef TEMP_H
#define TEMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "create.h"

/*
 * The name of the temporary file for `base` (a path: for its last component):
 * ".scrkit-<16 hex of a hash of the name>.tmp", never too long for a file
 * system.  `to` holds TEMP_NAME_MAX bytes.  Returns `to`.
 */
#define TEMP_NAME_MAX 32
char *temp_name(char *to, const char *base);
/* The name with these 16 digits: for what many processes write together. */
char *temp_number(char *to, uint64_t number);
/* The same as an argument of a function, valid until the end of the block. */
#define temp_str(base) temp_name((char[TEMP_NAME_MAX]){ 0 }, base)

/* Is this the name of a temporary file? */
bool temp_is(const char *name);

/*
 * Create the temporary file for `base` for writing (create.h).  An
 * existing file of that name (it could be a link that somebody planted) is
 * removed, never opened.  Returns a descriptor to close, or -1 with errno.
 */
int temp_make(int dirfd, const char *base, mode_t mode, struct owner owner);

/* Open the existing temporary file for writing, and with `reads` for reading.
 * Returns a descriptor to close, or -1 with errno. */
int temp_open(int dirfd, const char *base, bool reads);

/* Open one that an interrupted run left, for writing and reading, with a lock
 * (flock(2)).  -1: there is none, or it is not a file that a new one for
 * `owner` would be, or somebody has the lock. */
int temp_resume(int dirfd, const char *base, struct owner owner);

/* Is the temporary file still the one open as `fd`?  A concurrent process
 * without a lock may have replaced it by its own. */
bool temp_is_same(int dirfd, const char *base, int fd);
/* The same for a file that was closed, of which these are known. */
bool temp_is_file(int dirfd, const char *base, dev_t dev, ino_t ino);

/* Rename the temporary file to `base`.  The caller has synced its
 * contents to disk.  -1 with errno. */
int temp_commit(int dirfd, const char *base);

/* Remove the temporary file.  A missing file is not an error.  -1 with
 * errno. */
int temp_remove(int dirfd, const char *base);

#endif /* TEMP_H */
