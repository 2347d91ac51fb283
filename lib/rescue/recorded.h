/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorded.h - what the prefix was called when a dataset's paths were recorded.
 *
 * Filemaps have absolute paths, and nothing says how much of one is the prefix
 * (formats.md 4.2), which may have moved since.  The recorded root is the one
 * directory above all recorded files under which those that are here resolve.
 */
#ifndef RESCUE_RECORDED_H
#define RESCUE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct error;
struct filemap_file;

/* Files looked at to find it. */
#define RECORDED_SAMPLE 256

/* All zero at first; for recorded_free(). */
struct recorded {
	size_t seen;	    /* files shown */
	struct buf common;  /* longest directory above all of them */
	struct buf dir;	    /* that of the last one, in normal form */
	const char *last;   /* the same as recorded; borrowed */
	size_t count, step; /* every `step`-th file is in the sample */
	const struct filemap_file *sample[RECORDED_SAMPLE];
};

/* A file, with its PATH and NAME, which stays where it is until
 * recorded_free(). */
int recorded_show(struct recorded *r, const struct filemap_file *f,
		  struct error *err);
void recorded_free(struct recorded *r);

/* Is file `rel`, below the prefix as it is now, the one that is recorded as
 * `f`?  1, 0; or -1 to give up. */
typedef int recorded_here(void *arg, const char *rel,
			  const struct filemap_file *f, struct error *err);

/* All zero at first; the caller frees `root`. */
struct recorded_guess {
	struct buf root; /* under which most files of the sample are here */
	size_t hits;	 /* how many; 0: root is empty */
	bool tie;	 /* as many are under another directory */
};

/* Try every directory from `common` up to the one below "/". */
int recorded_infer(const struct recorded *r, recorded_here *here, void *arg,
		   struct recorded_guess *best, struct error *err);

#endif /* RESCUE_RECORDED_H */
