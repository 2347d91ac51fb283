/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim.c - preloaded into a command, makes one chosen file operation fail, or
 * kills the process just before or after it.  Environment:
 *
 *   SHIM_COUNT_FILE=PATH  at exit, append the number of operations as a line
 *   SHIM_TRACE=PATH       append a line for each: number, name, path
 *   SHIM_FAIL_AT=N        the N-th operation (from 1) fails with ...
 *   SHIM_ERRNO=NAME       ... this error (a number, ENOSPC, EIO, EACCES, EROFS,
 *                         EDQUOT, EMFILE, ENOMEM, EINTR, EPERM, ENOLCK);
 *                         default EIO
 *   SHIM_STICKY=1         every later one fails, too, except unlink: the disk
 *                         stays full
 *   SHIM_SHORT=1          if the N-th operation is a transfer, it transfers
 *                         half of its bytes instead of failing; later ones
 *                         succeed or, with SHIM_STICKY, fail
 *   SHIM_KILL_AT=N        SIGKILL before the N-th operation
 *   SHIM_KILL_AFTER=N     SIGKILL after it
 *   SHIM_PATH=TEXT        count only operations on a path that contains TEXT
 *                         (rename, link: the new path)
 *   SHIM_OP=TEXT          count only operations whose name begins with TEXT
 *   SHIM_START=TEXT       ... beginning with the first that contains TEXT
 *   SHIM_READS=1          count reads, too
 *   SHIM_BELOW=N, SHIM_FROM=N  of the reads with an offset, count only those
 *                         that begin before byte N, or reach byte N or more
 *   SHIM_ALL=1            count all: reads, stat, access, locks, maps, close
 *                         (which closes, whatever it returns)
 *
 * Operations: opening, writing, syncing, truncating, allocating, renaming,
 * linking, removing, making directories, changing mode, owner and times.
 * Nothing on descriptors 0 to 2.  Calls inside the C library
 * (stdio, opendir) are not covered.  A child process starts counting at zero.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The definition of `name` that this library overrides.  Looked up on each
 * call: speed does not matter here. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Append a line to a file, bypassing the wrappers below. */
static void
append(const char *file, const char *line)
{
	int fd = REAL(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			    0666);

	if (fd < 0)
		return;
	if (REAL(write)(fd, line, strlen(line)) < 0)
		abort();
	REAL(close)(fd);
}

static atomic_ulong counted;
static atomic_bool started;

static unsigned long
setting(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? strtoul(value, NULL, 10) : 0;
}

static bool
counts_all(void)
{
	return setting("SHIM_ALL") > 0;
}

static int
wanted_errno(void)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
		{ "ENOSPC", ENOSPC }, { "EIO", EIO },
		{ "EACCES", EACCES }, { "EROFS", EROFS },
		{ "EDQUOT", EDQUOT }, { "EMFILE", EMFILE },
		{ "ENOMEM", ENOMEM }, { "EINTR", EINTR },
		{ "EPERM", EPERM },   { "ENOLCK", ENOLCK },
	};
	const char *value = getenv("SHIM_ERRNO");

	for (size_t i = 0; value != NULL && i < sizeof(known) / sizeof(*known);
	     i++)
		if (strcmp(value, known[i].name) == 0)
			return known[i].number;
	return setting("SHIM_ERRNO") > 0 ? (int)setting("SHIM_ERRNO") : EIO;
}

__attribute__((destructor)) static void
write_count(void)
{
	const char *file = getenv("SHIM_COUNT_FILE");
	char line[32];

	if (file == NULL)
		return;
	snprintf(line, sizeof(line), "%lu\n", atomic_load(&counted));
	append(file, line);
}

/* The path of an operation: that of `fd`, followed by "/name" if `name` is
 * relative. */
