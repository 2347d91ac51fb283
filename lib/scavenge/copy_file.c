/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_file.c - copy one file from the cache to its target.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "progress.h"
#include "scavenge/copy_impl.h"
#include "transfer/pump.h"

/* State of one copy. */
struct job {
	struct copier *c;
	struct copy_item *it;
	struct copy_worker *w;
	int from;	  /* file in the cache, or -1 */
	struct error why; /* why the file in the cache is bad */
	int parent; /* directory of the target; borrowed from w->parents */
	const char *base;
	bool there; /* the target exists, and `st` is valid */
	struct stat st;
	uint64_t counted; /* bytes already added to the meter */
};

/* --- Helpers --- */

uint64_t
copy_item_bytes(const struct copy_item *it)
{
	return it->bypass ? 0 : it->attr->size;
}

int
copy_stopped(const struct copier *c, struct error *err)
{
	if (!work_stopped(c->o->work))
		return 0;
	return error_set(err, ERROR_SYSTEM, "stopped: run it again to resume");
}

static void
tell(struct job *j, uint64_t bytes)
{
	j->counted += bytes;
	progress_add(j->c->o->work->progress, bytes);
}

void
copy_blame(struct copier *c, const struct copy_rank *r, const struct error *why)
{
	pthread_mutex_lock(&c->lock);
	c->r->unread += error_is_unread(why);
	if (r == NULL)
		work_say(c->o->work, "%s", why->text);
	else
		work_say(c->o->work, "rank %" PRId64 ": %s", r->rank,
			 why->text);
	pthread_mutex_unlock(&c->lock);
}

/* --- Results --- */

static int
finish_item(struct copier *c, struct copy_item *it, enum copy_state state,
	    struct error *err)
{
	struct copy_rank *r = &c->ranks[it->rank];
	bool last = false;

	it->state = state;
	/* The lock lets the thread that records the last result see the results
	 * of all others. */
	pthread_mutex_lock(&c->lock);
	c->r->copied += state == COPY_COPIED;
	c->r->adopted += state == COPY_ADOPTED;
	c->r->skipped += state == COPY_SKIPPED;
	c->r->taken += state == COPY_TAKEN;
	c->r->bad += state == COPY_BAD;
	c->r->bytes += state == COPY_COPIED ? it->attr->size : 0;
	c->open_bytes -= copy_item_bytes(it);
	last = --r->left == 0;
	if (last && c->o->work->dry_run && !copy_rank_has_map(c, r))
		c->r->bytes += r->image.len;
	pthread_mutex_unlock(&c->lock);
	return last && !c->o->work->dry_run ? copy_rank_finish(c, r, err) : 0;
}

/* Record a result that needs no writing. */
static int
done(struct job *j, enum copy_state state, struct error *err)
{
	const uint64_t bytes = copy_item_bytes(j->it);

	if (bytes > j->counted)
		tell(j, bytes - j->counted);
	return finish_item(j->c, j->it, state, err);
}

static int
bad(struct job *j, const struct error *why, struct error *err)
{
	copy_blame(j->c, &j->c->ranks[j->it->rank], why);
	return done(j, COPY_BAD, err);
}

int
copy_item_placed(void *arg, const struct put_what *what,
		 const struct timespec *mtime, struct error *err)
{
	struct copy_item *it = what->arg;

	it->mtime = *mtime;
	it->has_sum = true;
	return finish_item(arg, it, COPY_COPIED, err);
}

/* --- Existing targets --- */

/* Is the block that was read from the target the same in the cache? */
static int
compare(void *arg, const void *data, size_t len, uint64_t at, struct error *err)
{
	const struct job *j = arg;

	if (copy_stopped(j->c, err) < 0 ||
	    io_pread(j->from, j->it->from, j->w->other, len, at, err) < 0)
		return -1;
	return memcmp(data, j->w->other, len) == 0 ? 0 : -1;
}

static int
go_on(void *arg, const void *data, size_t len, uint64_t at, struct error *err)
{
	const struct job *j = arg;

	(void)data, (void)len, (void)at;
	return copy_stopped(j->c, err);
}

/* Was the target copied by an earlier run, and not changed since? */
static bool
is_ours(struct job *j)
{
	const struct copy_rank *r = &j->c->ranks[j->it->rank];
	const struct attr *a = j->it->attr;
	const struct copied_file *f = NULL;
	size_t at = r->old_by_path == NULL
			    ? MAP_NONE
			    : map_get(r->old_by_path, j->it->rel);

	if (at == MAP_NONE)
		return false;
	f = &r->old.files[at];
	if (f->size != j->it->attr->size ||
	    f->mtime.tv_sec != j->st.st_mtim.tv_sec ||
	    f->mtime.tv_nsec != j->st.st_mtim.tv_nsec)
		return false;
	/* A copy gets the time recorded in the filemap.  A different time means
	 * that copied_R.scr belongs to an earlier dataset with the same id. */
	if (!a->has_times || a->mtime.tv_sec != f->mtime.tv_sec)
		return false;
	if (j->it->file != NULL && j->it->file->has_crc &&
	    j->it->file->crc != f->crc)
		return false;
	j->it->crc = f->crc;
	j->it->mtime = f->mtime;
	j->it->has_sum = true;
	return true;
}

