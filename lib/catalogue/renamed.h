/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renamed.h - directories that somebody renamed by hand.  For this room.
 */
#ifndef CATALOGUE_RENAMED_H
#define CATALOGUE_RENAMED_H

#include "catalogue/catalogue_impl.h"

struct attr;
struct owners_guard;

/* --- renamed.c --- */

/* Find a directory in .scr that has the metadata of dataset `id` under another
 * name. 1: found, *name is borrowed; 0: none. */
int catalogue_renamed_meta(struct catalogue *c, int64_t id, const char **name,
			   struct error *err);

/* A directory that is missing, and another that has its files. */
struct catalogue_renamed {
	bool looked;
	char from[4096], to[4096]; /* below the prefix; "": none */
};

/*
 * Find the missing directory above the missing file `path`, and a sibling, of
 * any name, that has this file. asks->id is the dataset; a file that another
 * dataset owns does not count.  On failure, nothing is found.
 */
void catalogue_renamed_find(struct owners_guard *asks, const char *path,
			    const struct attr *attr,
			    struct catalogue_renamed *out);

/* Is `path` below the missing directory, and present in the other one? */
bool catalogue_renamed_has(const struct catalogue *c,
			   const struct catalogue_renamed *r, const char *path,
			   const struct attr *attr);

#endif /* CATALOGUE_RENAMED_H */
