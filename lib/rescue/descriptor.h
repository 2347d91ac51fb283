/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.h - the descriptor of a dataset on a prefix.  Up to four places
 * have one, and they can be those of different datasets: numbers begin again
 * when a prefix is cleaned, and files may be left over or put there by mistake.
 * This is the only place that chooses.
 */
#ifndef RESCUE_DESCRIPTOR_H
#define RESCUE_DESCRIPTOR_H

#include <stdbool.h>

#include "error.h"
#include "meta/dataset.h"

struct index;
struct kvtree;
struct plan;

enum descriptor_source {
	DESCRIPTOR_FLUSH,   /* flush.scr */
	DESCRIPTOR_COPIED,  /* copied from a cache, with the files */
	DESCRIPTOR_SUMMARY, /* the dataset's summary.scr */
	DESCRIPTOR_ENTRY,   /* the index */
	DESCRIPTOR_SOURCES  /* none */
};

struct descriptor {
	struct kvtree *tree;	   /* of the source; owns the strings */
	const struct kvtree *desc; /* its children are the descriptor */
	struct dataset view;
	struct error why; /* ERROR_NONE: usable */
};

struct descriptors {
	struct descriptor from[DESCRIPTOR_SOURCES];
	enum descriptor_source chosen;
	/* That of a later dataset with this number than the chosen one: its
	 * files may have replaced the others. */
	enum descriptor_source later;
	bool summary;  /* there is one of the chosen dataset */
	bool complete; /* it says that the dataset is complete; without it, the
			  index */
};

struct descriptor_at {
	int prefix_fd, meta_fd; /* PREFIX and PREFIX/.scr/scr.dataset.ID */
	const char *meta;	/* for messages */
	int64_t id;
	const struct index *index; /* NULL: it is read if needed */
};

/* Read and choose.  What is missing or damaged is no error.  Call
 * descriptors_free() also on failure. */
int descriptors_read(const struct descriptor_at *at, struct descriptors *out,
		     struct error *err);
void descriptors_free(struct descriptors *d);

/* Read the descriptor `desc` into *view if it is that of dataset `id`, else
 * ERROR_CORRUPT.  If it has no name: `name` (may be NULL). */
int descriptor_read(const struct kvtree *desc, int64_t id, const char *name,
		    struct dataset *view, struct error *err);

/* Those that the plan of a dataset on a prefix was made with; borrowed. */
const struct descriptors *plan_descriptors(const struct plan *p);

#endif /* RESCUE_DESCRIPTOR_H */
