/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * describe.h - the descriptor of one dataset: finding it, and recording a
 * dataset with it.  For this room.
 */
#ifndef CATALOGUE_DESCRIBE_H
#define CATALOGUE_DESCRIBE_H

#include "catalogue/catalogue_impl.h"
#include "meta/dataset.h"

/* --- describe.c --- */

/* The descriptor of a dataset. */
struct catalogue_desc {
	struct kvtree *tree; /* its children are the descriptor; for
				kvtree_free() */
	struct dataset view; /* of `tree` */
	bool composed;	     /* from other traces */
	int complete;	     /* summary: as in struct summary; -1: unusable */
	int64_t replaced;    /* summary: dataset that replaced its files; 0 */
};

/* Sources for a descriptor. */
struct catalogue_sources {
	struct catalogue *c;
	const struct catalogue_dir *dir;
	struct index *ix;	 /* may be NULL */
	const struct plan *plan; /* NULL: do not compose a descriptor */
	const struct catalogue_options *o;
};

/* Find the descriptor of the dataset, or compose one.  ERROR_ABSENT. */
int catalogue_describe(const struct catalogue_sources *from,
		       struct catalogue_desc *out, struct error *err);
void catalogue_desc_free(struct catalogue_desc *d);

/* Make the descriptor from a record, which may be out->view. */
int catalogue_desc_make(struct catalogue_desc *out, const struct dataset *d,
			struct error *err);

/* Read the descriptor in a summary.  ERROR_ABSENT: no file.  ERROR_CORRUPT,
 * also if the descriptor is missing or that of another dataset. */
int catalogue_read_summary(const struct catalogue_dir *d,
			   struct catalogue_desc *out, struct error *err);

/* ERROR_LOST if the job declared the dataset invalid. */
int catalogue_check_given_up(const struct catalogue_dir *d,
			     const struct catalogue_desc *desc,
			     struct error *err);

/* --- replaced.c --- */

/* Write the summary; on a full file system over the old one. */
int catalogue_write_summary(const struct catalogue_dir *d,
			    const struct kvtree *t, struct error *err);

/* --- record.c --- */

/*
 * Write rank2file, summary and index entry of a complete dataset.  A file that
 * is already right is not written again.  *changed is set if a file was
 * written.
 */
int catalogue_record_ranks(const struct catalogue_dir *d,
			   const struct rank2file *old,
			   const struct rank2file *r, bool *changed,
			   struct error *err);
int catalogue_record_summary(const struct catalogue_dir *d,
			     const struct catalogue_desc *desc, bool *changed,
			     struct error *err);
int catalogue_record_entry(struct catalogue *c,
			   const struct catalogue_desc *desc, const char *root,
			   bool changed, const struct catalogue_options *o,
			   struct error *err);

#endif /* CATALOGUE_DESCRIBE_H */