/* Try to adopt the target, whose size is right.  1: adopted; 0: it is not
 * right; -1: error. */
static int
adopt(struct job *j, struct error *err)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(j->parent, j->base, flags), rc = 0;
	const struct filemap_file *f = j->it->file;
	const bool known = f != NULL && f->has_crc;
	struct pump p = {
		.from = fd,
		.name = j->it->rel,
		.size = j->it->attr->size,
		.has_crc = known,
		.crc = known ? f->crc : 0,
		.to = -1,
		.block = j->w->block,
		.room = j->c->block,
		.step = known ? go_on : compare,
		.arg = j,
	};
	bool right = false;
	struct stat st;

	if (fd < 0)
		return 0; /* the copy will replace it */
	/* Is the content right?  If the filemap records a checksum, the file in
	 * the cache is not read. */
	right = (known || j->from >= 0) && pump_run(&p, NULL, NULL) == 1;
	if (right)
		j->it->crc = p.crc;
	/* If the attributes cannot be set (the file belongs to another user,
	 * for instance), the copy replaces the target. */
	if (right && create_may_change(j->c->prefix_fd, fd) &&
	    attr_apply(j->it->attr, fd, j->it->rel, j->c->owner, NULL, NULL) >=
		    0)
		rc = io_fsync(fd, j->it->rel, err) < 0 ? -1 : 1;
	if (rc == 1 && fstat(fd, &st) == 0) {
		j->it->mtime = st.st_mtim;
		j->it->has_sum = true;
	}
	close(fd);
	return rc;
}

/* --- Copying --- */

/* Called between blocks, so that complete files do not wait for a long one. */
static int
flush_due(void *arg, const void *data, size_t len, uint64_t at,
	  struct error *err)
{
	struct job *j = arg;

	(void)data;
	/* A second attempt counts only what the first has not. */
	if (at + len > j->counted)
		tell(j, at + len - j->counted);
	if (copy_stopped(j->c, err) < 0 ||
	    put_settle(j->c->put, PUT_SECONDS, err) < 0)
		return -1;
	return copy_rank_finish_due(j->c, err);
}

static int
no_place(struct job *j, const struct error *why, struct error *err)
{
	/* Does the error affect only this target, and not the other files? */
	return why->kind == ERROR_UNSAFE || why->errnum == ENOTDIR ||
			       why->errnum == ENAMETOOLONG
		       ? bad(j, why, err)
		       : error_pass(err, why);
}

/* Copy the data and compute the checksum.  If the file in the cache changes
 * while it is copied, copy it once more. */
static int
copy_data(struct job *j, struct error *err)
{
	const struct filemap_file *f = j->it->file;
	const bool known = f != NULL && f->has_crc;
	struct put_file *put = j->it->to;
	struct error why = ERROR_INIT;
	struct stat was, is;
	int rc = 2;

	for (int left = 2; rc == 2 && left > 0; left--) {
		struct pump p = {
			.from = j->from,
			.name = j->it->from,
			.size = j->it->attr->size,
			.has_crc = known,
			.crc = known ? f->crc : 0,
			.to = put_open(put, &why),
			.put = put,
			.block = j->w->block,
			.room = j->c->block,
			.step = flush_due,
			.arg = j,
		};

		if (p.to < 0)
			return no_place(j, &why, err);
		/* 0: the file in the cache is bad, and j->why tells why. */
		rc = fstat(j->from, &was) < 0
			     ? error_sys(err, "%s: cannot stat", j->it->from)
			     : pump_run(&p, &j->why, err);
		j->it->crc = p.crc;
		if (rc >= 0 &&
		    (fstat(j->from, &is) < 0 || is.st_size != was.st_size ||
		     is.st_mtim.tv_sec != was.st_mtim.tv_sec ||
		     is.st_mtim.tv_nsec != was.st_mtim.tv_nsec))
			rc = 2;
		if (rc == 1)
			return put_wrote(put, j->it->attr->size, err);
		put_drop(put);
	}
	if (rc == 2)
		error_set(&j->why, ERROR_DAMAGED,
			  "%s: changes while it is copied", j->it->from);
	return rc < 0 ? -1 : bad(j, &j->why, err);
}

