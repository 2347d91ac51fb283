/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - a dataset from SCR_Start_output() to the end of
 * SCR_Complete_output(): its ids and descriptor, its place in a cache, its
 * protection.  Collective; all ranks return the same.
 */
#ifndef SCR_OUTPUT_H
#define SCR_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

struct dataset;
struct error;
struct kvtree;
struct run;

/* Reserve the ids of datasets that earlier jobs had in caches, as listed by
 * flush.scr.  Call before these datasets are removed from flush.scr.  Local. */
void output_number(struct run *run);

/* New ids will be above these. */
void output_raise(struct run *run, int64_t id, int64_t ckpt);

/*
 * Send the descriptor `mine` of rank 0 to all ranks; on other ranks it is NULL,
 * on rank 0 that means none.  `rc` is as for team_agree().  *t is for
 * kvtree_free(), also on failure; NULL: none.  The strings of *d lie in it.
 */
int output_share(const struct run *run, int rc, const struct dataset *mine,
		 struct kvtree **t, struct dataset *d, struct error *err);

/*
 * Begin a dataset; run->out then accepts files.  `name` is given by the
 * application, NULL: none.  The new ids are above all ids on the prefix and in
 * the caches.  ERROR_USAGE: an invalid name; ERROR_SYSTEM, ERROR_NOMEM.
 */
int output_start(struct run *run, const char *name, int flags,
		 struct error *err);

/*
 * Protect the dataset, list it, and flush it if it is due.  On failure it is
 * removed from the caches. run->out is NULL afterwards.  *out: the dataset,
 * borrowed until it is removed from the caches.  Errors are those of
 * outset_complete().
 */
int output_complete(struct run *run, bool valid, const struct dataset **out,
		    struct error *err);

#endif /* SCR_OUTPUT_H */
