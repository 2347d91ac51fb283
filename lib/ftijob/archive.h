/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * archive.h - keep checkpoints of level 4, of which FTI keeps one only.
 *
 * A checkpoint is kept in the directory EXECUTION/Ckpt_ID of the archive, with
 * the names that its files have below the root: ranks' files, metadata of POSIX
 * ones, Topology.fti.  So the directory is itself one that can be scanned.  It
 * is made as scr_fti.new.Ckpt_ID and renamed when it is complete, and
 * removed as scr_fti.old.Ckpt_ID.
 *
 * Files are linked if the file system can: FTI replaces files of level 4, and
 * never writes to an old one.
 */
#ifndef FTIJOB_ARCHIVE_H
#define FTIJOB_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct fti_set;
struct fti_tree;
struct stat;
struct work;

struct fti_archive {
	const char *name; /* of the directory, which may be missing */
	bool copy;	  /* no links */
	/* Results of the last fti_archive_keep(). */
	size_t files, linked, copied;
	uint64_t bytes; /* copied */
};

/* Keep a checkpoint of level 4, which is whole, and remove what interrupted
 * runs left of its execution's.  Returns 1; 0: the archive has it already; -1:
 * also ERROR_USAGE (the archive has another one of this number, or the root is
 * a directory of a level itself).  With w->dry_run nothing is changed. */
int fti_archive_keep(struct fti_archive *a, const struct fti_tree *t,
		     const struct fti_set *set, const struct work *w,
		     struct error *err);

/* Remove a checkpoint from the archive. */
int fti_archive_remove(const struct fti_archive *a, const char *exec,
		       uint32_t id, struct error *err);

/* Where an archived file belongs, or one of FTI's own archive: at level 4,
 * below the root. */
const char *fti_archive_home(const char *path, struct arena *a);

/*
 * A clone gives files a second place: a hard link where the file system can,
 * else a copy that is read back and compared.
 *
 * Each name appears at once and complete, so an interrupted run can be
 * repeated: files that are in place already stay.
 */

struct fti_clone {
	const char *from, *to; /* clean, beneath the two directories */
};

struct fti_cloning {
	int fromfd, tofd;
	const char *from, *to; /* their names, for messages */
	bool copy;	       /* no links */
	/* Results. */
	size_t linked, copied; /* not those that were in place */
	uint64_t bytes;	       /* copied */
};

/* Missing directories are made.  ERROR_USAGE: another file has the name;
 * ERROR_DAMAGED: a copy differs from its original (it is removed). */
int fti_clone(struct fti_cloning *c, const struct fti_clone *list, size_t count,
	      const struct work *w, struct error *err);

/* Is `to` a link or copy of `from`, by size and time of modification? */
bool fti_clone_same(const struct stat *from, const struct stat *to);

#endif /* FTIJOB_ARCHIVE_H */
