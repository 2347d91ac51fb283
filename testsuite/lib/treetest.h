/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * treetest.h - directory trees in memory: load, restore, compare.  Only
 * directories and regular files can be restored.  Errors end the program.
 */
#ifndef TREETEST_H
#define TREETEST_H

#include "scratch.h"

struct tree_entry {
	char *path; /* relative to the root */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	struct buf data; /* contents of a file */
};

struct tree {
	struct tree_entry *list; /* sorted by path */
	size_t count;
};

/* For qsort() and bsearch() by path. */
int tree_compare(const void *a, const void *b);

/* Load the tree below `root`; free with tree_free(). */
struct tree tree_load(const char *root);

/* Free all entries and empty the tree. */
void tree_free(struct tree *t);

/* Find the entry of that path, or NULL. */
struct tree_entry *tree_find(const struct tree *t, const char *path);

/* Have both entries the same contents? */
bool entry_same_data(const struct tree_entry *a, const struct tree_entry *b);

/* Compare type, mode and contents; the time of a file too, if `times`. */
bool entry_same(const struct tree_entry *a, const struct tree_entry *b,
		bool times);

/* Restore the tree below `root` to `want`; `now` is its current state. */
void tree_restore(const char *root, const struct tree *now,
		  const struct tree *want);

#endif /* TREETEST_H */
