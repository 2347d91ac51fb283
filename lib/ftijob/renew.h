/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renew.h - missing and damaged files of an L2 or L3 checkpoint, written
 * again (fti-format(5)).
 *
 * The plan lists the files; running it computes them group by group, each block
 * of all files of a group at once, with all threads.  What was written is read
 * again, and a file gets its name only if its own sums and sizes prove it.
 * Parity of FTI-FF has no sum left; then those of the data of its group are
 * compared.  A dry run proves the computed bytes.  If anything fails, no file
 * has changed.
 */
#ifndef FTIJOB_RENEW_H
#define FTIJOB_RENEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftijob/set.h"

struct put_file;

struct fti_rebuild_file {
	struct fti_rank *rank;
	enum fti_part part;
	const char *path; /* below the root of the tree */
	uint64_t size;	  /* in bytes */
	bool replaces;	  /* a damaged file has the name */
	/* Of fti_rebuild_run(). */
	struct put_file *put;
	const char *sum; /* POSIX parity: what its metadata lack */
};

/* The plan: to rebuild a checkpoint of L2 or L3, or to protect one of L1 or L4
 * there. */
struct fti_rebuild {
	struct fti_sets *sets;
	struct fti_set *set;
	struct fti_rebuild_file *files; /* by group */
	size_t count, room;
	size_t parts[FTI_PARTS]; /* how many of `files` are of each part */
	uint64_t bytes_read, bytes_written;
	/* By group: bytes to be read, written and read again. */
	uint64_t *moved;
	/* Files that could not be read stay as they are. */
	size_t unread;
	const char *why;   /* the reason of the first one */
	const char **dirs; /* by node; NULL: none is known */
	/* To protect. */
	enum fti_level level;
	struct fti_set *there; /* the same checkpoint at the level, or NULL */
	const char *exec;      /* the name of its execution there */
};

/*
 * Plan for the examined checkpoint `set` of L2 or L3.  ERROR_LOST: a file
 * cannot be computed; ERROR_ABSENT: it is not known in which directory a file
 * belongs; ERROR_SYSTEM: files or groups are unknown.  Call fti_rebuild_fini()
 * also after a failure.
 */
int fti_rebuild_plan(struct fti_rebuild *r, struct fti_sets *sets,
		     struct fti_set *set, const struct work *w,
		     struct error *err);
void fti_rebuild_fini(struct fti_rebuild *r);

/*
 * Check the room, compute and prove the files, and unless work.dry_run write
 * them.  ERROR_CORRUPT: a computed file differs from its sums, because a file
 * that it was computed from is damaged: examine the checkpoint with its data.
 *
 * After fti_set_keep() others may do the same with other groups, and who shares
 * the work out holds the lock of the tree.
 */
int fti_rebuild_run(const struct fti_rebuild *r, const struct work *w,
		    struct error *err);

/* Try what a rebuild of the examined checkpoint would do, and write nothing: if
 * it fails, set->stuck and set->reason say so, and it is no longer called
 * rebuildable.  -1: stopped. */
int fti_rebuild_try(struct fti_sets *sets, struct fti_set *set,
		    const struct work *w, struct error *err);

/*
 * --- Protection ---
 *
 * Copies (L2) or parity (L3) for a checkpoint that has none: of L1,
 * or of L4 (fti-format(5)).
 *
 * The files of the ranks are written again for the level, with the sizes in
 * their metadata that FTI expects there, into the directories where it looks;
 * those that are there already stay.  Then copies or parity are made as by a
 * rebuild (renew.h).  The checkpoint itself does not change.  Another run
 * completes an interrupted one.
 */

/*
 * Plan for the examined checkpoint `from`; all others of its execution are
 * examined, too.  It is of L1 or L4, whole or refused; the level is 2 or 3.
 * ERROR_USAGE: it is one file, or the level has another checkpoint, which FTI
 * could take instead; ERROR_SYSTEM: its geometry is not known; ERROR_ABSENT:
 * the directories are not known.  Call fti_rebuild_fini() also after a failure.
 */
int fti_protect_plan(struct fti_rebuild *p, struct fti_sets *s,
		     struct fti_set *from, enum fti_level level,
		     struct error *err);

/* Check the room, and unless work.dry_run write the files. */
int fti_protect_run(const struct fti_rebuild *p, const struct work *w,
		    struct error *err);

#endif /* FTIJOB_RENEW_H */
