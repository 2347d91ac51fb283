/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.h - summary.scr of one dataset (formats.md 3.3).
 */
#ifndef META_SUMMARY_H
#define META_SUMMARY_H

#include <stdint.h>

struct error;
struct kvtree;

#define SUMMARY_FILE "summary.scr"
#define SUMMARY_VERSION 6

/* What a summary says.  `desc` (borrowed from the tree) is NULL if it has no
 * DSET; complete 1, 0, or -1: key absent. */
struct summary {
	int64_t version; /* -1: none */
	int complete;
	const struct kvtree *desc;
};

int summary_read(const struct kvtree *t, struct summary *out,
		 struct error *err);

/*
 * The tree `scr_index --build` writes: VERSION, COMPLETE (only if complete),
 * DSET with the children of `desc` in reverse order, byte for byte as LLNL's
 * tool; without its RS and MAPRS scratch tables.  For kvtree_free().
 */
struct kvtree *summary_build(const struct kvtree *desc, int complete,
			     struct error *err);

#endif /* META_SUMMARY_H */
