/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_rank.c - write the records of a rank, copied_R.scr and the filemap.
 * They are written when all files of the rank are in place; after an error,
 * copied_R.scr alone.
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

/* Upper bound for the size of copied_R.scr or a filemap. */
#define RECORD_MAX ((size_t)256 << 20)
#define RECORD_NAME_MAX 64

/* The records of up to GROUP_MAX ranks, or of those completed within
 * PUT_SECONDS, are written together: on a parallel file system each sync of a
 * directory makes the server write its log. */
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
	map_free(r->old_by_path);
	r->old_by_path = NULL;
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

/* --- Writing records --- */

/* Records of a group of ranks, being written. */
struct records {
	struct copier *c;
	struct put *put;
	struct arena *arena;
	/* Filemaps only, for struct copy_result. */
	uint64_t skipped, copied, bytes;
};

static void
records_fini(struct records *w)
{
	put_free(w->put);
	arena_free(w->arena);
}

static int
records_init(struct records *w, struct copier *c, struct par *par,
	     struct error *err)
{
	const struct put_options how = {
		.par = par,
		.unlocked = c->shares < 0,
	};

	*w = (struct records){ .c = c, .arena = arena_new() };
	w->put = put_new(&how, err);
	if (w->arena != NULL && w->put != NULL)
		return 0;
	records_fini(w);
	return error_no_memory(err);
}

/* Add a record file `name` to w->put.  `image` is copied. */
static int
add_record(struct records *w, const struct copy_rank *r, const char *name,
	   const struct buf *image, struct error *err)
{
	const struct copier *c = w->c;
	const struct put_what what = {
		.dirfd = c->prefix_fd,
		.path = arena_printf(w->arena, "%s/%s", c->meta, name),
		.size = image->len,
		.mode = r->mode,
		.image = arena_strndup(w->arena, image->data, image->len),
		.image_size = image->len,
	};

	if (what.path == NULL || what.image == NULL)
		return error_no_memory(err);
	return put_add(w->put, &what, err) == NULL ? -1 : 0;
}

/* Write copied_R.scr: the files of the rank that are in place.  An unchanged
 * record is not written again. */
static int
write_copied(struct records *w, const struct copy_rank *r, struct error *err)
{
	const struct copier *c = w->c;
	struct arena *a = arena_new();
	struct buf image = BUF_INIT;
	struct copied list = { .nfiles = 0 };
	char name[COPIED_NAME_MAX];
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
	copied_name(name, r->rank);
	if (list.nfiles > 0 && rc == 0 &&
	    !(r->has_record && is_there(c, name, &image)))
		rc = add_record(w, r, name, &image, err);
out:
	buf_free(&image);
	arena_free(a);
	return rc;
}

/* Write the filemap byte for byte as in the cache: the redundancy data were
 * computed over these bytes. */
static int
write_map(struct records *w, const struct copy_rank *r, struct error *err)
{
	char name[RECORD_NAME_MAX];
	bool same = false;

	if (!r->map_here)
		return 0;
	filemap_name(name, sizeof(name), r->rank);
	same = r->has_image && is_there(w->c, name, &r->image);
	if (!same && add_record(w, r, name, &r->image, err) < 0)
		return -1;
	w->skipped += same;
	w->copied += !same;
	w->bytes += same ? 0 : r->image.len;
	return 0;
}

/* --- Groups of ranks --- */

/* Sync the directories of all copied files before the filemaps name the files;
 * each directory is synced once per group. */
static int
finish_group(struct copier *c, const size_t *group, size_t count,
	     struct par *par, struct error *err)
{
	struct records w;
	int rc = put_sync(c->put, err);

	if (rc < 0 || records_init(&w, c, par, err) < 0)
		return -1;
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct copy_rank *r = &c->ranks[group[i]];

		rc = write_copied(&w, r, err);
		if (rc == 0)
			rc = write_map(&w, r, err);
	}
	if (rc == 0)
		rc = put_commit(w.put, err);
	records_fini(&w);
	if (rc < 0)
		return -1;
	pthread_mutex_lock(&c->lock);
	c->r->skipped += w.skipped;
	c->r->copied += w.copied;
	c->r->bytes += w.bytes;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* Take up to GROUP_MAX ranks from the waiting list.  Without `all`, only if a
 * group is full or PUT_SECONDS have passed. */
static size_t
take_group(struct copier *c, bool all, size_t group[static GROUP_MAX])
{
	const double now = clock_seconds();
	size_t n = 0;

	pthread_mutex_lock(&c->lock);
	if (all || c->nwaiting >= GROUP_MAX ||
	    now - c->finished >= PUT_SECONDS) {
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

	return n == 0 ? 0 : finish_group(c, group, n, NULL, err);
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
		if (finish_group(c, group, n, c->par, err) < 0)
			return -1;
	return 0;
}

int
copy_rank_record(struct copier *c, struct error *err)
{
	struct records w;
	int rc = records_init(&w, c, c->par, err);

	if (rc < 0)
		return -1;
	for (size_t i = 0; i < c->nranks && rc == 0; i++)
		if (c->ranks[i].ours && atomic_load(&c->ranks[i].left) > 0)
			rc = write_copied(&w, &c->ranks[i], err);
	if (rc == 0)
		rc = put_commit(w.put, err);
	records_fini(&w);
	return rc;
}
