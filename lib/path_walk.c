/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path_walk.c - resolve a path below a directory, component by component.
 *
 * Each component is opened below the last directory without following a link.
 * What a link contains is resolved in the same way.  The kernel is never asked
 * for "..": the path of a directory below the root has no links once it was
 * resolved, so its parent is opened by that path.  Whatever others rename
 * meanwhile, no directory is entered but those below one that was.
 *
 * A trusted link may lead out of the root: go_out() has the rule.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "io.h"
#include "path_impl.h"

#define LINKS_MAX 40 /* as the kernel */

struct walk {
	int root;
	bool strict;  /* follow only trusted links that lead out */
	uid_t owner;  /* of the root */
	bool out;     /* a link led out of the root: `at` is meaningless */
	bool doubted; /* a link that is not trusted was followed */
	bool foreign; /* ... out by a link that is not root's or the caller's */
	int dir;      /* the root, or a descriptor to close */
	char at[PATH_MAX];   /* its path below the root, without links */
	char rest[PATH_MAX]; /* to be resolved below it */
	unsigned links;	     /* followed so far */
};

static int
fail(int error)
{
	errno = error;
	return -1;
}

static void
enter(struct walk *w, int dir)
{
	if (w->dir != w->root)
		io_close(w->dir);
	w->dir = dir;
}

/* Open `name` in `dir` as a directory; ELOOP: it is a link. */
static int
open_dir(int dir, const char *name)
{
	struct stat st;
	int fd = dir_open_file(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0),
	    error = 0;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		error = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
	if (error == 0)
		return fd;
	close(fd);
	return fail(error);
}

/* Copy the first component of `path` to `name`.  Returns what follows it and
 * its slashes, or NULL: it is too long. */
static const char *
cut_name(const char *path, char name[static NAME_MAX + 1])
{
	const size_t n = strcspn(path, "/");

	if (n > NAME_MAX)
		return NULL;
	memcpy(name, path, n);
	name[n] = '\0';
	return path + n + strspn(path + n, "/");
}

/*
 * Leave the root for `dir`, "/" or "..", which a link names.
 *
 * This is how an owner spreads a prefix over file systems.  Nobody else must be
 * able to: a link leads out only if it and its directory belong to the owner of
 * the root, or to the superuser, and nobody else may write to this directory.
 */
