/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload.c - libscr_preload.so: the file functions of libc for programs that
 * know nothing of stores.
 *
 * Each function makes the same call of libc unless the store has a faster way
 * (store/file.h).  A function that is missing here is right, and slower: that
 * is the rule for what may be added, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

#include "preload/preload.h"
#include "store/file.h"

/* Some are macros. */
#undef fwrite_unlocked

#define OURS __attribute__((visibility("default")))

/* The functions of libc, found before a program calls any of ours, or a library
 * does in its constructor. */
/* clang-format off */
#define NAMES(X) \
	X(open) X(openat) X(fopen) \
	X(write) X(pwrite) X(writev) X(fwrite) \
	X(fwrite_unlocked) X(close) X(fclose) X(dup) X(dup2) X(dup3) \
	X(fcntl) X(lockf) X(unlink) X(unlinkat) \
	X(mmap) X(remove) X(rename) X(renameat) X(chdir) X(fchdir)
#ifdef __GLIBC__
#define NAMES_64(X) \
	X(open64) X(openat64) X(fopen64) X(pwrite64) X(fcntl64) X(lockf64) \
	X(mmap64)
#else
#define NAMES_64(X)
#endif
/* clang-format on */

static struct {
	bool found;
#define MEMBER(name) __typeof__(&name) name;
	NAMES(MEMBER)
	NAMES_64(MEMBER)
} libc;

static void
find(void)
{
	void *f = NULL;

	/* ISO C has no other way from a pointer to a function. */
#define FIND(name) \
	f = dlsym(RTLD_NEXT, #name); \
	memcpy(&libc.name, &f, sizeof(f));
	NAMES(FIND)
	NAMES_64(FIND)
	libc.found = true;
}

#define LIBC(name) (libc.found ? (void)0 : find(), libc.name)

/* --- Open --- */

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name) \
	OURS int name(const char *path, int flags, ...) \
	{ \
		mode_t mode = 0; \
		va_list ap; \
		int fd = -1; \
\
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		if ((flags & O_CREAT) != 0 && store_used()) \
			fd = store_create(AT_FDCWD, path, flags, mode); \
		return fd >= 0 ? fd : LIBC(name)(path, flags, mode); \
	}
OPEN(open)

#define OPENAT(name) \
	OURS int name(int dir, const char *path, int flags, ...) \
	{ \
		mode_t mode = 0; \
		va_list ap; \
		int fd = -1; \
\
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		if ((flags & O_CREAT) != 0 && store_used()) \
			fd = store_create(dir, path, flags, mode); \
		return fd >= 0 ? fd : LIBC(name)(dir, path, flags, mode); \
	}
OPENAT(openat)

OURS int
creat(const char *path, mode_t mode)
{
	return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* "w", "w+", with "b", "e" and "x"; others are libc's. */
static FILE *
fopen_new(const char *path, const char *how)
{
	int flags = O_CREAT | O_TRUNC, fd = -1;
	FILE *f = NULL;

	if (!store_used() || how[0] != 'w' ||
	    how[1 + strspn(how + 1, "+bex")] != '\0')
		return NULL;
	flags |= strchr(how, '+') != NULL ? O_RDWR : O_WRONLY;
	flags |= strchr(how, 'e') != NULL ? O_CLOEXEC : 0;
	flags |= strchr(how, 'x') != NULL ? O_EXCL : 0;
	fd = store_create(AT_FDCWD, path, flags, 0666);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, how);
	if (f == NULL)
		close(fd);
	return f;
}

#define FOPEN(name) \
	OURS FILE *name(const char *path, const char *how) \
	{ \
		FILE *f = fopen_new(path, how); \
\
		return f != NULL ? f : LIBC(name)(path, how); \
	}
FOPEN(fopen)

/* --- Write --- */

/* A write failed, and may succeed without the pool. */
static bool
retry(int fd, size_t n)
{
	return errno == ENOSPC && store_used() && store_make_room(fd, n);
}

