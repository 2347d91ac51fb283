/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow.c - preloaded into a command: makes each call on a file as slow as on a
 * parallel file system, and counts the calls.  Environment:
 *
 *   SLOW_PATH=TEXT         only calls on a path that contains TEXT
 *   SLOW_USEC=N            each of them sleeps for N microseconds
 *   SLOW_COUNT_FILE=PATH   at exit, append a line "CALL NUMBER" for each kind
 *   SLOW_ALONE_FILE=PATH   the same, only calls that slept while no other did
 *
 * All calls that may send a request to a file server are counted.  Two groups
 * are not: sync_file_range and posix_fadvise, which are hints to the local
 * kernel; and reading directories, which the C library does internally.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The kinds of calls that are counted. */
/* clang-format off */
#define KINDS(X) \
	X(open) X(stat) X(read) X(write) X(copy) X(sync) X(close) X(rename) \
	X(link) X(unlink) X(mkdir) X(chmod) X(chown) X(times) X(truncate) \
	X(lock)
/* clang-format on */

#define NUMBER(name) KIND_##name,
enum kind { KINDS(NUMBER) NKINDS };
#define NAME(name) #name,
static const char *const names[] = { KINDS(NAME) };

static atomic_ulong counted[NKINDS], alone[NKINDS], asleep;

static void
write_numbers(const char *path, const atomic_ulong numbers[NKINDS])
{
	FILE *file = path != NULL ? fopen(path, "ae") : NULL;

	if (file == NULL)
		return;
	for (int i = 0; i < NKINDS; i++)
		if (numbers[i] > 0)
			fprintf(file, "%s %lu\n", names[i], numbers[i]);
	fclose(file);
}

__attribute__((destructor)) static void
write_counts(void)
{
	write_numbers(getenv("SLOW_COUNT_FILE"), counted);
	write_numbers(getenv("SLOW_ALONE_FILE"), alone);
}

static void
wait_for(enum kind kind, const struct timespec *t)
{
	const bool first = atomic_fetch_add(&asleep, 1) == 0;

	nanosleep(t, NULL);
	if (atomic_fetch_sub(&asleep, 1) == 1 && first)
		atomic_fetch_add(&alone[kind], 1);
}

/* Does a call on `name` below `fd` (NULL: on fd itself) count? */
static bool
counts(int fd, const char *name)
{
	char link[64] = "/proc/self/cwd", path[2 * PATH_MAX];
	const char *only = getenv("SLOW_PATH");
	ssize_t len = 0;

	if (only == NULL)
		return true;
	if (fd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (name == NULL || name[0] != '/')
		len = readlink(link, path, PATH_MAX - 1);
	if (len < 0)
		len = 0;
	snprintf(path + len, PATH_MAX, "/%s", name != NULL ? name : "");
	return strstr(path, only) != NULL;
}

static void
enter(enum kind kind, int fd, const char *name)
{
	const char *text = getenv("SLOW_USEC");
	long usec = text != NULL ? strtol(text, NULL, 10) : 0;
	const struct timespec t = { usec / 1000000, usec % 1000000 * 1000 };
	int saved = errno;

	if (counts(fd, name)) {
		atomic_fetch_add(&counted[kind], 1);
		if (usec > 0)
			wait_for(kind, &t);
	}
	errno = saved;
}

#define WRAP(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		enter(KIND_##kind, fd, path); \
		return REAL(name) args; \
	}

/* --- Opening --- */

#define WRAP_OPEN(name, params, args, fd) \
	int name params \
	{ \
		mode_t mode = 0; \
		va_list ap; \
\
		va_start(ap, flags); \
		if ((flags & O_CREAT) != 0) \
			mode = va_arg(ap, mode_t); \
		va_end(ap); \
		enter(KIND_open, fd, path); \
		return REAL(name) args; \
	}

WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(openat, (int dir, const char *path, int flags, ...),
	  (dir, path, flags, mode), dir)
