/* SPDX-License-Identifier: BSD-3-Clause */
/* io_lock.c - locks between processes and nodes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"

/* Nanoseconds between attempts: 1, 2, 4 ... 32 ms. */
#define PAUSE_MIN 1000000
#define PAUSE_MAX 32000000

/* Sleep, and make the next pause longer. */
static void
rest(struct timespec *pause)
{
	nanosleep(pause, NULL);
	if (pause->tv_nsec < PAUSE_MAX)
		pause->tv_nsec *= 2;
}

/* flock(2) that polls until `stop` is true (NULL: never).  A wait in the kernel
 * would not end, because signal handlers restart calls (app.c). */
static int
lock_fd(int fd, int operation, bool (*stop)(void))
{
	struct timespec pause = { .tv_nsec = PAUSE_MIN };
	const bool waits = stop != NULL && (operation & LOCK_NB) == 0;

	while (flock(fd, operation | (waits ? LOCK_NB : 0)) < 0) {
		if (errno != EINTR && (!waits || errno != EWOULDBLOCK))
			return -1;
		if (waits && stop()) {
			errno = EINTR;
			return -1;
		}
		if (waits)
			rest(&pause);
	}
	return 0;
}

/* The error of lock_fd(). */
static int
not_locked(const char *name, struct error *err)
{
	return error_sys(err, "%s: %s", name,
			 errno == EINTR
				 ? "stopped while waiting for another process"
				 : "cannot lock");
}

static int
lock_file(int dirfd, const char *name, int operation, bool (*stop)(void),
	  struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = io_open(dirfd, name, O_RDWR | O_CREAT, 0666, &why);

	/* Another user's lock file: read permission is enough to lock. */
	if (fd < 0 && why.errnum == EACCES)
		fd = io_open(dirfd, name, O_RDONLY, 0, NULL);
	if (fd < 0)
		return error_pass(err, &why);
	if (lock_fd(fd, operation, stop) < 0) {
		not_locked(name, err);
		close(fd);
		return -1;
	}
	return fd;
}

int
io_lock(int dirfd, const char *name, bool exclusive, bool (*stop)(void),
	struct error *err)
{
	return lock_file(dirfd, name, exclusive ? LOCK_EX : LOCK_SH, stop, err);
}

int
io_trylock(int dirfd, const char *name, bool exclusive, struct error *err)
{
	return lock_file(dirfd, name, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB,
			 NULL, err);
}

int
io_lock_dir(int dirfd, bool (*stop)(void), struct error *err)
{
	int fd = dir_open(dirfd, ".");

	if (fd >= 0 && lock_fd(fd, LOCK_EX, stop) == 0)
		return fd;
	not_locked("the directory", err);
	io_close(fd);
	return -1;
}

/* Take both kinds of lock, or neither. */
static int
lock_both(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (lock_fd(fd, LOCK_EX | LOCK_NB, NULL) < 0)
		return -1;
	/* If the file system has no such locks, flock() must do. */
	if (fcntl(fd, F_OFD_SETLK, &whole) == 0 ||
	    (errno != EAGAIN && errno != EACCES))
		return 0;
	flock(fd, LOCK_UN);
	errno = EWOULDBLOCK;
	return -1;
}

int
io_open_locked(int dirfd, const char *name, bool create, double seconds,
	       struct error *err)
{
	const int how = O_RDWR | (create ? O_CREAT : 0);
	struct timespec pause;
	struct stat st;
	double left = 0;
	int fd = -1;

	for (;;) {
		fd = io_open(dirfd, name, how, 0666, err);
		if (fd < 0)
			return -1;
		pause = (struct timespec){ .tv_nsec = PAUSE_MIN };
		for (left = seconds; lock_both(fd) < 0; rest(&pause)) {
			if (errno != EWOULDBLOCK || left <= 0) {
				error_sys(err, "%s: cannot lock", name);
				close(fd);
				return -1;
			}
			left -= (double)pause.tv_nsec * 1e-9;
		}
		if (fstat(fd, &st) == 0 && st.st_nlink > 0)
			return fd;
		close(fd); /* removed while we waited: open the new one */
	}
}