OURS ssize_t
write(int fd, const void *data, size_t n)
{
	ssize_t done = store_write(fd, data, n);

	if (done == STORE_KERNEL)
		done = LIBC(write)(fd, data, n);
	return done < 0 && retry(fd, n) ? LIBC(write)(fd, data, n) : done;
}

#define PWRITE(name, off_type) \
	OURS ssize_t name(int fd, const void *data, size_t n, off_type off) \
	{ \
		ssize_t done = store_pwrite(fd, data, n, off); \
\
		if (done == STORE_KERNEL) \
			done = LIBC(name)(fd, data, n, off); \
		return done < 0 && retry(fd, n) ? LIBC(name)(fd, data, n, off) \
						: done; \
	}
PWRITE(pwrite, off_t)

OURS ssize_t
writev(int fd, const struct iovec *v, int count)
{
	const ssize_t done = store_writev(fd, v, count);

	return done != STORE_KERNEL ? done : LIBC(writev)(fd, v, count);
}

/* The stream's own bytes are written first; then it learns that the position
 * has moved. */
static bool
fwrite_large(const void *data, size_t n, FILE *f)
{
	const int fd = fileno_unlocked(f);
	off_t at = 0;

	if (!store_has(fd, n) || !__fwritable(f) || fwide(f, 0) > 0 ||
	    fflush_unlocked(f) != 0)
		return false;
	at = ftello(f);
	return at >= 0 && store_pwrite(fd, data, n, at) == (ssize_t)n &&
	       fseeko(f, at + (off_t)n, SEEK_SET) == 0;
}

OURS size_t
fwrite(const void *data, size_t size, size_t count, FILE *f)
{
	size_t n = 0;
	bool done = false;

	if (store_used() && !__builtin_mul_overflow(size, count, &n) &&
	    n >= STORE_STREAM) {
		flockfile(f);
		done = fwrite_large(data, n, f);
		funlockfile(f);
	}
	return done ? count : LIBC(fwrite)(data, size, count, f);
}

OURS size_t
fwrite_unlocked(const void *data, size_t size, size_t count, FILE *f)
{
	size_t n = 0;

	if (store_used() && !__builtin_mul_overflow(size, count, &n) &&
	    n >= STORE_STREAM && fwrite_large(data, n, f))
		return count;
	return LIBC(fwrite_unlocked)(data, size, count, f);
}

/* --- Close --- */

OURS int
close(int fd)
{
	store_closing(fd);
	return LIBC(close)(fd);
}

OURS int
fclose(FILE *f)
{
	if (store_has(fileno(f), SIZE_MAX) && fflush(f) == 0)
		store_closing(fileno(f));
	return LIBC(fclose)(f);
}

OURS int
dup(int fd)
{
	const int to = LIBC(dup)(fd);

	if (to >= 0)
		store_duped(fd);
	return to;
}

OURS int
dup2(int fd, int to)
{
	int got = -1;

	if (fd != to)
		store_closing(to);
	got = LIBC(dup2)(fd, to);
	if (got >= 0 && fd != to)
		store_duped(fd);
	return got;
}

OURS int
dup3(int fd, int to, int flags)
{
	int got = -1;

	if (fd != to)
		store_closing(to);
	got = LIBC(dup3)(fd, to, flags);
	if (got >= 0)
		store_duped(fd);
	return got;
}

#define FCNTL(name) \
	OURS int name(int fd, int what, ...) \
	{ \
		void *arg = NULL; \
		va_list ap; \
		int got = -1; \
\
		va_start(ap, what); \
		arg = va_arg(ap, void *); \
		va_end(ap); \
		if (what == F_SETLK || what == F_SETLKW) \
			store_locking(); \
		got = LIBC(name)(fd, what, arg); \
		if (got >= 0 && (what == F_DUPFD || what == F_DUPFD_CLOEXEC)) \
			store_duped(fd); \
		return got; \
	}
