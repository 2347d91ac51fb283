/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.h - the files of FTI below a directory: which execution, level,
 * checkpoint, node and rank each belongs to (fti-format(5)); and config.fti.
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
struct buf;
struct error;
struct fti_ini;
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
	uint64_t inode;
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

/*
 * The configuration of an FTI job, config.fti (fti-format(5) and scr_fti(1)).
 *
 * Ownership: strings belong to the struct fti_config.  Threads: any number may
 * read it.
 */

/* Numbers are -1 and strings NULL if the file does not have them. */
struct fti_config {
	int64_t head;	    /* 1: one process of each node only works for FTI */
	int64_t node_size;  /* processes of a node, the head included */
	int64_t group_size; /* nodes of a group */
	int64_t local_test; /* 1: directories node<k> below ckpt_dir */
	const char *exec_id;
	/* As they are written.  Untrusted: see fti_config_beneath(). */
	const char *ckpt_dir, *glbl_dir, *meta_dir;
	struct fti_ini *ini;
};

/*
 * Read the file `path` below `dirfd`, or what was read.  ERROR_CORRUPT: a value
 * is outside of what FTI accepts; the text names section and key.  Call
 * fti_config_close() afterwards, also after a failure; it frees the ini, too.
 */
int fti_config_open(struct fti_config *c, int dirfd, const char *path,
		    struct error *err);
int fti_config_take(struct fti_config *c, struct fti_ini *ini,
		    struct error *err);
void fti_config_close(struct fti_config *c);

/*
 * Where a configured directory is below a root, which holds a copy of the tree:
 * "/scratch/Local" and "./scratch/Local" become "scratch/Local", and the root
 * itself ".".  For the functions of path.h that stay beneath the root.
 * ERROR_UNSAFE: a relative path leads out of it.
 */
int fti_config_beneath(const char *configured, struct buf *out,
		       struct error *err);

/* The same of a directory in the configuration `config` below `root`, which
 * holds it or a copy. */
int fti_config_dir(const char *root, const char *config, const char *configured,
		   struct buf *out, struct error *err);

#endif /* FTIJOB_TREE_H */
