/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing.h - copy a dataset from the caches to the prefix (libscr.md 13).
 *
 * There are three steps.  The plan (collective) finds the files of this rank
 * and makes their directories.  The transfers (local, without MPI, for any
 * thread) write the files under temporary names.  The commit (collective)
 * renames them, and writes rank2file, summary and index entry.  A flush that
 * fails before the commit leaves all files on the prefix unchanged.
 *
 * With bypass the files are on the prefix already, and there are no transfers.
 */
#ifndef SCR_FLUSHING_H
#define SCR_FLUSHING_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct flushing; /* opaque: one flush */
struct held_set;
struct run;

/* --- When --- */

/*
 * Flush dataset `id` now, unless it is on the prefix.  On failure it stays in
 * cache, kept there, and its index entry is not complete.
 */
int flushing_now(struct run *run, int64_t id, struct error *err);

/* Should the dataset be on the prefix? */
bool flushing_is_due(const struct run *run, const struct held_set *s);

/*
 * When to flush.  At the end of SCR_Complete_output(), after onprefix_note():
 * the dataset, if it is output, has bypass, or is a checkpoint that is due.  In
 * SCR_Init(), after the survey of the caches: datasets that should be on the
 * prefix; all of them with SCR_FLUSH_ON_RESTART or SCR_GLOBAL_RESTART.  In
 * SCR_Finalize(): the newest checkpoint, if SCR_FLUSH is set.
 *
 * If a flush fails, rank 0 reports the reason, and the job continues.  Returns
 * false then, on all ranks.
 */
bool flushing_output(struct run *run, int64_t id);
bool flushing_restart(struct run *run);
bool flushing_finalize(struct run *run);

/* --- The steps --- */

/* ERROR_LOST, ERROR_ABSENT: a file in cache does not match its filemap. */
struct flushing *flushing_plan(struct run *run, const struct held_set *s,
			       struct error *err);
int flushing_transfer(struct flushing *f, struct error *err);
void flushing_free(struct flushing *f); /* NULL is ignored */

#endif /* SCR_FLUSHING_H */