FCNTL(fcntl)

#define LOCKF(name, off_type) \
	OURS int name(int fd, int what, off_type n) \
	{ \
		store_locking(); \
		return LIBC(name)(fd, what, n); \
	}
LOCKF(lockf, off_t)

/* What the program maps, it may write from, or give to others: by the kernel
 * from now on. */
#define MMAP(name, off_type) \
	OURS void *name(void *at, size_t n, int prot, int flags, int fd, \
			off_type off) \
	{ \
		if (fd >= 0) \
			store_drop(fd); \
		return LIBC(name)(at, n, prot, flags, fd, off); \
	}
MMAP(mmap, off_t)

/* --- Names --- */

OURS int
unlink(const char *path)
{
	return store_unlink(AT_FDCWD, path) ? 0 : LIBC(unlink)(path);
}

OURS int
unlinkat(int dir, const char *path, int flags)
{
	return flags == 0 && store_unlink(dir, path)
		       ? 0
		       : LIBC(unlinkat)(dir, path, flags);
}

OURS int
remove(const char *path)
{
	return store_unlink(AT_FDCWD, path) ? 0 : LIBC(remove)(path);
}

OURS int
rename(const char *from, const char *to)
{
	struct store_kept kept;
	int rc = -1;

	store_renaming(AT_FDCWD, to, &kept);
	rc = LIBC(rename)(from, to);
	store_renamed(&kept);
	return rc;
}

OURS int
renameat(int dir, const char *from, int to_dir, const char *to)
{
	struct store_kept kept;
	int rc = -1;

	store_renaming(to_dir, to, &kept);
	rc = LIBC(renameat)(dir, from, to_dir, to);
	store_renamed(&kept);
	return rc;
}

OURS int
chdir(const char *path)
{
	const int rc = LIBC(chdir)(path);

	store_moved();
	return rc;
}

OURS int
fchdir(int fd)
{
	const int rc = LIBC(fchdir)(fd);

	store_moved();
	return rc;
}

/* --- The same for large files, where they have names of their own --- */

#ifdef __GLIBC__
OPEN(open64)
OPENAT(openat64)
FOPEN(fopen64)
PWRITE(pwrite64, off64_t)
FCNTL(fcntl64)
LOCKF(lockf64, off64_t)
MMAP(mmap64, off64_t)

OURS int
creat64(const char *path, mode_t mode)
{
	return creat(path, mode);
}
#endif

/* --- Start and end --- */

OURS int
scr_preload_use(const char *dir)
{
	return store_use(dir, NULL);
}

/* SCR_STORE=DIR[:DIR]...  A directory that is no store of the user is left
 * alone, as a program must not fail for lack of speed. */
__attribute__((constructor)) static void
start(void)
{
	const char *list = getenv("SCR_STORE");
	char dir[PATH_MAX];

	find();
	while (list != NULL && *list != '\0') {
		const size_t n = strcspn(list, ":");

		if (n > 0 && n < sizeof(dir)) {
			memcpy(dir, list, n);
			dir[n] = '\0';
			(void)store_use(dir, NULL);
		}
		list += n + (list[n] == ':');
	}
}

/* SCR_STORE_STATS=FILE: one line of each process. */
static void
tell(const char *path)
{
	const struct file_counts *c = store_counts();
	char line[200];
	int n = 0, fd = -1;

	n = snprintf(
		line, sizeof(line),
		"%d taken %llu writes %llu bytes %llu given %llu\n", getpid(),
		(unsigned long long)c->taken, (unsigned long long)c->writes,
		(unsigned long long)c->bytes, (unsigned long long)c->given);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, line, (size_t)n) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

__attribute__((destructor)) static void
end(void)
{
	const char *stats = getenv("SCR_STORE_STATS");

	store_leave();
	if (stats != NULL)
		tell(stats);
}
