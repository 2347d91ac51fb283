/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.h - write the files that drafts describe, so that all readers of FTI
 * accept them (fti-format(5) and scr_fti(1)): an empty container has the sum of
 * no bytes, the checksum of C to F is over containers with content only, bytes
 * between fields are 0.
 *
 * Each file is written by one thread, and summed while its bytes pass.  A file
 * of A has a sum over all that follows its first record: for it the data are
 * read once more.  Bytes beyond those in use are
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
#include <stdint.h>

#include "fti/rankfile.h"
#include "meta/attr.h"

struct fti_writer; /* opaque */

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

/*
 * --- Remaking ---
 *
 * Write checkpoint files from other checkpoint files: read them, describe what
 * is to be written, and write it.
 *
 * First all files are read, checked, described and planned; if one of them is
 * refused, or a name is taken, nothing is written.  Then they are written; all
 * get their names together, in the end.  Both are done in batches, so any
 * number of files needs only so many descriptors and so much memory; if there
 * are several batches, each is opened again, and compared again unless all its
 * files were intact and have not changed.
 *
 * The functions of the caller are called by the calling thread, in the order of
 * the files.
 */

struct fti_remake_item {
	const char *in; /* path of the file */
	/* Read it as this name below this directory.  NULL: as `in`. */
	int in_dir;
	const char *in_name;
	const struct fti_posix_file *posix; /* if open.known */
	struct fti_job out; /* with a name; without draft and attr */
	bool in_place;	    /* `out` is the file itself */
	bool fresh;	    /* it gets the attributes of a new file */
	/* Of fti_remake(). */
	struct attr attr;
	bool planned; /* describe() was called */
	bool skipped; /* it said so */
	bool refused;
	uint64_t size; /* of the file that is written */
	bool intact;   /* when it was planned */
};

struct fti_remake {
	struct fti_remake_item *items;
	size_t count;
	/* How to open the files; metas is needed, unless they are known. */
	struct fti_rankfile_options open;
	/* Files that describe the others: their names are known, finish() sets
	 * their texts. */
	const struct fti_job *texts;
	size_t ntexts;
	/* Describe the file to write: 0; 1: there is nothing to write; -1: it
	 * is refused.  Called twice for each file, the second time after all
	 * are planned.  The first call may still set the name of the output. */
	int (*describe)(void *arg, size_t i, const struct fti_rankfile *r,
			struct fti_draft *d, struct error *err);
	/* The file is refused.  `r` may be NULL: it could not be opened. */
	void (*refused)(void *refused_arg, size_t i,
			const struct fti_rankfile *r, struct error *err);
	void *refused_arg;
	/* The draft is planned, or skipped.  -1: give up. */
	int (*planned)(void *arg, size_t i, const struct fti_rankfile *r,
		       const struct fti_draft *d, struct error *err);
	/* All its bytes are written.  NULL: no call. */
	void (*written)(void *arg, size_t i, const struct fti_draft *d);
	int (*finish)(void *arg, struct error *err);
	void *arg;
};

/* 0; 1: some files were refused, and nothing was written; -1: as the functions
 * of write.h.  With work.dry_run only plan. */
int fti_remake(struct fti_remake *m, const struct work *w, struct error *err);

/* Are all data of the file proven?  -1: ERROR_CORRUPT, or ERROR_SYSTEM if it
 * could not be read. */
int fti_remake_proven(const struct fti_rankfile *r, struct error *err);

#endif /* FTI_WRITE_H */
