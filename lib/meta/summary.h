/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.h - summary.scr of one dataset (scr-dataset(5)).
 */
#ifndef META_SUMMARY_H
#define META_SUMMARY_H

#include <stdint.h>

struct error;
struct kvtree;
struct stat;

#define SUMMARY_FILE "summary.scr"
#define SUMMARY_VERSION 6
#define SUMMARY_REPLACED "REPLACED"
/* Our key beside REPLACED, here and in an index entry: a number computed before
 * the replacement, which changes if a file of the dataset is replaced. */
#define SUMMARY_FINGERPRINT "FINGERPRINT"

/* Contents of a summary.  `desc` (borrowed from the tree) is NULL if DSET is
 * absent.  `complete` is 1, 0, or -1: not recorded. */
struct summary {
	int64_t version; /* -1: not recorded */
	int complete;
	const struct kvtree *desc;
	int64_t replaced; /* our key: id of the dataset that replaced its
			     files; 0 */
};

int summary_read(const struct kvtree *t, struct summary *out,
		 struct error *err);

/* Read the file `name` below `dirfd` as kvtree_read_beneath() does, and its
 * contents.  Returns the tree, for kvtree_free(), or NULL. */
struct kvtree *summary_load(int dirfd, const char *name, struct stat *st,
			    struct summary *out, struct error *err);

/*
 * Build the tree that LLNL's `scr_index --build` writes: VERSION, COMPLETE
 * (only if complete), and DSET with the children of `desc` in reverse order.
 * The result is equal byte for byte, but omits the temporary tables RS and
 * MAPRS.  For kvtree_free().
 */
struct kvtree *summary_build(const struct kvtree *desc, int complete,
			     struct error *err);

#endif /* META_SUMMARY_H */
