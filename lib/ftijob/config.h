/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h - the configuration of an FTI job, config.fti (fti.md 4, 9).
 *
 * Ownership: strings belong to the struct fti_config.  Threads: any number may
 * read it.
 */
#ifndef FTIJOB_CONFIG_H
#define FTIJOB_CONFIG_H

#include <stdint.h>

struct buf;
struct error;

struct fti_ini;

/* Numbers are -1 and strings NULL if the file does not have them.  Of other
 * keys only the values are checked. */
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

#endif /* FTIJOB_CONFIG_H */
