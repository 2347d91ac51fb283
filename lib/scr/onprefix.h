/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * onprefix.h - the index of the prefix, and flush.scr, for the job.  Rank 0
 * reads and writes them, through lib/catalogue; the other ranks get the result.
 *
 * All functions are collective over the job, and return the same on all ranks.
 * A damaged index is never overwritten: it is kept, and a new one is made from
 * the directories of the datasets, with a warning.
 */
#ifndef SCR_ONPREFIX_H
#define SCR_ONPREFIX_H

#include <stdbool.h>
#include <stdint.h>

struct catalogue_options;
struct dataset;
struct error;
struct run;

/*
 * Before files of dataset `d` are written to the prefix: make its directory,
 * and an index entry that is not complete.  If another valid dataset has its
 * name, that one keeps its entry until onprefix_complete().  Again before that:
 * nothing is done.
 */
int onprefix_begin(struct run *run, const struct dataset *d, struct error *err);

/* Dataset `d` was not written after all: datasets that were retired for it are
 * valid again, if none of their files was replaced. */
void onprefix_undo(struct run *run, const struct dataset *d);

/* All files and rank2file are in place: write the summary and a complete index
 * entry.  A checkpoint becomes CURRENT.  flush.scr says that it is on the
 * prefix. */
int onprefix_complete(struct run *run, const struct dataset *d,
		      struct error *err);

/* The sliding window: delete checkpoints older than `d`, but the newest
 * SCR_PREFIX_SIZE - 1 valid ones, and those that are output. */
int onprefix_window(struct run *run, const struct dataset *d,
		    struct error *err);

/* SCR_PREFIX_PURGE: delete all datasets in the index. */
int onprefix_purge(struct run *run, struct error *err);

/*
 * SCR_Current(), SCR_Drop(), SCR_Delete(), of the dataset with this name.
 * ERROR_ABSENT: the index has none, or it is no checkpoint (current), and no
 * cache has one (delete).
 *
 * Current: run->restart_id becomes its id if the caches have it, else 0; newer
 * datasets in the caches are removed, and with SCR_DROP_AFTER_CURRENT newer
 * index entries dropped.  Delete: in the caches, too.
 */
int onprefix_current(struct run *run, const char *name, struct error *err);
int onprefix_drop(struct run *run, const char *name, struct error *err);
int onprefix_delete(struct run *run, const char *name, struct error *err);

/* A fetched dataset is bad, or the application refused it (SCR_Complete_
 * restart(0)): mark it failed in the index, and if it is CURRENT, unset that.
 * A dataset that is not in the index is no error. */
int onprefix_failed(struct run *run, int64_t id, struct error *err);

/* Note in flush.scr where dataset `d` is (NULL: nothing new).  Datasets that
 * are no longer in the caches are removed from it; if nothing changes, it is
 * not written. */
int onprefix_note(const struct run *run, const struct dataset *d, bool on_pfs,
		  struct error *err);

/* Is dataset `id` on the prefix, by flush.scr? */
int onprefix_has(const struct run *run, int64_t id, bool *has,
		 struct error *err);

/* For functions of lib/catalogue: files are replaced, messages are warnings. */
void onprefix_options(struct catalogue_options *o);

#endif /* SCR_ONPREFIX_H */
