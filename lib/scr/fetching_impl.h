/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching_impl.h - shared by the files of module fetching. */
#ifndef SCR_FETCHING_IMPL_H
#define SCR_FETCHING_IMPL_H

#include "scr/fetching.h"

struct arena;
struct device;
struct error;
struct lists;
struct run;

/* The result of an attempt; the worst of all ranks counts. */
enum fetch_verdict {
	FETCH_DONE,
	FETCH_BAD,     /* the dataset is damaged, or files are missing */
	FETCH_REFUSED, /* it may be whole, but this job cannot use it */
	FETCH_BROKEN,  /* unknown: something else failed */
};

/* The verdict for an error of a file.  Missing and damaged files make the
 * dataset bad; a file that cannot be read, or that the library does not open
 * (a link), may be right. */
enum fetch_verdict fetching_blame(const struct error *err);

/* Copy the files of this rank to `to[i]` in `store`, or on the prefix if that
 * is their place: then they are only verified.  Checksums that were not
 * recorded are added to the list.  Local. */
enum fetch_verdict fetching_copy(const struct run *run,
				 const struct device *store, struct arena *a,
				 const struct lists *list,
				 const char *const *to, struct error *err);

#endif /* SCR_FETCHING_IMPL_H */
