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
	const char *rel;  /* below the prefix; NULL: it may not be written */
	struct attr attr; /* of redundancy files: as they are in the cache */
	size_t place;	  /* its directory: number in copier.places */
	bool bypass;	  /* the job wrote it to the prefix itself */
	enum copy_state state;
	bool has_sum; /* the rest is valid */
	uint32_t crc;
	struct timespec mtime; /* of the target */
};

/* A directory of the prefix that files are put into, or one above it. */
struct copy_place {
	const char *path; /* "": the prefix itself */
	size_t up;	  /* the one above it; its own number: none */
	bool dirty;	  /* a rename in it may not be on disk */
};

struct copy_rank {
	int64_t rank;
	const struct nodecache_dir *dir; /* where it lies */
	const struct nodecache_slot *slot;
	mode_t mode; /* of what is written for it: that of its filemap */
	bool has_map;
	bool map_here; /* it comes from the cache, and not from the prefix */
	struct filemap map;
	struct buf image;	 /* of the filemap */
	size_t first, count;	 /* of its items */
	atomic_size_t left;	 /* items that are not settled yet */
	struct copied old;	 /* what was copied before */
	struct map *old_by_path; /* path -> number in `old`; NULL: nothing */
};

/* Files that are written, to be synced together: then the file system need
 * not write its log for each. */
#define COPY_FULL_MAX 16
#define COPY_FULL_BYTES ((uint64_t)64 << 20)

/* What is whole does not wait longer for others, s: the node may die, and what
 * has no name or no filemap by then is lost with it. */
#define COPY_SECONDS 1.0

struct copy_full {
	struct copy_item *item;
	int fd;
};

/* What a thread has of its own. */
struct copy_worker {
	struct pathcache *parents;
	char *block, *other; /* o->block bytes each */
	struct copy_full full[COPY_FULL_MAX];
	size_t nfull;
	uint64_t full_bytes;
	double looked; /* for what waits, clock_seconds() */
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
	size_t nplaces, places_cap;
	struct copy_place *places;
	struct copy_worker *workers;
	unsigned nworkers;
	pthread_mutex_t lock; /* of what follows */
	struct copy_result *r;
	uint64_t unsettled; /* bytes that still have to get there */
	size_t nwaiting;
	size_t *waiting;      /* ranks that are settled, but not finished */
	double finished;      /* when some were taken to be, clock_seconds() */
	pthread_mutex_t sync; /* of the places */
};

/* --- copy_root.c --- */

/* Find what the prefix was called: c->roots. */
int copy_find_roots(struct copier *c, struct error *err);

/* The place of `f` below the prefix; in the arena.  NULL: ERROR_UNSAFE,
 * ERROR_CORRUPT, ERROR_NOMEM. */
const char *copy_rel(struct copier *c, const struct filemap_file *f,
		     struct error *err);

/* --- copy_temp.c --- */

/*
 * The temporary file of `base` in directory `dirfd`, empty, held by a lock as
 * long as it is open.  -1 with *busy: another process is writing it.
 */
int copy_temp_open(int dirfd, const char *base, bool *busy, struct error *err);

/* Put it in place: what is in it is on disk.  `name` is for messages. */
int copy_temp_commit(int fd, int dirfd, const char *base, const char *name,
		     struct error *err);

/* Remove it, if it is still that of `fd`. */
void copy_temp_discard(int fd, int dirfd, const char *base);

/* --- copy_file.c --- */

/* Bytes that have to get to the prefix for it. */
uint64_t copy_item_bytes(const struct copy_item *it);

/* Get item `i` to its place: for par_for(), `arg` is the copier. */
int copy_item(void *arg, size_t i, unsigned worker, struct error *err);

/* Sync and rename what the worker has written. */
int copy_settle(struct copier *c, struct copy_worker *w, struct error *err);

/* Give up what it has written. */
void copy_forget(struct copier *c, struct copy_worker *w);

/* Another process writes the same file: wait a moment, hold nothing that it
 * may wait for.  -1: stopped. */
int copy_wait(const struct copier *c, struct error *err);

/* Tell of a bad file. */
void copy_blame(struct copier *c, const char *text);

/* --- copy_rank.c --- */

/* Find the directories of all items that may be written. */
int copy_find_places(struct copier *c, struct error *err);

/* Something was put into the directory of `it`. */
void copy_touch(struct copier *c, const struct copy_item *it);

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
