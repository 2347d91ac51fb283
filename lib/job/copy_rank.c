/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_rank.c - what is written for a rank when all its files are in place.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "job/copy_impl.h"
#include "map.h"
#include "mem.h"
#include "meta/kvtree.h"

/* No record of files, nor filemap, is larger. */
#define RECORD_MAX ((size_t)256 << 20)

/* --- Records --- */

int
copy_rank_recall(struct copier *c, struct copy_rank *r, struct error *err)
{
	char name[COPIED_NAME_MAX];
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;
	int rc = 0;

	if (c->meta_fd < 0)
		return 0;
	t = kvtree_read_file(c->meta_fd, copied_name(name, r->rank), &why);
	if (t == NULL || copied_read(t, c->arena, &r->old, &why) < 0) {
		r->old.nfiles = 0;
		rc = why.kind == ERROR_NOMEM ? error_no_memory(err) : 0;
		goto out;
	}
	r->old_by_path = map_new();
	if (r->old_by_path == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; i < r->old.nfiles && rc == 0; i++)
		if (map_put(r->old_by_path, r->old.files[i].path, i) < 0)
			rc = error_no_memory(err);
out:
	kvtree_free(t);
	return rc;
}

static bool
is_there(const struct copier *c, const char *name, const struct buf *image)
{
	struct buf old = BUF_INIT;
	bool same =
		io_read_file(c->meta_fd, name, RECORD_MAX, &old, NULL) == 0 &&
		old.len == image->len &&
		memcmp(old.data, image->data, old.len) == 0;

	buf_free(&old);
	return same;
}

/* Replace `name`, unless it is the same already: *same.  As io_replace() does,
 * but another process may be at it. */
static int
put(struct copier *c, const struct copy_rank *r, const char *name,
    const struct buf *image, bool *same, struct error *err)
{
	bool busy = false;
	int fd = -1, rc = -1;

	do {
		*same = is_there(c, name, image);
		if (*same)
			return 0;
		fd = copy_temp_open(c->meta_fd, name, &busy, err);
		if (fd < 0 && (!busy || copy_wait(c, err) < 0))
			return -1;
	} while (fd < 0);
	if (io_pwrite(fd, name, image->data, image->len, 0, err) < 0)
		;
	else if (fchmod(fd, r->mode) < 0)
		error_sys(err, "%s: cannot change the mode", name);
	else if (io_fsync(fd, name, err) == 0 &&
		 copy_temp_commit(fd, c->meta_fd, name, name, err) == 0)
		rc = io_sync_dir(c->meta_fd, name, err);
	if (rc < 0) {
		copy_temp_discard(fd, c->meta_fd, name);
		error_wrap(err, "%s", c->meta);
	}
	close(fd);
	return rc;
}

int
copy_rank_record(struct copier *c, struct copy_rank *r, struct error *err)
{
	struct arena *a = arena_new();
	struct buf image = BUF_INIT;
	struct copied list = { .nfiles = 0 };
	char name[COPIED_NAME_MAX];
	bool same = false;
	int rc = -1;

	list.files =
		a == NULL ? NULL
			  : arena_alloc(a, r->count + 1, sizeof(*list.files));
	if (list.files == NULL) {
		error_no_memory(err);
		goto out;
	}
	for (size_t i = r->first; i < r->first + r->count; i++) {
		const struct copy_item *it = &c->items[i];

		if (!it->has_sum || it->state == COPY_WAITING ||
		    it->state == COPY_BAD)
			continue;
		list.files[list.nfiles++] = (struct copied_file){
			.path = it->rel,
			.size = it->file != NULL ? it->file->attr.size
						 : it->attr.size,
			.crc = it->crc,
			.mtime = it->mtime,
		};
	}
	rc = 0;
	if (list.nfiles > 0)
		rc = copied_encode(&list, &image, err);
	if (list.nfiles > 0 && rc == 0)
		rc = put(c, r, copied_name(name, r->rank), &image, &same, err);
out:
	buf_free(&image);
	arena_free(a);
	return rc;
}

/* --- Directories --- */

