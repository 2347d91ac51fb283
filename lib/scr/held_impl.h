/* SPDX-License-Identifier: BSD-3-Clause */
/* held_impl.h - shared by held.c and held_read.c, which reads the lists of the
 * nodes at the start. */
#ifndef SCR_HELD_IMPL_H
#define SCR_HELD_IMPL_H

#include "scr/held.h"

struct arena;
struct buf;

struct entry {
	struct held_set set;
	struct arena *arena; /* of its strings */
	bool going;	     /* being removed */
};

struct held {
	struct entry **list; /* by id */
	size_t count, cap;
	char *current;
	/* Datasets of other prefixes that the cindex of this node lists; the
	 * highest id of those of all nodes, or 0. */
	struct entry **others;
	size_t nothers, others_cap;
	int64_t other_id;
};

/* A copy of `d` with its directory; NULL: ENOMEM. */
struct entry *held_entry(const struct dataset *d, struct store *st,
			 bool bypass);
void held_entry_free(struct entry *e); /* NULL is ignored */

/* Add an entry, in the order of ids; there is room for it. */
void held_insert(struct held *h, struct entry *e);

/* Does this node have dataset `id` of another prefix in store `st`? */
bool held_is_other(const struct held *h, const struct store *st, int64_t id);

/* Is the dataset on the prefix to which it belongs, by the flush file there?
 * *whose becomes the path of that prefix. */
bool held_flushed(const struct run *run, const struct held_set *s,
		  struct buf *whose);

/* Does this rank write the cindex of its node? */
bool held_leads(const struct run *run);

/* Open a directory of the job, not through a link.  To close; -1: error. */
int held_open_dir(const char *path, struct error *err);

/* Remove the directory of a dataset in the open cache directory. */
void held_erase(int fd, const struct store *st, const char *name);

#endif /* SCR_HELD_IMPL_H */
