/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/put.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/attr.h"
#include "par.h"
#include "path.h"
#include "temp.h"
#include "transfer/put_impl.h"

/* The queue is full with this many files, or this many bytes. */
#define QUEUE_MAX 32
#define QUEUE_BYTES ((uint64_t)64 << 20)

/* Smaller files are written anew. */
#define RESUME_LEAST ((uint64_t)1 << 20)

/* Files that a thread takes at a time from the list.  Neighbours usually share
 * a directory, in which the kernel allows only one rename at a time. */
#define BATCH 8

/* --- The engine --- */

struct put *
put_new(const struct put_options *o, struct error *err)
{
	struct put *p = mem_calloc(1, sizeof(*p));
	struct rlimit limit = { .rlim_cur = 1024 };
	size_t share = 0, most = 0;

	if (p != NULL) {
		p->o = *o;
		p->arena = arena_new();
		p->by_path = map_new();
		p->queue_end = &p->queue;
		pthread_mutex_init(&p->lock, NULL);
		pthread_mutex_init(&p->syncing, NULL);
		pthread_cond_init(&p->made, NULL);
		/* Use a quarter of the descriptors for files being written, and
		 * a quarter for full files, of which each thread may be syncing
		 * one queue. */
		(void)getrlimit(RLIMIT_NOFILE, &limit);
		share = limit.rlim_cur == RLIM_INFINITY ? 1024
							: limit.rlim_cur / 4;
		most = share / par_threads(p->o.par);
		p->open_max = share;
		p->queue_max = most < 1		  ? 1
			       : most < QUEUE_MAX ? most
						  : QUEUE_MAX;
	}
	if (p == NULL || p->arena == NULL || p->by_path == NULL) {
		error_no_memory(err);
		put_free(p);
		return NULL;
	}
	return p;
}

struct put_file *
put_add(struct put *p, const struct put_what *what, struct error *err)
{
	struct put_file *f = arena_alloc(p->arena, 1, sizeof(*f));
	struct put_place *place = put_place(p, what->dirfd, what->path, err);

	if (place == NULL)
		return NULL;
	if (f == NULL || !MEM_ROOM(p->files, p->count, p->cap))
		return error_no_memory_null(err);
	*f = (struct put_file){
		.put = p,
		.what = *what,
		.place = place,
		.fd = -1,
	};
	p->files[p->count++] = f;
	place->waiting++;
	return f;
}

void
put_keep(struct put *p)
{
	p->keep = true;
}

struct put_what *
put_what(struct put_file *f)
{
	return &f->what;
}

size_t
put_count(const struct put *p)
{
	return p->count;
}

struct put_file *
put_at(const struct put *p, size_t i)
{
	return p->files[i];
}

bool
put_resumed(const struct put_file *f)
{
	return f->resumed;
}

/* --- Open --- */

/* The mode to open a new file with. */
static mode_t
new_mode(struct put *p, const struct put_file *f)
{
	const struct attr *a = f->what.attr;
	const struct put_place *place = f->place;
	mode_t mode = a != NULL && a->has_owner ? a->mode & 0777
						: f->what.mode & 0777;
	bool ours = true;

	if (a != NULL && a->has_owner) {
		pthread_mutex_lock(&p->lock);
		ours = place->owner.set ||
		       (place->known && place->gid == a->gid);
		pthread_mutex_unlock(&p->lock);
	} else if (f->what.mode == 0) {
		return 0666;
	}
	/* Other threads may have to reopen the file for writing: a mode without
	 * write permission is set later. */
	return ours && (mode & 0200) != 0 ? mode : 0600;
}

/* Open the temporary file of `f`: a new one with `make`, else the one that
 * exists. */
