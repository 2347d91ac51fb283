/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.h - write the files that drafts describe, so that all readers of FTI
 * accept them (fti.md 2, 11): an empty container has the sum of no bytes, the
 * checksum of C to F is over containers with content only, bytes between fields
 * are 0.
 *
 * The containers of all files are written by all threads, and summed while
 * their bytes pass.  A file of A or B, or a POSIX file, has a sum over all its
 * data in order: for it they are read once more.  Bytes beyond those in use are
 * left out as holes.  Files get their names by the put engine (transfer/put.h)
 * when all are complete and on disk.  After a failure or a stop before that,
 * none of them exists, and a file that should have been replaced is whole.  If
 * a crash or an error interrupts the renames, some files are complete, and the
 * others as before.
 */
#ifndef FTI_WRITE_H
#define FTI_WRITE_H

#include <stdbool.h>
#include <stddef.h>

struct attr;
struct error;
struct fti_draft;
struct work;

struct fti_job {
	struct fti_draft *draft; /* gets the sums */
	int dirfd;		 /* root of `path` */
	const char *path;	 /* clean, beneath dirfd */
	const struct attr *attr; /* mode, owner, times; NULL: a new file's */
	/* A file that has the name is replaced, perhaps the one that the draft
	 * was made from.  Else it is ERROR_USAGE. */
	bool replace;
};

/* Plan all files, and write them; with work.dry_run only plan. -1:
 * ERROR_USAGE (fti_draft_plan()), ERROR_CORRUPT (bytes differ from those that
 * were checked), or as put_commit(). */
int fti_write(const struct fti_job *jobs, size_t count, const struct work *w,
	      struct error *err);

#endif /* FTI_WRITE_H */
