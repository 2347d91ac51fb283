/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim.c - preloaded into a command, makes one chosen file operation fail, or
 * kills the process just before or after it.  Environment:
 *
 *   SHIM_COUNT_FILE=PATH  at exit, append the number of operations as a line
 *   SHIM_TRACE=PATH       append a line for each: number, name, path
 *   SHIM_FAIL_AT=N        the N-th operation (from 1) fails with ...
 *   SHIM_ERRNO=NAME       ... this error (a number, ENOSPC, EIO, EACCES, EROFS,
 *                         EDQUOT, EMFILE, ENOMEM, EINTR, EPERM, ENOLCK,
 *                         ENOENT, ESTALE); default EIO
 *   SHIM_STICKY=1         every later one fails, too: the disk stays full;
 *                         except unlink, unless SHIM_OP says so
 *   SHIM_SHORT=1          if the N-th operation is a transfer, it transfers
 *                         half of its bytes instead of failing; later ones
 *                         succeed or, with SHIM_STICKY, fail
 *   SHIM_KILL_AT=N        SIGKILL before the N-th operation
 *   SHIM_KILL_AFTER=N     SIGKILL after it
 *   SHIM_STOP_AT=N        SIGSTOP before the N-th operation
 *   SHIM_PATH=TEXT        count only operations on a path that contains TEXT
 *                         (rename, link: the new path)
 *   SHIM_OP=TEXT          count only operations whose name begins with TEXT;
 *                         "open:r", "open:w": opens for reading, for writing
 *   SHIM_START=TEXT       ... beginning with the first that contains TEXT
 *   SHIM_READS=1          count reads, too
 *   SHIM_BELOW=N, SHIM_FROM=N  of the reads with an offset, count only those
 *                         that begin before byte N, or reach byte N or more
 *   SHIM_ALL=1            count all: reads, stat, access, locks, maps, reading
 *                         directories, allocating, close (which closes,
 *                         whatever it returns)
 *
 * Operations: opening, writing, syncing, truncating, allocating, renaming,
 * linking, removing, making directories, changing mode, owner and times.
 * Nothing on descriptors 0 to 2.  See calls.h for what is covered.  A child
 * process starts counting at zero.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "calls.h"
#include "openat2.h"

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
		{ "ENOENT", ENOENT }, { "ESTALE", ESTALE },
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
	const char *end = only != NULL ? strchr(only, ':') : NULL;

	if (only == NULL)
		return true;
	if (end == NULL)
		return strncmp(what, only, strlen(only)) == 0;
	return strncmp(what, only, (size_t)(end - only)) == 0 &&
	       strchr(what, ':') != NULL && strcmp(strchr(what, ':'), end) == 0;
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
	calls_path(path, fd, name);
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
	if (op->number == setting("SHIM_STOP_AT"))
		kill(getpid(), SIGSTOP);
	if (at == 0 || op->number < at || (op->number > at && !sticky))
		return false;
	if (op->number == at && setting("SHIM_SHORT") > 0) {
		op->halve = len > 1;
		return false;
	}
	if (op->number > at && strncmp(what, "unlink", 6) == 0 &&
	    getenv("SHIM_OP") == NULL)
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

/* --- Opening --- */

/* The name of an open ends with ":r" or ":w": for reading or for writing. */
#define OPEN_NAME(name, flags) \
	(((flags)&O_ACCMODE) == O_RDONLY ? name ":r" : name ":w")

#define OPENS(name, params, args, fd) \
	int name params \
	{ \
		struct op op; \
		const mode_t mode = MODE_AFTER(flags); \
\
		if (enter(&op, OPEN_NAME(#name, flags), fd, path, 0)) \
			return -1; \
		return (int)leave(&op, REAL(name) args); \
	}

/* _FORTIFY_SOURCE calls these in place of open(). */
#define OPENS_2(name, params, args, fd) \
	int name params; \
	int name params \
	{ \
		struct op op; \
\
		if (enter(&op, OPEN_NAME(#name, flags), fd, path, 0)) \
			return -1; \
		return (int)leave(&op, REAL(name) args); \
	}

CALLS_OPEN(OPENS)
OPENS_2(__open_2, (const char *path, int flags), (path, flags), AT_FDCWD)
OPENS_2(__open64_2, (const char *path, int flags), (path, flags), AT_FDCWD)
OPENS_2(__openat_2, (int dir, const char *path, int flags), (dir, path, flags),
	dir)
OPENS_2(__openat64_2, (int dir, const char *path, int flags),
	(dir, path, flags), dir)

/* The C library has no wrapper for openat2.  Other system calls pass
 * through. */
long
syscall(long number, ...)
{
	struct op op = { .number = 0 };
	long a[6];

	SYSCALL_ARGUMENTS(number, a);
	if (number == SYS_openat2 &&
	    enter(&op,
		  OPEN_NAME("openat2",
			    ((const struct openat2_how *)a[2])->flags),
		  (int)a[0], (const char *)a[1], 0))
		return -1;
	return leave(&op,
		     REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* --- Transfers --- */

#define WRITES(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		struct op op; \
\
		if (enter(&op, #name, fd, path, len)) \
			return -1; \
		if (op.halve) \
			len /= 2; \
		return leave(&op, REAL(name) args); \
	}

CALLS_WRITE(WRITES)

/* A transfer to be halved writes half of its first part. */
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

#define READS_AT(at, type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		struct op op = { .number = 0 }; \
\
		if ((setting("SHIM_READS") > 0 || counts_all()) && \
		    counts_range(at, len) && enter(&op, #name, fd, path, len)) \
			return -1; \
		if (op.halve) \
			len /= 2; \
		return leave(&op, REAL(name) args); \
	}
#define READS(...) READS_AT(0, __VA_ARGS__)
#define PREADS(...) READS_AT(off, __VA_ARGS__)

CALLS_READ(READS)
CALLS_PREAD(PREADS)

/* --- The rest --- */

/* Calls of the kinds stat and lock are counted only with SHIM_ALL. */
#define PLAIN(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		struct op op = { .number = 0 }; \
\
		if ((counts_all() || (KIND_##kind != KIND_stat && \
				      KIND_##kind != KIND_lock)) && \
		    enter(&op, #name, fd, path, 0)) \
			return -1; \
		return (type)leave(&op, REAL(name) args); \
	}

CALLS_PLAIN(PLAIN)
PLAIN(int, fallocate, (int fd, int mode, off_t off, off_t len),
      (fd, mode, off, len), truncate, fd, NULL)
PLAIN(int, fallocate64, (int fd, int mode, off64_t off, off64_t len),
      (fd, mode, off, len), truncate, fd, NULL)

/* posix_fallocate() returns the error instead of setting errno. */
int
posix_fallocate(int fd, off_t at, off_t len)
{
	struct op op = { .number = 0 };

	if (counts_all() && enter(&op, "posix_fallocate", fd, NULL, 0))
		return errno;
	return (int)leave(&op, REAL(posix_fallocate)(fd, at, len));
}

/* --- What is counted only if all is --- */

struct dirent *
readdir(DIR *dir)
{
	struct op op = { .number = 0 };
	struct dirent *entry = NULL;

	if (counts_all() && enter(&op, "readdir", dirfd(dir), NULL, 0))
		return NULL;
	entry = REAL(readdir)(dir);
	leave(&op, 0);
	return entry;
}

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
