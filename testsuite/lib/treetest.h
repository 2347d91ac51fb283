/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * treetest.h - directory trees in memory: taken from disk, put back, compared.
 * Only directories and regular files can be put back; what cannot be done ends
 * the program.
 */
#ifndef TREETEST_H
#define TREETEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"
#include "mem.h"
#include "scratch.h"

struct tree_entry {
	char *path; /* below the root */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	struct buf data; /* of a file */
};

struct tree {
	struct tree_entry *list; /* by path */
	size_t count;
};

/* For qsort() and bsearch(): by path. */
int tree_compare(const void *a, const void *b);

/* Take the tree below `root`; for tree_free(). */
struct tree tree_load(const char *root);

/* Free all entries; the tree is empty then. */
void tree_free(struct tree *t);

/* The entry of that path, or NULL. */
struct tree_entry *tree_find(const struct tree *t, const char *path);

/* Have both the same contents? */
bool entry_same_data(const struct tree_entry *a, const struct tree_entry *b);

/* Type, mode, contents; time too, if it is a file and `times`. */
bool entry_same(const struct tree_entry *a, const struct tree_entry *b,
		bool times);

/* Make what is below `root`, which is `now`, be `want` again. */
void tree_restore(const char *root, const struct tree *now,
		  const struct tree *want);

#endif /* TREETEST_H */
