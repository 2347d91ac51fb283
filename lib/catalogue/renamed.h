/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renamed.h - directories that somebody renamed by hand.  For this room.
 */
#ifndef CATALOGUE_RENAMED_H
#define CATALOGUE_RENAMED_H

#include "catalogue/catalogue_impl.h"

struct owners_guard;
struct plan_file;

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

/* Is the file missing, but present in a directory that was renamed?  The first
 * missing file shows which directory is missing: a sibling of it, of any name,
 * has this file.  asks->id is the dataset; a file that another dataset owns does
 * not count. */
bool catalogue_renamed_file(struct owners_guard *asks,
			    const struct plan_file *f,
			    struct catalogue_renamed *r);

#endif /* CATALOGUE_RENAMED_H */
