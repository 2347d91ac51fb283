/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h - lists of the functions on files that the shims replace, in order to
 * count the calls, slow them down, or make them fail.  Calls that the C library
 * makes itself (stdio, opendir) are not covered.
 *
 *   CALLS_OPEN(X)   X(NAME, PARAMETERS, ARGUMENTS, FD) for functions that open
 *                   `path`; a mode may follow the flags
 *   CALLS_READ(X), CALLS_PREAD(X), CALLS_WRITE(X)
 *                   X(TYPE, NAME, PARAMETERS, ARGUMENTS, KIND, FD, PATH) for
 *                   functions that transfer `len` bytes
 *   CALLS_PLAIN(X)  the same for all others except close()
 *
 * FD is the descriptor of the directory to which the path is relative; PATH is
 * NULL if the call is on FD itself.  The C library has no function for
 * openat2(): see syscall().
 */
#ifndef SCRKIT_TEST_CALLS_H
#define SCRKIT_TEST_CALLS_H

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* The function that ours replaces.  It is looked up in each call, because speed
 * does not matter here. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The path of a call on `fd` (NULL), or on `name` below it. */
static inline void
calls_path(char to[static 2 * PATH_MAX], int fd, const char *name)
{
	char link[64] = "/proc/self/cwd";
	ssize_t len = 0;

	if (fd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (name == NULL || name[0] != '/')
		len = REAL(readlink)(link, to, PATH_MAX - 1);
	if (len < 0)
		len = 0;
	to[len] = '\0';
	if (name != NULL)
		snprintf(to + len, PATH_MAX, "%s%s", len > 0 ? "/" : "", name);
}

/* clang-format off */
#define KINDS(X) \
	X(open) X(stat) X(read) X(write) X(copy) X(sync) X(close) X(rename) \
	X(link) X(unlink) X(mkdir) X(chmod) X(chown) X(times) X(truncate) \
	X(lock)

#define NUMBER(name) KIND_##name,
enum kind { KINDS(NUMBER) NKINDS };

#define CALLS_OPEN(X) \
	X(open, (const char *path, int flags, ...), (path, flags, mode), \
	  AT_FDCWD) \
	X(open64, (const char *path, int flags, ...), (path, flags, mode), \
	  AT_FDCWD) \
	X(openat, (int dir, const char *path, int flags, ...), \
	  (dir, path, flags, mode), dir) \
	X(openat64, (int dir, const char *path, int flags, ...), \
	  (dir, path, flags, mode), dir)

#define CALLS_READ(X) \
	X(ssize_t, read, (int fd, void *data, size_t len), (fd, data, len), \
	  read, fd, NULL)

#define CALLS_PREAD(X) \
	X(ssize_t, pread, (int fd, void *data, size_t len, off_t off), \
	  (fd, data, len, off), read, fd, NULL) \
	X(ssize_t, pread64, (int fd, void *data, size_t len, off64_t off), \
	  (fd, data, len, off), read, fd, NULL)

#define CALLS_WRITE(X) \
	X(ssize_t, write, (int fd, const void *data, size_t len), \
	  (fd, data, len), write, fd, NULL) \
	X(ssize_t, pwrite, (int fd, const void *data, size_t len, off_t off), \
	  (fd, data, len, off), write, fd, NULL) \
	X(ssize_t, pwrite64, \
	  (int fd, const void *data, size_t len, off64_t off), \
	  (fd, data, len, off), write, fd, NULL) \
	X(ssize_t, copy_file_range, \
	  (int from, off64_t *from_off, int fd, off64_t *to_off, size_t len, \
	   unsigned flags), \
	  (from, from_off, fd, to_off, len, flags), copy, fd, NULL)

#define CALLS_STAT(X, suffix) \
	X(int, stat##suffix, (const char *path, struct stat##suffix *st), \
	  (path, st), stat, AT_FDCWD, path) \
	X(int, lstat##suffix, (const char *path, struct stat##suffix *st), \
	  (path, st), stat, AT_FDCWD, path) \
	X(int, fstat##suffix, (int fd, struct stat##suffix *st), (fd, st), \
	  stat, fd, NULL) \
	X(int, fstatat##suffix, \
	  (int dir, const char *path, struct stat##suffix *st, int flags), \
	  (dir, path, st, flags), stat, dir, path)

#define CALLS_PLAIN(X) \
	CALLS_STAT(X, ) \
	CALLS_STAT(X, 64) \
	X(int, statx, \
	  (int dir, const char *restrict path, int flags, unsigned mask, \
	   struct statx *restrict st), \
	  (dir, path, flags, mask, st), stat, dir, path) \
	X(int, access, (const char *path, int mode), (path, mode), stat, \
	  AT_FDCWD, path) \
	X(int, faccessat, (int dir, const char *path, int mode, int flags), \
	  (dir, path, mode, flags), stat, dir, path) \
	X(ssize_t, readlinkat, \
	  (int dir, const char *restrict path, char *restrict to, size_t n), \
	  (dir, path, to, n), stat, dir, path) \
	X(int, creat, (const char *path, mode_t mode), (path, mode), open, \
	  AT_FDCWD, path) \
	X(int, creat64, (const char *path, mode_t mode), (path, mode), open, \
	  AT_FDCWD, path) \
	X(int, fsync, (int fd), (fd), sync, fd, NULL) \
	X(int, fdatasync, (int fd), (fd), sync, fd, NULL) \
	X(int, syncfs, (int fd), (fd), sync, fd, NULL) \
	X(int, ftruncate, (int fd, off_t len), (fd, len), truncate, fd, NULL) \
	X(int, ftruncate64, (int fd, off64_t len), (fd, len), truncate, fd, \
	  NULL) \
	X(int, rename, (const char *from, const char *to), (from, to), rename, \
	  AT_FDCWD, to) \
	X(int, renameat, \
	  (int fromdir, const char *from, int dir, const char *to), \
	  (fromdir, from, dir, to), rename, dir, to) \
	X(int, renameat2, \
	  (int fromdir, const char *from, int dir, const char *to, \
	   unsigned flags), \
	  (fromdir, from, dir, to, flags), rename, dir, to) \
	X(int, link, (const char *from, const char *to), (from, to), link, \
	  AT_FDCWD, to) \
	X(int, linkat, \
	  (int fromdir, const char *from, int dir, const char *to, int flags), \
	  (fromdir, from, dir, to, flags), link, dir, to) \
	X(int, symlinkat, (const char *from, int dir, const char *to), \
	  (from, dir, to), link, dir, to) \
	X(int, unlink, (const char *path), (path), unlink, AT_FDCWD, path) \
	X(int, unlinkat, (int dir, const char *path, int flags), \
	  (dir, path, flags), unlink, dir, path) \
	X(int, rmdir, (const char *path), (path), unlink, AT_FDCWD, path) \
	X(int, mkdir, (const char *path, mode_t mode), (path, mode), mkdir, \
	  AT_FDCWD, path) \
	X(int, mkdirat, (int dir, const char *path, mode_t mode), \
	  (dir, path, mode), mkdir, dir, path) \
	X(int, fchmod, (int fd, mode_t mode), (fd, mode), chmod, fd, NULL) \
	X(int, fchmodat, (int dir, const char *path, mode_t mode, int flags), \
	  (dir, path, mode, flags), chmod, dir, path) \
	X(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), chown, \
	  fd, NULL) \
	X(int, fchownat, \
	  (int dir, const char *path, uid_t uid, gid_t gid, int flags), \
	  (dir, path, uid, gid, flags), chown, dir, path) \
	X(int, futimens, (int fd, const struct timespec times[2]), \
	  (fd, times), times, fd, NULL) \
	X(int, utimensat, \
	  (int dir, const char *path, const struct timespec times[2], \
	   int flags), \
	  (dir, path, times, flags), times, dir, path) \
	X(int, flock, (int fd, int operation), (fd, operation), lock, fd, NULL)
/* clang-format on */

/* The mode that follows `flags`; 0: none does. */
#define MODE_AFTER(flags) \
	({ \
		mode_t mode_ = 0; \
		va_list ap_; \
\
		va_start(ap_, flags); \
		if (((flags)&O_CREAT) != 0 || \
		    ((flags)&O_TMPFILE) == O_TMPFILE) \
			mode_ = va_arg(ap_, mode_t); \
		va_end(ap_); \
		mode_; \
	})

/* The arguments of syscall(), into a[6]. */
#define SYSCALL_ARGUMENTS(number, a) \
	do { \
		va_list ap_; \
\
		va_start(ap_, number); \
		for (int i_ = 0; i_ < 6; i_++) \
			(a)[i_] = va_arg(ap_, long); \
		va_end(ap_); \
	} while (0)

#endif
