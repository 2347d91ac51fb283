/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.c - temporary files on their way to being the real ones.
 */
#include "transfer/target_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "str.h"
#include "transfer/stripe.h"
#include "transfer/transfer.h"

/* Targets a worker takes at a time. */
#define TARGET_BATCH 4

int
targets_init(struct targets *t, struct error *err)
{
	*t = (struct targets){ .count = 0 };
	t->arena = arena_new();
	if (t->arena == NULL)
		return error_no_memory(err);
	return 0;
}

void
targets_fini(struct targets *t)
{
	mem_free(t->list);
	mem_free(t->trees);
	arena_free(t->arena);
	*t = (struct targets){ .count = 0 };
}

/* A temporary name beside `path`. */
const char *
target_temp(const struct targets *t, const char *path, struct error *err)
{
	const char *base = path_base(path);
	char temp[IO_TEMP_MAX];
	char *p = arena_printf(t->arena, "%.*s%s", (int)(base - path), path,
			       io_temp_name(temp, base));

	if (p == NULL)
		error_no_memory(err);
	return p;
}

struct target *
targets_add(struct targets *t, const struct target *what, struct error *err)
{
	struct target *n = NULL;

	if (!MEM_ROOM(t->list, t->count, t->cap)) {
		error_no_memory(err);
		return NULL;
	}
	n = &t->list[t->count];
	*n = *what;
	if (!target_is_new(n)) {
		n->temp = target_temp(t, n->path, err);
		if (n->temp == NULL)
			return NULL;
	}
	t->count++;
	return n;
}

int
targets_check_space(const struct targets *t, struct error *err)
{
	struct statvfs fs;
	uint64_t need = 0, have = 0;
	char a[32], b[32];

	/* All roots of a dataset mostly share a file system; where they do not
	 * the sum is too careful on none of them to be wrong. */
	for (size_t i = 0; i < t->count; i++)
		need += t->list[i].size;
	for (size_t i = 0; i < t->count; i++) {
		if (i > 0 && t->list[i].dirfd == t->list[i - 1].dirfd)
			continue;
		if (fstatvfs(t->list[i].dirfd, &fs) < 0)
			continue;
		have = (uint64_t)fs.f_bavail * fs.f_frsize;
		/* Some file systems report nothing at all. */
		if (fs.f_blocks == 0 || have >= need)
			continue;
		errno = ENOSPC;
		return error_sys(err,
				 "%s needed for the rebuilt files, %s free",
				 str_bytes(a, sizeof(a), need),
				 str_bytes(b, sizeof(b), have));
	}
	return 0;
}

struct work {
	struct targets *t;
	enum target_kind kind;
	struct pathcache_pair *parents; /* one a worker */
	unsigned nworkers;
	size_t *runs, nruns; /* of targets in one directory */
};

/* Files that are full, to be synced together: then the file system need not
 * write its log for each. */
#define FULL_MAX 32

struct full {
	size_t count;
	int fds[FULL_MAX];
	struct target *targets[FULL_MAX];
};

struct filling {
	struct work work;
	struct full *full;  /* one a worker */
	size_t full_max;    /* of each: descriptors are few */
	atomic_uchar *made; /* by target */
};

static int
work_init(struct work *w, struct par *par, struct error *err)
{
	w->nworkers = par == NULL ? 1 : par_threads(par);
	w->parents = mem_calloc(w->nworkers, sizeof(*w->parents));
	return w->parents == NULL ? error_no_memory(err) : 0;
}

static void
work_fini(struct work *w)
{
	for (unsigned i = 0; w->parents != NULL && i < w->nworkers; i++)
		pathcache_pair_fini(&w->parents[i]);
	mem_free(w->parents);
}

/* The cache of the directories below `dirfd`. */
static struct pathcache *
cache_of(struct pathcache_pair *p, int dirfd, struct error *err)
{
	struct pathcache *c = pathcache_pair_at(p, dirfd);

	if (c == NULL)
		error_no_memory(err);
	return c;
}

static int
make_temp(const struct target *t, struct pathcache *dir, struct error *err)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct error why = ERROR_INIT;
	const char *base = NULL;
	int parent = pathcache_parent(dir, t->temp, &base, &why), own = -1;
	/* Private until it has its owner, where one is recorded. */
	mode_t mode = t->attr != NULL && t->attr->has_owner ? 0600 : 0666;
	int fd = -1;

	if (parent < 0)
		parent = own = path_open_parent(t->dirfd, t->temp, true, 0777,
						&base, err);
	if (parent < 0)
		return -1;
	fd = openat(parent, base, flags, mode);
	/* What an interrupted run left is ours, and useless. */
	if (fd < 0 && errno == EEXIST) {
		if (io_remove_tree(parent, base, err) == 0 &&
		    (fd = openat(parent, base, flags, mode)) < 0)
			error_sys(err, "%s: cannot create", t->temp);
	} else if (fd < 0) {
		error_sys(err, "%s: cannot create", t->temp);
	}
	if (own >= 0)
		close(own);
	return fd;
}

