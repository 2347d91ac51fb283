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

/* The numbers of datasets that earlier jobs had in caches, as flush.scr lists
 * them, are not used again: to be called before they are removed from it.
 * Local. */
void output_number(struct run *run);

/*
 * Begin a dataset; run->out takes files then.  `name` is that of the
 * application, NULL: none.  Its ids are above all that the prefix and the
 * caches have.  ERROR_USAGE: a name that cannot be; ERROR_SYSTEM, ERROR_NOMEM.
 */
int output_start(struct run *run, const char *name, int flags,
		 struct error *err);

/*
 * Protect it and list it, and flush it if it is due; on failure nothing of it
 * stays in the caches.
 * run->out is NULL afterwards.  *out: the dataset, borrowed until it is
 * removed from the caches.  Errors are those of outset_complete().
 */
int output_complete(struct run *run, bool valid, const struct dataset **out,
		    struct error *err);

#endif /* SCR_OUTPUT_H */
