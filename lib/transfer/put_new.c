/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_new.c - before the first file is written: leftovers of interrupted runs,
 * free space, and directories that do not exist yet.  After the last one: their
 * names.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "room.h"
#include "temp.h"
#include "transfer/put_impl.h"

/* Creating a new directory takes about eight system calls, and saves one for
 * each of its files.  So a new directory needs at least this many files. */
#define NEW_MIN 16

/* --- Room --- */

int
put_check_room(const struct put *p, const char *what, struct error *err)
{
	uint64_t need = 0;
	int last = -1;

	/* The roots of a dataset mostly share a file system, so each must have
	 * room for all files. */
	for (size_t i = 0; i < p->count; i++)
		need += p->files[i]->what.size;
	for (size_t i = 0; i < p->count; i++) {
		int fd = p->files[i]->what.dirfd;

		if (fd != last && room_check(fd, need, what, err) < 0)
			return -1;
		last = fd;
	}
	return 0;
}

/* --- Leftovers --- */

int
put_clear(struct put *p, struct error *err)
{
	struct pathcache_pair parents = { .next = 0 };
	char full[PATH_MAX + TEMP_NAME_MAX];
	int rc = 0;

	/* Of each file, then of each directory. */
	for (size_t i = 0; i < p->count + p->nplaces && rc == 0; i++) {
		const bool is_dir = i >= p->count;
		const struct put_place *place =
			is_dir ? p->places[i - p->count] : p->files[i]->place;
		const char *path =
			is_dir ? place->path : p->files[i]->what.path;
		const char *base = path_base(path);
		struct pathcache *c = pathcache_pair_at(&parents, place->dirfd);
		struct error why = ERROR_INIT;
		int parent = -1;

		if (c == NULL) {
			rc = error_no_memory(err);
			break;
		}
		snprintf(full, sizeof(full), "%.*s%s", (int)(base - path), path,
			 temp_str(base));
		if (path[0] == '\0' || pathcache_absent(c, full))
			continue;
		parent = pathcache_parent(c, path, &base, &why);
		if (parent < 0 && parent != AT_FDCWD)
			rc = why.kind == ERROR_ABSENT ? 0
						      : error_pass(err, &why);
		else if (!is_dir)
			rc = io_remove_tree(parent, temp_str(base), err);
		else
			temp_remove_dir(parent, base);
	}
	pathcache_pair_fini(&parents);
	return rc;
}

/* --- New directories --- */

/* May a rename replace the directory `base`? Only if the directory is empty and
 * differs from a new one in *st at most: no access list, no striping. */
static bool
is_replaceable(int parent, const char *base, struct stat *st)
{
	int fd = dir_open_plain(parent, base);
	bool good = false;

	if (fd < 0)
		return false;
	if (fstat(fd, st) == 0 && dir_is_empty(fd)) {
		ssize_t n = flistxattr(fd, NULL, 0);

		good = n == 0 || (n < 0 && errno == ENOTSUP);
	}
	close(fd);
	return good;
}

/* Give the directory `fd` owner, group and mode of `was`. */
static bool
make_alike(int fd, const struct stat *was)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if ((st.st_uid != was->st_uid || st.st_gid != was->st_gid) &&
	    fchown(fd, was->st_uid, was->st_gid) < 0)
		return false;
	return (st.st_mode == was->st_mode ||
		fchmod(fd, was->st_mode & 07777) == 0) &&
	       fstat(fd, &st) == 0 && st.st_mode == was->st_mode &&
	       st.st_dev == was->st_dev;
}

/* Create the temporary directory of a place that does not exist, or is an empty
 * directory, as packing leaves it. */
static int
make_new(struct put *p, struct put_place *place, struct error *err)
{
	const char *base = path_base(place->path);
	struct stat was;
	bool missing = false;
	int parent = put_place_take(p, place->up, true, err);

	if (parent < 0 && parent != AT_FDCWD)
		return -1;
	if (dir_stat(parent, base, &was, AT_SYMLINK_NOFOLLOW) < 0)
		missing = errno == ENOENT;
	else if (!S_ISDIR(was.st_mode) || !is_replaceable(parent, base, &was))
		goto out;
	place->fd = temp_make_dir(parent, base, place->owner);
	place->replaces = !missing;
	if (place->fd >= 0 && !missing && !make_alike(place->fd, &was)) {
		(void)unlinkat(parent, temp_str(base), AT_REMOVEDIR);
		close(place->fd);
		place->fd = -1;
	}
out:
	place->is_new = place->fd >= 0;
	p->ndirs += place->is_new;
	put_place_give(p, place->up, parent);
	return 0;
}

