/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching_impl.h - shared by the files of module fetching. */
#ifndef SCR_FETCHING_IMPL_H
#define SCR_FETCHING_IMPL_H

#include "scr/fetching.h"

#include "scr/lists.h"

struct arena;
struct dataset;
struct store;
struct team;

/* The result of an attempt; the worst of all ranks counts. */
enum fetch_verdict {
	FETCH_DONE,
	FETCH_BAD,     /* the dataset is damaged, or files are missing */
	FETCH_REFUSED, /* it may be whole, but this job cannot use it */
	FETCH_BROKEN,  /* unknown: something else failed */
};

/*
 * Read the summary and rank2file of dataset `d`, and give each rank the list of
 * its files, in `a`.  Collective; the verdict is that of all ranks, and *err
 * has its reason.
 */
enum fetch_verdict fetching_list(const struct run *run, const struct dataset *d,
				 struct arena *a, struct lists *out,
				 struct error *err);

/* Return the worst verdict of all ranks, and the reason of the lowest rank that
 * has it. */
enum fetch_verdict fetching_agree(const struct team *t, enum fetch_verdict v,
				  struct error *err);

/* Copy the files of this rank to `to[i]` in `store`, or on the prefix if that
 * is their place: then they are only verified.  Checksums that were not
 * recorded are added to the list.  Local. */
enum fetch_verdict fetching_copy(const struct run *run,
				 const struct store *store,
				 const struct lists *list,
				 const char *const *to, struct error *err);

#endif /* SCR_FETCHING_IMPL_H */
