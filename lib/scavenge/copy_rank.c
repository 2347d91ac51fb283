/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_rank.c - what is written for ranks when all their files are in place.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "scavenge/copy_impl.h"

/* No record of files, nor filemap, is larger. */
#define RECORD_MAX ((size_t)256 << 20)
#define RECORD_NAME_MAX 64

/* Ranks are finished together, this many or those of COPY_SECONDS: each sync of
 * a directory makes a parallel file system's server write its log. */
#define GROUP_MAX 64

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

/* --- Putting them there --- */

/* A record that is written, but not in place. */
struct record {
	int fd; /* of its temporary file */
	char name[RECORD_NAME_MAX];
};

struct records {
	size_t count;
	struct record list[2 * GROUP_MAX]; /* two for each rank */
	/* The filemaps among them, for the result. */
	uint64_t skipped, copied, bytes;
};

static void
forget_records(struct copier *c, struct records *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->list[i].fd < 0)
			continue;
		copy_temp_discard(w->list[i].fd, c->meta_fd, w->list[i].name);
		close(w->list[i].fd);
	}
	w->count = 0;
}

/* As io_replace() does, but of many the first sync does most of the work. */
static int
commit_records(struct copier *c, struct records *w, struct error *err)
{
	int rc = 0;

	if (w->count == 0)
		return 0;
	for (size_t i = 0; i < w->count && rc == 0; i++)
		rc = io_fsync(w->list[i].fd, w->list[i].name, err);
	for (size_t i = 0; i < w->count && rc == 0; i++) {
		struct record *r = &w->list[i];

		rc = copy_temp_commit(r->fd, c->meta_fd, r->name, r->name, err);
		if (rc == 0) {
			close(r->fd);
			r->fd = -1;
		}
	}
	if (rc == 0)
		rc = io_sync_dir(c->meta_fd, ".", err);
	forget_records(c, w);
	return rc < 0 ? error_wrap(err, "%s", c->meta) : 0;
}

/* Write `name`, unless it is the same already: *same.  Another process may be
 * at it. */
static int
write_record(struct copier *c, struct records *w, const struct copy_rank *r,
	     const char *name, const struct buf *image, bool *same,
	     struct error *err)
{
	struct record *record = NULL;
	bool busy = false;
	int fd = -1;

	do {
		*same = is_there(c, name, image);
		if (*same)
			return 0;
		fd = copy_temp_open(c->meta_fd, name, &busy, err);
		/* Who waits holds nothing that others may wait for. */
		if (fd < 0 && (!busy || commit_records(c, w, err) < 0 ||
			       copy_wait(c, err) < 0))
			return -1;
	} while (fd < 0);
	record = &w->list[w->count++];
	record->fd = fd;
	snprintf(record->name, sizeof(record->name), "%s", name);
	if (io_pwrite(fd, name, image->data, image->len, 0, err) < 0)
		return error_wrap(err, "%s", c->meta);
	if (fchmod(fd, r->mode) < 0)
		return error_sys(err, "%s/%s: cannot change the mode", c->meta,
				 name);
	return 0;
}

/* copied_R.scr: what of the rank is in place. */
static int
write_copied(struct copier *c, struct records *w, const struct copy_rank *r,
	     struct error *err)
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
		rc = write_record(c, w, r, copied_name(name, r->rank), &image,
				  &same, err);
out:
	buf_free(&image);
	arena_free(a);
	return rc;
}

/* To the letter: redundancy was computed over these bytes. */
static int
write_map(struct copier *c, struct records *w, const struct copy_rank *r,
	  struct error *err)
{
	char name[RECORD_NAME_MAX];
	bool same = false;

	if (!r->map_here)
		return 0;
	if (write_record(c, w, r, filemap_name(name, sizeof(name), r->rank),
			 &r->image, &same, err) < 0)
		return -1;
	w->skipped += same;
	w->copied += !same;
	w->bytes += same ? 0 : r->image.len;
	return 0;
}

/* --- Directories --- */

static int
add_place(struct copier *c, struct map *seen, const char *path, size_t *out,
	  struct error *err)
{
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
	if (!MEM_ROOM(c->places, c->nplaces, c->places_cap))
		return error_no_memory(err);
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

/* --- The end of ranks --- */

/* All that `group` has copied is known to be on disk before the filemaps say
 * so: each directory is synced once for all. */
static int
finish_group(struct copier *c, const size_t *group, size_t count,
	     struct error *err)
{
	struct records w = { .count = 0 };
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = sync_places(c, &c->ranks[group[i]], err);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct copy_rank *r = &c->ranks[group[i]];

		rc = write_copied(c, &w, r, err);
		if (rc == 0)
			rc = write_map(c, &w, r, err);
	}
	if (rc == 0)
		rc = commit_records(c, &w, err);
	forget_records(c, &w);
	if (rc < 0)
		return -1;
	pthread_mutex_lock(&c->lock);
	c->r->skipped += w.skipped;
	c->r->copied += w.copied;
	c->r->bytes += w.bytes;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* Take ranks off the waiting ones: if they are a group or it is time, or any
 * with `all`. */
static size_t
take_group(struct copier *c, bool all, size_t group[static GROUP_MAX])
{
	const double now = clock_seconds();
	size_t n = 0;

	pthread_mutex_lock(&c->lock);
	if (all || c->nwaiting >= GROUP_MAX ||
	    now - c->finished >= COPY_SECONDS) {
		while (n < GROUP_MAX && c->nwaiting > 0)
			group[n++] = c->waiting[--c->nwaiting];
		c->finished = now;
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

int
copy_rank_finish_due(struct copier *c, struct error *err)
{
	size_t group[GROUP_MAX];
	size_t n = take_group(c, false, group);

	return n == 0 ? 0 : finish_group(c, group, n, err);
}

int
copy_rank_finish(struct copier *c, struct copy_rank *r, struct error *err)
{
	pthread_mutex_lock(&c->lock);
	c->waiting[c->nwaiting++] = (size_t)(r - c->ranks);
	pthread_mutex_unlock(&c->lock);
	return copy_rank_finish_due(c, err);
}

int
copy_rank_finish_all(struct copier *c, struct error *err)
{
	size_t group[GROUP_MAX], n = 0;

	while ((n = take_group(c, true, group)) > 0)
		if (finish_group(c, group, n, err) < 0)
			return -1;
	return 0;
}

int
copy_rank_record(struct copier *c, struct error *err)
{
	struct records w = { .count = 0 };
	int rc = 0;

	for (size_t i = 0; i < c->nranks && rc == 0; i++) {
		if (atomic_load(&c->ranks[i].left) == 0)
			continue;
		rc = write_copied(c, &w, &c->ranks[i], err);
		if (rc == 0 && w.count >= GROUP_MAX)
			rc = commit_records(c, &w, err);
	}
	if (rc == 0)
		rc = commit_records(c, &w, err);
	forget_records(c, &w);
	return rc;
}