int
put_new_dirs(struct put *p, struct error *err)
{
	for (size_t i = 0; i < p->nplaces && p->ndirs < p->open_max / 2; i++) {
		struct put_place *place = p->places[i];

		if (place->waiting >= NEW_MIN && !place->has_below &&
		    place->path[0] != '\0' && make_new(p, place, err) < 0)
			return -1;
	}
	return 0;
}

/* Another process made or filled the directory meanwhile, or it is a mount
 * point: move the files into it. */
static int
move_files(struct put *p, const struct put_place *place, int parent,
	   const char *base, struct error *err)
{
	int fd = dir_open_plain(parent, base);
	int rc = fd < 0 ? error_sys(err, "%s: cannot open", place->path) : 0;

	for (size_t i = 0; i < p->count && rc == 0; i++) {
		const struct put_file *f = p->files[i];
		const char *name = path_base(f->what.path);

		if (f->place == place && f->state == PUT_PLACED &&
		    renameat(place->fd, name, fd, name) < 0)
			rc = error_sys(err, "%s: cannot rename", f->what.path);
	}
	if (rc == 0)
		rc = io_sync_dir(fd, place->path, err);
	io_close(fd);
	if (rc == 0)
		(void)unlinkat(parent, temp_str(base), AT_REMOVEDIR);
	return rc;
}

int
put_new_name(struct put *p, struct error *err)
{
	for (size_t i = 0; i < p->nplaces; i++) {
		struct put_place *place = p->places[i];
		const char *base = path_base(place->path);
		int parent = -1, rc = 0;

		if (!place->is_new || place->waiting > 0)
			continue;
		parent = put_place_take(p, place->up, false, err);
		if (parent < 0 && parent != AT_FDCWD)
			return -1;
		if (temp_commit(parent, base) < 0)
			rc = errno == ENOTEMPTY || errno == EEXIST ||
					     errno == EBUSY
				     ? move_files(p, place, parent, base, err)
				     : error_sys(err,
						 "%s: cannot rename its "
						 "temporary directory",
						 place->path);
		put_place_give(p, place->up, parent);
		place->is_new = rc < 0;
		place->made = rc == 0 && !place->replaces;
		if (rc < 0)
			return -1;
		put_place_changed(p, place->up, 0);
	}
	return 0;
}

void
put_new_remove(struct put *p)
{
	for (size_t i = 0; i < p->nplaces; i++) {
		struct put_place *place = p->places[i];
		int parent = -1;

		if (!place->is_new)
			continue;
		parent = put_place_take(p, place->up, false, NULL);
		if (parent < 0 && parent != AT_FDCWD)
			continue;
		(void)io_remove_tree(parent, temp_str(path_base(place->path)),
				     NULL);
		put_place_give(p, place->up, parent);
	}
}

/* --- Undo --- */

void
put_undo(struct put *p)
{
	p->failed = p->asked;
	/* Make directories writable again, so that files can be removed. */
	for (size_t i = 0; i < p->nplaces; i++) {
		struct put_place *place = p->places[i];
		const int fd = place->has_attr && place->made
				       ? put_place_take(p, place, false, NULL)
				       : -1;

		if (fd < 0)
			continue;
		(void)fchmod(fd, 0700);
		put_place_give(p, place, fd);
	}
	for (size_t i = p->count; i-- > 0;) {
		struct put_file *f = p->files[i];
		int dir = -1;

		if (f->state != PUT_PLACED || f->what.kept)
			continue;
		f->state = PUT_LISTED;
		dir = put_place_take(p, f->place, false, NULL);
		if (dir < 0 && dir != AT_FDCWD)
			continue;
		(void)unlinkat(dir, path_base(f->what.path), 0);
		put_place_give(p, f->place, dir);
	}
}