static int
prepare(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct work *w = arg;
	struct target *t = &w->t->list[i];
	struct pathcache *dir = NULL;
	int fd = -1, rc = -1;

	if (t->filled && t->size > 0)
		return 0;
	dir = cache_of(&w->parents[worker], t->dirfd, err);
	fd = dir == NULL ? -1 : make_temp(t, dir, err);
	if (fd < 0)
		return -1;
	t->prepared = true;
	if (t->size > 0 && ftruncate(fd, (off_t)t->size) < 0)
		error_sys(err, "%s: cannot make %llu bytes long", t->temp,
			  (unsigned long long)t->size);
	else if (t->image_size == 0 ||
		 io_pwrite(fd, t->temp, t->image, t->image_size, 0, err) == 0)
		rc = 0;
	close(fd);
	return rc;
}

int
targets_prepare(struct targets *t, struct par *par, struct error *err)
{
	struct work w = { .t = t };
	int rc = work_init(&w, par, err);

	if (rc == 0)
		rc = target_trees_make(t, err);
	if (rc == 0)
		rc = par_for(par, t->count, TARGET_BATCH, prepare, &w, err);
	work_fini(&w);
	return rc;
}

int
targets_prepare_one(struct targets *t, size_t i, struct error *err)
{
	struct work w = { .t = t };
	int rc = work_init(&w, NULL, err);

	if (rc == 0)
		rc = prepare(&w, i, 0, err);
	work_fini(&w);
	return rc;
}

/* --- Filling --- */

/* Is it made? */
enum { NOT_MADE, BEING_MADE, MADE };

static int
open_temp(const struct target *t, struct pathcache *dir, struct error *err)
{
	const char *base = NULL;
	int parent = pathcache_parent(dir, t->temp, &base, err);
	int fd = -1;

	if (parent < 0)
		return -1;
	fd = openat(parent, base, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		error_sys(err, "%s: cannot open", t->temp);
	return fd;
}

/* The first worker that comes makes the file. */
static int
fill_open(void *arg, unsigned worker, const struct stripe_part *p,
	  struct error *err)
{
	struct filling *f = arg;
	struct target *t = &f->work.t->list[p->file];
	struct pathcache *dir =
		cache_of(&f->work.parents[worker], t->dirfd, err);
	unsigned char was = NOT_MADE;
	int fd = -1;

	if (dir == NULL)
		return -1;
	while (!atomic_compare_exchange_strong(&f->made[p->file], &was,
					       BEING_MADE)) {
		if (was == MADE)
			return open_temp(t, dir, err);
		sched_yield();
		was = NOT_MADE;
	}
	fd = make_temp(t, dir, err);
	t->prepared = fd >= 0;
	atomic_store(&f->made[p->file], fd >= 0 ? MADE : NOT_MADE);
	return fd;
}

/* Sync and close the full ones of a worker. */
static int
settle(struct full *q, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < q->count; i++) {
		if (rc == 0)
			rc = io_fsync(q->fds[i], q->targets[i]->temp, err);
		q->targets[i]->settled = rc == 0;
		close(q->fds[i]);
	}
	q->count = 0;
	return rc;
}

static int
fill_full(void *arg, unsigned worker, const struct stripe_part *p, int fd,
	  struct error *err)
{
	struct filling *f = arg;
	struct target *t = &f->work.t->list[p->file];
	struct full *q = &f->full[worker];

	if (t->attr != NULL && attr_apply(t->attr, fd, t->temp, err) < 0) {
		close(fd);
		return -1;
	}
	q->targets[q->count] = t;
	q->fds[q->count++] = fd;
	return q->count < f->full_max ? 0 : settle(q, err);
}

int
targets_transfer(struct targets *t, const struct stripe *from,
		 const struct stripe *to, uint64_t len,
		 const struct transfer_options *o, struct error *err)
{
	struct filling f = { .work = { .t = t } };
	const struct stripe_files files = { fill_open, fill_full, &f };
	struct transfer_options with = *o;
	int rc = work_init(&f.work, o->par, err);

	f.made = mem_calloc(t->count + 1, sizeof(*f.made));
	f.full = mem_calloc(f.work.nworkers, sizeof(*f.full));
	f.full_max = stripe_cache_slots(f.work.nworkers, FULL_MAX);
	with.files_to = &files;
	if (rc == 0 && (f.made == NULL || f.full == NULL))
		rc = error_no_memory(err);
	if (rc == 0)
		rc = transfer(from, to, len, &with, err);
	for (unsigned i = 0; f.full != NULL && i < f.work.nworkers; i++)
		if (settle(&f.full[i], rc == 0 ? err : NULL) < 0)
			rc = -1;
	work_fini(&f.work);
	mem_free(f.full);
	mem_free(f.made);
	return rc;
}

