/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target_tree.c - new directories, built beside their places.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "transfer/target_impl.h"

/* Files that make it worth while to put a new directory in the place of an
 * empty one: the directory takes some ten system calls. */
#define REPLACE_MIN 16

struct finder {
	struct targets *t;
	int dirfd;
	struct map *known; /* directory -> its new one, TARGET_NO_TREE: stays */
	size_t last;	   /* found */
};

/* --- One --- */

/* Make `temp`, to stand for a directory with the mode and group of `like`. */
static int
make_like(int parent, const char *temp, const struct stat *like)
{
	struct stat st;
	int fd = -1, rc = -1;

	if (mkdirat(parent, temp, 0700) < 0)
		return -1;
	fd = openat(parent, temp,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == like->st_uid &&
	    (st.st_gid == like->st_gid ||
	     fchown(fd, (uid_t)-1, like->st_gid) == 0) &&
	    fchmod(fd, like->st_mode & 07777) == 0)
		rc = 0;
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		(void)unlinkat(parent, temp, AT_REMOVEDIR);
	return rc;
}

/*
 * May another directory come into the place of `name`?  It must be empty, ours
 * and without anything that a new one would not have: access lists, striping
 * and labels are extended attributes.
 */
static bool
is_replaceable(int parent, const char *name, struct stat *st)
{
	struct stat up;
	int fd = -1;
	bool good = false;

	if (fstatat(parent, name, st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st->st_mode) || st->st_uid != geteuid() ||
	    (st->st_mode & 0300) != 0300 || fstat(parent, &up) < 0 ||
	    up.st_dev != st->st_dev ||
	    faccessat(parent, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return false;
	fd = openat(parent, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = path_is_empty_dir(fd) && flistxattr(fd, NULL, 0) <= 0;
	close(fd);
	return good;
}

/* Make what stands for `path`; *made: false if that stays as it is. */
static int
make_tree(const struct finder *f, const char *path, const char *temp,
	  bool replace, bool *made, struct error *err)
{
	const char *base = NULL;
	struct stat st;
	int rc = 0;
	int parent =
		path_open_parent(f->dirfd, temp, !replace, 0777, &base, err);

	*made = false;
	if (parent < 0)
		return -1;
	if (replace && !is_replaceable(parent, path_base(path), &st))
		goto out;
	rc = io_remove_tree(parent, base, err);
	if (rc < 0)
		goto out;
	if (replace) {
		*made = make_like(parent, base, &st) == 0;
	} else {
		*made = mkdirat(parent, base, 0777) == 0;
		if (!*made)
			rc = error_sys(err, "%s: cannot make", temp);
	}
out:
	close(parent);
	return rc;
}

/* A new directory for `path`, which is missing, or else to be replaced if it
 * may: its number, or TARGET_NO_TREE. */
static int
add_tree(struct finder *f, const char *path, bool replace, size_t *tree,
	 struct error *err)
{
	struct targets *t = f->t;
	const char *temp = target_temp(t, path, err);
	bool made = false;

	if (temp == NULL)
		return -1;
	if (!MEM_ROOM(t->trees, t->ntrees, t->trees_cap))
		return error_no_memory(err);
	if (make_tree(f, path, temp, replace, &made, err) < 0)
		return -1;
	if (made) {
		t->trees[t->ntrees] = (struct target_tree){ path, temp, false };
		*tree = ++t->ntrees;
	}
	return 0;
}

/* --- All --- */

/* Find out about the directory `dir`, all above which stay; `files` of ours go
 * into it. */
static int
look(struct finder *f, const char *dir, size_t files, size_t *tree,
     struct error *err)
{
	const char *kept = NULL;
	struct stat st;
	bool missing = false;

	*tree = map_get(f->known, dir);
	if (*tree != MAP_NONE)
		return 0;
	*tree = TARGET_NO_TREE;
	kept = arena_strdup(f->t->arena, dir);
	if (kept == NULL)
		return error_no_memory(err);
	/* Whatever else is wrong with it, those that make a file in it will
	 * find, and say. */
	missing = fstatat(f->dirfd, dir, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		  errno == ENOENT;
	if ((missing || files >= REPLACE_MIN) &&
	    add_tree(f, kept, !missing, tree, err) < 0)
		return -1;
	return map_put(f->known, kept, *tree) < 0 ? error_no_memory(err) : 0;
}

/* The new directory that `dir` is, or lies in. */
static int
find(struct finder *f, char *dir, size_t files, size_t *tree, struct error *err)
{
	const struct target_tree *last =
		f->last != TARGET_NO_TREE ? &f->t->trees[f->last - 1] : NULL;
	size_t n = last != NULL ? strlen(last->path) : 0;
	char *slash = dir;
	int rc = 0;

	/* Files mostly come directory by directory. */
	if (last != NULL && strncmp(dir, last->path, n) == 0 &&
	    (dir[n] == '/' || dir[n] == '\0')) {
		*tree = f->last;
		return 0;
	}
	*tree = map_get(f->known, dir);
	if (*tree != MAP_NONE)
		return 0;
	*tree = TARGET_NO_TREE;
	while (rc == 0 && *tree == TARGET_NO_TREE && slash != NULL) {
		slash = strchr(slash, '/');
		if (slash != NULL)
			*slash = '\0';
		rc = look(f, dir, slash == NULL ? files : 0, tree, err);
		if (slash != NULL)
			*slash++ = '/';
	}
	return rc;
}

/* Name the temporary files of targets `from` to `to`, in one directory. */
static int
name_run(struct finder *f, size_t from, size_t to, struct error *err)
{
	struct target *list = f->t->list;
	const char *path = list[from].path;
	const size_t len = (size_t)(path_base(path) - path);
	const struct target_tree *in = NULL;
	size_t tree = TARGET_NO_TREE;
	char *dir = NULL;

	if (len > 0 && list[from].dirfd == f->dirfd) {
		dir = arena_strndup(f->t->arena, path, len - 1);
		if (dir == NULL)
			return error_no_memory(err);
		if (find(f, dir, to - from, &tree, err) < 0)
			return -1;
	}
	f->last = tree;
	if (tree != TARGET_NO_TREE)
		in = &f->t->trees[tree - 1];
	for (size_t i = from; i < to; i++) {
		list[i].tree = tree;
		list[i].temp =
			in == NULL
				? target_temp(f->t, list[i].path, err)
				: arena_printf(f->t->arena, "%s%s", in->temp,
					       list[i].path + strlen(in->path));
		if (list[i].temp == NULL)
			return error_no_memory(err);
	}
	return 0;
}

int
target_trees_make(struct targets *t, struct error *err)
{
	struct finder f = { .t = t, .known = map_new() };
	int rc = f.known == NULL ? error_no_memory(err) : 0;
	bool any = false;

	for (size_t i = 0, to = 0; rc == 0 && i < t->count; i = to) {
		to = i + 1;
		if (!target_is_new(&t->list[i]))
			continue;
		if (!any)
			f.dirfd = t->trees_fd = t->list[i].dirfd;
		any = true;
		while (to < t->count && target_is_new(&t->list[to]) &&
		       target_same_parent(&t->list[i], &t->list[to]))
			to++;
		rc = name_run(&f, i, to, err);
	}
	map_free(f.known);
	return rc;
}

/* --- In place --- */

int
target_trees_rename(struct targets *t, struct error *err)
{
	for (size_t i = 0; i < t->ntrees; i++) {
		struct target_tree *tree = &t->trees[i];
		const char *base = NULL;
		int rc = 0, dir = -1;

		if (tree->done)
			continue;
		dir = path_open_parent(t->trees_fd, tree->temp, false, 0, &base,
				       err);
		if (dir < 0)
			return -1;
		/* Only an empty directory can be in its place: nothing goes. */
		rc = renameat(dir, base, dir, path_base(tree->path));
		if (rc < 0)
			error_sys(err, "%s: cannot rename to %s", tree->temp,
				  tree->path);
		close(dir);
		if (rc < 0)
			return -1;
		tree->done = true;
	}
	return 0;
}

void
target_trees_discard(struct targets *t)
{
	for (size_t i = 0; i < t->ntrees; i++) {
		const struct target_tree *tree = &t->trees[i];
		const char *base = NULL;
		int dir = -1;

		if (tree->done)
			continue;
		dir = path_open_parent(t->trees_fd, tree->temp, false, 0, &base,
				       NULL);
		if (dir < 0)
			continue;
		(void)io_remove_tree(dir, base, NULL);
		close(dir);
	}
	t->ntrees = 0;
}
