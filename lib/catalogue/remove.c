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

/* Remove the directories above all erased paths that are now empty. */
static int
erase_dirs(struct eraser *e, struct error *err)
{
	if (e->ndirs > 0)
		qsort(e->dirs, e->ndirs, sizeof(*e->dirs), longer_first);
	for (size_t i = 0; i < e->ndirs; i++) {
		const char *base = NULL;
		int fd = -1;

		/* Dry run: count it as removed if it would be empty. */
		if (e->work->dry_run) {
			struct emptiness m = { .e = e, .dir = e->dirs[i] };
			int rc = 1;

			fd = path_open_trusted(e->root, m.dir);
			if (fd >= 0)
				rc = dir_each(fd, m.dir, survives, &m, err);
			buf_free(&m.path);
			io_close(fd);
			e->out->dirs += rc == 0;
			if (rc < 0 || (rc == 0 && doom(e, m.dir, err) < 0))
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

int
catalogue_erasable(int root, const struct catalogue_claims *k,
		   struct error *err)
{
	struct eraser e = { .root = root, .fd = -1 };
	char link[PATH_MAX] = "", to[PATH_MAX] = "";
	const char *base = NULL;
	int rc = 0;

	for (size_t i = 0; i < k->count && rc == 0; i++) {
		if (!k->list[i].shared &&
		    path_dangles(root, k->list[i].path, link, to) &&
		    strcmp(link, k->list[i].path) != 0)
			rc = error_set(
				err, ERROR_UNSAFE,
				"%s: a link to %s, which is missing; it may be "
				"on a file system that is not mounted: mount "
				"it or remove the link, or --drop the dataset "
				"from the index only",
				str_shown(link), str_shown(to));
		else if (!k->list[i].shared &&
			 parent(&e, k->list[i].path, &base) < 0 &&
			 errno == ELOOP)
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: behind a link that is not followed "
				       "to delete files: remove the link, or "
				       "--drop the dataset from the index only",
				       str_shown(k->list[i].path));
	}
	io_close(e.fd);
	return rc;
}

/*
 * Erase the files in `k` that no other dataset names, and the directories above
 * them that are empty then.  Anything but a regular file is kept and reported;
 * a missing file is no error.  In a dry run, only count.
 */
static int
erase_all(int root, const struct catalogue_claims *k, struct delete_result *out,
	  struct error *err)
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
	int rc = 0;

	if (e.arena == NULL || e.seen == NULL || e.doomed == NULL)
		rc = error_no_memory(err);
	else if (!e.work->dry_run)
		rc = erase_temps(&e, k, err);
	for (size_t i = 0; i < k->count && rc == 0; i++) {
		if (work_stopped(e.work))
			rc = error_set(err, ERROR_SYSTEM, "interrupted");
		else if (!k->list[i].shared)
			rc = erase(&e, k->list[i].path, err);
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

struct removal {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct catalogue_dir *dir;
	int containers; /* their directory, while open */
	struct delete_result *out;
};

/* Remove what has the name of a container but is no file: a link, but not what
 * it leads to, or an empty directory. */
static bool
remove_impostor(struct removal *d, const char *name, const struct stat *st)
{
	char to[PATH_MAX] = "";

	if (S_ISDIR(st->st_mode))
		return unlinkat(d->containers, name, AT_REMOVEDIR) == 0;
	if (!S_ISLNK(st->st_mode) ||
	    readlinkat(d->containers, name, to, sizeof(to) - 1) < 0 ||
	    unlinkat(d->containers, name, 0) < 0)
		return false;
	work_say(&d->o->work, "%s/%s/%s: only a link: %s is not removed",
		 d->dir->name, SEGMAP_DIR, name, str_shown(to));
	return true;
}

/* Remove one container.  Other files in the directory are kept. */
static int
remove_container(void *arg, const char *name, struct error *err)
{
	struct removal *d = arg;
	struct stat st;

	if ((!segmap_is_container(name) && !dataset_dir_is_aside(name)) ||
	    dir_stat(d->containers, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISREG(st.st_mode) && !d->o->work.dry_run &&
	    remove_impostor(d, name, &st))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		d->out->kept++;
		work_say(&d->o->work, "%s/%s/%s: not a plain file, not removed",
			 d->dir->name, SEGMAP_DIR, name);
		return 0;
	}
	d->out->files++;
	d->out->bytes += (uint64_t)st.st_size;
	if (!d->o->work.dry_run && unlinkat(d->containers, name, 0) < 0 &&
	    errno != ENOENT)
		return error_sys(err, "%s/%s/%s: cannot remove", d->dir->name,
				 SEGMAP_DIR, name);
	return 0;
}

struct listing {
	struct arena *arena;
	int fd; /* the directory */
	const char **names;
	size_t count, cap;
	size_t foreign;
	char first[256]; /* name of the first foreign file */
};

static int
list_name(void *arg, const char *name, struct error *err)
{
	struct listing *l = arg;
	struct stat st;

	switch (dataset_dir_kind(name, NULL)) {
	case DATASET_DIR_LOCK:
	case DATASET_DIR_DELETED:
	case DATASET_DIR_CONTAINERS:
		return 0; /* removed earlier or later */
	case DATASET_DIR_FOREIGN:
		if (dataset_dir_is_aside(name) &&
		    dir_stat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			break;
		if (l->foreign++ == 0)
			str_printable(l->first, sizeof(l->first), name);
		return 0;
	default:
		break;
	}
	if (!MEM_ROOM(l->names, l->count, l->cap))
		return error_no_memory(err);
	l->names[l->count] = arena_strdup(l->arena, name);
	return l->names[l->count++] == NULL ? error_no_memory(err) : 0;
}

static int
remove_names(struct removal *d, const struct listing *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++)
		if (catalogue_dir_unlink(d->dir, l->names[i], err) < 0)
			return -1;
	if (catalogue_dir_unlink(d->dir, DATASET_DIR_GONE, err) < 0)
		return -1;
	if (l->foreign > 0) {
		work_say(&d->o->work,
			 "%s is kept: it holds %zu %s that belong to no "
			 "dataset, such as %s",
			 d->dir->name, l->foreign,
			 str_plural(l->foreign, "file"), l->first);
		return 0;
	}
	/* NFS keeps a removed file in the directory as long as it is open. */
	lock_give(d->dir->fd, d->dir->lock);
	d->dir->lock = -1;
	if (catalogue_dir_unlink(d->dir, LOCK_FILE, err) < 0)
		return -1;
	if (unlinkat(d->c->scr_fd, d->dir->name, AT_REMOVEDIR) == 0)
		d->out->dirs++;
	else if (errno == ENOTEMPTY || errno == EEXIST)
		work_say(&d->o->work, "%s is kept: it is not empty",
			 d->dir->name);
	else if (errno != ENOENT)
		return error_sys(err, "%s: cannot remove", d->dir->name);
	return 0;
}

static int
remove_meta(struct removal *d, struct error *err)
{
	const struct catalogue_dir *dir = d->dir;
	struct listing l = { .arena = arena_new(), .fd = dir->fd };
	struct error why = ERROR_INIT;
	int fd = -1, rc = -1;

	if (l.arena == NULL)
		return error_no_memory(err);
	rc = dir_each(d->dir->fd, d->dir->name, list_name, &l, err);
	if (rc == 0 && !d->o->work.dry_run) {
		/* Record that the files are removed.  If there is no room for
		 * the mark, one of the metadata files becomes it. */
		fd = io_open(dir->fd, DATASET_DIR_GONE, O_WRONLY | O_CREAT,
			     0666, &why);
		if (fd < 0 && (!room_is_short(&why) || l.count == 0 ||
			       renameat(dir->fd, l.names[0], dir->fd,
					DATASET_DIR_GONE) < 0))
			rc = error_as(err, &why, "%s/%s", dir->name, why.text);
		io_close(fd);
		if (rc == 0)
			rc = io_sync_dir(dir->fd, dir->name, err);
		if (rc == 0)
			rc = remove_names(d, &l, err);
	} else if (rc == 0 && l.foreign == 0)
		d->out->dirs++;
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
	struct removal d = { .c = c, .o = o, .dir = dir, .out = out };
	size_t shared = 0;
	int rc = 0;

	/* A rebuilt index would take the dataset from its summary. */
	if (!o->work.dry_run &&
	    (catalogue_dir_unlink(dir, SUMMARY_FILE, err) < 0 ||
	     io_sync_dir(dir->fd, dir->name, err) < 0))
		return -1;
	rc = erase_all(c->prefix_fd, k, out, err);
	for (size_t i = 0; i < k->count; i++)
		shared += k->list[i].shared;
	out->kept += shared + k->refused;
	if (shared > 0)
		work_say(&o->work,
			 "%s: %zu %s another dataset, too, not removed",
			 dir->name, shared,
			 shared == 1 ? "file belongs to" : "files belong to");
	if (rc < 0)
		return -1;
	d.containers = dir_open_plain(dir->fd, SEGMAP_DIR);
	if (d.containers >= 0) {
		rc = dir_each(d.containers, SEGMAP_DIR, remove_container, &d,
			      err);
		close(d.containers);
		if (rc == 0 && !o->work.dry_run)
			(void)unlinkat(dir->fd, SEGMAP_DIR, AT_REMOVEDIR);
	}
	return rc < 0 ? -1 : remove_meta(&d, err);
}
