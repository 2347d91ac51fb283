/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * onprefix.h - the job's access to the index of the prefix, and to flush.scr.
 * Rank 0 reads and writes them, through lib/catalogue; the other ranks get the
 * result.  All functions are collective over the job, and return the same on
 * all ranks.
 *
 * A damaged index is never overwritten: it is kept, and a new one is made from
 * the directories of the datasets, with a warning.
 */
#ifndef SCR_ONPREFIX_H
#define SCR_ONPREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "catalogue/written.h"
#include "scr/held.h"

struct catalogue_options;
struct dataset;
struct error;
struct run;

/*
 * Call before files of the held dataset `d` are written to the prefix.  Make
 * its directory, and an incomplete index entry.  Another valid dataset of the
 * same name keeps its entry until onprefix_complete().  A repeated call does
 * nothing.
 */
int onprefix_begin(struct run *run, const struct dataset *d,
		   enum catalogue_map map, struct error *err);

/* Call if dataset `d` was not written after all.  Datasets that were retired
 * for it become valid again, if none of their files was replaced. */
void onprefix_undo(struct run *run, const struct dataset *d);

/*
 * Call when all files and rank2file are in place.  Write the summary and a
 * complete index entry.  A checkpoint becomes CURRENT. flush.scr records that
 * the dataset is on the prefix.
 */
int onprefix_complete(struct run *run, const struct dataset *d,
		      struct error *err);

/* The sliding window: delete checkpoints older than `d`, except the newest
 * SCR_PREFIX_SIZE - 1 valid ones, and those that are output. */
int onprefix_window(struct run *run, const struct dataset *d,
		    struct error *err);

/* SCR_PREFIX_PURGE: delete all datasets in the index. */
int onprefix_purge(struct run *run, struct error *err);

/*
 * SCR_Current(), SCR_Drop(), SCR_Delete() for the dataset with this name.
 * ERROR_ABSENT: the index has no such dataset, or it is no checkpoint
 * (current), and no cache has it (delete); for drop that is a warning.
 *
 * Current: run->restart_id becomes its id if the caches have it, else 0; newer
 * datasets in the caches are removed, and with SCR_DROP_AFTER_CURRENT newer
 * index entries dropped.  Delete: in the caches, too.
 */
int onprefix_current(struct run *run, const char *name, struct error *err);
int onprefix_drop(struct run *run, const char *name, struct error *err);
int onprefix_delete(struct run *run, const char *name, struct error *err);

/*
 * Mark a dataset failed in the index, because it is bad or the application
 * refused it (SCR_Complete_restart(0)).  If it is CURRENT, remove CURRENT.  A
 * dataset that is not in the index is no error; if the index cannot be written,
 * that is a warning.
 */
void onprefix_failed(struct run *run, int64_t id);

/* -1: a checkpoint of the index was marked failed, and is not lost; *err names
 * it. */
int onprefix_none_kept(const struct run *run, struct error *err);

/*
 * Rank 0: is the prefix full or read-only, so that a file in it that only the
 * commands read cannot be written?  Then there is one warning for all such
 * files until onprefix_note() can write.
 */
bool onprefix_unwritable(struct run *run, const struct error *why);

/*
 * Record in flush.scr where the held dataset `d` is (NULL: only update the
 * rest).  Datasets that are no longer in the caches are removed from it.  If
 * nothing changes, the file is not written.
 *
 * This file, app.conf and nodes.scr are for the commands: if they cannot be
 * written, that is one warning, and they are due until a later call.
 */
void onprefix_note(struct run *run, const struct dataset *d,
		   enum held_place is);

/*
 * Mark dataset `d` in flush.scr as being flushed, for who watches the job:
 * before it is fetched, or moved and rebuilt in the caches.  onprefix_note()
 * removes the mark.  Not collective; rank 0 writes, and if it cannot, that is
 * no error.
 */
void onprefix_moving(const struct run *run, const struct dataset *d,
		     bool fetched);

/* Does flush.scr list dataset `id` as on the prefix, or the index as valid?  An
 * unreadable file lists none. */
bool onprefix_has(const struct run *run, int64_t id);

/* Does the index list the held dataset `id` as valid? */
bool onprefix_valid(const struct run *run, int64_t id);

/* Options for lib/catalogue: files are replaced, messages become warnings. */
void onprefix_options(struct catalogue_options *o);

#endif /* SCR_ONPREFIX_H */
