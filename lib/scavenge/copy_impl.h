/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_impl.h - types and functions shared by the sources of copy.h.
 */
#ifndef SCAVENGE_COPY_IMPL_H
#define SCAVENGE_COPY_IMPL_H

#include <pthread.h>

#include "buf.h"
#include "container/segmap.h"
#include "create.h"
#include "meta/copied.h"
#include "path.h"
#include "scavenge/copy.h"
#include "transfer/put.h"
#include "work.h"

/* Result for one file. */
enum copy_state {
	COPY_WAITING,
	COPY_COPIED,
	COPY_ADOPTED,
	COPY_SKIPPED,
	COPY_TAKEN,
	COPY_BAD,
};

struct joint;
struct kvtree;
struct pump;

struct copy_item {
	size_t rank; /* index in copier.ranks */
	/* Name for messages; for a redundancy file its name in the cache. */
	const char *from;
	const struct filemap_file *file; /* NULL: a redundancy file */
	const char *rel;	 /* target below the prefix; NULL: none */
	const struct attr *attr; /* as recorded; of a redundancy file as in the
				    cache; all 0 if it is bad */
	struct put_file *to;	 /* in copier.put, while the rank is copied */
	bool absent;		 /* no file was at `rel` when the turn began */
	bool bypass; /* the job wrote the file to the prefix itself */
	enum copy_state state;
	bool has_sum; /* crc and mtime are valid */
	uint32_t crc;
	struct timespec mtime; /* of the target */
};

struct copy_rank {
	int64_t rank;
	const struct nodecache_dir *dir; /* the cache directory that holds it */
	const struct nodecache_slot *slot;
	mode_t mode;   /* of its metadata: that of the filemap */
	bool map_here; /* the filemap is from the cache, not from the prefix */
	bool ours;     /* this process holds the lock */
	bool finished; /* already processed */
	/* a file was not replaced, so no filemap may name the files */
	bool taken;
	/* copied_R.scr and the filemap of the rank may exist on the prefix. */
	bool has_record, has_image;
	struct filemap map;
	struct buf image;	 /* of the filemap, byte for byte */
	size_t first, count;	 /* its items in copier.items */
	size_t left;		 /* items without a result yet; guarded by
				    copier.lock */
	struct copied old;	 /* copied_R.scr of earlier runs */
	struct map *old_by_path; /* path -> index in `old`; NULL: empty */
	/* With o->containers: the places of its files, and who writes them. */
	struct segmap packed;
	struct joint *joint;
};

/* Data of one thread. */
struct copy_worker {
	struct pathcache *parents;
	char *block, *other; /* o->block bytes each */
};

struct copier {
	const struct copy_options *o;
	struct arena *arena;
	size_t block;
	int prefix_fd, meta_fd; /* meta: .scr/scr.dataset.ID, or -1 */
	char meta[64];		/* path of meta_fd below the prefix */
	struct owner owner;	/* of new files */
	const char *roots[3];	/* paths of the prefix in metadata, or NULL */
	size_t ndirs;
	struct nodecache_dir *dirs;
	struct kvtree *desc; /* of the dataset, in the cache index; or NULL */
	size_t nranks;
	struct copy_rank *ranks;
	size_t nitems, items_cap;
	struct copy_item *items;
	struct par *par;
	struct copy_worker *workers;
	unsigned nworkers;
	/* State of one turn: a pass over the ranks locked by this process. */
	int shares; /* lock of the ranks, see lock_shares_open() */
	struct put *put;
	pthread_mutex_t lock; /* guards the members below */
	struct copy_result *r;
	bool resume;	     /* containers may have bytes of an earlier run */
	uint64_t open_bytes; /* bytes of items without a result yet */
	size_t nwaiting;
	size_t *waiting; /* ranks with all results, but no records yet */
	double finished; /* time of the last group, clock_seconds() */
};

/* --- copy_file.c --- */

/* Bytes to copy for one item; 0 if the job wrote the file to the prefix. */
uint64_t copy_item_bytes(const struct copy_item *it);

/* Copy, adopt or skip item `i`.  For par_for(): `arg` is the copier. */
int copy_item(void *arg, size_t i, unsigned worker, struct error *err);

/* An item has its final name.  For struct put_options: `arg` is the copier. */
int copy_item_placed(void *arg, const struct put_what *what,
		     const struct timespec *mtime, struct error *err);

/* -1 with ERROR_SYSTEM if the user stopped the command. */
int copy_stopped(const struct copier *c, struct error *err);

/* Report a bad file of rank `r` (NULL: of no rank), and count it if it could
 * not be read. */
void copy_blame(struct copier *c, const struct copy_rank *r,
		const struct error *why);

/* --- copy_pack.c --- */

/* After the items of all ranks are known: find their places in containers.
 * copy_pack_end() must follow, also on error. */
int copy_pack_begin(struct copier *c, struct error *err);
void copy_pack_end(struct copier *c);

/* Copy the data of the file p->from, of `it`, to its place.  Returns as
 * pump_run(). */
int copy_pack_file(struct copier *c, struct copy_item *it, struct pump *p,
		   struct error *why, struct error *err);

/* --- copy_rank.c --- */

/*
 * Lock the ranks that are not finished and that no other process is copying:
 * *taken is their number, and c->ranks[i].ours marks them.  Look up which of
 * their files exist on the prefix, and, except in a dry run, add their items to
 * a new c->put.  If no rank is free, pause and return 0.  copy_turn_end() must
 * follow, also on error.
 */
int copy_turn_begin(struct copier *c, size_t *taken, struct error *err);
void copy_turn_end(struct copier *c);

/* Is the filemap on the prefix, byte for byte? */
bool copy_rank_has_map(const struct copier *c, const struct copy_rank *r);

/* All items of the rank have a result.  Write copied_R.scr and the filemap,
 * either now or later together with those of other ranks. */
int copy_rank_finish(struct copier *c, struct copy_rank *r, struct error *err);

/* Write the records of waiting ranks, if a group is full or PUT_SECONDS have
 * passed. */
int copy_rank_finish_due(struct copier *c, struct error *err);

/* Write the records of all waiting ranks now. */
int copy_rank_finish_all(struct copier *c, struct error *err);

/* Write only copied_R.scr, for each rank of this turn that has items without a
 * result. */
int copy_rank_record(struct copier *c, struct error *err);

#endif /* SCAVENGE_COPY_IMPL_H */
