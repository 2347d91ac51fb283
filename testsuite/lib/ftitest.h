/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ftitest.h - shared by tests of FTI's files: the golden files, and what their
 * variables must hold.
 */
#ifndef FTITEST_H
#define FTITEST_H

#include "fti/check.h"
#include "fti/content.h"
#include "fti/file.h"
#include "fti/input.h"
#include "scratch.h"

/* "$SCRKIT_GOLDEN/fti", or NULL: there are none. */
const char *ftitest_root(void);

/* A golden data file. */
struct ftitest_golden {
	const char *path, *set; /* `set`: the directory with EXPECTED.tsv */
	uint32_t ckpt, rank;	/* rank as EXPECTED.tsv counts */
};

/* All FTI-FF data files of the sets that have expectations, in the order of
 * their paths.  Returns their number; free the list with ftitest_free(). */
size_t ftitest_list(struct ftitest_golden **out);
void ftitest_free(struct ftitest_golden *list, size_t count);

/* The number of variables that EXPECTED.tsv lists. */
size_t ftitest_vars(const struct ftitest_golden *g);

/* Do the variables hold what is listed?  Prints what differs.  Counts in *count
 * those that are listed and in the content. */
bool ftitest_holds(const struct fti_content *c, const struct ftitest_golden *g,
		   size_t *count);

/* A file, read and checked with its data. */
struct ftitest {
	char *path;
	struct fti_source source;
	struct fti_checked checked;
	struct fti_content content; /* empty if the file is not usable */
};

void ftitest_open(struct ftitest *t, const char *path);
void ftitest_close(struct ftitest *t);

struct buf;
struct fti_draft;
struct fti_raw;

/* Write the draft to `name` below puttest_root, and free it. */
int ftitest_write(struct fti_draft *d, const char *name, bool replace,
		  struct error *err);

/* Write a file of checkpoint 1 of these variables, with so much room. */
int ftitest_pack(const struct fti_raw *raw, size_t count, unsigned room,
		 enum fti_layout layout, const char *name, struct error *err);

/* The file that the draft describes, in memory; its sums are set first. */
void ftitest_image(struct fti_draft *d, struct buf *out);

#endif /* FTITEST_H */
