/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.c - one command at a time works on a dataset.
 *
 * The lock file is removed by whoever held the lock, so that a dataset's
 * directory is left as it was found.  So a lock counts only if, once it is
 * taken, the file still has its name.
 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "io.h"
#include "work.h"

/* Between two looks whether a lock is free, in nanoseconds. */
#define LOCK_PAUSE 20000000

bool
lock_unsupported(const struct error *err)
{
	return err->kind == ERROR_SYSTEM &&
	       (err->errnum == ENOSYS || err->errnum == ENOLCK ||
		err->errnum == EOPNOTSUPP);
}

/* Is the file that `fd` has open the one that bears the name? */
static bool
has_name(int dirfd, int fd)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 &&
	       fstatat(dirfd, LOCK_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Take a lock that counts; -1 with EWOULDBLOCK: not now. */
static int
try_lock(int dirfd, struct error *err)
{
	int fd = -1;

	for (;;) {
		fd = io_trylock(dirfd, LOCK_FILE, true, err);
		if (fd < 0 || has_name(dirfd, fd))
			return fd;
		close(fd);
	}
}

int
lock_take(int dirfd, const char *what, const struct work *w, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE };
	struct error why = ERROR_INIT;
	bool told = false;
	int fd = -1;

	/* Asked for again and again, because a wait in the kernel would not
	 * end when the user wants to stop. */
	for (;;) {
		fd = try_lock(dirfd, &why);
		if (fd >= 0)
			return fd;
		if (why.kind != ERROR_SYSTEM || why.errnum != EWOULDBLOCK)
			break;
		if (work_stopped(w)) {
			error_set(err, ERROR_SYSTEM,
				  "%s: interrupted while waiting", what);
			return -1;
		}
		if (!told)
			work_say(w, "%s: somebody else works on it, waiting",
				 what);
		told = true;
		nanosleep(&pause, NULL);
	}
	if (lock_unsupported(&why)) {
		work_say(w,
			 "%s: this file system has no locks: do not work "
			 "on one dataset with two commands at once",
			 what);
		return -2;
	}
	if (why.kind == ERROR_ABSENT)
		error_set(&why, ERROR_ABSENT, "deleted in the meantime");
	error_pass(err, &why);
	error_wrap(err, "%s", what);
	return -1;
}

void
lock_give(int dirfd, int lock)
{
	if (lock < 0)
		return;
	/* Not if somebody removed it, and another one made it anew. */
	if (has_name(dirfd, lock))
		(void)unlinkat(dirfd, LOCK_FILE, 0);
	close(lock);
}
