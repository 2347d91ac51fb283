/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashpack.h - rules of crashsweep.h for commands that convert a dataset
 * between containers and files, or repair its containers: names may differ in
 * the number of the generation, and the dataset must be valid in one form or
 * the other.
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
	struct scene s;		  /* its rules are pack_rules */
	const struct tree *plain; /* the dataset as files */
	const struct tree *whole; /* after a repair; else NULL */
};

extern const struct rules pack_rules;

#endif /* CRASHPACK_H */
