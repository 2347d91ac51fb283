/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * erase.c - remove files and directories, never through a link.
 *
 * This is stricter than path.h.  A link to a neighbouring directory stays below
 * the prefix, but the file may belong to another dataset under another name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/claims.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

struct eraser {
	int root;
	const struct work *work;
	struct delete_result *out;
	struct arena *arena;
	char last[PATH_MAX]; /* path of the directory `fd` */
	int fd;		     /* -1: not open */
	const char **dirs;   /* directories above the files */
	size_t ndirs, dirs_cap;
	struct map *seen;   /* contains `dirs` */
	struct map *doomed; /* dry run: all that would be removed */
};

/* --- Parent directories --- */

/* Return the directory of `path`, borrowed, and its last component in *base. */
static int
parent(struct eraser *e, const char *path, const char **base)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash != NULL ? (size_t)(slash - path) : 0;

	*base = slash != NULL ? slash + 1 : path;
	if (e->fd >= 0 && strlen(e->last) == n && memcmp(e->last, path, n) == 0)
		return e->fd;
	io_close(e->fd);
	memcpy(e->last, path, n); /* a clean path is shorter than PATH_MAX */
	e->last[n] = '\0';
	e->fd = path_open_trusted(e->root, e->last);
	return e->fd;
}

/* Remember the directories above `path`. */
static int
note_dirs(struct eraser *e, const char *path, struct error *err)
{
	size_t n = strlen(path);
	char dir[PATH_MAX];
	const char *copy = NULL;
	char *slash = NULL;

	memcpy(dir, path, n + 1);
	while ((slash = strrchr(dir, '/')) != NULL) {
		*slash = '\0';
		if (map_get(e->seen, dir) != MAP_NONE)
			return 0;
		if (!MEM_ROOM(e->dirs, e->ndirs, e->dirs_cap))
			return error_no_memory(err);
		copy = arena_strdup(e->arena, dir);
		if (copy == NULL || map_put(e->seen, copy, e->ndirs) < 0)
			return error_no_memory(err);
		e->dirs[e->ndirs++] = copy;
	}
	return 0;
}

/* --- Files --- */

/* Count and report a file that is kept. */
static void
keep(struct eraser *e, const char *path, const char *why)
{
	e->out->kept++;
	work_say(e->work, "%s: %s, not removed", str_shown(path), why);
}

static int
doom(struct eraser *e, const char *path, struct error *err)
{
	const char *copy = arena_strdup(e->arena, path);

	if (copy == NULL || map_put(e->doomed, copy, 0) < 0)
		return error_no_memory(err);
	return 0;
}

/* Erase `path` (clean) if it is a regular file.  A missing one is no error.
 * Anything else is kept and reported. */
static int
erase(struct eraser *e, const char *path, struct error *err)
{
	const char *base = NULL;
	struct stat st;
	int fd = -1;

	if (note_dirs(e, path, err) < 0)
		return -1;
	fd = parent(e, path, &base);
	if (fd < 0 || dir_stat(fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_sys(err, "%s: cannot remove", path);
	}
	if (!S_ISREG(st.st_mode)) {
		keep(e, path, "not a plain file");
		return 0;
	}
	if (e->work->dry_run) {
		if (doom(e, path, err) < 0)
			return -1;
	} else if (unlinkat(fd, base, 0) < 0) {
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot remove", path);
	}
	e->out->files++;
	if (st.st_nlink == 1) /* otherwise a hard link keeps the bytes */
		e->out->bytes += (uint64_t)st.st_size;
	return 0;
}

/* --- Directories --- */

/* Sub-directories come first, because their paths are longer. */
static int
longer_first(const void *a, const void *b)
{
	size_t x = strlen(*(const char *const *)a);
	size_t y = strlen(*(const char *const *)b);

	return (x < y) - (x > y);
}

struct emptiness {
	struct eraser *e;
	const char *dir;
	struct buf path;
};

/* Would this entry be kept? */
static int
survives(void *arg, const char *name, struct error *err)
{
	struct emptiness *m = arg;

	buf_clear(&m->path);
	if (buf_printf(&m->path, "%s/%s", m->dir, name) < 0)
		return error_no_memory(err);
	return map_get(m->e->doomed, m->path.data) == MAP_NONE;
}

/* Dry run: count `dir` as removed if it would be empty. */
static int
pretend(struct eraser *e, const char *dir, struct error *err)
{
	struct emptiness m = { .e = e, .dir = dir };
	int fd = path_open_trusted(e->root, dir), rc = 1;

	if (fd < 0)
		return 0;
	rc = dir_each(fd, dir, survives, &m, err);
	buf_free(&m.path);
	close(fd);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	e->out->dirs++;
	return doom(e, dir, err);
}

static void
remove_dir(struct eraser *e, const char *dir)
{
	const char *base = NULL;
	int fd = parent(e, dir, &base);

	if (fd >= 0 && unlinkat(fd, base, AT_REMOVEDIR) == 0) {
		e->out->dirs++;
		return;
	}
	/* Expected: not empty, already removed, a link, a mount point. */
	if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT ||
	    errno == ENOTDIR || errno == ELOOP || errno == EBUSY)
		return;
	work_say(e->work, "%s: cannot remove the directory: %s", str_shown(dir),
		 strerror(errno));
}

