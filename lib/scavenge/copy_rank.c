/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_rank.c - parse and search sets of ranks such as "0-3,7"; choose the
 * ranks to copy now, by locks on ranks, and write their records.
 *
 * Two processes may want the same rank: nodes may share a cache, or a scavenge
 * may be restarted while a node still works for the first one.  The lock on a
 * rank is released when its process ends.  A process that finds a rank locked
 * copies the other ranks first.  While it waits, it holds no lock that another
 * process may wait for.
 *
 * The records of a rank, copied_R.scr and the filemap, are written when all its
 * files are in place; after an error, copied_R.scr alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "lock.h"
#include "map.h"
#include "num.h"
#include "scavenge/copy_impl.h"
#include "str.h"

/* Upper bound for the size of the file that assigns ranks to hosts. */
#define ASSIGN_MAX ((size_t)256 << 20)

int
copy_ranks_parse(const char *text, struct arena *a, struct copy_ranks *out,
		 struct error *err)
{
	const size_t len = strlen(text);
	const char *p = text;
	size_t max = 1, n = 0;

	for (const char *c = text; *c != '\0'; c++)
		max += *c == ',';
	*out = (struct copy_ranks){
		.list = arena_alloc(a, max, sizeof(*out->list)),
	};
	while (*p != '\0') {
		uint64_t first = 0, last = 0;

		p = value_scan(p, REDSET_MAX_RANKS, &first);
		last = first;
		if (p != NULL && *p == '-')
			p = value_scan(p + 1, REDSET_MAX_RANKS, &last);
		if (p == NULL || last < first || (*p != '\0' && *p != ',') ||
		    (*p == ',' && p[1] == '\0'))
			return error_set(
				err, ERROR_USAGE,
				"\"%.*s\": ranks are written as \"0-3,7\"",
				len > 200 ? 200 : (int)len, text);
		p += *p == ',';
		out->list[out->count++] = (struct copy_range){
			(uint32_t)first,
			(uint32_t)last,
		};
	}
	/* Sort the ranges and merge those that overlap or touch, so that
	 * copy_ranks_has() can use binary search. */
	if (out->count > 0)
		qsort(out->list, out->count, sizeof(*out->list), num_by_u32);
	for (size_t i = 1; i < out->count; i++) {
		struct copy_range *last = &out->list[n];

		if (out->list[i].first > last->last + 1)
			out->list[++n] = out->list[i];
		else if (out->list[i].last > last->last)
			last->last = out->list[i].last;
	}
	out->count = out->count > 0 ? n + 1 : 0;
	return 0;
}

int
copy_ranks_assigned(int dirfd, const char *name, const char *host,
		    struct arena *a, struct copy_ranks *out, struct error *err)
{
	struct buf text = BUF_INIT, list = BUF_INIT;
	char *rest = NULL, *line = NULL;
	size_t len = 0;
	int rc = io_read_file(dirfd, name, ASSIGN_MAX, &text, err);

	rest = text.data;
	while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
		/* A line is "HOST RANKS". */
		if (!str_eq(strsep(&line, " \t"), host) || line == NULL)
			continue;
		line += strspn(line, " \t");
		len = strlen(line);
		while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL)
			len--;
		buf_printf(&list, "%s%.*s", list.len > 0 && len > 0 ? "," : "",
			   (int)len, line);
	}
	if (rc == 0) {
		rc = copy_ranks_parse(list.len > 0 ? list.data : "", a, out,
				      err);
		if (rc < 0)
			error_wrap(err, "%s: %s", name, host);
	}
	buf_free(&list);
	buf_free(&text);
	return rc;
}

/* Order of a rank and a range that may hold it. */
static int
compare_rank(const void *x, const void *y)
{
	const int64_t rank = *(const int64_t *)x;
	const struct copy_range *r = y;

	return rank < r->first ? -1 : rank > r->last;
}

bool
copy_ranks_has(const struct copy_ranks *r, int64_t rank)
{
	return bsearch(&rank, r->list, r->count, sizeof(*r->list),
		       compare_rank) != NULL;
}

/* Pause between two attempts to lock a busy rank, in ns. */
#define BUSY_PAUSE 20000000

/* Upper bound for the size of copied_R.scr or a filemap. */
#define RECORD_MAX ((size_t)256 << 20)

/* The records of up to GROUP_MAX ranks, or of those completed within
 * PUT_SECONDS, are written together: on a parallel file system each sync of a
 * directory makes the server write its log. */
#define GROUP_MAX 64

/* --- Turns --- */

