/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "path_impl.h"

/* The number of attempts is bounded, in case the file is created and removed by
 * others all the time; a link to a missing file looks like that, too. */
#define CREATE_MAX 16

bool
path_is_clean(const char *rel)
{
	const char *p = rel;
	size_t n = 0;

	for (;;) {
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (*p == '\0')
			return p - rel < PATH_MAX;
		p++;
	}
}

/* Remove the last component of `out`, which is in normal form.  False: no
 * component can be removed. */
static bool
drop_last(struct buf *out, bool absolute)
{
	const char *base = NULL;

	if (out->len == absolute)
		return absolute; /* ".." of "/" is "/" */
	base = path_base(out->data);
	if (strcmp(base, "..") == 0)
		return false;
	out->len = (size_t)(base - out->data);
	if (out->len > 1) /* the slash too, unless it is the root's */
		out->len--;
	out->data[out->len] = '\0';
	return true;
}

int
path_normal(const char *path, struct buf *out, struct error *err)
{
	const bool absolute = path[0] == '/';
	const char *p = path;
	size_t n = 0;

	buf_clear(out);
	if (absolute && buf_add_char(out, '/') < 0)
		return error_no_memory(err);
	for (; *p != '\0'; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.'))
			continue;
		if (n == 2 && p[0] == '.' && p[1] == '.' &&
		    drop_last(out, absolute))
			continue;
		if ((out->len > absolute && buf_add_char(out, '/') < 0) ||
		    buf_add(out, p, n) < 0)
			return error_no_memory(err);
	}
	if (out->len == 0 && buf_add_char(out, '.') < 0)
		return error_no_memory(err);
	return 0;
}

const char *
path_below(const char *path, const char *root)
{
	size_t len = strlen(root);
	const char *rest = NULL;

	if (strcmp(root, ".") == 0) {
		if (path[0] == '/')
			return NULL;
		rest = strcmp(path, ".") == 0 ? path + 1 : path;
	} else {
		if (strncmp(path, root, len) != 0)
			return NULL;
		rest = path + len;
		if (len > 0 && root[len - 1] == '/')
			; /* "/" itself */
		else if (*rest == '/')
			rest++;
		else if (*rest != '\0')
			return NULL;
	}
	/* "../.." begins with "..", but is not below it. */
	if (strcmp(rest, "..") == 0 || strncmp(rest, "../", 3) == 0)
		return NULL;
	return rest;
}

int
path_join(struct buf *out, const char *dir, const char *name, struct error *err)
{
	if (dir != out->data || dir == NULL) { /* else `dir` is in `out` */
		buf_clear(out);
		buf_add_str(out, dir);
	}
	if (out->len > 0 && out->data[out->len - 1] != '/')
		buf_add_char(out, '/');
	buf_add_str(out, name);
	return buf_check(out, err);
}

