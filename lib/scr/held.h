/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - the datasets in the caches, as listed by cindex.scrinfo of each node
 * (formats.md 4.1); their directories; and eviction.
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
struct error;
struct filemap;
struct held; /* opaque; run->held */
struct level;
struct run;
struct store;

struct held_set {
	struct dataset d; /* strings live as long as this */
	struct store *store;
	const char *dir; /* its directory on this node; it holds SCR_DIR, too */
	bool bypass;
	bool here; /* listed by the cindex of this node */
	/* the cindex lists an older dataset with this id: removed */
	bool older;
	bool kept;	     /* held_keep() */
	bool barred;	     /* held_bar() */
	const char *refused; /* why it is barred, if it may be whole; or NULL */
	/* Rank 0: what flush.scr lacks: its place. */
	enum { DUE_NOTHING, DUE_CACHE, DUE_PFS } due;
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

/* All datasets in ascending order of ids, including those that are not
 * committed yet. */
size_t held_count(const struct held *h);
const struct held_set *held_at(const struct held *h, size_t i);
/* NULL: not held. */
const struct held_set *held_find(const struct held *h, int64_t id);
/* Read the filemap of `rank` in its directory on this node, into `a`.
 * Local. */
int held_filemap(const struct held_set *s, uint32_t rank, struct arena *a,
		 struct filemap *out, struct error *err);

/* The highest id of a dataset of another prefix; 0: there is none. */
int64_t held_other_id(const struct held *h);

/* The one with the next higher id than `id`, or NULL. */
const struct held_set *held_after(const struct held *h, int64_t id);

/*
 * Make room in the store of `level`, and the directories of dataset `d`, which
 * is the same on all ranks and is copied.  While the store holds COUNT datasets
 * or more, the dataset with the lowest id is evicted, unless it is kept
 * (held_keep()).  If COUNT is at least 2 and no checkpoint is kept, the newest
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

/* Do not evict dataset `id` before held_keep(h, id, false): its flush failed,
 * so the cache has the only good copy.  To be called on all ranks. */
void held_keep(struct held *h, int64_t id, bool keep);

/* Record that this job does not restart from dataset `id`; `why`: although it
 * may be whole; or NULL.  To be called on all ranks. */
void held_bar(struct held *h, int64_t id, const char *why);

/* Rank 0: the place of dataset `id` is to be noted in flush.scr; all are. */
void held_due(struct held *h, int64_t id, bool on_pfs);
void held_due_done(struct held *h);

/* Get the value of SCR_CURRENT that this job has honoured already, or NULL; and
 * store it, for later runs too. */
const char *held_current(const struct held *h);
int held_set_current(struct run *run, const char *name, struct error *err);

#endif /* SCR_HELD_H */