static int
add_place(struct copier *c, struct map *seen, const char *path, size_t *out,
	  struct error *err)
{
	struct copy_place *p = NULL;
	const char *base = path_base(path);
	char *above = NULL;
	size_t up = 0;

	*out = map_get(seen, path);
	if (*out != MAP_NONE)
		return 0;
	if (path[0] != '\0') {
		above = arena_strndup(c->arena, path,
				      base > path ? (size_t)(base - path) - 1
						  : 0);
		if (above == NULL)
			return error_no_memory(err);
		if (add_place(c, seen, above, &up, err) < 0)
			return -1;
	}
	if (c->nplaces == c->places_cap) {
		size_t cap = c->places_cap ? c->places_cap * 2 : 16;

		p = mem_realloc(c->places, cap, sizeof(*p));
		if (p == NULL)
			return error_no_memory(err);
		c->places = p;
		c->places_cap = cap;
	}
	*out = c->nplaces++;
	/* It may be new itself: once a run all are synced that are used. */
	c->places[*out] = (struct copy_place){ path, up, true };
	return map_put(seen, path, *out) < 0 ? error_no_memory(err) : 0;
}

int
copy_find_places(struct copier *c, struct error *err)
{
	struct map *seen = map_new();
	const char *last = NULL;
	size_t place = 0;
	int rc = seen == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < c->nitems && rc == 0; i++) {
		struct copy_item *it = &c->items[i];
		size_t len = 0;
		char *path = NULL;

		if (it->state == COPY_BAD)
			continue;
		len = (size_t)(path_base(it->rel) - it->rel);
		/* Neighbours mostly share their directory. */
		if (last == NULL || strncmp(last, it->rel, len) != 0 ||
		    (size_t)(path_base(last) - last) != len) {
			path = arena_strndup(c->arena, it->rel,
					     len > 0 ? len - 1 : 0);
			rc = path == NULL
				     ? error_no_memory(err)
				     : add_place(c, seen, path, &place, err);
		}
		last = it->rel;
		it->place = place;
	}
	map_free(seen);
	return rc;
}

void
copy_touch(struct copier *c, const struct copy_item *it)
{
	pthread_mutex_lock(&c->sync);
	c->places[it->place].dirty = true;
	pthread_mutex_unlock(&c->sync);
}

static int
sync_place(const struct copier *c, struct copy_place *p, struct error *err)
{
	int fd = p->path[0] == '\0'
			 ? openat(c->prefix_fd, ".",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			 : path_open_beneath(c->prefix_fd, p->path,
					     O_RDONLY | O_DIRECTORY, 0, err);
	int rc = -1;

	if (fd < 0)
		return p->path[0] != '\0' ? -1
					  : error_sys(err, "%s: cannot open",
						      c->o->prefix);
	rc = io_sync_dir(fd, p->path, err);
	close(fd);
	p->dirty = rc < 0;
	return rc;
}

/* Renames in their directories are on disk; who comes while another thread
 * sees to that waits for it. */
static int
sync_places(struct copier *c, const struct copy_rank *r, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&c->sync);
	for (size_t i = r->first; i < r->first + r->count && rc == 0; i++) {
		size_t at = c->items[i].place;

		if (c->items[i].state != COPY_COPIED)
			continue;
		for (;;) {
			struct copy_place *p = &c->places[at];

			if (p->dirty)
				rc = sync_place(c, p, err);
			if (rc < 0 || p->up == at)
				break;
			at = p->up;
		}
	}
	pthread_mutex_unlock(&c->sync);
	return rc;
}

/* --- The end of a rank --- */

int
copy_rank_finish(struct copier *c, struct copy_rank *r, struct error *err)
{
	char name[64];
	bool same = false;

	if (sync_places(c, r, err) < 0 || copy_rank_record(c, r, err) < 0)
		return -1;
	if (!r->map_here)
		return 0;
	/* To the letter: redundancy was computed over these bytes. */
	if (put(c, r, filemap_name(name, sizeof(name), r->rank), &r->image,
		&same, err) < 0)
		return -1;
	pthread_mutex_lock(&c->lock);
	c->r->skipped += same;
	c->r->copied += !same;
	c->r->bytes += same ? 0 : r->image.len;
	pthread_mutex_unlock(&c->lock);
	return 0;
}
