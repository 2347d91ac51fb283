/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clone.h - give files a second place: a hard link where the file system can,
 * else a copy that is read back and compared.
 *
 * Each name appears at once and complete, so an interrupted run can be
 * repeated: files that are in place already stay.
 */
#ifndef FTIJOB_CLONE_H
#define FTIJOB_CLONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct stat;
struct work;

struct fti_clone {
	const char *from, *to; /* clean, beneath the two directories */
};

struct fti_cloning {
	int fromfd, tofd;
	const char *from, *to; /* their names, for messages */
	bool copy;	       /* no links */
	/* Results. */
	size_t linked, copied; /* not those that were in place */
	uint64_t bytes;	       /* copied */
};

/* Missing directories are made.  ERROR_USAGE: another file has the name;
 * ERROR_DAMAGED: a copy differs from its original (it is removed). */
int fti_clone(struct fti_cloning *c, const struct fti_clone *list, size_t count,
	      const struct work *w, struct error *err);

/* Is `to` a link or copy of `from`, by size and time of modification? */
bool fti_clone_same(const struct stat *from, const struct stat *to);

#endif /* FTIJOB_CLONE_H */
