/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_clear.c - before the first file is written: free space, and leftovers of
 * interrupted runs.  After the last one: taking all back.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "room.h"
#include "temp.h"
#include "transfer/put_impl.h"

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

/* Remove the temporary directory for `base`, as older versions made them,
 * unless one of those uses it: then it has a lock.  A failure is ignored. */
static void
remove_dir(int parent, const char *base)
{
	const int fd = dir_open_plain(parent, temp_str(base));

	if (fd < 0)
		return;
	/* A process may have renamed it before this one got the lock. */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && temp_is_same(parent, base, fd))
		(void)io_remove_tree(parent, temp_str(base), NULL);
	close(fd);
}

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
		else if (is_dir)
			remove_dir(parent, base);
		else
			rc = io_remove_tree(parent, temp_str(base), err);
	}
	pathcache_pair_fini(&parents);
	return rc;
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
