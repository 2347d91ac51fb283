/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h - let one command at a time work on a directory (the metadata of a
 * dataset).  The lock is a file in it that exists only while it is held. */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>

struct error;
struct work;

/* Name of the lock file. */
#define LOCK_FILE ".scrkit.lock"

/*
 * Wait for the lock of directory `dirfd`, called `what` in messages. w->stop
 * ends the wait.  Returns a value for lock_give(), or -1: ERROR_ABSENT (the
 * directory was deleted meanwhile), ERROR_SYSTEM.  If the file system has no
 * locks, that is reported by w->log and the call returns -2, which is not an
 * error.
 */
int lock_take(int dirfd, const char *what, const struct work *w,
	      struct error *err);

/* Release the lock and remove the lock file.  A `lock` < 0 is ignored. */
void lock_give(int dirfd, int lock);

/* Does this error mean that the file system has no locks? */
bool lock_unsupported(const struct error *err);

#endif /* LOCK_H */
