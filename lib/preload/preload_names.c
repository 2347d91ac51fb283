/* SPDX-License-Identifier: BSD-3-Clause */
/* preload_names.c - the functions of libc for names of files (preload.c). */
#include <errno.h>
#include <string.h>

#include "preload/preload_impl.h"
#include "store/file.h"
#include "str.h"

/* --- Remove --- */

/* The file is one of a checkpoint: 0 or -1.  Else 1.  libscr removes those that
 * it has in a cache. */
static int
unlink_routed(int dir, const char *path)
{
	struct route_look is;
	const int what = route_look(&is, dir, path);

	if ((what & ROUTE_NOW) != 0)
		return LIBC(unlink)(is.place);
	if ((what & ROUTE_HAD) == 0 || str_eq(is.place, is.key))
		return 1;
	route_forget(is.key);
	return 0;
}

OURS int
unlink(const char *path)
{
	int rc = ROUTED(path) ? unlink_routed(AT_FDCWD, path) : 1;

	if (rc != 1)
		return rc;
	return store_unlink(AT_FDCWD, path) ? 0 : LIBC(unlink)(path);
}

OURS int
unlinkat(int dir, const char *path, int flags)
{
	int rc = flags == 0 && ROUTED(path) ? unlink_routed(dir, path) : 1;

	if (rc != 1)
		return rc;
	return flags == 0 && store_unlink(dir, path)
		       ? 0
		       : LIBC(unlinkat)(dir, path, flags);
}

OURS int
remove(const char *path)
{
	int rc = ROUTED(path) ? unlink_routed(AT_FDCWD, path) : 1;

	if (rc != 1)
		return rc;
	return store_unlink(AT_FDCWD, path) ? 0 : LIBC(remove)(path);
}

/* --- Rename --- */

struct names {
	int dir;
	const char *from;
	int to_dir;
	const char *to;
};

/* Copy all bytes.  -1: errno. */
static int
copy(int in, int out)
{
	char data[65536];
	ssize_t n = 0;

	while ((n = read(in, data, sizeof(data))) > 0)
		for (ssize_t at = 0, m = 0; at < n; at += m) {
			m = write(out, data + at, (size_t)(n - at));
			if (m < 0)
				return -1;
		}
	return n < 0 ? -1 : 0;
}

/*
 * Rename a file of a checkpoint, or one to the name of such a file.  What
 * libscr has keeps its name, as other ranks do not know of the new one, so the
 * bytes are written again under that.  Returns 0 or -1; 1: rename it.
 */
static int
rename_routed(const struct names *n)
{
	struct route_look from, to;
	const int was = route_look(&from, n->dir, n->from);
	const bool ours = (was & ROUTE_HAD) != 0;
	const bool gone = (was & ROUTE_GONE) != 0 &&
			  LIBC(faccessat)(n->dir, n->from, F_OK, 0) != 0;
	const int what = route_look(&to, n->to_dir, n->to);
	struct stat st;
	int in = -1, out = -1, rc = 1;

	/* SCR_INTERPOSE_TEMPORARY */
	if ((ours || gone) && (what & ROUTE_NAMED) != 0 &&
	    str_eq(from.key, to.key))
		return 0;
	if (gone)
		route_lost(from.key, (what & ROUTE_NAMED) != 0);
	if (!ours && (what & ROUTE_NAMED) == 0)
		return 1;
	in = LIBC(openat)(n->dir, ours ? from.place : n->from,
			  O_RDONLY | O_CLOEXEC);
	/* Not one of the prefix instead. */
	if (in < 0 && ours)
		return -1;
	if (in >= 0 && fstat(in, &st) == 0 && S_ISREG(st.st_mode)) {
		out = preload_open(n->to_dir, n->to,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				   st.st_mode & 07777);
		rc = out < 0 ? -1 : copy(in, out);
		if (rc < 0 && out >= 0 && route_has(out))
			route_failed(out);
		if (out >= 0 && close(out) < 0)
			rc = -1;
		/* If a rank lacks its file, the checkpoint is gone. */
		if (!ours && (rc < 0 || ((route_look(&to, n->to_dir, n->to) &
					  ROUTE_HAD) == 0)))
			rc = 1;
		else if (rc == 0 && ours)
			route_forget(from.key);
		else if (rc == 0)
			rc = LIBC(unlinkat)(n->dir, n->from, 0);
	}
	if (in >= 0)
		close(in);
	return rc;
}

#define RENAME(n) (ROUTED((n)->from) || ROUTED((n)->to) ? rename_routed(n) : 1)

OURS int
rename(const char *from, const char *to)
{
	const struct names n = { AT_FDCWD, from, AT_FDCWD, to };
	struct store_kept kept;
	int rc = RENAME(&n);

	if (rc != 1)
		return rc;
	store_renaming(AT_FDCWD, to, &kept);
	rc = LIBC(rename)(from, to);
	store_renamed(&kept);
	return rc;
}

