/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regain.h - after a failure: return the datasets in the caches to the ranks
 * that own them.
 *
 * For each dataset, in ascending order: files on another node than their rank
 * are moved; each rank verifies its files by size and checksum; missing and
 * damaged ones are rebuilt, first filemaps, then files, including redundancy
 * files.  As in the commands, plan_reports() (rescue/plan.h) decides what can
 * be rebuilt.  A dataset that cannot be made whole is removed, with a warning.
 * A dataset that another number of ranks wrote, or that could not be examined
 * (no memory, no room, I/O errors), stays as it is, and the job does not
 * restart from it.
 */
#ifndef SCR_REGAIN_H
#define SCR_REGAIN_H

struct error;
struct run;

/*
 * Regain all datasets of run->held.  run->restart_id becomes the newest whole
 * checkpoint, unless an output dataset before it was lost; datasets after it
 * are removed.  SCR_DISTRIBUTE=0 or SCR_CACHE_PURGE=1: all are removed.
 * Collective.  -1: a dataset could not be removed; ERROR_NOMEM.
 */
int regain_all(struct run *run, struct error *err);

#endif /* SCR_REGAIN_H */
