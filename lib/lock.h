/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - one command at a time: a lock file in the directory that is worked
 * on (the metadata of a dataset), there only as long as the lock is held.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>

struct error;
struct work;

/* Name of the lock file. */
#define LOCK_FILE ".scrkit.lock"

/*
 * Wait for the lock of directory `dirfd` (`what`, for messages); w->stop ends
 * the wait.  Returns a value for lock_give(), also where the file system has no
 * locks (w->log tells), or -1: ERROR_ABSENT (the directory was deleted
 * meanwhile), ERROR_SYSTEM.
 */
int lock_take(int dirfd, const char *what, const struct work *w,
	      struct error *err);

/* Give it back, and remove the lock file.  A `lock` < 0 is ignored. */
void lock_give(int dirfd, int lock);

/* Does this error mean that the file system has no locks? */
bool lock_unsupported(const struct error *err);

#endif /* LOCK_H */
