/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remake.h - write checkpoint files from other checkpoint files: read them,
 * describe what is to be written, and write it.
 *
 * First all files are read, checked, described and planned; if one of them is
 * refused, or a name is taken, nothing is written.  Then they are written; all
 * get their names together, in the end.  Both are done in batches, so any
 * number of files needs only so many descriptors and so much memory; if there
 * are several batches, each is read again, without a second comparison of files
 * that were intact and have not changed.
 *
 * The functions of the caller are called by the calling thread, in the order of
 * the files.
 */
#ifndef FTI_REMAKE_H
#define FTI_REMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/rankfile.h"
#include "fti/write.h"
#include "meta/attr.h"

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
	bool intact;
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

#endif /* FTI_REMAKE_H */
