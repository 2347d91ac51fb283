/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_temp.c - the file that is written in the place of another, by one
 * process at a time.
 *
 * Two may want to: nodes that share a cache, or a scavenge that is started
 * again while a node still works for the first.  A lock on the temporary file
 * itself ends with whoever holds it.  Where the file system has no locks, who
 * comes second takes over, and the first one sees that its file has no name
 * any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "io.h"
#include "scavenge/copy_impl.h"

/* Others that come and go at the same moment shall not keep us for ever. */
#define TRIES 100

static bool
has_name(const struct stat *file, int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* Is `name` the file that is open as `fd`? */
static bool
is_named(int fd, int dirfd, const char *name)
{
	struct stat st;

	return fstat(fd, &st) == 0 && has_name(&st, dirfd, name);
}

/*
 * Is the file, which is locked, ours to be written from its start?  It may be
 * what a run that was killed has left; but no hard link to something else that
 * somebody planted, nor what another process has put in place meanwhile.  What
 * need not be changed is not: to a parallel file system each change is one more
 * message.
 */
static bool
is_usable(int fd, int dirfd, const char *name, bool is_new)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       (is_new || st.st_uid == geteuid()) &&
	       has_name(&st, dirfd, name) &&
	       (st.st_size == 0 || ftruncate(fd, 0) == 0) &&
	       ((st.st_mode & 07777) == 0600 || fchmod(fd, 0600) == 0);
}

/* One try: a descriptor; -1: try again, unless *busy or an error is set. */
static int
try_open(int dirfd, const char *base, const char *temp, bool *busy,
	 struct error *err)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	bool is_new = true, locked = true;
	/* Private until it has its owner. */
	int fd = openat(dirfd, temp, flags | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && errno == EEXIST) {
		is_new = false;
		fd = openat(dirfd, temp, flags);
	}
	if (fd < 0 && is_new)
		return error_sys(err, "%s: cannot create", base);
	if (fd < 0) {
		(void)io_remove_tree(dirfd, temp, err);
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		*busy = errno == EWOULDBLOCK;
		locked = false;
	}
	if (!*busy && (locked ? is_usable(fd, dirfd, temp, is_new) : is_new))
		return fd;
	if (!*busy && is_named(fd, dirfd, temp))
		(void)io_remove_tree(dirfd, temp, err);
	close(fd);
	return -1;
}

int
copy_temp_open(int dirfd, const char *base, bool *busy, struct error *err)
{
	struct error why = ERROR_INIT;
	char temp[IO_TEMP_MAX];

	io_temp_name(temp, base);
	*busy = false;
	for (int i = 0; i < TRIES; i++) {
		int fd = try_open(dirfd, base, temp, busy, &why);

		if (fd >= 0 || *busy)
			return fd;
		if (why.kind != ERROR_NONE)
			return error_pass(err, &why);
	}
	errno = EBUSY;
	return error_sys(err, "%s: cannot create", base);
}

int
copy_temp_commit(int fd, int dirfd, const char *base, const char *name,
		 struct error *err)
{
	char temp[IO_TEMP_MAX];

	if (!is_named(fd, dirfd, io_temp_name(temp, base))) {
		errno = EBUSY;
		return error_sys(err, "%s: written by two at once", name);
	}
	if (renameat(dirfd, temp, dirfd, base) < 0)
		return error_sys(err, "%s: cannot put in place", name);
	return 0;
}

void
copy_temp_discard(int fd, int dirfd, const char *base)
{
	char temp[IO_TEMP_MAX];

	if (is_named(fd, dirfd, io_temp_name(temp, base)))
		(void)unlinkat(dirfd, temp, 0);
}
