/* SPDX-License-Identifier: BSD-3-Clause */
/* preload_stream.c - the streams of libc (preload.c). */
#include <errno.h>
#include <stdio_ext.h>
#include <string.h>
#include <wchar.h>

#include "preload/preload_impl.h"
#include "store/file.h"

/* --- Open --- */

bool
preload_elsewhere(const struct route_open *to)
{
	return to->kind == ROUTE_WRITES && !route_own_error(errno);
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

/* By freopen() of `f`; NULL: by fopen(). */
static FILE *
fopen_at(const char *path, const char *how, FILE *f)
{
	FILE *new = f == NULL ? fopen_new(path, how) : NULL;

	if (new != NULL)
		return new;
#ifdef __GLIBC__
	return f == NULL ? LIBC(fopen64)(path, how)
			 : LIBC(freopen64)(path, how, f);
#else
	return f == NULL ? LIBC(fopen)(path, how) : LIBC(freopen)(path, how, f);
#endif
}

static FILE *
fopen_routed(const char *path, const char *how, FILE *f)
{
	const bool both = strchr(how, '+') != NULL;
	struct route_open to;
	int flags = both ? O_RDWR : *how == 'r' ? O_RDONLY : O_WRONLY;
	FILE *new = NULL;

	flags |= *how == 'w'   ? O_CREAT | O_TRUNC
		 : *how == 'a' ? O_CREAT | O_APPEND
			       : 0;
	flags |= strchr(how, 'x') != NULL ? O_EXCL : 0;
	if (!route_open(&to, AT_FDCWD, path, flags, true))
		return fopen_at(path, how, f);
	new = fopen_at(to.path, how, f);
	route_opened(&to, new != NULL ? fileno(new) : -1);
	return new == NULL &&f == NULL &&preload_elsewhere(&to)
		       ? fopen_at(path, how, f)
		       : new;
}

#define FOPEN(name) \
	OURS FILE *name(const char *path, const char *how) \
	{ \
		FILE *f = NULL; \
\
		if (ROUTED(path)) \
			return fopen_routed(path, how, NULL); \
		f = fopen_new(path, how); \
		return f != NULL ? f : LIBC(name)(path, how); \
	}
FOPEN(fopen)

#define FREOPEN(name) \
	OURS FILE *name(const char *path, const char *how, FILE *f) \
	{ \
		const int was = fileno(f); \
		int is = 0; \
\
		if (route_has(was)) { \
			is = fflush(f) != 0 || ferror(f) != 0 ? -1 : 0; \
			route_closed(route_closing(was), is < 0); \
		} \
		return path != NULL && ROUTED(path) \
			       ? fopen_routed(path, how, f) \
			       : LIBC(name)(path, how, f); \
	}
FREOPEN(freopen)

/* The stream writes by calls that are not seen. */
OURS FILE *
fdopen(int fd, const char *how)
{
	if (how[0] == 'w' || how[0] == 'a' || strchr(how, '+') != NULL)
		BEFORE(fd);
	return LIBC(fdopen)(fd, how);
}

#ifdef __GLIBC__
FOPEN(fopen64)
FREOPEN(freopen64)
#endif

/* --- Write --- */

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
fclose(FILE *f)
{
	const int fd = fileno(f);
	bool failed = false;
	int is = 0, rc = 0;

	if (store_has(fd, SIZE_MAX) && fflush(f) == 0)
		store_closing(fd);
	if (!route_has(fd))
		return LIBC(fclose)(f);
	failed = ferror(f) != 0;
	is = route_closing(fd);
	rc = LIBC(fclose)(f);
	route_closed(is, failed || rc != 0);
	return rc;
}