WRAP_OPEN(openat64, (int dir, const char *path, int flags, ...),
	  (dir, path, flags, mode), dir)

/* openat2 has no wrapper in the C library, so its callers use syscall().  Other
 * system calls pass through. */
long
syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_openat2)
		enter(KIND_open, (int)a[0], (const char *)a[1]);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

WRAP(int, close, (int fd), (fd), close, fd, NULL)

/* --- Contents --- */

WRAP(ssize_t, read, (int fd, void *data, size_t len), (fd, data, len), read, fd,
     NULL)
WRAP(ssize_t, pread, (int fd, void *data, size_t len, off_t off),
     (fd, data, len, off), read, fd, NULL)
WRAP(ssize_t, pread64, (int fd, void *data, size_t len, off64_t off),
     (fd, data, len, off), read, fd, NULL)
WRAP(ssize_t, write, (int fd, const void *data, size_t len), (fd, data, len),
     write, fd, NULL)
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t len, off_t off),
     (fd, data, len, off), write, fd, NULL)
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t len, off64_t off),
     (fd, data, len, off), write, fd, NULL)
WRAP(ssize_t, copy_file_range,
     (int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
      unsigned flags),
     (from, from_off, to, to_off, len, flags), copy, to, NULL)
WRAP(int, fsync, (int fd), (fd), sync, fd, NULL)
WRAP(int, fdatasync, (int fd), (fd), sync, fd, NULL)
WRAP(int, ftruncate, (int fd, off_t len), (fd, len), truncate, fd, NULL)
WRAP(int, ftruncate64, (int fd, off64_t len), (fd, len), truncate, fd, NULL)

/* --- Names --- */

WRAP(int, rename, (const char *from, const char *to), (from, to), rename,
     AT_FDCWD, to)
WRAP(int, renameat, (int fromdir, const char *from, int dir, const char *to),
     (fromdir, from, dir, to), rename, dir, to)
WRAP(int, linkat,
     (int fromdir, const char *from, int dir, const char *to, int flags),
     (fromdir, from, dir, to, flags), link, dir, to)
WRAP(int, unlink, (const char *path), (path), unlink, AT_FDCWD, path)
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags),
     unlink, dir, path)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), mkdir, AT_FDCWD,
     path)
WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode),
     mkdir, dir, path)

/* --- Attributes --- */

#define WRAP_STATS(suffix) \
	WRAP(int, stat##suffix, (const char *path, struct stat##suffix *st), \
	     (path, st), stat, AT_FDCWD, path) \
	WRAP(int, lstat##suffix, (const char *path, struct stat##suffix *st), \
	     (path, st), stat, AT_FDCWD, path) \
	WRAP(int, fstat##suffix, (int fd, struct stat##suffix *st), (fd, st), \
	     stat, fd, NULL) \
	WRAP(int, fstatat##suffix, \
	     (int dir, const char *path, struct stat##suffix *st, int flags), \
	     (dir, path, st, flags), stat, dir, path)
WRAP_STATS()
WRAP_STATS(64)
WRAP(int, statx,
     (int dir, const char *restrict path, int flags, unsigned mask,
      struct statx *restrict st),
     (dir, path, flags, mask, st), stat, dir, path)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), chmod, fd, NULL)
WRAP(int, fchmodat, (int dir, const char *path, mode_t mode, int flags),
     (dir, path, mode, flags), chmod, dir, path)
WRAP(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), chown, fd,
     NULL)
WRAP(int, fchownat,
     (int dir, const char *path, uid_t uid, gid_t gid, int flags),
     (dir, path, uid, gid, flags), chown, dir, path)
WRAP(int, futimens, (int fd, const struct timespec times[2]), (fd, times),
     times, fd, NULL)
WRAP(int, utimensat,
     (int dir, const char *path, const struct timespec times[2], int flags),
     (dir, path, times, flags), times, dir, path)
WRAP(int, flock, (int fd, int operation), (fd, operation), lock, fd, NULL)
