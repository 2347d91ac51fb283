/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locate.c - classify a path, and find cache directories below it.
 */
#include "find/locate.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "str.h"

/* Depth of NODE/CACHE/USER/scr.JOB/node.N/scr.dataset.ID (scr-dataset(5)), plus
 * one. */
#define SEARCH_DEPTH 7

/* --- One path --- */

static bool
has_scr(const char *path)
{
	struct buf full = BUF_INIT;
	struct stat st;
	bool yes = false;

	path_join(&full, path, ".scr", NULL);
	yes = dir_stat(AT_FDCWD, full.data, &st, 0) == 0 && S_ISDIR(st.st_mode);
	buf_free(&full);
	return yes;
}

/* Return `path` without its last `n` components, allocated in `a`. */
static const char *
above(const char *path, int n, struct arena *a)
{
	char *copy = arena_strdup(a, path);

	for (; n > 0; n--) {
		char *slash = strrchr(copy, '/');

		if (slash == NULL || slash == copy)
			return arena_strdup(a, "/");
		*slash = '\0';
	}
	return copy;
}

int
locate_path(const char *path, struct arena *a, struct locate_place *out,
	    struct error *err)
{
	struct buf real = BUF_INIT;
	const char *base = NULL, *parent = NULL;
	const struct dirent *de = NULL;
	DIR *dir = NULL;
	struct stat st;

	*out = (struct locate_place){ .kind = LOCATE_FILE, .id = -1 };
	if (dir_stat(AT_FDCWD, path, &st, 0) < 0)
		return error_sys(err, "%s: cannot look", path);
	if (!S_ISDIR(st.st_mode))
		return 0;
	/* By its real path, because "." and links do not show their names. */
	if (path_real(path, &real, err) < 0)
		return -1;
	base = path_base(real.data);
	parent = above(real.data, 1, a);
	out->id = dataset_dir_id(base);
	out->kind = LOCATE_OTHER;
	if (out->id >= 0 && str_eq(path_base(parent), ".scr")) {
		out->kind = LOCATE_DATASET;
		out->prefix = above(real.data, 2, a);
	} else if (str_eq(base, ".scr")) {
		/* The .scr of a prefix, or that of a dataset in a cache. */
		out->id = dataset_dir_id(path_base(parent));
		out->kind = LOCATE_PREFIX;
		out->prefix = parent;
		/* Does it contain filemaps or redundancy files? */
		dir = out->id >= 0 ? opendir(real.data) : NULL;
		while (dir != NULL && (de = readdir(dir)) != NULL)
			if (dataset_dir_is_recovery(de->d_name))
				out->kind = LOCATE_CACHE;
		if (dir != NULL)
			closedir(dir);
	} else if (has_scr(path)) {
		out->kind = out->id >= 0 ? LOCATE_CACHE : LOCATE_PREFIX;
		out->prefix = arena_strdup(a, path);
	}
	buf_free(&real);
	return 0;
}

/* --- Caches --- */

void
locate_caches_init(struct locate_caches *c)
{
	*c = (struct locate_caches){ .arena = arena_new() };
}

void
locate_caches_fini(struct locate_caches *c)
{
	for (size_t i = 0; i < c->count; i++)
		mem_free(c->groups[i].dirs);
	mem_free(c->groups);
	arena_free(c->arena);
	*c = (struct locate_caches){ .arena = NULL };
}

/* Add the directory to the group of its dataset and job.  That of the job
 * contains that of the dataset or the node. */
static void
add_dir(struct locate_caches *c, int64_t id, const char *dir)
{
	const char *job = NULL;
	struct buf real = BUF_INIT;
	struct locate_group *g = NULL;
	size_t i = 0;

	/* If it vanishes now, the plan will say so. */
	job = above(path_real(dir, &real, NULL) == 0 ? real.data : dir, 1,
		    c->arena);
	buf_free(&real);
	if (str_starts(path_base(job), "node."))
		job = above(job, 1, c->arena);
	job = path_base(job);
	while (i < c->count && (c->groups[i].id < id ||
				(c->groups[i].id == id &&
				 str_natural(c->groups[i].job, job) < 0)))
		i++;
	if (i == c->count || c->groups[i].id != id ||
	    !str_eq(c->groups[i].job, job)) {
		(void)MEM_ROOM(c->groups, c->count, c->cap);
		memmove(&c->groups[i + 1], &c->groups[i],
			(c->count++ - i) * sizeof(*c->groups));
		c->groups[i] = (struct locate_group){ .id = id, .job = job };
	}
	g = &c->groups[i];
	(void)MEM_ROOM(g->dirs, g->ndirs, g->cap);
	g->dirs[g->ndirs++] = arena_strdup(c->arena, dir);
}

static int
by_name(const void *a, const void *b)
{
	return str_natural(*(const char *const *)a, *(const char *const *)b);
}

/* Search the sub-directories of `path`, sorted.  Hidden directories and links
 * are skipped. */
static void
search(struct locate_caches *c, const char *path, int depth, size_t *found)
{
	struct buf full = BUF_INIT;
	const char **names = NULL;
	struct dirent *de = NULL;
	size_t count = 0, cap = 0;
	struct stat st;
	DIR *dir = opendir(path);

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		if (de->d_name[0] == '.' ||
		    dir_stat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) <
			    0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		(void)MEM_ROOM(names, count, cap);
		names[count++] = arena_strdup(c->arena, de->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	if (count > 1)
		qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++) {
		int64_t id = dataset_dir_id(names[i]);

		path_join(&full, path, names[i], NULL);
		if (id >= 0 && has_scr(full.data)) {
			add_dir(c, id, full.data);
			(*found)++;
		} else if (depth > 1) {
			search(c, full.data, depth - 1, found);
		}
	}
	mem_free(names);
	buf_free(&full);
}

int
locate_caches_add(struct locate_caches *c, const char *path, size_t *found,
		  struct error *err)
{
	struct locate_place at;

	if (locate_path(path, c->arena, &at, err) < 0)
		return -1;
	if (at.kind == LOCATE_CACHE) {
		(*found)++;
		add_dir(c, at.id, at.prefix);
	} else if (at.kind == LOCATE_OTHER) {
		search(c, path, SEARCH_DEPTH, found);
	}
	return 0;
}
