/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - two kinds of locks between processes.  A lock file in a metadata
 * directory lets one command at a time work there; the file exists only while
 * the lock is held.  Shares let several processes divide the work.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct work;

/* What is said of a file system without locks. */
#define LOCK_NONE \
	"this file system has no locks (Lustre: mount it with the option flock)"

/* Name of the lock file. */
#define LOCK_FILE ".scrkit.lock"

/*
 * Wait for the lock of directory `dirfd`, called `what` in messages. w->stop
 * ends the wait.  Returns a value for lock_give(), or -1: ERROR_ABSENT (the
 * directory was deleted meanwhile), ERROR_SYSTEM.  If the file system has no
 * locks, that is reported by w->log and the call returns -2, which is not an
 * error.  It also returns -2 if the directory cannot be written to.
 */
int lock_take(int dirfd, const char *what, const struct work *w,
	      struct error *err);

/* Release the lock and remove the lock file.  A `lock` < 0 is ignored. */
void lock_give(int dirfd, int lock);

/*
 * Let several processes divide the work on a directory by numbers (ranks).
 * Each number is locked by at most one process, and released when that process
 * ends.  The locks are in a second lock file, which exists only while a number
 * is locked.
 */
#define LOCK_SHARES_FILE ".scrkit.shares"

/*
 * Returns a value for the functions below; -2 if the file system has no locks:
 * then every number can be taken. -1:  ERROR_SYSTEM, also after `stop` (NULL:
 * never).
 */
int lock_shares_open(int dirfd, bool (*stop)(void), struct error *err);

/* Try to lock the numbers `first` to `last`, all or none.  False: none. */
bool lock_shares_take(int lock, uint64_t first, uint64_t last);

/* Release all numbers.  A `lock` < 0 is ignored. */
void lock_shares_close(int dirfd, int lock);

/*
 * Open the shares of directory `dirfd`, called `what` in messages, and take
 * numbers by take(arg, lock), which says whether it got them.  Waits a while
 * for a process that was given up and is still there.  NULL: all numbers, for
 * who holds lock_take(), so that nobody comes if nobody is there.  Returns a
 * value for lock_shares_close(); -2: there is no lock; -1: ERROR_SYSTEM.
 */
int lock_shares_wait(int dirfd, const char *what,
		     bool (*take)(const void *arg, int lock), const void *arg,
		     bool (*stop)(void), struct error *err);

/* Does a process hold one of these locks of directory `dirfd`, this one
 * included? */
bool lock_busy(int dirfd);

/* Does this error mean that the file system has no locks? */
bool lock_unsupported(const struct error *err);

#endif /* LOCK_H */