static void
full_path(char to[static 2 * PATH_MAX], int fd, const char *name)
{
	char link[64] = "/proc/self/cwd";
	ssize_t len = 0;

	if (fd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (name == NULL || name[0] != '/')
		len = readlink(link, to, PATH_MAX - 1);
	if (len < 0)
		len = 0;
	to[len] = '\0';
	if (name != NULL)
		snprintf(to + len, PATH_MAX, "%s%s", len > 0 ? "/" : "", name);
}

struct op {
	unsigned long number; /* 0: not counted */
	bool halve;
};

static bool
counts(const char *path)
{
	const char *start = getenv("SHIM_START");
	const char *only = getenv("SHIM_PATH");
	size_t len = strlen(path);

	/* Compiler coverage writes these files at exit. */
	if (len > 5 && strcmp(path + len - 5, ".gcda") == 0)
		return false;
	if (start != NULL && strstr(path, start) != NULL)
		atomic_store(&started, true);
	if (start != NULL && !atomic_load(&started))
		return false;
	return only == NULL || strstr(path, only) != NULL;
}

static bool
counts_op(const char *what)
{
	const char *only = getenv("SHIM_OP");

	return only == NULL || strncmp(what, only, strlen(only)) == 0;
}

/*
 * Count operation `what` on `name` below `fd` (NULL: on fd itself).  Returns
 * true if it must fail, with errno set.  `len`: bytes to transfer.
 */
static bool
enter(struct op *op, const char *what, int fd, const char *name, size_t len)
{
	char path[2 * PATH_MAX], line[2 * PATH_MAX + 64];
	unsigned long at = setting("SHIM_FAIL_AT");
	bool sticky = setting("SHIM_STICKY") > 0;
	int saved = errno;

	*op = (struct op){ .number = 0 };
	if (name == NULL && fd >= 0 && fd <= 2)
		return false;
	full_path(path, fd, name);
	errno = saved;
	if (!counts(path) || !counts_op(what))
		return false;
	op->number = atomic_fetch_add(&counted, 1) + 1;
	if (getenv("SHIM_TRACE") != NULL) {
		snprintf(line, sizeof(line), "%lu %s %s\n", op->number, what,
			 path);
		append(getenv("SHIM_TRACE"), line);
		errno = saved;
	}
	if (op->number == setting("SHIM_KILL_AT"))
		kill(getpid(), SIGKILL);
	if (at == 0 || op->number < at || (op->number > at && !sticky))
		return false;
	if (op->number == at && setting("SHIM_SHORT") > 0) {
		op->halve = len > 1;
		return false;
	}
	if (op->number > at && strncmp(what, "unlink", 6) == 0)
		return false;
	errno = wanted_errno();
	return true;
}

static long
leave(const struct op *op, long result)
{
	if (op->number > 0 && op->number == setting("SHIM_KILL_AFTER"))
		kill(getpid(), SIGKILL);
	return result;
}

/* Define the wrapper of an operation that transfers no bytes. */
#define WRAP(name, params, args, fd, path) \
	int name params \
	{ \
		struct op op; \
\
		if (enter(&op, #name, fd, path, 0)) \
			return -1; \
		return (int)leave(&op, REAL(name) args); \
	}

/* --- Opening --- */

#define WRAP_OPEN(name, params, args, fd) \
	int name params \
	{ \
		struct op op; \
		mode_t mode = 0; \
		va_list ap; \
\
		if ((flags & O_CREAT) != 0 || \
		    (flags & O_TMPFILE) == O_TMPFILE) { \
			va_start(ap, flags); \
			mode = va_arg(ap, mode_t); \
			va_end(ap); \
		} \
		if (enter(&op, #name, fd, path, 0)) \
			return -1; \
		return (int)leave(&op, REAL(name) args); \
	}

WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode),
	  AT_FDCWD)
WRAP_OPEN(openat, (int dir, const char *path, int flags, ...),
	  (dir, path, flags, mode), dir)
WRAP_OPEN(openat64, (int dir, const char *path, int flags, ...),
	  (dir, path, flags, mode), dir)
WRAP(creat, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
WRAP(creat64, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)

/* _FORTIFY_SOURCE calls this in place of open(). */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
WRAP(__open_2, (const char *path, int flags), (path, flags), AT_FDCWD, path)
WRAP(__open64_2, (const char *path, int flags), (path, flags), AT_FDCWD, path)
WRAP(__openat_2, (int dir, const char *path, int flags), (dir, path, flags),
     dir, path)
WRAP(__openat64_2, (int dir, const char *path, int flags), (dir, path, flags),
     dir, path)

/* The C library has no wrapper for openat2.  Other system calls pass
 * through. */
long
syscall(long number, ...)
{
	struct op op = { .number = 0 };
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_openat2 &&
	    enter(&op, "openat2", (int)a[0], (const char *)a[1], 0))
		return -1;
	return leave(&op,
		     REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* --- Transfers --- */

#define WRAP_TRANSFER(name, params, args, fd) \
	ssize_t name params \
	{ \
		struct op op; \
\
		if (enter(&op, #name, fd, NULL, len)) \
			return -1; \
		if (op.halve) \
			len /= 2; \
		return leave(&op, REAL(name) args); \
	}

WRAP_TRANSFER(write, (int fd, const void *data, size_t len), (fd, data, len),
	      fd)
WRAP_TRANSFER(pwrite, (int fd, const void *data, size_t len, off_t off),
	      (fd, data, len, off), fd)
WRAP_TRANSFER(pwrite64, (int fd, const void *data, size_t len, off64_t off),
	      (fd, data, len, off), fd)
WRAP_TRANSFER(copy_file_range,
	      (int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
	       unsigned flags),
	      (from, from_off, to, to_off, len, flags), to)

/* A halved transfer does half of its first part. */
ssize_t
writev(int fd, const struct iovec *part, int count)
{
	struct op op;
	struct iovec half;

	if (enter(&op, "writev", fd, NULL, count > 0 ? part[0].iov_len : 0))
		return -1;
	if (op.halve) {
		half = part[0];
		half.iov_len /= 2;
		return leave(&op, REAL(writev)(fd, &half, 1));
	}
	return leave(&op, REAL(writev)(fd, part, count));
}

static bool
counts_range(off64_t off, size_t len)
{
	unsigned long below = setting("SHIM_BELOW");

	return (below == 0 || (unsigned long)off < below) &&
	       (unsigned long)off + len > setting("SHIM_FROM");
}

#define WRAP_READ(name, params, args, off) \
	ssize_t name params \
	{ \
		struct op op = { .number = 0 }; \
\
		if ((setting("SHIM_READS") > 0 || counts_all()) && \
		    counts_range(off, len) && \
		    enter(&op, #name, fd, NULL, len)) \
			return -1; \
		if (op.halve) \
			len /= 2; \
		return leave(&op, REAL(name) args); \
	}

WRAP_READ(read, (int fd, void *data, size_t len), (fd, data, len), 0)
WRAP_READ(pread, (int fd, void *data, size_t len, off_t off),
	  (fd, data, len, off), off)
WRAP_READ(pread64, (int fd, void *data, size_t len, off64_t off),
	  (fd, data, len, off), off)

/* --- The rest --- */

WRAP(fsync, (int fd), (fd), fd, NULL)
WRAP(syncfs, (int fd), (fd), fd, NULL)
WRAP(fdatasync, (int fd), (fd), fd, NULL)
WRAP(ftruncate, (int fd, off_t len), (fd, len), fd, NULL)
WRAP(ftruncate64, (int fd, off64_t len), (fd, len), fd, NULL)
WRAP(fallocate, (int fd, int mode, off_t off, off_t len), (fd, mode, off, len),
     fd, NULL)
WRAP(fallocate64, (int fd, int mode, off64_t off, off64_t len),
     (fd, mode, off, len), fd, NULL)
WRAP(rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
WRAP(renameat, (int fromdir, const char *from, int dir, const char *to),
     (fromdir, from, dir, to), dir, to)
WRAP(renameat2,
     (int fromdir, const char *from, int dir, const char *to, unsigned flags),
     (fromdir, from, dir, to, flags), dir, to)
WRAP(link, (const char *from, const char *to), (from, to), AT_FDCWD, to)
WRAP(linkat,
     (int fromdir, const char *from, int dir, const char *to, int flags),
     (fromdir, from, dir, to, flags), dir, to)
WRAP(unlink, (const char *path), (path), AT_FDCWD, path)
WRAP(unlinkat, (int dir, const char *path, int flags), (dir, path, flags), dir,
     path)
WRAP(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
WRAP(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), dir,
     path)
WRAP(fchmod, (int fd, mode_t mode), (fd, mode), fd, NULL)
WRAP(fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), fd, NULL)
WRAP(futimens, (int fd, const struct timespec times[2]), (fd, times), fd, NULL)
WRAP(utimensat,
     (int dir, const char *path, const struct timespec times[2], int flags),
     (dir, path, times, flags), dir, path)

/* --- What is counted only if all is --- */

#define WRAP_MORE(name, params, args, fd, path) \
	int name params \
	{ \
		struct op op = { .number = 0 }; \
\
		if (counts_all() && enter(&op, #name, fd, path, 0)) \
			return -1; \
		return (int)leave(&op, REAL(name) args); \
	}

WRAP_MORE(stat, (const char *path, struct stat *st), (path, st), AT_FDCWD, path)
WRAP_MORE(lstat, (const char *path, struct stat *st), (path, st), AT_FDCWD,
	  path)
WRAP_MORE(fstat, (int fd, struct stat *st), (fd, st), fd, NULL)
WRAP_MORE(fstatat, (int dir, const char *path, struct stat *st, int flags),
	  (dir, path, st, flags), dir, path)
WRAP_MORE(access, (const char *path, int mode), (path, mode), AT_FDCWD, path)
WRAP_MORE(flock, (int fd, int what), (fd, what), fd, NULL)

int
close(int fd)
{
	struct op op = { .number = 0 };
	const bool fails =
		counts_all() && fd >= 0 && enter(&op, "close", fd, NULL, 0);
	const int saved = errno;
	const int rc = (int)leave(&op, REAL(close)(fd));

	if (!fails)
		return rc;
	errno = saved;
	return -1;
}

int
fcntl(int fd, int command, ...)
{
	struct op op = { .number = 0 };
	va_list ap;
	void *arg = NULL;

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (counts_all() &&
	    (command == F_OFD_SETLK || command == F_OFD_SETLKW) &&
	    enter(&op, "fcntl", fd, NULL, 0))
		return -1;
	return (int)leave(&op, REAL(fcntl)(fd, command, arg));
}

void *
mmap(void *at, size_t len, int protection, int flags, int fd, off_t off)
{
	struct op op = { .number = 0 };

	if (counts_all() && fd >= 0 && enter(&op, "mmap", fd, NULL, 0))
		return MAP_FAILED;
	return REAL(mmap)(at, len, protection, flags, fd, off);
}