int
path_absolute(const char *path, struct buf *out, struct error *err)
{
	struct buf whole = BUF_INIT;
	char cwd[PATH_MAX] = "";
	int rc = -1;

	if (path[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
		return error_sys(err, "working directory");
	rc = path_join(&whole, cwd, path, err);
	if (rc == 0)
		rc = path_normal(whole.data, out, err);
	buf_free(&whole);
	return rc;
}

const char *
path_normal_in(struct arena *a, const char *dir, const char *name,
	       struct error *err)
{
	struct buf full = BUF_INIT, normal = BUF_INIT;
	const char *out = NULL;

	if (path_join(&full, dir, name, err) == 0 &&
	    path_normal(full.data, &normal, err) == 0) {
		out = arena_strdup(a, normal.data);
		if (out == NULL)
			error_no_memory(err);
	}
	buf_free(&full);
	buf_free(&normal);
	return out;
}

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

int
path_real(const char *path, struct buf *out, struct error *err)
{
	char real[PATH_MAX];

	if (realpath(path, real) == NULL)
		return error_sys(err, "%s: cannot resolve", path);
	buf_clear(out);
	buf_add_str(out, real);
	return buf_check(out, err);
}

/* Report why `rel` could not be opened below rootfd, from errno.  Returns
 * -1. */
static int
refuse(int rootfd, const char *rel, const char *what, struct error *err)
{
	char link[64], root[PATH_MAX];
	ssize_t n = -1;

	if (errno == ELOOP)
		return error_set(err, ERROR_UNSAFE,
				 "%s: a symbolic link blocks the path", rel);
	if (errno != EXDEV)
		return error_sys(err, "%s: %s", rel, what);
	if (rootfd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", rootfd);
		n = readlink(link, root, sizeof(root) - 1);
	}
	root[n > 0 ? n : 0] = '\0';
	return error_set(err, ERROR_UNSAFE,
			 "%s: leads out of %s by a link that others may have "
			 "made: only links of its owner are followed, in "
			 "directories that nobody else may write",
			 rel, n > 0 ? root : "its directory");
}

static int
check_clean(const char *rel, struct error *err)
{
	if (path_is_clean(rel))
		return 0;
	return error_set(err, ERROR_UNSAFE,
			 "\"%s\": not a plain path below its directory", rel);
}

/* The kernel's struct open_how, and two values of its `resolve`; kernel headers
 * before 5.6 have neither. */
struct how {
	uint64_t flags, mode, resolve;
};
#define HOW_NO_MAGICLINKS 0x02
#define HOW_BENEATH 0x08
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* open(2) of a clean path below rootfd, which exists.  Returns a descriptor, or
 * -1 with errno: EXDEV if the path leads out, ELOOP if links are in a
 * circle. */
static int
open_beneath(int rootfd, const char *rel, int flags)
{
	struct how how = {
		.flags = (uint32_t)(flags | O_CLOEXEC),
		.resolve = HOW_BENEATH | HOW_NO_MAGICLINKS,
	};
	unsigned again = 0, stale = 0;
	long fd = -1;

	/* ESTALE: another client of a file server replaced it just now. */
	do
		fd = syscall(SYS_openat2, rootfd, rel, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || (errno == ESTALE && stale++ == 0) ||
			  dir_again(&again)));
	/* EPERM: some container sandboxes return it for unknown calls.  If it
	 * is genuine, the walk fails with it, too.  EXDEV: the link that leads
	 * out may be a trusted one. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EXDEV))
		return path_walk(rootfd, rel, flags | O_CLOEXEC, 0, false);
	return (int)fd;
}

bool
path_owner_reads(int fd)
{
	struct stat st;
	mode_t need = S_IRUSR;

	if (fstat(fd, &st) < 0)
		return true;
	if (S_ISDIR(st.st_mode))
		need |= S_IXUSR;
	return (st.st_mode & need) == need;
}

int
path_open_beneath(int rootfd, const char *rel, int flags, mode_t mode,
		  struct error *err)
{
	const bool fresh = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	const char *base = NULL;
	int fd = -1, parent = -1, again = 0;

	if (check_clean(rel, err) < 0)
		return -1;
	/* A FIFO in place of a file must not block. */
	if ((flags & O_PATH) == 0)
		flags |= O_NONBLOCK | O_NOCTTY;
	/* Another process may create or remove it meanwhile. */
	do {
		errno = ENOENT;
		if (!fresh)
			fd = open_beneath(rootfd, rel, flags & ~O_CREAT);
		if (fd >= 0 || errno != ENOENT || (flags & O_CREAT) == 0)
			break;
		/* Create it in an existing directory. */
		parent = path_open_parent(rootfd, rel, false, 0, &base, NULL);
		if (parent < 0)
			break;
		fd = create_file(parent, base, flags, mode,
				 create_owner(rootfd));
		io_close(parent);
	} while (fd < 0 && errno == EEXIST && !fresh && again++ < CREATE_MAX);
	if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
	    !create_may_change(rootfd, fd)) {
		close(fd);
		return error_set(err, ERROR_UNSAFE,
				 "%s: a link to a file of another user", rel);
	}
	if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY &&
	    (flags & O_PATH) == 0 && !path_owner_reads(fd)) {
		close(fd);
		fd = -1;
		errno = EACCES;
	}
	return fd >= 0 ? fd : refuse(rootfd, rel, "cannot open", err);
}

int
path_open_dir(int rootfd, const char *rel, struct error *err)
{
	return path_open_beneath(rootfd, rel, O_RDONLY | O_DIRECTORY, 0, err);
}

