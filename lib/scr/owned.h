/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owned.h - which files of this rank on the prefix belong to which dataset.
 *
 * With bypass the application writes to the prefix as soon as a file is routed.
 * If it always writes the same names, it replaces files of an older dataset,
 * which the index has to say before that happens.
 */
#ifndef SCR_OWNED_H
#define SCR_OWNED_H

#include <stdint.h>

struct error;
struct owned; /* opaque; run->owned, NULL until owned_begin() */
struct run;

/*
 * With the first dataset in bypass: read the lists of all valid datasets on the
 * prefix that as many ranks have written.  Collective.  ERROR_NOMEM, or the
 * index cannot be read.
 */
int owned_begin(struct run *run, struct error *err);
void owned_free(struct owned *o); /* NULL is ignored */

/* Dataset `id` has the file `path` (absolute) now.  Nothing happens before
 * owned_begin().  -1: ERROR_NOMEM. */
int owned_add(struct owned *o, const char *path, int64_t id, struct error *err);

/*
 * Dataset `id` is about to get the file `path`: a dataset that has it is marked
 * as incomplete in the index and its summary.  Ranks of a node do that one
 * after the other, by a lock in `metafd`, a directory that they share, and
 * nodes by a lock in the metadata of the dataset: only the first writes.
 * Local.
 */
int owned_make_way(const struct run *run, const char *path, int64_t id,
		   int metafd, struct error *err);

#endif /* SCR_OWNED_H */
