/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - the files of FTI below a directory: which execution, level,
 * checkpoint, node and rank each belongs to (fti.md 4).
 *
 * The directory may be a copy of the directories of all nodes, or any part of
 * it.  Links are not followed.
 *
 * Ownership: the tree owns its strings.  Threads: any number may read it.
 */
#ifndef FTIJOB_TREE_H
#define FTIJOB_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/name.h"

struct arena;
struct error;
struct work;

struct fti_entry {
	const char *exec; /* the execution's id; "" if no directory names it */
	enum fti_level level;
	bool flat; /* no directory says so: it was inferred from the names */
	/* The id of metadata is that of an archived checkpoint, else 0. */
	struct fti_name name;
	int64_t node;	  /* of a directory node<k>; -1: none */
	const char *path; /* below the root */
	uint64_t size;
	int64_t mtime; /* seconds since 1970 */
};

struct fti_tree {
	const char *root;	/* as given */
	int fd;			/* if there is an arena */
	struct fti_entry *list; /* by exec, level, id, kind, rank, path */
	size_t count, room;
	const char *config; /* the config.fti that was found, or NULL */
	const char
		*unread; /* the first directory that cannot be read, or NULL */
	struct arena *arena;
};

/* Read the names below `root`.  ERROR_ABSENT, ERROR_SYSTEM: it cannot be read.
 * Call fti_tree_close() also after a failure; one that is all 0 is ignored. */
int fti_tree_open(struct fti_tree *t, const char *root, const struct work *w,
		  struct error *err);
void fti_tree_close(struct fti_tree *t);

/* The directory part of a path, "" if it has none; and the other way round. */
const char *fti_tree_dir(struct arena *a, const char *path);
const char *fti_tree_join(struct arena *a, const char *dir, const char *name);

/* Are two paths in the same directory? */
bool fti_tree_beside(const char *a, const char *b);

#endif /* FTIJOB_TREE_H */
