/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crashpack.h - commands that bring a dataset into another form (containers,
 * files, other containers) or repair its containers, disturbed as crashtest.h
 * does it.  The rules are others: names may differ in the number of a
 * generation, and what counts is that the dataset is valid in either form.
 *
 *   - the index can be read, and what the command has no business with is as
 *     it was
 *   - what bears the name of one of the dataset's files is that file
 *   - `scr_container verify` and `scr_rebuild --deep --dry-run` find nothing,
 *     and every file comes out with its bytes; of a damaged dataset: if verify
 *     calls it whole it is so, and bytes that were right are right
 *   - exit status 0 means that all is done; any other comes with a message
 *   - the same command again succeeds, and leads to the very end to which an
 *     undisturbed one leads
 */
#ifndef CRASHPACK_H
#define CRASHPACK_H

#include "container/segmap.h"
#include "crashsweep.h"
#include "meta/rank2file.h"

#define CRASH_META ".scr/scr.dataset.1/"

struct pack_scene {
	struct scene s;		     /* name, command, before, after, counts */
	const char *again[ARGS_MAX]; /* run after it; none: the same again */
	const struct tree *plain;    /* the dataset as files */
	const struct tree *whole;    /* a repair: the end; else NULL */
	struct tree done, end;	     /* after the command, and after `again` */
};

/* --- The same, whatever the generation --- */

/* What is not there in `want`, or another: its name; or NULL.  A lock may be
 * there, unless it should have been removed: `clean`. */
const char *odd_one(const struct tree *t, const struct tree *want, bool clean);

/* --- Whole --- */

/* Is the dataset whole, by verify, by --deep, and file by file? */
bool is_whole(struct pack_scene *x);

/* --- All of them --- */

/* random_kills() for such a scene. */
void form_kills(struct pack_scene *x, unsigned kills);

/* What comes of both commands when nothing disturbs them. */
bool form_measure(struct pack_scene *x);

/* All sweeps over one scene, whose prefix is made.  `all`: in every way, where
 * time is not short. */
void form_play(struct pack_scene *x, bool all, unsigned kills);

/* Free what form_measure() has loaded. */
void form_fini(struct pack_scene *x);

#endif /* CRASHPACK_H */