/* Lock c->ranks[a] to c->ranks[b - 1], whose rank numbers are consecutive. */
static bool
take_run(struct copier *c, size_t a, size_t b)
{
	if (!lock_shares_take(c->shares, (uint64_t)c->ranks[a].rank,
			      (uint64_t)c->ranks[b - 1].rank))
		return false;
	for (size_t i = a; i < b; i++)
		c->ranks[i].ours = true;
	return true;
}

/* Is file `name` certainly missing from the dataset's metadata? */
static bool
no_meta(const struct copier *c, struct pathcache *prefix, const char *name)
{
	char path[sizeof(c->meta) + 64];

	snprintf(path, sizeof(path), "%s/%s", c->meta, name);
	return pathcache_absent(prefix, path);
}

/* Find which data files, or redundancy files, exist on the prefix. */
static void
look_for(struct copier *c, struct pathcache *prefix, bool red)
{
	for (size_t i = 0; i < c->nitems; i++) {
		struct copy_item *it = &c->items[i];

		if (c->ranks[it->rank].ours && it->rel != NULL &&
		    (it->file == NULL) == red)
			it->absent = pathcache_absent(prefix, it->rel);
	}
}

/* Find which targets exist on the prefix.  Each directory is listed once,
 * instead of a call for each file: so files of one directory follow each
 * other. */
static void
look(struct copier *c, struct pathcache *prefix)
{
	char name[64];
	struct kvtree *t = NULL;

	look_for(c, prefix, false);
	/* The listing is made at the second question. */
	(void)no_meta(c, prefix, "");
	for (size_t i = 0; i < c->nranks; i++) {
		struct copy_rank *r = &c->ranks[i];

		if (!r->ours)
			continue;
		r->has_image = !no_meta(
			c, prefix, filemap_name(name, sizeof(name), r->rank));
		r->has_record = !no_meta(c, prefix, copied_name(name, r->rank));
		if (!r->has_record || c->meta_fd < 0)
			continue;
		/* Read the record.  An unreadable one counts as empty. */
		map_free(r->old_by_path);
		r->old_by_path = map_new();
		t = kvtree_read_file(c->meta_fd, copied_name(name, r->rank),
				     NULL);
		if (t == NULL || copied_read(t, c->arena, &r->old, NULL) < 0)
			r->old.nfiles = 0;
		for (size_t k = 0; k < r->old.nfiles; k++)
			(void)map_put(r->old_by_path, r->old.files[k].path, k);
		kvtree_free(t);
	}
	look_for(c, prefix, true);
}

static void
make_put(struct copier *c)
{
	const struct put_options how = {
		.par = c->par,
		.at_once = true,
		.unlocked = c->shares < 0,
		.owner = &c->owner,
		.placed = copy_item_placed,
		.work = c->o->work,
		.arg = c,
	};

	c->put = put_new(&how, NULL);
	for (size_t i = 0; i < c->nitems; i++) {
		struct copy_item *it = &c->items[i];

		if (!c->ranks[it->rank].ours || it->state != COPY_WAITING ||
		    it->bypass || (c->o->containers && it->file != NULL))
			continue;
		it->to = put_add(
			c->put,
			&(struct put_what){
				.dirfd = it->file != NULL ? c->prefix_fd
							  : c->meta_fd,
				.path = it->file != NULL ? it->rel
							 : path_base(it->rel),
				.size = copy_item_bytes(it),
				.attr = it->attr,
				.resume = true,
				.arg = it,
			},
			NULL);
	}
}

int
copy_turn_begin(struct copier *c, size_t *taken, struct error *err)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE };
	const struct copy_rank *r = c->ranks;
	struct pathcache *prefix = NULL;

	*taken = 0;
	c->shares = -2;
	if (!c->o->work->dry_run)
		c->shares = lock_shares_open(c->meta_fd, c->o->work->stop, err);
	if (c->shares == -1)
		return error_wrap(err, "%s", c->meta);
	for (size_t i = 0, end = 0; i < c->nranks; i = end) {
		end = i + 1;
		if (r[i].finished)
			continue;
		while (end < c->nranks && !r[end].finished &&
		       r[end].rank == r[end - 1].rank + 1)
			end++;
		if (take_run(c, i, end))
			continue;
		/* Another process holds one of these ranks: try them one by
		 * one. */
		for (size_t k = i; end > i + 1 && k < end; k++)
			(void)take_run(c, k, k + 1);
	}
	for (size_t i = 0; i < c->nranks; i++)
		*taken += r[i].ours;
	if (*taken == 0) {
		if (copy_stopped(c, err) < 0)
			return -1;
		nanosleep(&pause, NULL);
		return 0;
	}
	prefix = pathcache_new(c->prefix_fd);
	look(c, prefix);
	pathcache_free(prefix);
	if (!c->o->work->dry_run)
		make_put(c);
	return 0;
}

