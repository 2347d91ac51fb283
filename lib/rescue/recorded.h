/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorded.h - the path that the prefix had when a dataset's paths were
 * recorded.
 *
 * Filemaps contain absolute paths.  They do not say which part of a path is the
 * prefix (scr-dataset(5)), and the prefix may have moved since.  The recorded
 * root is a directory above all recorded files: the one for which most files
 * are found below the present prefix.
 */
#ifndef RESCUE_RECORDED_H
#define RESCUE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct error;
struct filemap_file;
struct par;

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
 * Returns 1 or 0, or -1 on error, which ends the search.  Several threads may
 * call it at once. */
typedef int recorded_here(void *arg, const char *rel,
			  const struct filemap_file *f, struct error *err);

struct recorded_search {
	recorded_here *here;
	void *arg;
	struct par *par; /* NULL: one thread */
};

/* Count the files of the sample that are found if the prefix was `root`. */
int recorded_hits(const struct recorded *r, const struct recorded_search *s,
		  const char *root, size_t *hits, struct error *err);

/* All zero at first; the caller frees `root`. */
struct recorded_guess {
	struct buf root; /* the root for which most files of the sample are
			    found */
	size_t hits;	 /* number of these files; 0: root is empty */
	bool tie;	 /* another root has as many hits */
};

/* Try every directory from `common` up to the one below "/". */
int recorded_infer(const struct recorded *r, const struct recorded_search *s,
		   struct recorded_guess *best, struct error *err);

#endif /* RESCUE_RECORDED_H */
