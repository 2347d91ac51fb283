/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flush.h - flush.scr: which datasets are in cache, and which are on the
 * parallel file system (scr-dataset(5)).
 */
#ifndef META_FLUSH_H
#define META_FLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dataset;
struct error;
struct kvtree;

#define FLUSH_FILE "flush.scr"

struct flush_entry {
	int64_t id;
	const char *name; /* NULL: not recorded (fetched datasets) */
	bool is_ckpt, is_output;
	bool in_cache, on_pfs, flushing, sync_flushing; /* LOCATION */
	const struct kvtree *desc; /* DSETDESC or NULL; borrowed */
};

/* Find the entry of dataset `id`.  ERROR_ABSENT, ERROR_CORRUPT. */
int flush_find(const struct kvtree *t, int64_t id, struct flush_entry *out,
	       struct error *err);

/* Return all *count entries for mem_free(), in ascending order of ids.  If
 * there are none, return NULL with *count = 0; on failure, return NULL with
 * *count = (size_t)-1. */
struct flush_entry *flush_entries(const struct kvtree *t, size_t *count,
				  struct error *err);

/* Set the entry of dataset e->id, as the first one, in the form of LLNL's
 * library: the locations from *e, all else from its descriptor. */
int flush_put(struct kvtree *t, const struct flush_entry *e,
	      const struct dataset *d, struct error *err);

/* Is the dataset in cache but not on the parallel file system? */
bool flush_needed(const struct flush_entry *e);

#endif /* META_FLUSH_H */