int
path_open_trusted(int rootfd, const char *rel)
{
	return path_walk(rootfd, rel[0] != '\0' ? rel : ".",
			 O_PATH | O_DIRECTORY | O_CLOEXEC, 0, true);
}

int
path_stat_beneath(int rootfd, const char *rel, struct stat *st,
		  struct error *err)
{
	const char *base = NULL;
	struct stat dir;
	int fd = -1, rc = -1;

	if (check_clean(rel, err) < 0)
		return -1;
	fd = open_beneath(rootfd, rel, O_PATH);
	if (fd >= 0)
		rc = fstat(fd, st);
	io_close(fd);
	/* Root searches every directory. */
	if (rc == 0 && geteuid() == 0 && path_base(rel) != rel) {
		fd = path_open_parent(rootfd, rel, false, 0, &base, NULL);
		if (fd >= 0 && fstat(fd, &dir) == 0 &&
		    (dir.st_mode & S_IXUSR) == 0)
			rc = -1;
		io_close(fd);
		errno = EACCES;
	}
	return rc == 0 ? 0 : refuse(rootfd, rel, "cannot stat", err);
}

static int
open_dir(int rootfd, const char *rel)
{
	if (rel[0] == '\0') /* the root itself */
		return dir_open_file(rootfd, ".",
				     O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return open_beneath(rootfd, rel, O_PATH | O_DIRECTORY);
}

/*
 * Open the directory `dir`, creating missing directories.  `dir` is modified
 * meanwhile, and restored on success.
 *
 * Each part is opened by its whole path from the root, never from the parent: a
 * link below the root may point to a neighbour of its parent.
 */
static int
make_dirs(int rootfd, char *dir, mode_t mode)
{
	size_t whole = strlen(dir), len = whole, start = 0;
	struct owner owner = { .set = false };
	char *slash = NULL;
	int fd = -1;

	/* Shorten `dir` to the part that exists, replacing slashes by NUL. */
	while ((fd = open_dir(rootfd, dir)) < 0) {
		if (errno != ENOENT || len == 0)
			return -1;
		slash = strrchr(dir, '/');
		len = slash != NULL ? (size_t)(slash - dir) : 0;
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	if (fd < 0)
		fd = open_dir(rootfd, "");
	if (len < whole)
		owner = create_owner(rootfd);
	/* Then create the rest, restoring the slashes. */
	while (fd >= 0 && len < whole) {
		start = len > 0 ? len + 1 : 0;
		if (create_dir(fd, dir + start, mode, owner) < 0 &&
		    errno != EEXIST) {
			io_close(fd);
			return -1;
		}
		close(fd);
		if (len > 0)
			dir[len] = '/';
		len = strlen(dir);
		fd = open_dir(rootfd, dir);
	}
	return fd;
}

int
path_open_parent(int rootfd, const char *rel, bool make, mode_t mode,
		 const char **base, struct error *err)
{
	char dir[PATH_MAX];
	size_t len = 0;
	int fd = -1;

	if (check_clean(rel, err) < 0)
		return -1;
	*base = path_base(rel);
	len = (size_t)(*base - rel);
	memcpy(dir, rel, len);
	dir[len > 0 ? len - 1 : 0] = '\0';
	fd = make ? make_dirs(rootfd, dir, mode) : open_dir(rootfd, dir);
	if (fd >= 0)
		return fd;
	return refuse(rootfd, rel,
		      make ? "cannot make its directory"
			   : "cannot open its directory",
		      err);
}

bool
path_dangles(int dirfd, const char *path, char *link, char *to)
{
	struct stat st;
	ssize_t len = 0;

	for (const char *end = path; *end != '\0';) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		if (snprintf(link, PATH_MAX, "%.*s", (int)(end - path), path) >=
			    PATH_MAX ||
		    dir_stat(dirfd, link, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
		if (!S_ISLNK(st.st_mode) || dir_stat(dirfd, link, &st, 0) == 0)
			continue;
		if (errno != ENOENT)
			return false;
		len = readlinkat(dirfd, link, to, PATH_MAX - 1);
		to[len > 0 ? len : 0] = '\0';
		return true;
	}
	return false;
}
