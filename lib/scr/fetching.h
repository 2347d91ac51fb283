/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching.h - fetch a checkpoint from the prefix into the caches
 * (scr(3)). */
#ifndef SCR_FETCHING_H
#define SCR_FETCHING_H

struct arena;
struct device;
struct error;
struct lists;
struct run;

/*
 * Fetch the newest checkpoint that can be fetched:  CURRENT, then older ones
 * that are complete and have not failed.  SCR_CURRENT comes before CURRENT,
 * once in an allocation.  Sizes and checksums are compared.  Lost files are
 * rebuilt on the prefix if possible.  A dataset that cannot be fetched is
 * marked failed, and the next older one is tried.  A dataset of another number
 * of ranks, or one that cannot be read, is refused with a message, and not
 * marked.
 *
 * run->restart_id becomes the dataset's id, and run->dataset_id and
 * run->ckpt_id at least its numbers.  The dataset is then in the caches
 * (held.h), protected; with SCR_FETCH_BYPASS or a level with bypass, only its
 * metadata are, unless its files are in containers.  If there is no dataset, or
 * with SCR_FETCH=0, restart_id becomes 0, which is no error.  Call it when the
 * caches have no checkpoint to restart from.  Collective. -1: the failure is
 * not that of the dataset, but for instance of the cache; or no dataset was
 * fetched, though one on the prefix or in the caches may be whole
 * (ERROR_SYSTEM; not with SCR_START_OVER=1).
 */
int fetching_latest(struct run *run, struct error *err);

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
 * is their place, or nowhere (`to` NULL): then they are only verified.  Sizes
 * and checksums that were not recorded are added to the list.  Local. */
enum fetch_verdict fetching_copy(const struct run *run,
				 const struct device *store, struct arena *a,
				 const struct lists *list,
				 const char *const *to, struct error *err);

#endif /* SCR_FETCHING_H */
