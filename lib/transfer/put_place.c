/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_place.c - the directories that files are put into.  Each is kept open
 * while descriptors last, queried once for the owner and mode of new files, and
 * synced once for many renames.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/attr.h"
#include "par.h"
#include "path.h"
#include "transfer/put_impl.h"
#include "work.h"

/* --- Lookup --- */

/* Find or add the directory given by the first `len` bytes of `path`, with all
 * its parents. */
static struct put_place *
find_place(struct put *p, int dirfd, const char *path, size_t len,
	   struct error *err)
{
	struct put_place *place = NULL;
	const char *own = NULL;
	const char *key =
		arena_printf(p->arena, "%d:%.*s", dirfd, (int)len, path);
	size_t at = key == NULL ? MAP_NONE : map_get(p->by_path, key);

	if (at != MAP_NONE)
		return p->places[at];
	place = arena_alloc(p->arena, 1, sizeof(*place));
	own = arena_strndup(p->arena, path, len);
	if (key == NULL || place == NULL || own == NULL ||
	    !MEM_ROOM(p->places, p->nplaces, p->places_cap) ||
	    map_put(p->by_path, key, p->nplaces) < 0)
		return error_no_memory_null(err);
	*place = (struct put_place){ .dirfd = dirfd, .path = own, .fd = -1 };
	p->places[p->nplaces++] = place;
	if (len == 0) {
		place->owner =
			p->o.owner != NULL ? *p->o.owner : create_owner(dirfd);
		return place;
	}
	while (len > 0 && path[len - 1] != '/')
		len--;
	place->up = find_place(p, dirfd, path, len > 0 ? len - 1 : 0, err);
	if (place->up == NULL)
		return NULL;
	place->owner = place->up->owner;
	return place;
}

struct put_place *
put_place(struct put *p, int dirfd, const char *path, struct error *err)
{
	size_t len = (size_t)(path_base(path) - path);
	struct put_place *last = NULL;

	len -= len > 0;
	/* Consecutive files usually share their directory. */
	if (p->count > 0)
		last = p->files[p->count - 1]->place;
	if (last != NULL && last->dirfd == dirfd && strlen(last->path) == len &&
	    memcmp(last->path, path, len) == 0)
		return last;
	return find_place(p, dirfd, path, len, err);
}

/* --- Open --- */

int
put_place_take(struct put *p, struct put_place *place, bool make,
	       struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = -1, up = -1;

	if (place->path[0] == '\0')
		return place->dirfd;
	pthread_mutex_lock(&p->lock);
	while (place->opening)
		pthread_cond_wait(&p->made, &p->lock);
	fd = place->fd;
	place->opening = fd < 0;
	pthread_mutex_unlock(&p->lock);
	if (fd >= 0)
		return fd;
	/* For reading, so that it can also be synced. */
	fd = path_open_dir(place->dirfd, place->path, &why);
	if (fd < 0 && make && why.kind == ERROR_ABSENT) {
		/* Make its parents, too.  Each is then opened by its whole
		 * path, as a link below the root may point to a neighbour of
		 * its parent. */
		error_clear(&why);
		up = put_place_take(p, place->up, true, &why);
	}
	if (up >= 0 || up == AT_FDCWD) {
		if (create_dir(up, path_base(place->path), 0777,
			       place->owner) == 0)
			place->made = true;
		else if (errno != EEXIST)
			error_sys(&why, "%s: cannot make", place->path);
		put_place_give(p, place->up, up);
		if (why.kind == ERROR_NONE)
			fd = path_open_dir(place->dirfd, place->path, &why);
	}
	pthread_mutex_lock(&p->lock);
	place->opening = false;
	if (fd >= 0 && place->waiting > 0 && p->ndirs < p->open_max) {
		place->fd = fd;
		p->ndirs++;
	}
	pthread_cond_broadcast(&p->made);
	pthread_mutex_unlock(&p->lock);
	return fd < 0 ? error_pass(err, &why) : fd;
}

void
put_place_give(struct put *p, struct put_place *place, int fd)
{
	bool kept = false;

	pthread_mutex_lock(&p->lock);
	kept = fd == place->fd || fd == place->dirfd;
	pthread_mutex_unlock(&p->lock);
	if (!kept && fd >= 0)
		close(fd);
}

void
put_place_changed(struct put *p, struct put_place *place)
{
	struct put_place *up = place;

	pthread_mutex_lock(&p->lock);
	place->waiting--;
	place->dirty = true;
	/* Parents may be new directories: sync each once. */
	for (; up != NULL && !up->used; up = p->o.made ? NULL : up->up)
		up->used = up->dirty = true;
	pthread_mutex_unlock(&p->lock);
}

void
put_place_remove(struct put *p)
{
	for (size_t i = 0; i < p->nplaces; i++) {
		struct put_place *place = p->places[i];

		/* The last of several removes their parent. */
		while (place != NULL && place->made) {
			const char *base = path_base(place->path);
			int up = put_place_take(p, place->up, false, NULL);
			bool gone = false;

			if (up >= 0 || up == AT_FDCWD) {
				gone = unlinkat(up, base, AT_REMOVEDIR) == 0;
				put_place_give(p, place->up, up);
			}
			if (!gone)
				break;
			place->made = false;
			place = place->up;
		}
	}
}

/* --- Modes and times --- */