static int
open_temp(struct put_file *f, bool make, struct error *err)
{
	struct put *p = f->put;
	const char *base = path_base(f->what.path);
	const bool locks = f->what.resume && !p->o.unlocked &&
			   f->what.size >= RESUME_LEAST;
	int dir = -1, fd = -1;
	struct stat st;

	make = make && !f->what.lent;
	dir = put_place_take(p, f->place, make, err);
	if (dir < 0 && dir != AT_FDCWD)
		return -1;
	if (make)
		f->opened = new_mode(p, f);
	if (make && locks)
		fd = temp_resume(dir, base, f->place->owner);
	f->resumed |= fd >= 0;
	if (fd >= 0)
		f->holes = true; /* it may be longer */
	else
		fd = make ? temp_make(dir, base, f->opened, f->place->owner)
			  : temp_open(dir, base, f->resumed);
	if (fd >= 0 && make && p->o.unlocked && fstat(fd, &st) == 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	}
	/* Without a lock, the next run begins with a new one. */
	if (fd >= 0 && locks)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	if (fd >= 0 && f->what.lent &&
	    (!create_may_change(dir, fd) || !p->o.still(p->o.arg))) {
		close(fd);
		fd = -1;
		errno = ESTALE;
	}
	if (fd < 0)
		error_sys(err, "%s: cannot %s", f->what.path,
			  make ? "create" : "open its temporary file");
	put_place_give(p, f->place, dir);
	return fd;
}

int
put_open(struct put_file *f, struct error *err)
{
	const struct put_what *w = &f->what;
	struct put *p = f->put;
	bool first = false, left = false;
	int fd = -1;

	pthread_mutex_lock(&p->lock);
	while (f->state == PUT_MAKING)
		pthread_cond_wait(&p->made, &p->lock);
	if (f->fd < 0) {
		first = f->state == PUT_LISTED;
		f->state = PUT_MAKING;
		/* If too many files are open, close files that no thread is
		 * writing to. */
		for (size_t i = 0; i < p->count && p->nopen >= p->open_max;
		     i++) {
			struct put_file *idle = p->files[p->hand++ % p->count];

			if (idle->state != PUT_OPEN || idle->users > 0 ||
			    idle->fd < 0)
				continue;
			close(idle->fd);
			idle->fd = -1;
			p->nopen--;
		}
		pthread_mutex_unlock(&p->lock);
		fd = open_temp(f, first, err);
		if (fd >= 0 && first && w->image_size > 0 &&
		    io_pwrite(fd, w->path, w->image, w->image_size, 0, err) <
			    0) {
			left = true; /* put_free() has to remove it */
			close(fd);
			fd = -1;
		}
		pthread_mutex_lock(&p->lock);
		f->state = fd >= 0 || !first || left ? PUT_OPEN : PUT_LISTED;
		if (fd >= 0 && first)
			f->written += w->image_size;
		f->fd = fd;
		p->nopen += fd >= 0;
		pthread_cond_broadcast(&p->made);
	}
	fd = f->fd;
	f->users += fd >= 0;
	pthread_mutex_unlock(&p->lock);
	return fd;
}

/* --- Full --- */

/* Take all files off the queue.  The caller holds the lock. */
static struct put_file *
take_queue(struct put *p)
{
	struct put_file *list = p->queue;

	p->queue = NULL;
	p->queue_end = &p->queue;
	p->queued = 0;
	p->queued_bytes = 0;
	return list;
}

static int
sync_file(struct put_file *f, struct error *err)
{
	if (io_fsync(f->fd, f->what.path, err) < 0)
		return -1;
	if (f->what.reread)
		(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	f->state = PUT_SYNCED;
	return 0;
}

/* File servers may report only here that bytes could not be written. */
static int
close_file(struct put_file *f, struct error *err)
{
	const int rc = f->fd < 0 ? 0 : close(f->fd);

	f->fd = -1;
	return rc < 0 ? error_sys(err, "%s: cannot close", f->what.path) : 0;
}

/* Is the temporary file in `dir` still ours? */
static bool
has_ours(const struct put_file *f, int dir)
{
	const char *base = path_base(f->what.path);

	return f->fd >= 0 ? temp_is_same(dir, base, f->fd)
			  : temp_is_file(dir, base, f->dev, f->ino);
}

/* Give a synced file its name. */
static int
place_file(struct put_file *f, struct error *err)
{
	struct put *p = f->put;
	const char *path = f->what.path;
	int dir = put_place_take(p, f->place, false, err), rc = 0;

	if (dir < 0 && dir != AT_FDCWD)
		return -1;
	errno = EBUSY;
	if (p->o.unlocked && !has_ours(f, dir))
		rc = error_sys(err, "%s: another process writes it", path);
	else if (temp_commit(dir, path_base(path)) < 0)
		rc = error_sys(err, "%s: cannot rename its file", path);
	put_place_give(p, f->place, dir);
	if (rc < 0)
		return -1;
	f->state = PUT_PLACED;
	put_place_changed(p, f->place);
	return p->o.placed == NULL
		       ? 0
		       : p->o.placed(p->o.arg, &f->what, &f->mtime, err);
}

static int
sync_full(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct put_file *f = ((struct put_file **)arg)[i];

	(void)worker;
	if (f->state == PUT_FULL && sync_file(f, err) < 0)
		return -1;
	if (f->state == PUT_SYNCED && close_file(f, err) < 0)
		return -1;
	if (f->state >= PUT_SYNCED)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: only %" PRIu64 " of %" PRIu64
			 " bytes were written",
			 f->what.path, f->written, f->what.size);
}