void
copy_turn_end(struct copier *c)
{
	put_free(c->put);
	c->put = NULL;
	if (c->meta_fd >= 0)
		lock_shares_close(c->meta_fd, c->shares);
	for (size_t i = 0; i < c->nranks; i++) {
		c->ranks[i].finished = c->ranks[i].finished || c->ranks[i].ours;
		c->ranks[i].ours = false;
	}
}

/* --- Records --- */

static bool
is_there(const struct copier *c, const char *name, const struct buf *image)
{
	struct buf old = BUF_INIT;
	bool same =
		io_read_file(c->meta_fd, name, RECORD_MAX, &old, NULL) == 0 &&
		buf_equal(&old, image);

	buf_free(&old);
	return same;
}

/* Add a record file `name` of the rank to `put`; `image` is copied to `a`. */
static void
add_record(const struct copier *c, const struct copy_rank *r, struct put *put,
	   struct arena *a, const char *name, const struct buf *image)
{
	const struct put_what what = {
		.dirfd = c->meta_fd,
		.path = arena_strdup(a, name),
		.size = image->len,
		.mode = r->mode,
		.image = arena_strndup(a, image->data, image->len),
		.image_size = image->len,
	};

	(void)put_add(put, &what, NULL);
}

/* Add copied_R.scr: the files of the rank that are in place.  An unchanged
 * record is not written again. */
static int
add_copied(const struct copier *c, const struct copy_rank *r, struct put *put,
	   struct arena *a, struct error *err)
{
	struct buf image = BUF_INIT;
	struct copied list = { .nfiles = 0 };
	char name[COPIED_NAME_MAX];
	int rc = 0;

	list.files = arena_alloc(a, r->count + 1, sizeof(*list.files));
	for (size_t i = r->first; i < r->first + r->count; i++) {
		const struct copy_item *it = &c->items[i];

		if (!it->has_sum || it->state == COPY_WAITING ||
		    it->state == COPY_BAD)
			continue;
		list.files[list.nfiles++] = (struct copied_file){
			.path = it->rel,
			.size = it->attr->size,
			.crc = it->crc,
			.mtime = it->mtime,
		};
	}
	if (list.nfiles == 0)
		return 0;
	copied_name(name, r->rank);
	rc = copied_encode(&list, c->desc, &image, err);
	if (rc == 0 && !(r->has_record && is_there(c, name, &image)))
		add_record(c, r, put, a, name, &image);
	buf_free(&image);
	return rc;
}

bool
copy_rank_has_map(const struct copier *c, const struct copy_rank *r)
{
	return !r->map_here ||
	       (r->has_image && is_there(c, filemap_str(r->rank), &r->image));
}

/* Write copied_R.scr of these ranks, and with `maps` their filemaps. */
static int
write_records(struct copier *c, const size_t *group, size_t count, bool maps,
	      struct par *par, struct error *err)
{
	const struct put_options how = {
		.par = par,
		.unlocked = c->shares < 0,
		.owner = &c->owner,
	};
	uint64_t skipped = 0, copied = 0, bytes = 0; /* filemaps */
	struct put *put = NULL;
	struct arena *a = NULL;
	int rc = 0;

	/* Sync the directories of all copied files before the filemaps name
	 * the files; each directory is synced once per group. */
	if (maps && put_sync(c->put, NULL, err) < 0)
		return -1;
	put = put_new(&how, NULL);
	a = arena_new();
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct copy_rank *r = &c->ranks[group[i]];

		rc = add_copied(c, r, put, a, err);
		/* The filemap is written byte for byte as in the cache: the
		 * redundancy data were computed over these bytes. */
		if (rc < 0 || !maps || r->taken || !r->map_here)
			continue;
		if (copy_rank_has_map(c, r)) {
			skipped++;
			continue;
		}
		add_record(c, r, put, a, filemap_str(r->rank), &r->image);
		copied++;
		bytes += r->image.len;
	}
	if (rc == 0)
		rc = put_commit(put, err);
	put_free(put);
	arena_free(a);
	if (rc < 0)
		return -1;
	pthread_mutex_lock(&c->lock);
	c->r->skipped += skipped;
	c->r->copied += copied;
	c->r->bytes += bytes;
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

	return n == 0 ? 0 : write_records(c, group, n, true, NULL, err);
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
		if (write_records(c, group, n, true, c->par, err) < 0)
			return -1;
	return 0;
}

int
copy_rank_record(struct copier *c, struct error *err)
{
	size_t *group = arena_alloc(c->arena, c->nranks + 1, sizeof(*group));
	size_t n = 0;

	for (size_t i = 0; i < c->nranks; i++)
		if (c->ranks[i].ours && c->ranks[i].left > 0)
			group[n++] = i;
	return write_records(c, group, n, false, c->par, err);
}
