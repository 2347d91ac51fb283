/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owned.h - which files of this rank on the prefix belong to which dataset.
 *
 * An application that always writes the same names replaces files of an older
 * dataset, or recreates files that somebody has removed.  Before that happens,
 * the index has to mark the older dataset as incomplete.  With bypass this is
 * needed when a file is routed, which is local.  So each rank keeps a list of
 * its files in datasets that the same number of ranks has written.  If it finds
 * an unknown file, or one that another rank may have written since, it reads
 * the lists of all ranks, once for each dataset.
 */
#ifndef SCR_OWNED_H
#define SCR_OWNED_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct owned; /* opaque; run->owned, NULL until owned_begin() */
struct run;

/*
 * Call with the first dataset that is written to the prefix.  Read the lists of
 * all valid datasets there that the same number of ranks has written.
 * Collective.  ERROR_NOMEM, or the index cannot be read.
 */
int owned_begin(struct run *run, struct error *err);
void owned_free(struct owned *o); /* NULL is ignored */

/* Record that dataset `id` has the file `rel`, below the prefix.  Nothing
 * happens before owned_begin(). -1:  ERROR_NOMEM. */
int owned_add(struct owned *o, const char *rel, int64_t id, struct error *err);

/* May another dataset than `id` have the file `rel`?  Local. */
bool owned_elsewhere(const struct owned *o, const char *rel, int64_t id);

/*
 * Call before dataset `id` writes the file `rel`: a dataset that has the file
 * is marked as incomplete in the index and its summary.  Ranks of a node do
 * this one after the other, by a lock in `metafd`, a directory that they share;
 * nodes, by a lock in the metadata of the dataset.  Only the first rank writes.
 * Local.
 */
int owned_make_way(const struct run *run, const char *rel, int64_t id,
		   int metafd, struct error *err);

#endif /* SCR_OWNED_H */
