/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * whole.h - what a plan, and the metadata that LLNL's library reads before the
 * files, say about one dataset.  For this room.
 */
#ifndef CATALOGUE_WHOLE_H
#define CATALOGUE_WHOLE_H

#include "catalogue/describe.h"
#include "meta/rank2file.h"

/* --- whole.c --- */

/* Make the plan that `o` needs: with headers for the deep check, and with
 * checksums.  NULL: see catalogue_plan(). */
struct plan *catalogue_plan_as(struct catalogue *c, int64_t id,
			       const struct catalogue_options *o,
			       struct error *err);

/* Does `p` list all files of all ranks, and are all of them right? */
bool catalogue_data_whole(const struct plan *p);

/* --- fetchable.c --- */

/* The metadata that LLNL's library reads before the files. */
struct catalogue_fetch {
	const struct rank2file *ranks; /* of the plan, or `own`; NULL: none */
	struct rank2file own;
	bool packed;		    /* rank2file has files in containers */
	struct catalogue_desc desc; /* of the summary; no tree: unusable */
	/* Why the library would refuse each of them; ERROR_NONE: good. */
	struct error no_ranks, no_summary;
	int64_t replaced; /* dataset that replaced its files; 0 */
	bool unproved;	  /* and not all checksums are recorded */
};

/* Read summary and rank2file of dataset e->id in `d`, the latter from its plan
 * `p` (NULL: none), and compare the summary with the index entry `e`, if that
 * has a descriptor.  A flaw of them is a
 * result.  -1: they could not be read.  Call catalogue_fetch_free() also on
 * failure. */
int catalogue_fetch_read(struct catalogue_fetch *f,
			 const struct catalogue_dir *d,
			 const struct index_entry *e, const struct plan *p,
			 struct error *err);
void catalogue_fetch_free(struct catalogue_fetch *f);

/* Record that the files were not replaced after all: see
 * catalogue_replaced(). */
void catalogue_fetch_spared(struct catalogue_fetch *f);

/* Compare rank2file with the filemaps that `p` was made from. */
int catalogue_fetch_match(struct catalogue_fetch *f, const struct plan *p,
			  struct error *err);

/* Is there a descriptor from which the summary can be written again, without
 * filemaps? */
bool catalogue_fetch_described(struct catalogue *c,
			       const struct catalogue_dir *d,
			       const struct index_entry *e);

#endif /* CATALOGUE_WHOLE_H */