/* Sync a list of full files, and with at_once rename them; by all threads if
 * one alone writes.  A file that fails keeps its descriptor open. */
static int
sync_list(struct put *p, struct put_file *list, struct error *err)
{
	struct put_file *f = NULL, **all = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;

	if (p->o.alone) {
		for (f = list; f != NULL && rc == 0; f = f->next)
			if (MEM_ROOM(all, n, cap))
				all[n++] = f;
			else
				rc = error_no_memory(err);
		if (rc == 0)
			rc = par_for(p->o.par, n, 0, sync_full, all, err);
		mem_free(all);
		return rc;
	}
	for (f = list; f != NULL; f = f->next) {
		if (sync_file(f, err) < 0)
			return -1;
		if (!p->o.at_once && close_file(f, err) < 0)
			return -1;
	}
	for (f = list; p->o.at_once && f != NULL; f = f->next)
		if (place_file(f, err) < 0 || close_file(f, err) < 0)
			return -1;
	return 0;
}

int
put_wrote(struct put_file *f, uint64_t len, struct error *err)
{
	struct put *p = f->put;
	struct put_file *list = NULL;
	size_t most = p->queue_max;
	bool full = false;

	if (p->o.alone)
		most *= par_threads(p->o.par);
	if (most > p->open_max)
		most = p->open_max;

	pthread_mutex_lock(&p->lock);
	assert(f->users > 0);
	f->users--;
	f->written += len;
	full = f->state == PUT_OPEN && f->written >= f->what.size;
	if (full) {
		f->state = PUT_FULL;
		p->nopen--;
	}
	pthread_mutex_unlock(&p->lock);
	if (!full)
		return 0;
	/* Complete it: the file may end in a hole.  Then it waits in the
	 * queue. */
	if (!f->what.lent && f->holes &&
	    ftruncate(f->fd, (off_t)f->what.size) < 0)
		return error_sys(err, "%s: cannot set its size", f->what.path);
	if (!f->what.lent && put_set_attributes(f, err) < 0)
		return -1;
	f->since = p->o.at_once ? clock_seconds() : 0;
	pthread_mutex_lock(&p->lock);
	*p->queue_end = f;
	p->queue_end = &f->next;
	p->queued++;
	p->queued_bytes += f->what.size;
	if (p->queued >= most || p->queued_bytes >= QUEUE_BYTES)
		list = take_queue(p);
	pthread_mutex_unlock(&p->lock);
	return sync_list(p, list, err);
}

int
put_pwrite(struct put_file *f, int fd, const void *data, size_t len,
	   uint64_t off, struct error *err)
{
	int holes = 0;

	if (f->resumed && io_has(fd, data, len, off))
		return 0;
	holes = f->resumed || f->what.lent
			? io_pwrite(fd, f->what.path, data, len, off, err)
			: io_pwrite_sparse(fd, f->what.path, data, len, off,
					   err);
	if (holes < 0)
		return -1;
	if (holes > 0)
		f->holes = true;
	io_write_behind(fd, off, len, off + len == f->what.size);
	return 0;
}

int
put_write(struct put_file *f, const void *data, size_t len, uint64_t off,
	  struct error *err)
{
	struct put *p = f->put;
	int fd = put_open(f, err);

	if (fd < 0)
		return -1;
	if (put_pwrite(f, fd, data, len, off, err) < 0) {
		pthread_mutex_lock(&p->lock);
		f->users--;
		pthread_mutex_unlock(&p->lock);
		return -1;
	}
	return put_wrote(f, len, err);
}

int
put_lend(struct put_file *f, struct error *err)
{
	if (put_open(f, err) < 0)
		return -1;
	f->resumed = true;
	return put_wrote(f, 0, err);
}

