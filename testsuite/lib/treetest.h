/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * treetest.h - directory trees in memory: taken from disk, put back, compared.
 * For tests that do the same thing to the same tree thousands of times.  Only
 * directories and regular files; what cannot be done ends the program.
 */
#ifndef TREETEST_H
#define TREETEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"
#include "mem.h"

struct tree_entry {
	char *path; /* below the root */
	mode_t mode;
	struct timespec mtime;
	struct buf data; /* of a file */
};

struct tree {
	struct tree_entry *list; /* by path */
	size_t count;
};

static inline _Noreturn void
tree_die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static inline int
tree_compare(const void *a, const void *b)
{
	const struct tree_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* nftw() has no argument for its function. */
static struct tree *tree_into;
static size_t tree_skip;

static inline int
tree_visit(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	struct tree *t = tree_into;
	struct tree_entry *e = NULL;

	(void)ftw;
	if (strlen(path) <= tree_skip)
		return 0;
	if (flag != FTW_D && !(flag == FTW_F && S_ISREG(st->st_mode)))
		tree_die(path);
	t->list = mem_realloc(t->list, t->count + 1, sizeof(*t->list));
	if (t->list == NULL)
		tree_die("out of memory");
	e = &t->list[t->count++];
	*e = (struct tree_entry){
		.path = mem_strdup(path + tree_skip),
		.mode = st->st_mode,
		.mtime = st->st_mtim,
	};
	if (e->path == NULL)
		tree_die("out of memory");
	if (flag == FTW_F &&
	    io_read_file(AT_FDCWD, path, (size_t)1 << 30, &e->data, NULL) < 0)
		tree_die(path);
	return 0;
}

/* Take the tree below `root`; for tree_free(). */
static inline struct tree
tree_load(const char *root)
{
	struct tree t = { .count = 0 };

	tree_into = &t;
	tree_skip = strlen(root) + 1;
	if (nftw(root, tree_visit, 16, FTW_PHYS) != 0)
		tree_die(root);
	if (t.count > 0)
		qsort(t.list, t.count, sizeof(*t.list), tree_compare);
	tree_into = NULL;
	return t;
}

static inline void
tree_free(struct tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		mem_free(t->list[i].path);
		buf_free(&t->list[i].data);
	}
	mem_free(t->list);
	*t = (struct tree){ .count = 0 };
}

static inline struct tree_entry *
tree_find(const struct tree *t, const char *path)
{
	const struct tree_entry key = { .path = (char *)path };

	return t->count == 0 ? NULL
			     : bsearch(&key, t->list, t->count,
				       sizeof(*t->list), tree_compare);
}

static inline bool
tree_same_data(const struct tree_entry *a, const struct tree_entry *b)
{
	return a->data.len == b->data.len &&
	       (a->data.len == 0 ||
		memcmp(a->data.data, b->data.data, a->data.len) == 0);
}

/* Type, mode, contents; time too, if it is a file and `times`. */
static inline bool
tree_same(const struct tree_entry *a, const struct tree_entry *b, bool times)
{
	return a->mode == b->mode && tree_same_data(a, b) &&
	       (!times || S_ISDIR(a->mode) ||
		(a->mtime.tv_sec == b->mtime.tv_sec &&
		 a->mtime.tv_nsec == b->mtime.tv_nsec));
}

static inline void
tree_write(int root, const struct tree_entry *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   e->mtime };
	int fd = -1;

	if (S_ISDIR(e->mode)) {
		if (mkdirat(root, e->path, 0777) < 0 ||
		    fchmodat(root, e->path, e->mode & 07777, 0) < 0)
			tree_die(e->path);
		return;
	}
	fd = openat(root, e->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 ||
	    io_pwrite(fd, e->path, e->data.data, e->data.len, 0, NULL) < 0 ||
	    fchmod(fd, e->mode & 07777) < 0 || futimens(fd, times) < 0)
		tree_die(e->path);
	close(fd);
}

/* Make what is below `root`, which is `now`, be `want` again. */
static inline void
tree_restore(const char *root, const struct tree *now, const struct tree *want)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		tree_die(root);
	/* From the end: what is in a directory goes before it. */
	for (size_t i = now->count; i-- > 0;) {
		const struct tree_entry *e = &now->list[i];
		const struct tree_entry *w = tree_find(want, e->path);

		if ((w == NULL || !tree_same(e, w, true)) &&
		    unlinkat(fd, e->path, S_ISDIR(e->mode) ? AT_REMOVEDIR : 0) <
			    0)
			tree_die(e->path);
	}
	for (size_t i = 0; i < want->count; i++) {
		const struct tree_entry *w = &want->list[i];
		const struct tree_entry *e = tree_find(now, w->path);

		if (e == NULL || !tree_same(e, w, true))
			tree_write(fd, w);
	}
	close(fd);
}

/* Remove `root` and all below it. */
static inline int
tree_unlink(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
tree_remove(const char *root)
{
	(void)nftw(root, tree_unlink, 16, FTW_PHYS | FTW_DEPTH);
}

#endif /* TREETEST_H */
