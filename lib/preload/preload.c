/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload.c - libscr_preload.so: the file functions of libc for programs that
 * know nothing of stores, or of libscr.
 *
 * Each function asks first whether its file belongs to a checkpoint (route.h),
 * then makes the same call of libc unless the store has a faster way
 * (store/file.h).  For the store, a function that is missing here is right, and
 * slower.  For routing, it has another file than the program means:
 * `scr_store check` lists those (cmd/store/check.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "path.h"
#include "preload/preload.h"
#include "preload/preload_impl.h"
#include "store/file.h"
#include "str.h"

LIBC_HOT_DATA struct preload_libc preload_libc;

void
preload_find(void)
{
	void *f = NULL;

	/* ISO C has no other way from a pointer to a function. */
#define FIND(name) \
	f = dlsym(RTLD_NEXT, #name); \
	memcpy(&preload_libc.name, &f, sizeof(f));
	NAMES(FIND)
	NAMES_64(FIND)
	NAMES_STAT(FIND)
	preload_libc.found = true;
}

bool
preload_asks(const void *caller)
{
	/* libscr and this one; MPI, whose files are those of several ranks. */
	static const char *const not_from[] = { "libscr.", "libscr_", "libmpi",
						"libmca_", "mca_" };
	Dl_info is;

	if (dladdr(caller, &is) == 0)
		return true;
	for (size_t i = 0; i < sizeof(not_from) / sizeof(not_from[0]); i++)
		if (str_starts(path_base(is.dli_fname), not_from[i]))
			return false;
	return true;
}

/* --- Open --- */

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
}

/* A new file of a store, or whatever is there. */
HOT static int
open_at(int dir, const char *path, int flags, mode_t mode)
{
	int fd = -1;

	if ((flags & O_CREAT) != 0 && store_used())
		fd = store_create(dir, path, flags, mode);
	if (fd >= 0)
		return fd;
	/* Another library that is preloaded may know one of them only. */
	return dir == AT_FDCWD ? LIBC(open)(path, flags, mode)
			       : LIBC(openat)(dir, path, flags, mode);
}

int
preload_open(int dir, const char *path, int flags, mode_t mode)
{
	struct route_open to;
	int fd = -1;

	if (!route_open(&to, dir, path, flags, false))
		return open_at(dir, path, flags | O_LARGEFILE, mode);
	fd = open_at(AT_FDCWD, to.path, flags | O_LARGEFILE, mode);
	route_opened(&to, fd);
	return fd < 0 && preload_elsewhere(&to)
		       ? open_at(dir, path, flags | O_LARGEFILE, mode)
		       : fd;
}

/* Open a file for `caller`. */
HOT static int
open_for(const void *caller, int dir, const char *path, int flags, mode_t mode)
{
	return ROUTED_BY(caller, path) ? preload_open(dir, path, flags, mode)
				       : open_at(dir, path, flags, mode);
}

/* `more`: flags of those for large files. */
#define OPEN(name, more) \
	OURS HOT int name(const char *path, int flags, ...) \
	{ \
		mode_t mode = 0; \
		va_list ap; \
\
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		return open_for(CALLER, AT_FDCWD, path, flags | (more), mode); \
	}
OPEN(open, 0)

#define OPENAT(name, more) \
	OURS int name(int dir, const char *path, int flags, ...) \
	{ \
		mode_t mode = 0; \
		va_list ap; \
\
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		return open_for(CALLER, dir, path, flags | (more), mode); \
	}
OPENAT(openat, 0)

#define CREAT(name, more) \
	OURS int name(const char *path, mode_t mode) \
	{ \
		return open_for(CALLER, AT_FDCWD, path, \
				O_CREAT | O_WRONLY | O_TRUNC | (more), mode); \
	}
CREAT(creat, 0)

/* Of programs compiled with _FORTIFY_SOURCE. */
#define FORTIFIED(name, more) \
	int name(const char *path, int flags); \
	OURS int name(const char *path, int flags) \
	{ \
		return open_for(CALLER, AT_FDCWD, path, flags | (more), 0); \
	}
#define FORTIFIED_AT(name, more) \
	int name(int dir, const char *path, int flags); \
	OURS int name(int dir, const char *path, int flags) \
	{ \
		return open_for(CALLER, dir, path, flags | (more), 0); \
	}

/* --- Write --- */

/* A write failed, and may succeed without the pool. */
static bool
retry(int fd, size_t n)
{
	return errno == ENOSPC && store_used() && store_make_room(fd, n);
}

OURS HOT ssize_t
write(int fd, const void *data, size_t n)
{
	ssize_t done = 0;

	if (PLAIN(fd))
		return LIBC(write)(fd, data, n);
	BEFORE(fd);
	done = store_write(fd, data, n);
	if (done == STORE_KERNEL)
		done = LIBC(write)(fd, data, n);
	if (done < 0 && retry(fd, n))
		done = LIBC(write)(fd, data, n);
	return AFTER(fd, done);
}

#define PWRITE(name, off_type) \
	OURS ssize_t name(int fd, const void *data, size_t n, off_type off) \
	{ \
		ssize_t done = 0; \
\
		if (PLAIN(fd)) \
			return LIBC(name)(fd, data, n, off); \
		BEFORE(fd); \
		done = store_pwrite(fd, data, n, off); \
		if (done == STORE_KERNEL) \
			done = LIBC(name)(fd, data, n, off); \
		if (done < 0 && retry(fd, n)) \
			done = LIBC(name)(fd, data, n, off); \
		return AFTER(fd, done); \
	}
PWRITE(pwrite, off_t)

OURS ssize_t
writev(int fd, const struct iovec *v, int count)
{
	ssize_t done = 0;

	BEFORE(fd);
	done = store_writev(fd, v, count);
	if (done == STORE_KERNEL)
		done = LIBC(writev)(fd, v, count);
	return AFTER(fd, done);
}

#define PWRITEV(name, off_type) \
	OURS ssize_t name(int fd, const struct iovec *v, int count, \
			  off_type off) \
	{ \
		ssize_t done = 0; \
\
		BEFORE(fd); \
		done = LIBC(name)(fd, v, count, off); \
		return AFTER(fd, done); \
	}
PWRITEV(pwritev, off_t)

#define FTRUNCATE(name, off_type) \
	OURS int name(int fd, off_type size) \
	{ \
		int rc = 0; \
\
		BEFORE(fd); \
		rc = LIBC(name)(fd, size); \
		return AFTER(fd, rc); \
	}
FTRUNCATE(ftruncate, off_t)

OURS int
fsync(int fd)
{
	const int rc = LIBC(fsync)(fd);

	return AFTER(fd, rc);
}

OURS int
fdatasync(int fd)
{
	const int rc = LIBC(fdatasync)(fd);

	return AFTER(fd, rc);
}

OURS ssize_t
read(int fd, void *data, size_t n)
{
	const ssize_t done = LIBC(read)(fd, data, n);

	return AFTER(fd, done);
}

#define PREAD(name, off_type) \
	OURS ssize_t name(int fd, void *data, size_t n, off_type off) \
	{ \
		const ssize_t done = LIBC(name)(fd, data, n, off); \
\
		return AFTER(fd, done); \
	}
PREAD(pread, off_t)

/* --- Close --- */

OURS HOT int
close(int fd)
{
	int is = 0, rc = 0;

	if (PLAIN(fd))
		return LIBC(close)(fd);
	store_closing(fd);
	if (!route_has(fd))
		return LIBC(close)(fd);
	is = route_closing(fd);
	rc = LIBC(close)(fd);
	route_closed(is, rc < 0);
	return rc;
}

OURS int
dup(int fd)
{
	const int to = LIBC(dup)(fd);

	if (to >= 0)
		store_duped(fd);
	if (route_has(fd))
		route_duped(fd, to);
	return to;
}

OURS int
dup3(int fd, int to, int flags)
{
	int is = 0, got = -1;

	if (fd == to)
		return LIBC(dup3)(fd, to, flags);
	store_closing(to);
	is = route_has(to) ? route_closing(to) : 0;
	got = LIBC(dup3)(fd, to, flags);
	route_closed(is, false);
	if (got >= 0)
		store_duped(fd);
	if (got >= 0 && route_has(fd))
		route_duped(fd, to);
	return got;
}

OURS int
dup2(int fd, int to)
{
	return fd == to ? LIBC(dup2)(fd, to) : dup3(fd, to, 0);
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
		if (got >= 0 && \
		    (what == F_DUPFD || what == F_DUPFD_CLOEXEC)) { \
			store_duped(fd); \
			if (route_has(fd)) \
				route_duped(fd, got); \
		} \
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
		if (fd >= 0 && (prot & PROT_WRITE) != 0 && \
		    (flags & MAP_SHARED) != 0) \
			BEFORE(fd); \
		return LIBC(name)(at, n, prot, flags, fd, off); \
	}
MMAP(mmap, off_t)

/* --- The same for large files, where they have names of their own --- */

#ifdef __GLIBC__
OPEN(open64, O_LARGEFILE)
OPENAT(openat64, O_LARGEFILE)
CREAT(creat64, O_LARGEFILE)
FORTIFIED(__open_2, 0)
FORTIFIED(__open64_2, O_LARGEFILE)
FORTIFIED_AT(__openat_2, 0)
FORTIFIED_AT(__openat64_2, O_LARGEFILE)
PWRITE(pwrite64, off64_t)
PWRITEV(pwritev64, off64_t)
PREAD(pread64, off64_t)
FTRUNCATE(ftruncate64, off64_t)
FCNTL(fcntl64)
LOCKF(lockf64, off64_t)
MMAP(mmap64, off64_t)
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

	preload_find();
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