int
put_wrote_elsewhere(struct put_file *f, uint64_t len, struct error *err)
{
	return put_open(f, err) < 0 ? -1 : put_wrote(f, len, err);
}

int
put_settle(struct put *p, double seconds, struct error *err)
{
	struct put_file *list = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->queue != NULL && clock_seconds() - p->queue->since >= seconds)
		list = take_queue(p);
	pthread_mutex_unlock(&p->lock);
	return sync_list(p, list, err);
}

/* --- In place --- */

static int
make_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct put_file *f = ((struct put *)arg)->files[i];

	(void)worker;
	if (f->state != PUT_LISTED || f->what.image_size < f->what.size)
		return 0;
	return put_open(f, err) < 0 ? -1 : put_wrote(f, 0, err);
}

static int
place_kind(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct put *p = arg;
	struct put_file *f = p->files[i];

	(void)worker;
	return f->what.kind == p->kind && f->state == PUT_SYNCED &&
			       !f->what.lent
		       ? place_file(f, err)
		       : 0;
}

int
put_commit(struct put *p, struct error *err)
{
	struct par *par = p->o.par;
	int rc = p->o.alone ? sync_list(p, take_queue(p), err) : 0;

	p->o.alone = false; /* from now on each thread syncs what it queues */
	if (rc == 0)
		rc = par_for(par, p->count, BATCH, make_image, p, err);
	if (rc == 0) {
		(void)take_queue(p);
		rc = par_for(par, p->count, BATCH, sync_full, p->files, err);
	}
	for (size_t i = 0; rc == 0 && i < p->count && !p->asked; i++)
		p->asked = p->o.guard.fn != NULL &&
			   (p->files[i]->what.replaces ||
			    p->files[i]->what.kind == PUT_FILE);
	if (rc == 0 && p->asked)
		rc = p->o.guard.fn(p->o.guard.arg, p, err);
	for (int k = 0; rc == 0 && k < PUT_KINDS; k++) {
		p->kind = (enum put_kind)k;
		rc = par_for(par, p->count, BATCH, place_kind, p, err);
		if (rc == 0)
			rc = put_sync(p, par, err);
	}
	if (rc == 0)
		rc = par_for(par, p->nplaces, 0, put_place_finish, p, err);
	p->failed = p->asked && rc < 0;
	return rc;
}

/* --- Removal --- */

void
put_drop(struct put_file *f)
{
	struct put *p = f->put;
	const char *base = path_base(f->what.path);
	const int dir = put_place_take(p, f->place, false, NULL);

	pthread_mutex_lock(&p->lock);
	p->nopen -= f->state == PUT_OPEN && f->fd >= 0;
	f->state = PUT_LISTED;
	f->users = 0;
	f->written = 0;
	f->holes = f->resumed = false;
	pthread_mutex_unlock(&p->lock);
	/* Another process may have replaced it by its own. */
	if (dir >= 0 || dir == AT_FDCWD) {
		if (!p->o.unlocked || has_ours(f, dir))
			(void)temp_remove(dir, base);
		put_place_give(p, f->place, dir);
	}
	(void)close_file(f, NULL);
}

void
put_free(struct put *p)
{
	bool whole = true;

	if (p == NULL)
		return;
	for (size_t i = 0; i < p->count; i++) {
		struct put_file *f = p->files[i];

		whole = whole && f->state == PUT_PLACED;
		if (f->state > PUT_MAKING && f->state < PUT_PLACED && !p->keep)
			put_drop(f);
		(void)close_file(f, NULL);
	}
	/* Files that are renamed at once may be those of several processes,
	 * which share the directories. */
	if (!whole && !p->o.at_once && (!p->o.unlocked || p->o.tidy) &&
	    !p->keep)
		put_place_remove(p);
	if (p->failed && p->o.guard.failed != NULL)
		p->o.guard.failed(p->o.guard.arg);
	for (size_t i = 0; i < p->nplaces; i++)
		io_close(p->places[i]->fd);
	pthread_cond_destroy(&p->made);
	pthread_mutex_destroy(&p->syncing);
	pthread_mutex_destroy(&p->lock);
	map_free(p->by_path);
	mem_free(p->places);
	mem_free(p->files);
	arena_free(p->arena);
	mem_free(p);
}
