/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - the datasets in the caches: what cindex.scrinfo of each node lists
 * (formats.md 4.1), the directories of the datasets, and which one makes room
 * for the next.
 *
 * A dataset is added by held_start(), which makes its directories, and exists
 * from held_commit() on, which lists it on each node.  Whatever else lies under
 * the name of a dataset in the job's cache directories is left of an
 * interrupted run, and is removed by held_open().
 *
 * All ranks have the same list, but for `dir` and `here`.  Functions that
 * return int are collective over the job, and return the same on all ranks.
 */
#ifndef SCR_HELD_H
#define SCR_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/dataset.h"

struct error;
struct held; /* opaque; run->held */
struct level;
struct run;
struct store;

struct held_set {
	struct dataset d; /* strings live as long as this */
	struct store *store;
	const char *dir; /* its directory on this node; it holds SCR_DIR, too */
	bool bypass;
	bool here;   /* listed by the cindex of this node */
	bool older;  /* that lists an older one with this id instead: removed */
	bool kept;   /* held_keep() */
	bool barred; /* held_bar() */
	bool unread; /* ... as it could not be read: it may be whole */
};

/*
 * Read what all nodes have; run->stores must be made.  A damaged cindex counts
 * as missing, with a warning: the directories of datasets that other nodes list
 * stay.  So does one that cannot be read, unless no node lists anything:
 * ERROR_SYSTEM.  An entry without descriptor, or outside the stores of the job,
 * is left out, with a warning.  ERROR_NOMEM, ERROR_SYSTEM.
 */
int held_open(struct run *run, struct held **out, struct error *err);
void held_close(struct held *h); /* NULL is ignored; nothing is removed */

/* All of them in ascending order of ids, those between start and commit
 * included. */
size_t held_count(const struct held *h);
const struct held_set *held_at(const struct held *h, size_t i);
const struct held_set *held_find(const struct held *h, int64_t id); /* or NULL
								     */

/*
 * Make room in the store of `level`, and the directories of dataset `d`, which
 * is the same on all ranks and is copied.  While the store holds COUNT datasets
 * or more, the one with the lowest id goes, but none that is kept.  If COUNT is
 * at least 2, a checkpoint stays: the newest that is not barred, if none is
 * kept.  *out is valid
 * until the dataset is removed.  ERROR_SYSTEM: a directory cannot be made;
 * nothing is added.
 */
int held_start(struct run *run, const struct level *level,
	       const struct dataset *d, const struct held_set **out,
	       struct error *err);

/* Make the directories of dataset d->id on the nodes that lack them, for a
 * rebuild. */
int held_place(struct run *run, int64_t id, struct error *err);

/* List dataset d->id on all nodes, with this descriptor: after held_start() or
 * held_place(), when all files are on disk. */
int held_commit(struct run *run, const struct dataset *d, struct error *err);

/* Remove a dataset, committed or not: first from each cindex, then its
 * directories.  No such dataset: nothing happens.  Files that were written to
 * the prefix stay. */
int held_remove(struct run *run, int64_t id, struct error *err);
int held_purge(struct run *run, struct error *err); /* all of them */

/* Dataset `id` is the only good copy, as its flush failed: it is not evicted
 * until held_keep(h, id, false).  To be called on all ranks. */
void held_keep(struct held *h, int64_t id, bool keep);

/* This job does not restart from dataset `id`; `unread`: because it could not
 * be read.  To be called on all ranks. */
void held_bar(struct held *h, int64_t id, bool unread);

/* The value of SCR_CURRENT that this job has honoured already, or NULL; and
 * remember it (NULL: forget), for later runs too. */
const char *held_current(const struct held *h);
int held_set_current(struct run *run, const char *name, struct error *err);

#endif /* SCR_HELD_H */
