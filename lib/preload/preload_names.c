/* SPDX-License-Identifier: BSD-3-Clause */
/* preload_names.c - the functions of libc for names of files (preload.c). */

#include "preload/preload_impl.h"
#include "store/file.h"
#include "str.h"

/* --- Remove --- */

/* Remove a file of a checkpoint, or of a store: 0 or -1.  1: libc's turn.
 * libscr removes those that it has in a cache. */
static int
remove_for(const void *caller, int dir, const char *path)
{
	struct route_look is;
	int what = 0;

	if (ROUTED_BY(caller, path))
		what = route_look(&is, dir, path);
	if ((what & ROUTE_NOW) != 0)
		return LIBC(unlink)(is.place);
	if ((what & ROUTE_HAD) != 0 && !str_eq(is.place, is.key)) {
		route_forget(is.key);
		return 0;
	}
	return store_unlink(dir, path) ? 0 : 1;
}

OURS int
unlink(const char *path)
{
	const int rc = remove_for(CALLER, AT_FDCWD, path);

	return rc != 1 ? rc : LIBC(unlink)(path);
}

OURS int
unlinkat(int dir, const char *path, int flags)
{
	const int rc = flags == 0 ? remove_for(CALLER, dir, path) : 1;

	return rc != 1 ? rc : LIBC(unlinkat)(dir, path, flags);
}

OURS int
remove(const char *path)
{
	const int rc = remove_for(CALLER, AT_FDCWD, path);

	return rc != 1 ? rc : LIBC(remove)(path);
}

/* --- Rename --- */

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
rename_routed(int dir, const char *old, int to_dir, const char *new)
{
	struct route_look from, to;
	const int was = route_look(&from, dir, old);
	const bool ours = (was & ROUTE_HAD) != 0;
	const bool gone = (was & ROUTE_GONE) != 0 &&
			  LIBC(faccessat)(dir, old, F_OK, 0) != 0;
	const int what = route_look(&to, to_dir, new);
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
	in = LIBC(openat)(dir, ours ? from.place : old, O_RDONLY | O_CLOEXEC);
	/* Not one of the prefix instead. */
	if (in < 0 && ours)
		return -1;
	if (in >= 0 && fstat(in, &st) == 0 && S_ISREG(st.st_mode)) {
		out = preload_open(to_dir, new,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				   st.st_mode & 07777);
		rc = out < 0 ? -1 : copy(in, out);
		if (rc < 0 && out >= 0 && route_has(out))
			route_failed(out);
		if (out >= 0 && close(out) < 0)
			rc = -1;
		/* If a rank lacks its file, the checkpoint is gone. */
		if (!ours && (rc < 0 || ((route_look(&to, to_dir, new) &
					  ROUTE_HAD) == 0)))
			rc = 1;
		else if (rc == 0 && ours)
			route_forget(from.key);
		else if (rc == 0)
			rc = LIBC(unlinkat)(dir, old, 0);
	}
	if (in >= 0)
		close(in);
	return rc;
}

/* Rename a file for `caller`. */
static int
rename_for(const void *caller, int dir, const char *old, int to_dir,
	   const char *new)
{
	struct store_kept kept;
	int rc = 1;

	if (ROUTED_BY(caller, old) || ROUTED_BY(caller, new))
		rc = rename_routed(dir, old, to_dir, new);
	if (rc != 1)
		return rc;
	store_renaming(to_dir, new, &kept);
	rc = dir == AT_FDCWD && to_dir == AT_FDCWD
		     ? LIBC(rename)(old, new)
		     : LIBC(renameat)(dir, old, to_dir, new);
	store_renamed(&kept);
	return rc;
}

OURS int
rename(const char *old, const char *new)
{
	return rename_for(CALLER, AT_FDCWD, old, AT_FDCWD, new);
}

OURS int
renameat(int dir, const char *old, int to_dir, const char *new)
{
	return rename_for(CALLER, dir, old, to_dir, new);
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

/* A function of a name alone; and one of a name in a directory. */
#define LOOK(name, ways, params, args) \
	OURS int name params \
	{ \
		int dir = AT_FDCWD; \
		TO_PLACE(dir, path, ways); \
		return LIBC(name) args; \
	}
#define LOOK_AT(name, params, args) \
	OURS int name params \
	{ \
		TO_PLACE(dir, path, SEEN); \
		return LIBC(name) args; \
	}

LOOK(access, SEEN, (const char *path, int how), (path, how))
LOOK_AT(faccessat, (int dir, const char *path, int how, int flags),
	(dir, path, how, flags))
LOOK(truncate, ROUTE_NOW, (const char *path, off_t size), (path, size))

#define STAT(name, type) \
	LOOK(name, SEEN, \
	     (const char *restrict path, struct type *restrict st), \
	     (path, st))
#define FSTATAT(name, type) \
	LOOK_AT(name, \
		(int dir, const char *restrict path, struct type *restrict st, \
		 int how), \
		(dir, path, st, how))
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
LOOK(truncate64, ROUTE_NOW, (const char *path, off64_t size), (path, size))
LOOK(euidaccess, SEEN, (const char *path, int how), (path, how))
LOOK_AT(statx,
	(int dir, const char *restrict path, int flags, unsigned mask,
	 struct statx *restrict st),
	(dir, path, flags, mask, st))

#define XSTAT(name, type) \
	LOOK(name, SEEN, (int version, const char *path, struct type *st), \
	     (version, path, st))
#define FXSTATAT(name, type) \
	LOOK_AT(name, \
		(int version, int dir, const char *path, struct type *st, \
		 int how), \
		(version, dir, path, st, how))
XSTAT(__xstat, stat)
XSTAT(__lxstat, stat)
XSTAT(__xstat64, stat64)
XSTAT(__lxstat64, stat64)
FXSTATAT(__fxstatat, stat)
FXSTATAT(__fxstatat64, stat64)

OURS int
renameat2(int dir, const char *old, int to_dir, const char *new, unsigned how)
{
	int rc = 1;

	if ((how & ~(unsigned)RENAME_NOREPLACE) == 0 &&
	    (ROUTED(old) || ROUTED(new)))
		rc = rename_routed(dir, old, to_dir, new);
	return rc != 1 ? rc : LIBC(renameat2)(dir, old, to_dir, new, how);
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
