/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert.h - shared by the files of verb convert of scr_fti.
 */
#ifndef CMD_FTI_CONVERT_H
#define CMD_FTI_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "fti.h"
#include "fti/posix.h"

/* What a file could not say of its new form. */
struct fti_convert_notes {
	bool id;   /* its id is from its name */
	bool time; /* its time is that of its modification */
};

struct fti_convert {
	struct fti_output_options o;
	struct fti_output_form form;
	int64_t id;	 /* of the checkpoint; -1: of the files */
	const char *ini; /* metadata to write; NULL: beside the file */
	struct fti_sets_options geometry;
	const char *ckpt; /* id of the only one below a directory, or NULL */
	struct fti_output out;
	/* Of files: */
	struct fti_convert_notes notes;
	int64_t before;		 /* id of the files before; -1: none */
	struct fti_posix sector; /* their metadata, */
	struct buf text;	 /* as text, */
	struct fti_job job;	 /* which is written */
};

/* Describe the new form of a file with these attributes. */
int fti_convert_describe(const struct fti_convert *c,
			 const struct fti_rankfile *r, const struct attr *attr,
			 struct fti_draft *d, struct fti_convert_notes *notes,
			 struct error *err);

/* "D", "POSIX": of a file, and of what is written. */
const char *fti_convert_form(const struct fti_rankfile *r);
const char *fti_convert_to(const struct fti_convert *c);

/* Append the notes. */
void fti_convert_say(const struct fti_convert_notes *notes, struct buf *out);

/* Convert all checkpoints below a directory.  Returns an exit status. */
int fti_convert_tree(struct fti_convert *c, const char *dir, struct error *err);

#endif /* CMD_FTI_CONVERT_H */
