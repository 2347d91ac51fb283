/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cindex.h - cindex.scrinfo: the datasets in one node's cache (scr-dataset(5)).
 * Also nodes.scr (3.7), which is too small for a module of its own.
 */
#ifndef META_CINDEX_H
#define META_CINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dataset;
struct error;
struct kvtree;

#define CINDEX_FILE "cindex.scrinfo"

struct cindex_entry {
	int64_t id;
	const char
		*path; /* PATH or NULL: directory of the dataset; untrusted */
	bool bypass;
	const struct kvtree *desc; /* DSETDESC or NULL */
};

/* All entries; see flush_entries() for order, ownership and errors. */
struct cindex_entry *cindex_entries(const struct kvtree *t, size_t *count,
				    struct error *err);

/* Add the entry of a dataset to `t`, the root of a new file, with the keys in
 * the order of LLNL's library.  `path` is the dataset's directory. */
int cindex_add(struct kvtree *t, const struct dataset *d, bool bypass,
	       const char *path, struct error *err);

/* Remove the entry of dataset `id`, if there is one. */
void cindex_remove(struct kvtree *t, int64_t id);

/* The value of SCR_CURRENT that the job has honoured; NULL: none. */
const char *cindex_current(const struct kvtree *t);
int cindex_set_current(struct kvtree *t, const char *name, struct error *err);

#define NODES_FILE "nodes.scr"

/* Read NODES of nodes.scr.  ERROR_ABSENT, ERROR_CORRUPT. */
int nodes_read(const struct kvtree *t, int64_t *out, struct error *err);

/* Replace NODES_FILE in `dirfd`. */
int nodes_write(int dirfd, uint64_t count, struct error *err);

#endif /* META_CINDEX_H */
