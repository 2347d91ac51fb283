/* SPDX-License-Identifier: BSD-3-Clause */
/* ftitest.h - shared by tests that write files of FTI. */
#ifndef FTITEST_H
#define FTITEST_H

#include "fti/check.h"
#include "fti/content.h"
#include "fti/file.h"
#include "fti/input.h"
#include "scratch.h"

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

/* Write a file of checkpoint 1 of these variables, with so much room, to `name`
 * below puttest_root. */
int ftitest_pack(const struct fti_raw *raw, size_t count, unsigned room,
		 enum fti_layout layout, const char *name, struct error *err);

/* The file that the draft describes, in memory; its sums are set first. */
void ftitest_image(struct fti_draft *d, struct buf *out);

#endif /* FTITEST_H */