/* --- In place --- */

/* Attributes, and on disk. */
static int
finish(struct target *t, struct pathcache *dir, struct error *err)
{
	int fd = open_temp(t, dir, err), rc = -1;

	if (fd < 0)
		return -1;
	if ((t->attr == NULL || attr_apply(t->attr, fd, t->temp, err) == 0) &&
	    io_fsync(fd, t->temp, err) == 0)
		rc = 0;
	close(fd);
	return rc;
}

static int
finish_one(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct work *w = arg;
	struct target *t = &w->t->list[i];
	struct pathcache *dir = NULL;

	if (t->kind != w->kind || t->done || t->settled)
		return 0;
	dir = cache_of(&w->parents[worker], t->dirfd, err);
	if (dir == NULL || finish(t, dir, err) < 0)
		return -1;
	t->settled = true;
	return 0;
}

bool
target_same_parent(const struct target *a, const struct target *b)
{
	size_t n = (size_t)(path_base(a->path) - a->path);

	return a->dirfd == b->dirfd &&
	       n == (size_t)(path_base(b->path) - b->path) &&
	       memcmp(a->path, b->path, n) == 0;
}

/* Where in the list another directory begins, and where it ends: only one at a
 * time may change a directory, so neighbours in one are for one worker. */
static int
find_runs(struct work *w, struct error *err)
{
	const struct targets *t = w->t;

	w->runs = mem_calloc(t->count + 1, sizeof(*w->runs));
	if (w->runs == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < t->count; i++)
		if (i == 0 || !target_same_parent(&t->list[i - 1], &t->list[i]))
			w->runs[w->nruns++] = i;
	w->runs[w->nruns] = t->count;
	return 0;
}

static int
rename_one(struct target *t, struct pathcache *dir, struct error *err)
{
	const char *base = NULL, *temp = path_base(t->temp);
	int parent = pathcache_parent(dir, t->path, &base, err);

	if (parent < 0)
		return -1;
	if (renameat(parent, temp, parent, base) < 0)
		return error_sys(err, "%s: cannot rename to %s", t->temp, base);
	t->done = true;
	return 0;
}

static int
rename_run(void *arg, size_t run, unsigned worker, struct error *err)
{
	struct work *w = arg;

	for (size_t i = w->runs[run]; i < w->runs[run + 1]; i++) {
		struct target *t = &w->t->list[i];
		struct pathcache *dir = NULL;

		if (t->kind != w->kind || t->done || t->tree != TARGET_NO_TREE)
			continue;
		dir = cache_of(&w->parents[worker], t->dirfd, err);
		if (dir == NULL || rename_one(t, dir, err) < 0)
			return -1;
	}
	return 0;
}

/* New directories, with all that is in them. */
static int
place_trees(struct targets *t, struct error *err)
{
	if (target_sync_trees(t, err) < 0 || target_trees_rename(t, err) < 0)
		return -1;
	for (size_t i = 0; i < t->count; i++)
		t->list[i].done =
			t->list[i].done || t->list[i].tree != TARGET_NO_TREE;
	return 0;
}

int
targets_commit(struct targets *t, struct par *par, struct error *err)
{
	struct work w = { .t = t };
	int rc = work_init(&w, par, err);

	if (rc == 0)
		rc = find_runs(&w, err);
	for (int k = 0; rc == 0 && k < TARGET_KINDS; k++) {
		w.kind = (enum target_kind)k;
		rc = par_for(par, t->count, TARGET_BATCH, finish_one, &w, err);
		if (rc == 0)
			rc = par_for(par, w.nruns, 1, rename_run, &w, err);
		if (rc == 0 && w.kind == TARGET_FILE)
			rc = place_trees(t, err);
		if (rc == 0)
			rc = target_sync_dirs(t, w.kind, err);
	}
	mem_free(w.runs);
	work_fini(&w);
	return rc;
}

void
targets_discard(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct target *g = &t->list[i];
		const char *base = NULL;
		int parent = -1;

		if (!g->prepared || g->done || g->tree != TARGET_NO_TREE)
			continue;
		parent = path_open_parent(g->dirfd, g->temp, false, 0, &base,
					  NULL);
		if (parent >= 0) {
			(void)unlinkat(parent, base, 0);
			close(parent);
		}
		g->prepared = false;
	}
	target_trees_discard(t);
}
