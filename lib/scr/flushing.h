/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing.h - copy a dataset from the caches to the prefix (scr(3)).
 *
 * There are three steps.  The plan (collective) finds the files of this rank
 * and makes their directories.  The transfers (local, without MPI, for any
 * thread) write the files under temporary names.  The commit (collective)
 * renames them, and writes rank2file, summary and index entry.  A flush that
 * fails before the commit leaves all files on the prefix unchanged.
 *
 * With SCR_FLUSH_ASYNC a thread of each rank makes the transfers while the
 * application computes, of one dataset after the other.  Each collective call
 * of the application commits those whose transfers have ended on all ranks, in
 * their order.
 *
 * With bypass the files are on the prefix already.  With SCR_FLUSH_ASYNC the
 * transfers read them for their checksums; else there are none.
 */
#ifndef SCR_FLUSHING_H
#define SCR_FLUSHING_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct held_set;
struct run;

/*
 * Flush dataset `id` now, unless it is on the prefix, after all that are being
 * flushed.  `resume`: an interrupted run may have begun to.  On failure it
 * stays in cache, kept there, and its index entry is not complete.
 */
int flushing_now(struct run *run, int64_t id, bool resume, struct error *err);

/* Should the dataset be on the prefix? */
bool flushing_is_due(const struct run *run, const struct held_set *s);

/*
 * When to flush.  At the end of SCR_Complete_output(), after onprefix_note():
 * the dataset, if it is output, has bypass, or is a checkpoint that is due.  In
 * SCR_Init(), after the survey of the caches: datasets that should be on the
 * prefix; all of them with SCR_FLUSH_ON_RESTART or SCR_GLOBAL_RESTART.  In
 * SCR_Finalize(): all that are being flushed, and the newest checkpoint, if
 * SCR_FLUSH is set; with SCR_FLUSH_POSTSTAGE flush.scr only records that
 * they are to be flushed.
 *
 * If a flush fails, rank 0 reports the reason, and the job continues.  Returns
 * false then, on all ranks.
 */
bool flushing_output(struct run *run, int64_t id);
bool flushing_restart(struct run *run);
bool flushing_finalize(struct run *run);

/* --- In the background --- */

/* With SCR_FLUSH_ASYNC, start the thread; without a thread, rank 0 warns, and
 * the job waits for each flush.  Collective. */
void flushing_async_begin(struct run *run);
/* End it, also in the middle of a transfer.  With `keep`, what was written
 * stays for whoever flushes the datasets later. */
void flushing_async_end(struct run *run, bool keep);

/* Commit those whose transfers have ended.  Costs nothing if there are none.
 * Collective. */
void flushing_look(struct run *run);

/* Wait for all flushes up to dataset `id`, and commit them.  Collective. */
void flushing_wait(struct run *run, int64_t id);

#endif /* SCR_FLUSHING_H */
