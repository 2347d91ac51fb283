/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owned.h - which files of this rank on the prefix belong to which dataset.
 *
 * An application that always writes the same names replaces files of an older
 * dataset, or makes up for some that somebody has removed: the index has to say
 * before that happens that this dataset is not whole.  With bypass it happens
 * as soon as a file is routed, which is local; so each rank knows what it had
 * in datasets that as many ranks have written.  Where it finds a file older
 * than the new dataset that it does not know, or that another rank may have
 * written since, it looks at the lists of all ranks, once for each dataset.
 */
#ifndef SCR_OWNED_H
#define SCR_OWNED_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct owned; /* opaque; run->owned, NULL until owned_begin() */
struct run;

/*
 * With the first dataset that goes to the prefix: read the lists of all valid
 * datasets there that as many ranks have written.  Collective.  ERROR_NOMEM, or
 * the index cannot be read.
 */
int owned_begin(struct run *run, struct error *err);
void owned_free(struct owned *o); /* NULL is ignored */

/* Dataset `id` has the file `path` (absolute) now.  Nothing happens before
 * owned_begin().  -1: ERROR_NOMEM. */
int owned_add(struct owned *o, const char *path, int64_t id, struct error *err);

/* May another dataset than `id` have the file `path`?  Local. */
bool owned_elsewhere(const struct owned *o, const char *path, int64_t id);

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
