/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slowdisk.c - preloaded into all programs of one node, makes files below one
 * directory slow, or makes writes to them fail.  Each program reads a line from
 * /etc/slowdisk when it starts:
 *
 *   DIR BYTES_PER_SECOND FSYNC_MS [FAIL_AFTER_BYTES ERRNO]
 *
 * A rate of 0 is no limit.  Each process has that rate for itself, and may
 * write FAIL_AFTER_BYTES bytes before all its writes fail with ERRNO (a
 * number).
 *
 * Covered: read, pread, write, pwrite, their vector forms, fsync, fdatasync.
 * copy_file_range and sendfile fail as in an old kernel, so that programs fall
 * back to those.  Not covered: mmap, calls inside the C library (stdio), static
 * programs.  System calls are made without the C library, so that builds with
 * and without large files behave the same.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char dir[256]; /* empty: no limits */
static double rate;
static long sync_ms;
static long fail_after = -1; /* -1: never */
static int fail_errno = EIO;
static atomic_long written;

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
	if (fscanf(f, "%255s %lf %ld %ld %d", dir, &rate, &sync_ms, &fail_after,
		   &fail_errno) < 2)
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

static void
nap(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

/* Wait as long as a transfer of `n` bytes takes; returns `n` (-1: error). */
static ssize_t
done(int fd, ssize_t n)
{
	int saved = errno;

	if (n > 0 && rate > 0 && slow(fd))
		nap((double)n / rate);
	errno = saved;
	return n;
}

/* Called before `n` bytes are written to `fd`: -1 with errno if it must
 * fail. */
static int
allowed(int fd, size_t n)
{
	if (fail_after < 0 || !slow(fd))
		return 0;
	if (atomic_fetch_add(&written, (long)n) + (long)n <= fail_after)
		return 0;
	errno = fail_errno;
	return -1;
}

static size_t
sum(const struct iovec *v, int count)
{
	size_t n = 0;

	for (int i = 0; i < count; i++)
		n += v[i].iov_len;
	return n;
}

ssize_t
read(int fd, void *data, size_t n)
{
	return done(fd, syscall(SYS_read, fd, data, n));
}

ssize_t
pread(int fd, void *data, size_t n, off_t at)
{
	return done(fd, syscall(SYS_pread64, fd, data, n, at));
}

ssize_t
pread64(int fd, void *data, size_t n, off64_t at)
{
	return pread(fd, data, n, at);
}

ssize_t
readv(int fd, const struct iovec *v, int count)
{
	return done(fd, syscall(SYS_readv, fd, v, count));
}

ssize_t
preadv(int fd, const struct iovec *v, int count, off_t at)
{
	return done(fd, syscall(SYS_preadv, fd, v, count, at, 0L));
}

ssize_t
write(int fd, const void *data, size_t n)
{
	if (allowed(fd, n) < 0)
		return -1;
	return done(fd, syscall(SYS_write, fd, data, n));
}

ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
	if (allowed(fd, n) < 0)
		return -1;
	return done(fd, syscall(SYS_pwrite64, fd, data, n, at));
}

ssize_t
pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	return pwrite(fd, data, n, at);
}

ssize_t
writev(int fd, const struct iovec *v, int count)
{
	if (allowed(fd, sum(v, count)) < 0)
		return -1;
	return done(fd, syscall(SYS_writev, fd, v, count));
}

ssize_t
pwritev(int fd, const struct iovec *v, int count, off_t at)
{
	if (allowed(fd, sum(v, count)) < 0)
		return -1;
	return done(fd, syscall(SYS_pwritev, fd, v, count, at, 0L));
}

int
fsync(int fd)
{
	if (sync_ms > 0 && slow(fd))
		nap((double)sync_ms / 1e3);
	return (int)syscall(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
	if (sync_ms > 0 && slow(fd))
		nap((double)sync_ms / 1e3);
	return (int)syscall(SYS_fdatasync, fd);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at,
			size_t n, unsigned flags);

ssize_t
copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t n,
		unsigned flags)
{
	if (!slow(from) && !slow(to))
		return syscall(SYS_copy_file_range, from, from_at, to, to_at, n,
			       flags);
	errno = ENOSYS;
	return -1;
}

ssize_t sendfile(int to, int from, off_t *at, size_t n);

ssize_t
sendfile(int to, int from, off_t *at, size_t n)
{
	if (!slow(from) && !slow(to))
		return syscall(SYS_sendfile, to, from, at, n);
	errno = ENOSYS;
	return -1;
}
