/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing.h - copy a dataset from the caches to the prefix (libscr.md 13).
 *
 * Three steps: the plan (collective) finds the files of this rank and makes
 * their directories; the transfers (local, without MPI, for any thread) write
 * them under temporary names; the commit (collective) gives them their names,
 * and writes rank2file, summary and index entry.  A flush that fails before the
 * commit leaves all files on the prefix as they were.
 *
 * With bypass the files are on the prefix already, and there are no transfers.
 */
#ifndef SCR_FLUSHING_H
#define SCR_FLUSHING_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct flushing; /* opaque: one flush */
struct run;

/* --- When --- */

/*
 * Flush dataset `id` now, unless it is on the prefix.  On failure it stays in
 * cache (held_keep()), and its index entry is not complete.
 */
int flushing_now(struct run *run, int64_t id, struct error *err);

/* At the start of a run: warn of SCR_FLUSH_ASYNC. */
void flushing_check(const struct run *run);

/*
 * At the end of SCR_Complete_output(), after outset_listed(): flush the dataset
 * if it is output, has bypass, or is a checkpoint whose turn it is.  After the
 * survey of the caches in SCR_Init(): flush what should be on the prefix; all
 * of it with SCR_FLUSH_ON_RESTART or SCR_GLOBAL_RESTART.  In SCR_Finalize():
 * flush the newest checkpoint, if SCR_FLUSH is set.
 *
 * The job goes on if a flush fails: rank 0 says why.  Returns false then, on
 * all ranks.
 */
bool flushing_output(struct run *run, int64_t id);
bool flushing_restart(struct run *run);
bool flushing_finalize(struct run *run);

/* --- The steps --- */

/* ERROR_LOST, ERROR_ABSENT: a file in cache is not as its filemap says. */
struct flushing *flushing_plan(struct run *run, int64_t id, struct error *err);
int flushing_transfer(struct flushing *f, struct error *err);
int flushing_commit(struct flushing *f, struct error *err);
void flushing_free(struct flushing *f); /* NULL is ignored */

#endif /* SCR_FLUSHING_H */
