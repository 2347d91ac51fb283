/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorded.h - the path that the prefix had when a dataset's paths were
 * recorded.
 *
 * Filemaps contain absolute paths.  They do not say which part of a path is the
 * prefix (scr-dataset(5)), and the prefix may have moved since.  The recorded
 * root is the only directory above all recorded files with which files are
 * found below the present prefix.
 */
#ifndef RESCUE_RECORDED_H
#define RESCUE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct error;
struct filemap_file;

/* Number of files that are looked up to find the recorded root. */
#define RECORDED_SAMPLE 256

/* All zero at first; freed by recorded_free(). */
struct recorded {
	size_t seen;	    /* number of files added */
	struct buf common;  /* longest directory above all of them */
	struct buf dir;	    /* directory of the last file, in normal form */
	const char *last;   /* the same directory as recorded; borrowed */
	size_t count, step; /* every `step`-th file is in the sample */
	const struct filemap_file *sample[RECORDED_SAMPLE];
};

/* Add a file that has PATH and NAME.  `f` is borrowed until recorded_free(). */
int recorded_show(struct recorded *r, const struct filemap_file *f,
		  struct error *err);
void recorded_free(struct recorded *r);

/* Is the file `rel`, below the present prefix, the one recorded as `f`?
 * Returns 1 or 0, or -1 on error, which ends the search. */
typedef int recorded_here(void *arg, const char *rel,
			  const struct filemap_file *f, struct error *err);

/* Is a file of the sample found if the prefix was `root`?  Returns 1 or 0, or
 * -1 on error. */
int recorded_fits(const struct recorded *r, const char *root,
		  recorded_here *here, void *arg, struct error *err);

/* Try every directory from `common` up to the one below "/".  Returns the
 * number of those with which files are found, or -1 on error; *root is the
 * first of them.  The caller frees it. */
int recorded_infer(const struct recorded *r, recorded_here *here, void *arg,
		   struct buf *root, struct error *err);

#endif /* RESCUE_RECORDED_H */
