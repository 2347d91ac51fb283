/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - the datasets in the caches, as listed by cindex.scrinfo of each node
 * (scr-dataset(5)); their directories; and eviction.
 *
 * held_start() adds a dataset and makes its directories; held_commit() lists it
 * on each node.  A directory that has the name of a dataset, but is not listed,
 * is left from an interrupted run; held_open() removes it.
 *
 * A dataset of another prefix, in a cache that jobs of several prefixes share,
 * is not part of the list.  It keeps its place in the cindex and its directory,
 * and does not count as one of the store.
 *
 * All ranks have the same list, except for `dir` and `here`. Functions that
 * return int are collective over the job, and return the same on all ranks.
 */
#ifndef SCR_HELD_H
#define SCR_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/dataset.h"

struct arena;
struct buf;
struct error;
struct filemap;
struct kvtree;
struct level;
struct run;
struct device;

enum held_place { HELD_NOTED, HELD_CACHE, HELD_FLUSHING, HELD_PFS };

struct held_set {
	struct dataset d; /* strings live as long as this */
	struct device *store;
	const char *dir; /* its directory on this node; it holds SCR_DIR, too */
	bool bypass;
	bool here; /* listed by the cindex of this node */
	/* the cindex lists an older dataset with this id: removed */
	bool older;
	/* Not evicted: its flush failed, so the cache has the only good copy;
	 * the same on all ranks. */
	bool kept;
	bool flying;	     /* being flushed in the background: not evicted */
	bool unsummed;	     /* with bypass: its flush takes the checksums */
	bool begun;	     /* onprefix_begin(), and not completed */
	bool barred;	     /* held_bar() */
	const char *refused; /* why it is barred, if it may be whole; or NULL */
	/* This job could not prove that it has all files, for instance those of
	 * another number of ranks: it does not flush the dataset. */
	bool unproven;
	/* What flush.scr lacks: its place.  FLUSHING stays until the flush has
	 * ended; the others only on rank 0, if it could not write. */
	enum held_place due;
	struct arena *arena; /* of its strings */
	bool going;	     /* being removed */
};

struct held {
	/* In ascending order of ids, including those that are not committed
	 * yet. */
	struct held_set **list;
	size_t count, cap;
	/* The value of SCR_CURRENT that this job has honoured already, or
	 * NULL. */
	char *current;
	/* Datasets of other prefixes that the cindex of this node lists; the
	 * highest id of those of all nodes, or 0. */
	struct held_set **others;
	size_t nothers, others_cap;
	int64_t other_id;
};

/*
 * Read the lists of all nodes; run->stores must be made.  A damaged cindex
 * counts as missing, with a warning; directories of datasets that other nodes
 * list stay.  So does an unreadable cindex, unless no node lists any dataset:
 * ERROR_SYSTEM.  An entry without descriptor, or outside of the stores of the
 * job, is left out, with a warning.  ERROR_NOMEM, ERROR_SYSTEM.
 */
int held_open(struct run *run, struct held **out, struct error *err);
void held_close(struct held *h); /* NULL is ignored; nothing is removed */

/* NULL: not held. */
struct held_set *held_find(const struct held *h, int64_t id);
/* Read the filemap of `rank` in its directory on this node, into `a`.
 * Local. */
int held_filemap(const struct held_set *s, uint32_t rank, struct arena *a,
		 struct filemap *out, struct error *err);

/* The one with the next higher id than `id`, or NULL. */
const struct held_set *held_after(const struct held *h, int64_t id);

/*
 * Make room in the store of `level`, and the directories of dataset `d`, which
 * is the same on all ranks and is copied.  While the store holds COUNT datasets
 * or more, the dataset with the lowest id is evicted, unless it is kept.
 * If COUNT is at least 2 and no checkpoint is kept, the newest
 * one that is not barred also stays.  *out is valid until the dataset is
 * removed.  A dataset of another prefix that has this id is removed if it is
 * flushed there.  ERROR_SYSTEM: a directory cannot be made; ERROR_USAGE: it is
 * not flushed; nothing is added.
 */
int held_start(struct run *run, const struct level *level,
	       const struct dataset *d, const struct held_set **out,
	       struct error *err);

/* Make the directories of dataset d->id on the nodes that lack them, for a
 * rebuild. */
int held_place(struct run *run, int64_t id, struct error *err);

/* List dataset d->id on all nodes, with this descriptor.  Call after
 * held_start() or held_place(), when all files are on disk. */
int held_commit(struct run *run, const struct dataset *d, struct error *err);

/*
 * Remove a dataset, committed or not: first from each cindex, then its
 * directories.  A missing dataset is no error.  Files that were written to the
 * prefix stay.
 */
int held_remove(struct run *run, int64_t id, struct error *err);
int held_purge(struct run *run, struct error *err); /* remove all datasets */

/* Record that this job does not restart from dataset `id`; `why`: although it
 * may be whole; or NULL.  To be called on all ranks.  Returns the dataset, or
 * NULL. */
struct held_set *held_bar(struct held *h, int64_t id, const char *why);

/* Store the honoured value of SCR_CURRENT, for later runs too. */
int held_set_current(struct run *run, const char *name, struct error *err);

/* --- For held.c and held_read.c --- */

/* A copy of `d` with its directory; NULL: ENOMEM. */
struct held_set *held_entry(const struct dataset *d, struct device *st,
			    bool bypass);
void held_entry_free(struct held_set *e); /* NULL is ignored */

/* Add an entry, in the order of ids; there is room for it. */
void held_insert(struct held *h, struct held_set *e);

/* Add the entry to the tree of a cindex. */
int held_encode(struct kvtree *t, const struct held_set *e, struct error *err);

/* Is the dataset on the prefix to which it belongs, by the flush file there?
 * *whose becomes the path of that prefix. */
bool held_flushed(const struct run *run, const struct held_set *s,
		  struct buf *whose);

/* Does this rank write the cindex of its node? */
bool held_leads(const struct run *run);

/* Open a directory of the job, not through a link.  To close; -1: error. */
int held_open_dir(const char *path, struct error *err);

/* Remove the directory of a dataset in the open cache directory. */
void held_erase(int fd, const struct device *st, const char *name);

#endif /* SCR_HELD_H */
