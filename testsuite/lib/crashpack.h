/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashpack.h - disturb commands that convert a dataset between containers and
 * files, or repair its containers, in the way of crashtest.h.  The rules
 * differ: names may differ in the number of the generation, and the dataset
 * must be valid in one form or the other.
 *
 *   - The index is readable, and everything outside the dataset is unchanged.
 *   - A file that has the name of one of the dataset's files is that file.
 *   - `scr_container verify` and `scr_rebuild --deep --dry-run` find nothing,
 *     and every file is extracted with its bytes.  For a damaged dataset: if
 *     verify calls it whole, it is; bytes that were right are still right.
 *   - Exit status 0 means that everything was done.  Any other status comes
 *     with a message.
 *   - The same command run again succeeds, with the result of an undisturbed
 *     run.
 */
#ifndef CRASHPACK_H
#define CRASHPACK_H

#include "container/segmap.h"
#include "crashsweep.h"
#include "meta/rank2file.h"

#define CRASH_META ".scr/scr.dataset.1/"

struct pack_scene {
	struct scene s;		     /* name, command, before, after, counts */
	const char *again[ARGS_MAX]; /* second command; empty: the same again */
	const struct tree *plain;    /* the dataset as files */
	const struct tree *whole;    /* after a repair; else NULL */
	struct tree done, end; /* after the first command; after the second */
};

/* --- Comparing without the generation --- */

/* The path of an entry that is missing from `want` or differs from it, or NULL.
 * Locks are ignored unless `clean`: then they must be gone. */
const char *odd_one(const struct tree *t, const struct tree *want, bool clean);

/* --- Is the dataset whole? --- */

/* Is the dataset whole according to verify, --deep, and each file's bytes? */
bool is_whole(struct pack_scene *x);

/* --- Sweeps --- */

/* random_kills() for a pack_scene. */
void form_kills(struct pack_scene *x, unsigned kills);

/* Run both commands undisturbed and keep the results to compare with. */
bool form_measure(struct pack_scene *x);

/* Run all sweeps on a scene whose prefix exists.  `all`: all kinds of faults,
 * if the run is not a quick one. */
void form_play(struct pack_scene *x, bool all, unsigned kills);

/* Free what form_measure() loaded. */
void form_fini(struct pack_scene *x);

#endif /* CRASHPACK_H */
