/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_turn.c - choose the ranks to copy now, by locks on ranks.
 *
 * Two processes may want the same rank: nodes may share a cache, or a scavenge
 * may be restarted while a node still works for the first one.  The lock on a
 * rank is released when its process ends.  A process that finds a rank locked
 * copies the other ranks first.  While it waits, it holds no lock that another
 * process may wait for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "error.h"
#include "lock.h"
#include "meta/filemap.h"
#include "scavenge/copy_impl.h"

/* Pause between two attempts to lock a busy rank, in ns. */
#define BUSY_PAUSE 20000000

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

static size_t
take_ranks(struct copier *c)
{
	size_t taken = 0;

	for (size_t i = 0, end = 0; i < c->nranks; i = end) {
		const struct copy_rank *r = c->ranks;

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
		taken += c->ranks[i].ours;
	return taken;
}

/* Is file `name` certainly missing from the dataset's metadata? */
static bool
no_meta(const struct copier *c, struct pathcache *prefix, const char *name)
{
	char path[sizeof(c->meta) + 64];

	snprintf(path, sizeof(path), "%s/%s", c->meta, name);
	return pathcache_absent(prefix, path);
}

/* Find which targets exist on the prefix.  Each directory is listed once,
 * instead of a call for each file. */
static int
look(struct copier *c, struct pathcache *prefix, struct error *err)
{
	char name[64];

	for (size_t i = 0; i < c->nranks; i++) {
		struct copy_rank *r = &c->ranks[i];

		if (!r->ours)
			continue;
		r->has_image = !no_meta(
			c, prefix, filemap_name(name, sizeof(name), r->rank));
		r->has_record = !no_meta(c, prefix, copied_name(name, r->rank));
		if (r->has_record && copy_rank_recall(c, r, err) < 0)
			return -1;
	}
	/* The cache of directory listings works best if files of one directory
	 * follow each other.  Users' files and redundancy files lie in
	 * different directories: treat them in two passes. */
	for (int red = 0; red < 2; red++)
		for (size_t i = 0; i < c->nitems; i++) {
			struct copy_item *it = &c->items[i];

			if (c->ranks[it->rank].ours && it->rel != NULL &&
			    (it->file == NULL) == red)
				it->absent = pathcache_absent(prefix, it->rel);
		}
	return 0;
}

static int
make_put(struct copier *c, struct error *err)
{
	const struct put_options how = {
		.par = c->par,
		.at_once = true,
		.unlocked = c->shares < 0,
		.placed = copy_item_placed,
		.arg = c,
	};

	c->put = put_new(&how, err);
	if (c->put == NULL)
		return -1;
	for (size_t i = 0; i < c->nitems; i++) {
		struct copy_item *it = &c->items[i];

		if (!c->ranks[it->rank].ours || it->state != COPY_WAITING ||
		    it->bypass)
			continue;
		it->to = put_add(c->put,
				 &(struct put_what){
					 .dirfd = c->prefix_fd,
					 .path = it->rel,
					 .size = copy_item_bytes(it),
					 .attr = it->file != NULL
							 ? &it->file->attr
							 : &it->attr,
					 .arg = it,
				 },
				 err);
		if (it->to == NULL)
			return -1;
	}
	return 0;
}

static int
wait_turn(const struct copier *c, struct error *err)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE };

	if (copy_stopped(c, err) < 0)
		return -1;
	nanosleep(&pause, NULL);
	return 0;
}

int
copy_turn_begin(struct copier *c, size_t *taken, struct error *err)
{
	struct pathcache *prefix = NULL;
	int rc = -1;

	*taken = 0;
	c->shares = -2;
	if (!c->o->work->dry_run)
		c->shares = lock_shares_open(c->meta_fd, err);
	if (c->shares == -1)
		return error_wrap(err, "%s", c->meta);
	*taken = take_ranks(c);
	if (*taken == 0)
		return wait_turn(c, err);
	prefix = pathcache_new(c->prefix_fd);
	if (prefix == NULL)
		error_no_memory(err);
	else if (look(c, prefix, err) == 0)
		rc = c->o->work->dry_run ? 0 : make_put(c, err);
	pathcache_free(prefix);
	return rc;
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