/* Set owner and mode of *st to what the file got when it was created.  They are
 * taken from the directory if known there, else from fstat().  The other
 * members of *st are undefined. */
static int
place_gave(struct put *p, const struct put_file *f, struct stat *st,
	   struct error *err)
{
	struct put_place *place = f->place;
	bool known = false;

	if (f->resumed)
		return fstat(f->fd, st) < 0
			       ? error_sys(err, "%s: cannot stat", f->what.path)
			       : 0;
	pthread_mutex_lock(&p->lock);
	known = place->known &&
		(f->opened & ~(place->granted | place->refused)) == 0;
	st->st_uid = place->uid;
	st->st_gid = place->gid;
	st->st_mode = f->opened & place->granted;
	pthread_mutex_unlock(&p->lock);
	if (known)
		return 0;
	if (fstat(f->fd, st) < 0)
		return error_sys(err, "%s: cannot stat", f->what.path);
	pthread_mutex_lock(&p->lock);
	place->known = true;
	place->uid = st->st_uid;
	place->gid = st->st_gid;
	place->granted |= f->opened & st->st_mode;
	place->refused |= f->opened & ~st->st_mode;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* What attr_apply() returned: what the file system refuses is no error, and is
 * said once. */
static int
applied(struct put *p, int rc, const struct error *why, struct error *err)
{
	bool said = false;

	if (rc < 0)
		return error_pass(err, why);
	if (rc == 0 || p->o.work == NULL)
		return 0;
	pthread_mutex_lock(&p->lock);
	said = p->refused;
	p->refused = true;
	pthread_mutex_unlock(&p->lock);
	if (!said)
		work_say(p->o.work,
			 "%s: this file system does not take modes and times "
			 "of files; their contents are not affected",
			 why->text);
	return 0;
}

void
put_dir(struct put *p, int dirfd, const char *path, const struct attr *attr)
{
	char key[PATH_MAX + 16];
	size_t at = MAP_NONE;

	snprintf(key, sizeof(key), "%d:%s", dirfd, path);
	at = map_get(p->by_path, key);
	if (at == MAP_NONE)
		return;
	p->places[at]->has_attr = attr->has_owner || attr->has_times;
	p->places[at]->attr = *attr;
}

int
put_set_attributes(struct put_file *f, struct error *err)
{
	const struct put_what *w = &f->what;
	const struct attr only = { .has_owner = true, .mode = w->mode };
	const struct attr *a = w->attr != NULL ? w->attr : &only;
	struct error why = ERROR_INIT;
	struct stat st = { .st_mode = 0 };
	int rc = 0;

	if (w->attr != NULL || w->mode != 0) {
		if (a->has_owner && place_gave(f->put, f, &st, err) < 0)
			return -1;
		rc = attr_apply(a, f->fd, w->path, f->place->owner, &st, &why);
		if (applied(f->put, rc, &why, err) < 0)
			return -1;
	}
	if (f->put->o.placed == NULL)
		return 0;
	if (a->has_times && (f->place->keeps_nsec || a->mtime.tv_nsec == 0)) {
		f->mtime = a->mtime;
		return 0;
	}
	if (fstat(f->fd, &st) < 0)
		return error_sys(err, "%s: cannot stat", w->path);
	f->mtime = st.st_mtim;
	if (a->has_times && a->mtime.tv_nsec % 1000 != 0 &&
	    a->mtime.tv_nsec == st.st_mtim.tv_nsec)
		f->place->keeps_nsec = true;
	return 0;
}

int
put_place_finish(void *put, size_t i, unsigned worker, struct error *err)
{
	struct put *p = put;
	struct put_place *place = p->places[i];
	struct error why = ERROR_INIT;
	int fd = -1, rc = 0;

	(void)worker;
	if (!place->has_attr || !place->made)
		return 0;
	fd = put_place_take(p, place, false, err);
	if (fd < 0)
		return -1;
	rc = attr_apply(&place->attr, fd, place->path, place->owner, NULL,
			&why);
	rc = applied(p, rc, &why, err);
	if (rc == 0)
		rc = io_sync_dir(fd, place->path, err);
	put_place_give(p, place, fd);
	return rc;
}

/* --- Sync --- */

/* Sync the directory if it is dirty; close it if no more files will come. */
static int
sync_place(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct put *p = arg;
	struct put_place *place = p->places[i];
	bool dirty = false;
	int fd = -1, rc = 0;

	(void)worker;
	pthread_mutex_lock(&p->lock);
	dirty = place->dirty;
	place->dirty = false;
	pthread_mutex_unlock(&p->lock);
	if (dirty) {
		fd = put_place_take(p, place, false, err);
		rc = fd < 0 && fd != AT_FDCWD
			     ? -1
			     : io_sync_dir(fd, place->path, err);
		put_place_give(p, place, fd);
	}
	pthread_mutex_lock(&p->lock);
	fd = -1;
	if (place->waiting == 0 && place->fd >= 0) {
		fd = place->fd;
		place->fd = -1;
		p->ndirs--;
	}
	pthread_mutex_unlock(&p->lock);
	io_close(fd);
	return rc;
}

int
put_sync(struct put *p, struct par *par, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&p->syncing);
	rc = par_for(par, p->nplaces, 0, sync_place, p, err);
	pthread_mutex_unlock(&p->syncing);
	return rc;
}