static int
go_out(struct walk *w, const char *dir)
{
	int fd = -1;

	if (w->doubted || w->links == 0)
		return fail(EXDEV);
	fd = dir_open_file(w->dir, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	enter(w, fd);
	w->out = true;
	return 0;
}

/* Note whom the link `name` belongs to. */
static int
weigh(struct walk *w, const char *name)
{
	struct stat link, dir;

	if (dir_stat(w->dir, name, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
	    dir_stat(w->dir, ".", &dir, 0) < 0)
		return -1;
	w->doubted |= (link.st_uid != w->owner && link.st_uid != 0) ||
		      (dir.st_uid != w->owner && dir.st_uid != 0) ||
		      (dir.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	w->foreign |= link.st_uid != 0 && link.st_uid != geteuid();
	if (!w->doubted)
		return 0;
	return w->strict ? fail(ELOOP) : w->out ? fail(EXDEV) : 0;
}

static int
go_down(struct walk *w, const char *name)
{
	const size_t len = strlen(w->at), n = strlen(name);
	const int dir = open_dir(w->dir, name);

	if (dir < 0)
		return -1;
	enter(w, dir);
	if (w->out)
		return 0;
	if (len + 1 + n >= sizeof(w->at))
		return fail(ENAMETOOLONG);
	snprintf(w->at + len, sizeof(w->at) - len, "%s%s", len > 0 ? "/" : "",
		 name);
	return 0;
}

/* Enter the parent of the current directory, from the root. */
static int
go_up(struct walk *w)
{
	char name[NAME_MAX + 1], above[PATH_MAX], *slash = strrchr(w->at, '/');
	const char *path = above;

	if (w->out || w->at[0] == '\0')
		return go_out(w, "..");
	*(slash != NULL ? slash : w->at) = '\0';
	memcpy(above, w->at, sizeof(above));
	w->at[0] = '\0';
	enter(w, w->root);
	while (*path != '\0') {
		path = cut_name(path, name);
		if (go_down(w, name) < 0)
			return -1;
	}
	return 0;
}

/* Resolve `text`, and then `rest`, in the current directory.  Returns -1: with
 * errno 0, go on. */
static int
go_on(struct walk *w, const char *text, const char *rest)
{
	const int n = snprintf(w->rest, sizeof(w->rest), "%s%s%s", text,
			       *rest != '\0' ? "/" : "", rest);

	return fail(n < (int)sizeof(w->rest) ? 0 : ENAMETOOLONG);
}

/* `name` is a link: resolve its contents, then `rest`.  As go_on(). */
static int
follow(struct walk *w, const char *name, const char *rest)
{
	char text[PATH_MAX];
	const ssize_t n = readlinkat(w->dir, name, text, sizeof(text));

	if (++w->links > LINKS_MAX)
		return fail(ELOOP);
	if (n < 0) /* EINVAL: no link any more */
		return errno == EINVAL ? go_on(w, name, rest) : -1;
	if (n == sizeof(text))
		return fail(ENAMETOOLONG);
	text[n] = '\0';
	if (weigh(w, name) < 0 || (text[0] == '/' && go_out(w, "/") < 0))
		return -1;
	return go_on(w, text + strspn(text, "/"), rest);
}

/*
 * Open the last component.  Returns a descriptor; or -1: with errno 0, it is a
 * link to follow.
 */
static int
open_last(const struct walk *w, const char *name, int flags, mode_t mode)
{
	const bool through = (flags & O_NOFOLLOW) == 0 &&
			     (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	struct stat st;
	int fd = -1;

	/* A link is opened itself if a path is asked for. */
	if ((flags & O_PATH) != 0 && through) {
		fd = dir_open_file(w->dir, name,
				   (flags & ~O_DIRECTORY) | O_NOFOLLOW, 0);
		if (fd < 0)
			return -1;
		if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode) &&
		    ((flags & O_DIRECTORY) == 0 || S_ISDIR(st.st_mode)))
			return fd;
		close(fd);
		return fail(S_ISLNK(st.st_mode) ? 0 : ENOTDIR);
	}
	fd = dir_open_file(w->dir, name, flags | O_NOFOLLOW, mode);
	/* O_DIRECTORY fails for links with ENOTDIR. */
	if (fd < 0 && through && (errno == ELOOP || errno == ENOTDIR) &&
	    dir_stat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		errno = 0;
	return fd;
}

/* Resolve the next component of w->rest.  Returns a descriptor if it was the
 * last one; or -1: with errno 0, go on. */
static int
step(struct walk *w, int flags, mode_t mode)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	const char *rest = NULL;
	int fd = -1;

	memcpy(path, w->rest, sizeof(path));
	rest = cut_name(path, name);
	if (rest == NULL)
		return fail(ENAMETOOLONG);
	if (strcmp(name, ".") == 0) {
		fd = 0;
	} else if (strcmp(name, "..") == 0) {
		fd = go_up(w);
	} else if (rest == path + strlen(name)) {
		fd = open_last(w, name, flags, mode);
		return fd < 0 && errno == 0 ? follow(w, name, rest) : fd;
	} else {
		fd = go_down(w, name);
		if (fd < 0 && errno == ELOOP)
			return follow(w, name, *rest != '\0' ? rest : ".");
	}
	if (fd < 0)
		return -1;
	return *rest != '\0' ? go_on(w, rest, "")
			     : dir_open_file(w->dir, ".", flags, 0);
}

/* Is the directory `fd` the root or below it?  True, too, if that is unknown.
 */
static bool
is_inside(int rootfd, int fd)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	struct stat root, at, up;
	bool known = dir_stat(rootfd, ".", &root, 0) == 0, inside = false;
	int dir = dir_open_file(fd, ".", flags, 0);

	known = known && dir_stat(dir, ".", &at, 0) == 0;
	while (known && !inside) {
		const int above = dir_open_file(dir, "..", flags, 0);

		inside = at.st_dev == root.st_dev && at.st_ino == root.st_ino;
		known = above >= 0 && fstat(above, &up) == 0;
		io_close(dir);
		dir = above;
		if (known && up.st_dev == at.st_dev && up.st_ino == at.st_ino)
			break; /* "/" */
		at = up;
	}
	io_close(dir);
	return inside || !known;
}

/*
 * Somebody else's links must not make us read or change what is not theirs:
 * root works on the prefixes of users.  And what is removed must not be another
 * name of something in the root.
 */
static int
check(const struct walk *w, int fd)
{
	struct stat is;
	int error = 0;

	if (w->out && w->foreign &&
	    (fstat(fd, &is) < 0 || is.st_uid != w->owner))
		error = EXDEV;
	if (w->strict && w->links > 0 && (!w->out || is_inside(w->root, fd)))
		error = ELOOP;
	if (error == 0)
		return fd;
	close(fd);
	return fail(error);
}

int
path_walk(int rootfd, const char *rel, int flags, mode_t mode, bool strict)
{
	struct walk w = { .root = rootfd, .dir = rootfd, .strict = strict };
	struct stat root;
	int fd = -1;

	if (rel[0] == '/')
		return fail(EXDEV);
	if (rel[0] == '\0')
		return fail(ENOENT);
	if (dir_stat(rootfd, ".", &root, 0) < 0)
		return -1;
	w.owner = root.st_uid;
	fd = go_on(&w, rel, "");
	while (fd < 0 && errno == 0)
		fd = step(&w, flags, mode);
	if (fd >= 0)
		fd = check(&w, fd);
	enter(&w, rootfd);
	return fd;
}
