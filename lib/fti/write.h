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
struct buf;
struct error;
struct fti_draft;
struct fti_writer; /* opaque */
struct work;

struct fti_job {
	struct fti_draft *draft; /* gets the sums */
	/* Instead of a draft: all bytes of a file that describes the others; it
	 * gets its name after them. */
	const struct buf *text;
	int dirfd;		 /* root of `path` */
	const char *path;	 /* clean, beneath dirfd */
	const char *name;	 /* for messages; NULL: path */
	const struct attr *attr; /* mode, owner, times; NULL: a new file's */
	/* A file that has the name is replaced, perhaps the one that the draft
	 * was made from.  Else it is ERROR_USAGE. */
	bool replace;
};

/* May a file get the name?  ERROR_USAGE: something else has it, or a file that
 * is not replaced.  `name` is for messages. */
int fti_check_output(int dirfd, const char *path, const char *name,
		     bool replace, struct error *err);

/* Only set the sums in the draft, as writing it would. */
int fti_sum(struct fti_draft *d, const struct work *w, struct error *err);

/* Write the bytes of a draft without records to `fd`, which may be a pipe; it
 * is no error if its reader closes it. */
int fti_stream(const struct fti_draft *d, int fd, const struct work *w,
	       struct error *err);

/*
 * Write files in batches: there may be more than can be open.  fti_writer_add()
 * plans a file, and checks its name; its draft may be freed after it.  Then
 * fti_writer_room() checks that the file systems have room, and
 * fti_writer_run() writes files first, first + 1 ... in the order in which they
 * were added; their drafts, where they were before, are the same again, and
 * texts are final.  fti_writer_commit() gives all files their names.
 * fti_writer_free() before that removes all that was written.  -1: ERROR_USAGE
 * (fti_draft_plan()), ERROR_CORRUPT (bytes differ from those that were
 * checked), or as put_commit().
 */
struct fti_writer *fti_writer_new(const struct work *w);
int fti_writer_add(struct fti_writer *r, const struct fti_job *j,
		   struct error *err);
int fti_writer_room(const struct fti_writer *r, struct error *err);
int fti_writer_run(struct fti_writer *r, size_t first, size_t count,
		   struct error *err);
int fti_writer_commit(struct fti_writer *r, struct error *err);
void fti_writer_free(struct fti_writer *r); /* NULL is ignored */

#endif /* FTI_WRITE_H */
