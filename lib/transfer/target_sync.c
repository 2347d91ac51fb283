/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target_sync.c - directories of targets, on disk.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "transfer/target_impl.h"

struct dir {
	int dirfd;
	const char *path; /* "": dirfd itself */
};

static int
compare_dir(const void *x, const void *y)
{
	const struct dir *a = x, *b = y;

	if (a->dirfd != b->dirfd)
		return a->dirfd < b->dirfd ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int
sync_dir(const struct dir *d, struct error *err)
{
	int fd = -1, rc = -1;

	if (d->path[0] == '\0')
		return io_sync_dir(d->dirfd, ".", err);
	fd = path_open_beneath(d->dirfd, d->path, O_RDONLY | O_DIRECTORY, 0,
			       err);
	if (fd < 0)
		return -1;
	rc = io_sync_dir(fd, d->path, err);
	close(fd);
	return rc;
}

struct dirs {
	struct dir *list;
	size_t count, cap;
};

static int
add_dir(struct dirs *d, const struct targets *t, int dirfd, const char *path)
{
	if (!MEM_ROOM(d->list, d->count, d->cap))
		return -1;
	path = arena_strdup(t->arena, path);
	if (path == NULL)
		return -1;
	d->list[d->count++] = (struct dir){ dirfd, path };
	return 0;
}

/* `path`, below dirfd, and the directories above it, up to the root: new ones
 * have to last, too.  `end`: the length of the last one wanted. */
static int
add_dirs(struct dirs *d, const struct targets *t, int dirfd, const char *path,
	 size_t end)
{
	char *dir = arena_strdup(t->arena, path);

	while (dir != NULL && dir[0] != '\0') {
		char *slash = strrchr(dir, '/');

		*(slash ? slash : dir) = '\0';
		if (strlen(dir) < end)
			break;
		if (add_dir(d, t, dirfd, dir) < 0)
			return -1;
	}
	return dir == NULL ? -1 : 0;
}

/* Each once; `rc` tells whether the list is whole. */
static int
sync_all(struct dirs *d, int rc, struct error *err)
{
	if (rc < 0)
		error_no_memory(err);
	if (d->count > 0)
		qsort(d->list, d->count, sizeof(*d->list), compare_dir);
	for (size_t i = 0; i < d->count && rc == 0; i++)
		if (i == 0 || compare_dir(&d->list[i - 1], &d->list[i]) != 0)
			rc = sync_dir(&d->list[i], err);
	mem_free(d->list);
	return rc;
}

int
target_sync_trees(const struct targets *t, struct error *err)
{
	const struct target *last = NULL;
	struct dirs d = { .count = 0 };
	int rc = 0;

	for (size_t i = 0; i < t->count && rc == 0; i++) {
		const struct target *g = &t->list[i];

		/* Neighbours in the list mostly share their directory. */
		if (g->tree == TARGET_NO_TREE || t->trees[g->tree - 1].done ||
		    (last && target_same_parent(last, g)))
			continue;
		last = g;
		rc = add_dirs(&d, t, g->dirfd, g->temp,
			      strlen(t->trees[g->tree - 1].temp));
	}
	return sync_all(&d, rc, err);
}

int
target_sync_dirs(const struct targets *t, enum target_kind kind,
		 struct error *err)
{
	const struct target *last = NULL;
	struct dirs d = { .count = 0 };
	int rc = 0;

	for (size_t i = 0; i < t->ntrees && rc == 0 && kind == TARGET_FILE; i++)
		rc = add_dirs(&d, t, t->trees_fd, t->trees[i].path, 0);
	for (size_t i = 0; i < t->count && rc == 0; i++) {
		const struct target *g = &t->list[i];

		if (g->kind != kind || g->tree != TARGET_NO_TREE ||
		    (last && target_same_parent(last, g)))
			continue;
		last = g;
		rc = add_dirs(&d, t, g->dirfd, g->path, 0);
	}
	return sync_all(&d, rc, err);
}
