/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.c - the lock file of a dataset's directory.
 *
 * The holder removes the lock file when it releases the lock, so that the
 * directory of a dataset is left as it was found.  A process may therefore lock
 * a file that has just been removed: a lock is valid only if the locked file
 * still has its name.
 */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "room.h"
#include "work.h"

/* Nanoseconds between two attempts to take a lock. */
#define LOCK_PAUSE 20000000

/* Seconds for which a process that was given up may still hold its shares: as
 * long as a file system needs to notice that a node is gone. */
#define PATIENCE 90

bool
lock_unsupported(const struct error *err)
{
	return err->kind == ERROR_SYSTEM &&
	       (err->errnum == ENOSYS || err->errnum == ENOLCK ||
		err->errnum == EOPNOTSUPP);
}

/* Is the file open as `fd` the one that has the name LOCK_FILE now? */
static bool
has_name(int dirfd, const char *name, int fd)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 &&
	       dir_stat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int
lock_take(int dirfd, const char *what, const struct work *w, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE };
	struct error why = ERROR_INIT;
	bool reported = false;
	int fd = -1;

	/* Poll, because a wait in the kernel would not end when the user asks
	 * to stop. */
	for (;;) {
		/* A valid lock: the file may have been removed just now. */
		do {
			io_close(fd);
			fd = io_trylock(dirfd, LOCK_FILE, true, &why);
		} while (fd >= 0 && !has_name(dirfd, LOCK_FILE, fd));
		if (fd >= 0)
			return fd;
		if (why.kind != ERROR_SYSTEM || why.errnum != EWOULDBLOCK)
			break;
		if (work_stopped(w)) {
			error_set(err, ERROR_SYSTEM,
				  "%s: interrupted while waiting", what);
			return -1;
		}
		if (!reported)
			work_say(w, "%s: in use by another process, waiting",
				 what);
		reported = true;
		nanosleep(&pause, NULL);
	}
	/* No room for the lock file: lock the directory instead.  This does not
	 * exclude a process that holds a lock file. */
	if (room_is_short(&why)) {
		error_clear(&why);
		fd = io_lock_dir(dirfd, w->stop, &why);
		if (fd >= 0)
			return fd;
	}
	if (lock_unsupported(&why)) {
		(void)unlinkat(dirfd, LOCK_FILE, 0);
		work_say(w,
			 "%s: " LOCK_NONE ": do not work on one dataset with "
			 "two commands at once",
			 what);
		return -2;
	}
	/* A directory that we cannot write to needs no lock: we change nothing
	 * in it. */
	if (why.kind == ERROR_SYSTEM &&
	    (why.errnum == EROFS || why.errnum == EACCES ||
	     why.errnum == EPERM))
		return -2;
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
	/* The name may belong to another process's lock file by now. */
	if (has_name(dirfd, LOCK_FILE, lock))
		(void)unlinkat(dirfd, LOCK_FILE, 0);
	close(lock);
}

/* --- Shares --- */

/* A number is locked as a byte of the file.  Byte 0 stands for the file itself:
 * each process holds a shared lock on it, and one that gets an exclusive lock
 * may remove the file. */
static int
lock_bytes(int fd, short type, uint64_t first, uint64_t last)
{
	struct flock what = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)first,
		.l_len = (off_t)(last - first + 1),
	};

	return fcntl(fd, F_OFD_SETLK, &what);
}

int
lock_shares_open(int dirfd, bool (*stop)(void), struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE };
	int fd = -1;

	for (;;) {
		fd = io_open(dirfd, LOCK_SHARES_FILE, O_RDWR | O_CREAT, 0666,
			     err);
		if (fd < 0)
			return -1;
		if (lock_bytes(fd, F_RDLCK, 0, 0) == 0) {
			if (has_name(dirfd, LOCK_SHARES_FILE, fd))
				return fd;
		} else if (errno == EAGAIN || errno == EACCES) {
			/* It is being removed. */
			if (stop != NULL && stop()) {
				close(fd);
				errno = EINTR;
				return error_sys(err, "stopped");
			}
			nanosleep(&pause, NULL);
		} else {
			(void)unlinkat(dirfd, LOCK_SHARES_FILE, 0);
			close(fd);
			return -2;
		}
		close(fd);
	}
}

bool
lock_shares_take(int lock, uint64_t first, uint64_t last)
{
	return lock < 0 || lock_bytes(lock, F_WRLCK, first + 1, last + 1) == 0;
}

void
lock_shares_close(int dirfd, int lock)
{
	if (lock < 0)
		return;
	if (lock_bytes(lock, F_WRLCK, 0, 0) == 0 &&
	    has_name(dirfd, LOCK_SHARES_FILE, lock))
		(void)unlinkat(dirfd, LOCK_SHARES_FILE, 0);
	close(lock);
}

int
lock_shares_wait(int dirfd, const char *what,
		 bool (*take)(const void *arg, int lock), const void *arg,
		 bool (*stop)(void), struct error *err)
{
	const struct timespec pause = { .tv_nsec = 5 * LOCK_PAUSE };
	const double end = clock_seconds() + PATIENCE;
	struct error why = ERROR_INIT;
	int lock = -1;

	if (take == NULL &&
	    faccessat(dirfd, LOCK_SHARES_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return -2;
	for (;;) {
		lock = lock_shares_open(dirfd, stop, &why);
		/* Without room, or the right to write there, for the file. */
		if (lock == -1 &&
		    (room_is_short(&why) ||
		     (why.kind == ERROR_SYSTEM &&
		      (why.errnum == EACCES || why.errnum == EPERM ||
		       why.errnum == EROFS)))) {
			error_clear(&why);
			return -2;
		}
		if (lock == -1)
			return error_pass(err, &why);
		if (lock < 0 ||
		    (take == NULL ? lock_shares_take(lock, 0, INT32_MAX)
				  : take(arg, lock)))
			return lock;
		lock_shares_close(dirfd, lock);
		if (clock_seconds() > end || (stop != NULL && stop()))
			break;
		nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_SYSTEM,
			 "%s: another process writes files there; run this "
			 "again when it has ended",
			 what);
}

/* --- Looking --- */

bool
lock_busy(int dirfd)
{
	struct error why = ERROR_INIT;
	int fd = openat(dirfd, LOCK_SHARES_FILE,
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool busy =
		fd < 0 ? errno != ENOENT : lock_bytes(fd, F_WRLCK, 0, 0) < 0;

	io_close(fd);
	if (busy || faccessat(dirfd, LOCK_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return busy;
	fd = io_trylock(dirfd, LOCK_FILE, true, &why);
	io_close(fd);
	return fd < 0;
}
