/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restart.h - the checkpoint in cache that the application reads, between
 * SCR_Start_restart() and SCR_Complete_restart().
 *
 * PREFIX/.scr/restart.scr counts unfinished restarts from a dataset.  After
 * SCR_RESTART_ATTEMPTS of them the dataset is removed, because it may be the
 * cause of the failures.
 *
 * With SCR_RESTART_ANY_RANKS it stays on the prefix, and any rank reads any of
 * its files.  A file in containers is copied into the cache when a rank asks
 * for it, and removed by restart_free().
 */
#ifndef SCR_RESTART_H
#define SCR_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scr/scr.h"

struct dataset;
struct error;
struct held_set;
struct restart; /* opaque; run->in */
struct run;

/*
 * Set run->restart_id, the dataset to restart from, and the ids of the next
 * datasets: run->dataset_id and run->ckpt_id.  A dataset with too many
 * unfinished restarts is removed, and the next older checkpoint is taken.
 * Collective. -1:  ERROR_SYSTEM, ERROR_NOMEM.
 */
int restart_find(struct run *run, struct error *err);

/* The dataset to restart from, in the caches or on the prefix; NULL: none. */
const struct held_set *restart_set(const struct run *run);

/* With SCR_RESTART_ANY_RANKS the caches are not read: what has not been flushed
 * is barred. */
void restart_from_prefix(struct run *run);

/* Has dataset `d` as many unfinished restarts as SCR_RESTART_ATTEMPTS?
 * Collective. */
bool restart_is_spent(struct run *run, const struct dataset *d);

/* If the dataset to restart from was evicted, the newest in the caches takes
 * its place; one on the prefix is to be looked for again.  Local; the same on
 * all ranks. */
void restart_check(struct run *run);

/*
 * Begin: read the filemap of this rank, and count the attempt.  If any rank
 * fails, the result is NULL, and run->unbegun is set: restart_end() rejects the
 * dataset.
 * ERROR_SYSTEM, ERROR_CORRUPT, ERROR_NOMEM.  Collective.
 */
struct restart *restart_begin(struct run *run, struct error *err);
void restart_free(struct restart *r); /* NULL is ignored */

/* Get the path to read the file `name` from; `file` is always written.
 * ERROR_ABSENT: the rank has no such file.  Local. */
int restart_route(const struct restart *r, const char *name,
		  char file[static SCR_MAX_FILENAME], struct error *err);

/* The number of ranks that wrote the dataset; and file `i` that this rank can
 * read, its name for restart_route(), and its rank.  -1: there are no more.
 * Local. */
uint32_t restart_ranks(const struct restart *r);
int restart_file(const struct restart *r, size_t i, uint32_t *rank,
		 char name[static SCR_MAX_FILENAME]);

/*
 * End the restart.  If any rank reports its files as not valid, the dataset is
 * rejected:  marked failed in the index, removed from the caches, or, if that
 * fails, not offered again by this job; restart_find() chooses the next older
 * one.  Then the result is -1, ERROR_LOST.  Collective.
 */
int restart_end(struct run *run, bool valid, struct error *err);

#endif /* SCR_RESTART_H */
