/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - a dataset from SCR_Start_output() to the end of
 * SCR_Complete_output(): its ids and descriptor, its place in a cache, its
 * protection.  Collective; all ranks return the same.
 */
#ifndef SCR_OUTPUT_H
#define SCR_OUTPUT_H

#include <stdbool.h>

struct dataset;
struct error;
struct run;

/* Reserve the ids of datasets that earlier jobs had in caches, as listed by
 * flush.scr.  Call before these datasets are removed from flush.scr.  Local. */
void output_number(struct run *run);

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
