/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_impl.h - what the parts of copy.h share.
 */
#ifndef SCAVENGE_COPY_IMPL_H
#define SCAVENGE_COPY_IMPL_H

#include <pthread.h>

#include "buf.h"
#include "meta/copied.h"
#include "path.h"
#include "scavenge/copy.h"
#include "transfer/put.h"
#include "work.h"

/* What became of a file. */
enum copy_state {
	COPY_WAITING,
	COPY_COPIED,
	COPY_ADOPTED,
	COPY_SKIPPED,
	COPY_BAD,
};

struct copy_item {
	size_t rank;	  /* number in copier.ranks */
	const char *from; /* name for messages, and of redundancy files */
	const struct filemap_file *file; /* NULL: a redundancy file */
	const char *rel;     /* below the prefix; NULL: it may not be written */
	struct attr attr;    /* of redundancy files: as they are in the cache */
	struct put_file *to; /* in copier.put, while its rank is copied */
	bool absent;	     /* nothing was at `rel` when the pass began */
	bool bypass;	     /* the job wrote it to the prefix itself */
	enum copy_state state;
	bool has_sum; /* the rest is valid */
	uint32_t crc;
	struct timespec mtime; /* of the target */
};

struct copy_rank {
	int64_t rank;
	const struct nodecache_dir *dir; /* where it lies */
	const struct nodecache_slot *slot;
	mode_t mode; /* of what is written for it: that of its filemap */
	bool has_map;
	bool map_here; /* it comes from the cache, and not from the prefix */
	bool ours;     /* this process may copy it now */
	bool finished; /* or did */
	bool has_record, has_image; /* on the prefix: copied_R.scr, filemap */
	struct filemap map;
	struct buf image;	 /* of the filemap */
	size_t first, count;	 /* of its items */
	atomic_size_t left;	 /* items that are not settled yet */
	struct copied old;	 /* what was copied before */
	struct map *old_by_path; /* path -> number in `old`; NULL: nothing */
};

/* What a thread has of its own. */
struct copy_worker {
	struct pathcache *parents;
	char *block, *other; /* o->block bytes each */
};

struct copier {
	const struct copy_options *o;
	struct arena *arena;
	size_t block;
	int prefix_fd, meta_fd; /* meta: .scr/scr.dataset.ID, or -1 */
	char meta[64];		/* its name */
	const char *roots[3];	/* names of the prefix in metadata; NULL */
	size_t ndirs;
	struct nodecache_dir *dirs;
	size_t nranks;
	struct copy_rank *ranks;
	size_t nitems, items_cap;
	struct copy_item *items;
	struct par *par;
	struct copy_worker *workers;
	unsigned nworkers;
	/* Of one pass over the ranks that are free: */
	int shares; /* the lock on them */
	struct put *put;
	pthread_mutex_t lock; /* of what follows */
	struct copy_result *r;
	uint64_t unsettled; /* bytes that still have to get there */
	size_t nwaiting;
	size_t *waiting; /* ranks that are settled, but not finished */
	double finished; /* when some were taken to be, clock_seconds() */
};

/* --- copy_root.c --- */

/* Find what the prefix was called: c->roots. */
int copy_find_roots(struct copier *c, struct error *err);

/* The place of `f` below the prefix; in the arena.  NULL: ERROR_UNSAFE,
 * ERROR_CORRUPT, ERROR_NOMEM. */
const char *copy_rel(struct copier *c, const struct filemap_file *f,
		     struct error *err);

/* --- copy_turn.c --- */

/*
 * Take the ranks that are not finished and that no other process is copying:
 * *taken of them are c->ranks[i].ours.  Look what is on the prefix of them, and
 * make c->put with their items.  copy_turn_end() in any case.
 */
int copy_turn_begin(struct copier *c, size_t *taken, struct error *err);
void copy_turn_end(struct copier *c);

/* --- copy_file.c --- */

/* Bytes that have to get to the prefix for it. */
uint64_t copy_item_bytes(const struct copy_item *it);

/* Get item `i` to its place: for par_for(), `arg` is the copier. */
int copy_item(void *arg, size_t i, unsigned worker, struct error *err);

/* One got its place: for struct put_options, `arg` is the copier. */
int copy_item_placed(void *arg, const struct put_what *what,
		     const struct timespec *mtime, struct error *err);

/* -1: stopped. */
int copy_stopped(const struct copier *c, struct error *err);

/* Tell of a bad file. */
void copy_blame(struct copier *c, const char *text);

/* --- copy_rank.c --- */

/* Read what was copied before; what cannot be read was not. */
int copy_rank_recall(struct copier *c, struct copy_rank *r, struct error *err);

/* All of the rank's items are settled: now, or together with others later,
 * copied_R.scr and the filemap are written. */
int copy_rank_finish(struct copier *c, struct copy_rank *r, struct error *err);

/* What waits, if it is time. */
int copy_rank_finish_due(struct copier *c, struct error *err);

/* Now all that waits. */
int copy_rank_finish_all(struct copier *c, struct error *err);

/* copied_R.scr alone, of the ranks that are not finished. */
int copy_rank_record(struct copier *c, struct error *err);

#endif /* SCAVENGE_COPY_IMPL_H */