/* Remove the directories above all erased paths that are now empty. */
static int
erase_dirs(struct eraser *e, struct error *err)
{
	if (e->ndirs > 0)
		qsort(e->dirs, e->ndirs, sizeof(*e->dirs), longer_first);
	for (size_t i = 0; i < e->ndirs; i++) {
		if (!e->work->dry_run)
			remove_dir(e, e->dirs[i]);
		else if (pretend(e, e->dirs[i], err) < 0)
			return -1;
	}
	return 0;
}

/* --- All files of a dataset --- */

/* Remove the temporary files that an interrupted run left for the files and
 * their directories.  Links are not followed. */
static int
erase_temps(const struct eraser *e, const struct catalogue_claims *k,
	    struct error *err)
{
	struct put *put = put_new(&(struct put_options){ .par = NULL }, err);
	int rc = put == NULL ? -1 : 0;

	for (size_t i = 0; i < k->count && rc == 0; i++)
		if (!k->list[i].shared &&
		    put_add(put,
			    &(struct put_what){ .dirfd = e->root,
						.path = k->list[i].path },
			    err) == NULL)
			rc = -1;
	if (rc == 0)
		(void)put_clear(put, NULL);
	put_free(put);
	return rc;
}

static int
erase_all(struct eraser *e, const struct catalogue_claims *k, struct error *err)
{
	if (!e->work->dry_run && erase_temps(e, k, err) < 0)
		return -1;
	for (size_t i = 0; i < k->count; i++) {
		if (work_stopped(e->work))
			return error_set(err, ERROR_SYSTEM, "interrupted");
		if (!k->list[i].shared && erase(e, k->list[i].path, err) < 0)
			return -1;
	}
	return erase_dirs(e, err);
}

int
catalogue_erasable(int root, const struct catalogue_claims *k,
		   struct error *err)
{
	struct eraser e = { .root = root, .fd = -1 };
	const char *base = NULL;
	int rc = 0;

	for (size_t i = 0; i < k->count && rc == 0; i++)
		if (!k->list[i].shared &&
		    parent(&e, k->list[i].path, &base) < 0 && errno == ELOOP)
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: behind a link that is not followed "
				       "to delete files: remove the link, or "
				       "--drop the dataset from the index only",
				       str_shown(k->list[i].path));
	io_close(e.fd);
	return rc;
}

int
catalogue_erase(int root, const struct catalogue_claims *k,
		struct delete_result *out, struct error *err)
{
	struct eraser e = {
		.root = root,
		.work = k->work,
		.out = out,
		.arena = arena_new(),
		.fd = -1,
		.seen = map_new(),
		.doomed = map_new(),
	};
	int rc = -1;

	if (e.arena == NULL || e.seen == NULL || e.doomed == NULL)
		error_no_memory(err);
	else
		rc = erase_all(&e, k, err);
	io_close(e.fd);
	map_free(e.seen);
	map_free(e.doomed);
	mem_free(e.dirs);
	arena_free(e.arena);
	return rc;
}