OURS int
renameat(int dir, const char *from, int to_dir, const char *to)
{
	const struct names n = { dir, from, to_dir, to };
	struct store_kept kept;
	int rc = RENAME(&n);

	if (rc != 1)
		return rc;
	store_renaming(to_dir, to, &kept);
	rc = LIBC(renameat)(dir, from, to_dir, to);
	store_renamed(&kept);
	return rc;
}

/* --- Look --- */

/* Where the file is, if libscr has it in one of these ways; *dir changes with
 * it. */
static const char *
place(int *dir, const char *path, int ways, struct route_look *is)
{
	if ((route_look(is, *dir, path) & ways) == 0)
		return path;
	*dir = AT_FDCWD;
	return is->place;
}

/* At the begin of a function: replace `path`. */
#define TO_PLACE(dir, path, ways) \
	struct route_look is; \
\
	if (ROUTED(path)) \
	path = place(&(dir), path, ways, &is)
#define SEEN (ROUTE_HAD | ROUTE_DIR)

OURS int
access(const char *path, int how)
{
	int dir = AT_FDCWD;
	TO_PLACE(dir, path, SEEN);
	return LIBC(access)(path, how);
}

OURS int
faccessat(int dir, const char *path, int how, int flags)
{
	TO_PLACE(dir, path, SEEN);
	return LIBC(faccessat)(dir, path, how, flags);
}

#define STAT(name, type) \
	OURS int name(const char *restrict path, struct type *restrict st) \
	{ \
		int dir = AT_FDCWD; \
		TO_PLACE(dir, path, SEEN); \
		return LIBC(name)(path, st); \
	}

#define FSTATAT(name, type) \
	OURS int name(int dir, const char *restrict path, \
		      struct type *restrict st, int how) \
	{ \
		TO_PLACE(dir, path, SEEN); \
		return LIBC(name)(dir, path, st, how); \
	}

#define TRUNCATE(name, off_type) \
	OURS int name(const char *path, off_type size) \
	{ \
		int dir = AT_FDCWD; \
		TO_PLACE(dir, path, ROUTE_NOW); \
		return LIBC(name)(path, size); \
	}
TRUNCATE(truncate, off_t)

#if !defined(__GLIBC__) || LIBC_GLIBC(2, 33)
STAT(stat, stat)
STAT(lstat, stat)
FSTATAT(fstatat, stat)
#endif

#ifdef __GLIBC__
#if LIBC_GLIBC(2, 33)
STAT(stat64, stat64)
STAT(lstat64, stat64)
FSTATAT(fstatat64, stat64)
#endif
TRUNCATE(truncate64, off64_t)

#define XSTAT(name, type) \
	OURS int name(int version, const char *path, struct type *st) \
	{ \
		int dir = AT_FDCWD; \
		TO_PLACE(dir, path, SEEN); \
		return LIBC(name)(version, path, st); \
	}
XSTAT(__xstat, stat)
XSTAT(__lxstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat64, stat64)

#define FXSTATAT(name, type) \
	OURS int name(int version, int dir, const char *path, struct type *st, \
		      int how) \
	{ \
		TO_PLACE(dir, path, SEEN); \
		return LIBC(name)(version, dir, path, st, how); \
	}
FXSTATAT(__fxstatat, stat)
FXSTATAT(__fxstatat64, stat64)

OURS int
statx(int dir, const char *restrict path, int flags, unsigned mask,
      struct statx *restrict st)
{
	TO_PLACE(dir, path, SEEN);
	return LIBC(statx)(dir, path, flags, mask, st);
}

OURS int
euidaccess(const char *path, int how)
{
	int dir = AT_FDCWD;
	TO_PLACE(dir, path, SEEN);
	return LIBC(euidaccess)(path, how);
}

OURS int
renameat2(int dir, const char *from, int to_dir, const char *to, unsigned how)
{
	const struct names n = { dir, from, to_dir, to };
	const int rc =
		(how & ~(unsigned)RENAME_NOREPLACE) == 0 ? RENAME(&n) : 1;

	return rc != 1 ? rc : LIBC(renameat2)(dir, from, to_dir, to, how);
}
#endif

/* --- Directories --- */

static bool
is_swallowed(int dir, const char *path)
{
	struct route_look is;

	return route_look(&is, dir, path) == ROUTE_DIR;
}

OURS int
mkdir(const char *path, mode_t mode)
{
	return ROUTED(path) && is_swallowed(AT_FDCWD, path)
		       ? 0
		       : LIBC(mkdir)(path, mode);
}

OURS int
mkdirat(int dir, const char *path, mode_t mode)
{
	return ROUTED(path) && is_swallowed(dir, path)
		       ? 0
		       : LIBC(mkdirat)(dir, path, mode);
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
