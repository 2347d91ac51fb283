/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slowdisk.c - preloaded into all programs of one node, makes files below one
 * directory slow.  Each program reads a line from /etc/slowdisk when it starts:
 *
 *   DIR BYTES_PER_SECOND
 *
 * Each thread has that rate for itself.
 *
 * Covered: read, pread, write, pwrite, their vector forms.  copy_file_range and
 * sendfile fail as in an old kernel, so that programs fall back to those.  Not
 * covered: mmap, calls inside the C library (stdio), static programs.  System
 * calls are made without the C library, so that builds with and without large
 * files behave the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char dir[256]; /* empty: no limit */
static double rate;

__attribute__((constructor)) static void
init(void)
{
	FILE *f;

	/* sshd's sandbox does not allow readlink(). */
	if (strcmp(program_invocation_short_name, "sshd") == 0)
		return;
	f = fopen("/etc/slowdisk", "re");
	if (f == NULL)
		return;
	if (fscanf(f, "%255s %lf", dir, &rate) < 2)
		dir[0] = '\0';
	fclose(f);
}

/* Is `fd` a file below `dir`? */
static bool
slow(int fd)
{
	char link[64], path[512];
	size_t len = strlen(dir);
	ssize_t n;
	int saved = errno;

	if (len == 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	errno = saved;
	if (n < 0)
		return false;
	path[n] = '\0';
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

/* Nanoseconds that a thread may be behind: a sleep ends late, by as much as
 * small transfers take. */
#define LATE 100000000

/* Wait as long as a transfer of `n` bytes takes; returns `n` (-1: error). */
static ssize_t
done(int fd, ssize_t n)
{
	static __thread int64_t due; /* when the transfers so far are over */
	struct timespec t;
	int64_t now;
	int saved = errno;

	if (n > 0 && slow(fd)) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
		due = (due + LATE < now ? now : due) +
		      (int64_t)((double)n / rate * 1e9);
		t.tv_sec = due / 1000000000;
		t.tv_nsec = due % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	errno = saved;
	return n;
}

#define TRANSFER(name, params, ...) \
	ssize_t name params \
	{ \
		return done(fd, syscall(__VA_ARGS__)); \
	}

typedef const struct iovec *vector;

TRANSFER(read, (int fd, void *p, size_t n), SYS_read, fd, p, n)
TRANSFER(pread, (int fd, void *p, size_t n, off_t at), SYS_pread64, fd, p, n,
	 at)
TRANSFER(pread64, (int fd, void *p, size_t n, off64_t at), SYS_pread64, fd, p,
	 n, at)
TRANSFER(readv, (int fd, vector v, int n), SYS_readv, fd, v, n)
TRANSFER(preadv, (int fd, vector v, int n, off_t at), SYS_preadv, fd, v, n, at,
	 0L)
TRANSFER(write, (int fd, const void *p, size_t n), SYS_write, fd, p, n)
TRANSFER(pwrite, (int fd, const void *p, size_t n, off_t at), SYS_pwrite64, fd,
	 p, n, at)
TRANSFER(pwrite64, (int fd, const void *p, size_t n, off64_t at), SYS_pwrite64,
	 fd, p, n, at)
TRANSFER(writev, (int fd, vector v, int n), SYS_writev, fd, v, n)
TRANSFER(pwritev, (int fd, vector v, int n, off_t at), SYS_pwritev, fd, v, n,
	 at, 0L)

#define REFUSED(name, params, ...) \
	ssize_t name params; \
	ssize_t name params \
	{ \
		if (!slow(from) && !slow(to)) \
			return syscall(__VA_ARGS__); \
		errno = ENOSYS; \
		return -1; \
	}

REFUSED(copy_file_range,
	(int from, off64_t *from_at, int to, off64_t *to_at, size_t n,
	 unsigned flags),
	SYS_copy_file_range, from, from_at, to, to_at, n, flags)
REFUSED(sendfile, (int to, int from, off_t *at, size_t n), SYS_sendfile, to,
	from, at, n)
