/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove.c - remove everything of one dataset but its index entry.
 *
 * First the summary, from which a rebuilt index would take the dataset, then
 * the files, then the metadata that name them.  If half of the metadata are
 * removed, the files can no longer be determined; therefore a mark is written
 * first, which records that the files are removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "temp.h"
#include "transfer/put.h"
#include "work.h"

/* --- Files and directories, never through a link --- */

/* This is stricter than path.h.  A link to a neighbouring directory stays below
 * the prefix, but the file may belong to another dataset under another name. */
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

static int
doom(struct eraser *e, const char *path, struct error *err)
{
	const char *copy = arena_strdup(e->arena, path);

	if (copy == NULL || map_put(e->doomed, copy, 0) < 0)
		return error_no_memory(err);
	return 0;
}

/* Erase `path` (clean) if it is a regular file, and remember the directories
 * above it.  A missing file is no error, anything else is kept and reported. */
static int
erase(struct eraser *e, const char *path, struct error *err)
{
	const char *base = NULL, *copy = NULL;
	char dir[PATH_MAX], *slash = NULL;
	struct stat st;
	int fd = -1;

	memcpy(dir, path, strlen(path) + 1);
	while ((slash = strrchr(dir, '/')) != NULL) {
		*slash = '\0';
		if (map_get(e->seen, dir) != MAP_NONE)
			break;
		copy = arena_strdup(e->arena, dir);
		if (copy == NULL || !MEM_ROOM(e->dirs, e->ndirs, e->dirs_cap) ||
		    map_put(e->seen, copy, e->ndirs) < 0)
			return error_no_memory(err);
		e->dirs[e->ndirs++] = copy;
	}
	fd = parent(e, path, &base);
	if (fd < 0 || dir_stat(fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_sys(err, "%s: cannot remove", path);
	if (!S_ISREG(st.st_mode)) {
		e->out->kept++;
		work_say(e->work, "%s: not a plain file, not removed",
			 str_shown(path));
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

/* Sub-directories come first, because their paths are longer. */
static int
longer_first(const void *a, const void *b)
{
	size_t x = strlen(*(const char *const *)a);
	size_t y = strlen(*(const char *const *)b);

	return (x < y) - (x > y);
}

/* Would an entry of directory `dir` be kept?  If it cannot be opened: yes. */
static int
any_kept(const struct eraser *e, const char *dir, struct error *err)
{
	const int fd = path_open_trusted(e->root, dir);
	char path[PATH_MAX + NAME_MAX + 1];
	const char *name = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return 1;
	rc = dir_walk(&w, fd, dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		rc = map_get(e->doomed, path) == MAP_NONE;
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

/* Remove the directories above all erased paths that are now empty. */
static int
erase_dirs(struct eraser *e, struct error *err)
{
	if (e->ndirs > 0)
		qsort(e->dirs, e->ndirs, sizeof(*e->dirs), longer_first);
	for (size_t i = 0; i < e->ndirs; i++) {
		const char *base = NULL;
		int fd = -1, rc = 0;

		/* Dry run: count it as removed if it would be empty. */
		if (e->work->dry_run) {
			rc = any_kept(e, e->dirs[i], err);
			e->out->dirs += rc == 0;
			if (rc < 0 || (rc == 0 && doom(e, e->dirs[i], err) < 0))
				return -1;
			continue;
		}
		fd = parent(e, e->dirs[i], &base);
		if (fd >= 0 && unlinkat(fd, base, AT_REMOVEDIR) == 0)
			e->out->dirs++;
		/* Expected: not empty, already removed, a link, a mount
		 * point. */
		else if (errno != ENOTEMPTY && errno != EEXIST &&
			 errno != ENOENT && errno != ENOTDIR &&
			 errno != ELOOP && errno != EBUSY)
			work_say(e->work, "%s: cannot remove the directory: %s",
				 str_shown(e->dirs[i]), strerror(errno));
	}
	return 0;
}

int
catalogue_erasable(int root, const struct catalogue_claims *k,
		   struct error *err)
{
	struct eraser e = { .root = root, .fd = -1 };
	char link[PATH_MAX] = "", to[PATH_MAX] = "";
	const char *base = NULL;
	int rc = 0;

	for (size_t i = 0; i < k->count && rc == 0; i++) {
		if (path_dangles(root, k->paths[i], link, to) &&
		    strcmp(link, k->paths[i]) != 0)
			rc = error_set(
				err, ERROR_UNSAFE,
				"%s: a link to %s, which is missing; it may be "
				"on a file system that is not mounted: mount "
				"it or remove the link, or --drop the dataset "
				"from the index only",
				str_shown(link), str_shown(to));
		else if (parent(&e, k->paths[i], &base) < 0 && errno == ELOOP)
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: behind a link that is not followed "
				       "to delete files: remove the link, or "
				       "--drop the dataset from the index only",
				       str_shown(k->paths[i]));
	}
	io_close(e.fd);
	return rc;
}

/*
 * Erase the files in `k`, and the directories above them that are empty then.
 * Anything but a regular file is kept and reported; a missing file is no error.
 * In a dry run, only count.
 */
static int
erase_all(int root, const struct catalogue_claims *k, const struct work *work,
	  struct delete_result *out, struct error *err)
{
	struct eraser e = {
		.root = root,
		.work = work,
		.out = out,
		.arena = arena_new(),
		.fd = -1,
		.seen = map_new(),
		.doomed = map_new(),
	};
	struct put *put = NULL;
	int rc = 0;

	/* First the temporary files that an interrupted run left for the files
	 * and their directories.  Links are not followed. */
	if (!e.work->dry_run) {
		put = put_new(&(struct put_options){ .par = NULL }, err);
		rc = put == NULL ? -1 : 0;
	}
	for (size_t i = 0; i < k->count && rc == 0 && put != NULL; i++)
		if (put_add(put,
			    &(struct put_what){ .dirfd = root,
						.path = k->paths[i] },
			    err) == NULL)
			rc = -1;
	if (rc == 0 && put != NULL)
		(void)put_clear(put, NULL);
	put_free(put);
	for (size_t i = 0; i < k->count && rc == 0; i++) {
		if (work_stopped(e.work))
			rc = error_set(err, ERROR_SYSTEM, "interrupted");
		else
			rc = erase(&e, k->paths[i], err);
	}
	if (rc == 0)
		rc = erase_dirs(&e, err);
	io_close(e.fd);
	map_free(e.seen);
	map_free(e.doomed);
	mem_free(e.dirs);
	arena_free(e.arena);
	return rc;
}

/* --- One dataset --- */

/* Remove the containers, and their directory if it is empty then. */
static int
remove_containers(const struct catalogue_dir *dir, const struct work *work,
		  struct delete_result *out, struct error *err)
{
	const int fd = dir_open_plain(dir->fd, SEGMAP_DIR);
	const char *name = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return 0;
	rc = dir_walk(&w, fd, SEGMAP_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		char to[PATH_MAX] = "";
		struct stat st;

		/* Other files are kept. */
		if ((!segmap_is_container(name) && !temp_is(name) &&
		     !dataset_dir_is_aside(name)) ||
		    dir_stat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode)) {
			out->files++;
			out->bytes += (uint64_t)st.st_size;
			if (!work->dry_run && unlinkat(fd, name, 0) < 0 &&
			    errno != ENOENT)
				rc = error_sys(err, "%s/%s/%s: cannot remove",
					       dir->name, SEGMAP_DIR, name);
			continue;
		}
		/* What has the name of a container but is no file: remove a
		 * link, but not what it leads to, or an empty directory. */
		if (!work->dry_run && S_ISDIR(st.st_mode) &&
		    unlinkat(fd, name, AT_REMOVEDIR) == 0)
			continue;
		if (!work->dry_run && S_ISLNK(st.st_mode) &&
		    readlinkat(fd, name, to, sizeof(to) - 1) >= 0 &&
		    unlinkat(fd, name, 0) == 0) {
			work_say(work,
				 "%s/%s/%s: only a link: %s is not removed",
				 dir->name, SEGMAP_DIR, name, str_shown(to));
			continue;
		}
		out->kept++;
		work_say(work, "%s/%s/%s: not a plain file, not removed",
			 dir->name, SEGMAP_DIR, name);
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	if (rc == 0 && !work->dry_run)
		(void)unlinkat(dir->fd, SEGMAP_DIR, AT_REMOVEDIR);
	return rc;
}

struct listing {
	struct arena *arena;
	const char **names;
	size_t count, cap;
	size_t foreign;
	char first[256]; /* name of the first foreign file */
};

/* List the metadata files, which are removed last, and count foreign ones. */
static int
list_names(const struct catalogue_dir *dir, struct listing *l,
	   struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	struct stat st;
	int rc = dir_walk(&w, dir->fd, dir->name, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const enum dataset_dir_kind kind = dataset_dir_kind(name, NULL);

		if (kind == DATASET_DIR_LOCK || kind == DATASET_DIR_DELETED ||
		    kind == DATASET_DIR_CONTAINERS)
			continue; /* removed earlier or later */
		if (kind == DATASET_DIR_FOREIGN &&
		    (!dataset_dir_is_aside(name) ||
		     dir_stat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     S_ISDIR(st.st_mode))) {
			if (l->foreign++ == 0)
				str_printable(l->first, sizeof(l->first), name);
			continue;
		}
		if (!MEM_ROOM(l->names, l->count, l->cap) ||
		    (name = arena_strdup(l->arena, name)) == NULL)
			rc = error_no_memory(err);
		else
			l->names[l->count++] = name;
	}
	return dir_done(&w, rc, err);
}

static int
remove_meta(struct catalogue *c, struct catalogue_dir *dir,
	    const struct work *work, struct delete_result *out,
	    struct error *err)
{
	struct listing l = { .arena = arena_new() };
	struct error why = ERROR_INIT;
	int fd = -1, rc = -1;

	rc = list_names(dir, &l, err);
	if (rc < 0 || work->dry_run) {
		out->dirs += rc == 0 && l.foreign == 0;
		goto out;
	}
	/* Record that the files are removed.  If there is no room for the
	 * mark, one of the metadata files becomes it. */
	fd = io_open(dir->fd, DATASET_DIR_GONE, O_WRONLY | O_CREAT, 0666, &why);
	if (fd < 0 &&
	    (!room_is_short(&why) || l.count == 0 ||
	     renameat(dir->fd, l.names[0], dir->fd, DATASET_DIR_GONE) < 0))
		rc = error_as(err, &why, "%s/%s", dir->name, why.text);
	io_close(fd);
	if (rc == 0)
		rc = io_sync_dir(dir->fd, dir->name, err);
	for (size_t i = 0; i < l.count && rc == 0; i++)
		rc = catalogue_dir_unlink(dir, l.names[i], err);
	if (rc == 0)
		rc = catalogue_dir_unlink(dir, DATASET_DIR_GONE, err);
	if (rc < 0)
		goto out;
	if (l.foreign > 0) {
		work_say(work,
			 "%s is kept: it holds %zu %s that belong to no "
			 "dataset, such as %s",
			 dir->name, l.foreign, str_plural(l.foreign, "file"),
			 l.first);
		goto out;
	}
	/* NFS keeps a removed file in the directory as long as it is open. */
	lock_give(dir->fd, dir->lock);
	dir->lock = -1;
	if (catalogue_dir_unlink(dir, LOCK_FILE, err) < 0)
		rc = -1;
	else if (unlinkat(c->scr_fd, dir->name, AT_REMOVEDIR) == 0)
		out->dirs++;
	else if (errno == ENOTEMPTY || errno == EEXIST)
		work_say(work, "%s is kept: it is not empty", dir->name);
	else if (errno != ENOENT)
		rc = error_sys(err, "%s: cannot remove", dir->name);
out:
	mem_free(l.names);
	arena_free(l.arena);
	return rc;
}

int
catalogue_remove(struct catalogue *c, struct catalogue_dir *dir,
		 const struct catalogue_claims *k,
		 const struct catalogue_options *o, struct delete_result *out,
		 struct error *err)
{
	int rc = 0;

	/* A rebuilt index would take the dataset from its summary. */
	if (!o->work.dry_run &&
	    (catalogue_dir_unlink(dir, SUMMARY_FILE, err) < 0 ||
	     io_sync_dir(dir->fd, dir->name, err) < 0))
		return -1;
	rc = erase_all(c->prefix_fd, k, &o->work, out, err);
	out->kept += k->shared + k->refused;
	if (k->shared > 0)
		work_say(&o->work,
			 "%s: %zu %s another dataset, too, not removed",
			 dir->name, k->shared,
			 k->shared == 1 ? "file belongs to"
					: "files belong to");
	if (rc < 0 || remove_containers(dir, &o->work, out, err) < 0)
		return -1;
	return remove_meta(c, dir, &o->work, out, err);
}