/* Copy the data to its place in the containers. */
static int
copy_into(struct job *j, struct error *err)
{
	struct pump p = {
		.from = j->from,
		.name = j->it->from,
		.shared = true,
		.resumed = j->c->resume,
		.block = j->w->block,
		.room = j->c->block,
		.step = flush_due,
		.arg = j,
	};
	const int rc =
		j->from < 0 ? 0 : copy_pack_file(j->c, j->it, &p, &j->why, err);

	if (rc == 0)
		return bad(j, &j->why, err);
	return rc < 0 ? -1
		      : done(j,
			     p.resumed && !p.wrote ? COPY_ADOPTED : COPY_COPIED,
			     err);
}

/* --- One item --- */

/* Remove the directory in the target's place if it is empty, or in a dry run
 * only say whether it is. */
static bool
makes_way(const struct job *j)
{
	bool empty = false;
	int fd = -1;

	if (!j->c->o->work->dry_run)
		return unlinkat(j->parent, j->base, AT_REMOVEDIR) == 0;
	fd = openat(j->parent, j->base,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	empty = fd >= 0 && dir_is_empty(fd);
	io_close(fd);
	return empty;
}

static int
copy_or_adopt(struct job *j, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	/* Find the directory of the target, and whether the target exists. */
	if (!j->it->absent) {
		j->parent = pathcache_parent(j->w->parents, j->it->rel,
					     &j->base, &why);
		if (j->parent < 0 && why.kind != ERROR_ABSENT)
			return no_place(j, &why, err);
		j->there =
			j->parent >= 0 && dir_stat(j->parent, j->base, &j->st,
						   AT_SYMLINK_NOFOLLOW) == 0;
	}
	if (j->there && S_ISREG(j->st.st_mode) &&
	    (uint64_t)j->st.st_size == j->it->attr->size) {
		if (is_ours(j))
			return done(j, COPY_SKIPPED, err);
		rc = j->c->o->work->dry_run ? 1 : adopt(j, err);
		if (rc != 0)
			return rc < 0 ? -1 : done(j, COPY_ADOPTED, err);
	}
	if (j->from < 0)
		return bad(j, &j->why, err);
	if (j->there && S_ISDIR(j->st.st_mode) && makes_way(j))
		j->there = false;
	if (j->there && S_ISDIR(j->st.st_mode)) {
		error_set(&j->why, ERROR_DAMAGED,
			  "%s: a directory is in its place", j->it->rel);
		return bad(j, &j->why, err);
	}
	/* Another file has the name of this data file.  Redundancy files, in
	 * the dataset's own directory, have no other owner. */
	if (j->there && j->it->file != NULL && !j->c->o->replace) {
		error_set(&why, ERROR_DAMAGED,
			  "%s: exists with other contents: not replaced",
			  j->it->rel);
		copy_blame(j->c, &j->c->ranks[j->it->rank], &why);
		pthread_mutex_lock(&j->c->lock);
		j->c->ranks[j->it->rank].taken = true;
		if (j->c->o->taken != NULL)
			j->c->o->taken(j->it->rel);
		pthread_mutex_unlock(&j->c->lock);
		return done(j, COPY_TAKEN, err);
	}
	if (j->c->o->work->dry_run)
		return done(j, COPY_COPIED, err);
	return copy_data(j, err);
}

int
copy_item(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct copier *c = arg;
	struct job j = {
		.c = c,
		.it = &c->items[i],
		.w = &c->workers[worker],
		.from = -1,
		.why = ERROR_INIT,
	};
	const struct nodecache_dir *dir = NULL;
	struct stat st;
	int rc = 0;

	if (!c->ranks[j.it->rank].ours)
		return 0;
	if (copy_stopped(c, err) < 0)
		return -1;
	if (j.it->state != COPY_WAITING) /* refused by find_items() */
		return done(&j, j.it->state, err);
	/* A file that the job wrote to the prefix itself. */
	if (j.it->bypass) {
		if (!j.it->file->complete)
			error_set(&j.why, ERROR_DAMAGED,
				  "%s: was never completed", j.it->rel);
		else if (path_stat_beneath(c->prefix_fd, j.it->rel, &st,
					   &j.why) == 0 &&
			 (!S_ISREG(st.st_mode) ||
			  (uint64_t)st.st_size != j.it->attr->size))
			error_set(&j.why, ERROR_DAMAGED,
				  "%s: %" PRIu64 " bytes, expected %" PRIu64,
				  j.it->rel, (uint64_t)st.st_size,
				  j.it->attr->size);
		return j.why.kind == ERROR_NONE ? done(&j, COPY_SKIPPED, err)
						: bad(&j, &j.why, err);
	}
	dir = c->ranks[j.it->rank].dir;
	j.from = j.it->file != NULL
			 ? nodecache_dir_file(dir, j.it->file, &j.why)
			 : nodecache_dir_regular(dir->meta, j.it->from, &st,
						 &j.why);
	rc = c->o->containers && j.it->file != NULL ? copy_into(&j, err)
						    : copy_or_adopt(&j, err);
	io_close(j.from);
	return rc;
}
