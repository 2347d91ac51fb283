/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h - which file has which name in a directory of a dataset in cache.
 *
 * Files of several directories on the prefix lie in one directory in cache, and
 * the ranks of a node route theirs without asking each other.  A claim is a
 * symbolic link among the metadata, named by the hash of the name, which points
 * to the path on the prefix: whoever makes it first has the name.
 */
#ifndef SCR_NAMES_H
#define SCR_NAMES_H

struct error;

/* Claim `name` for the file `path`, in the metadata directory `metafd`.  1: it
 * is for `path`, by this rank or another; 0: another file has it; -1: error. */
int names_take(int metafd, const char *name, const char *path,
	       struct error *err);

/* Give it up; no claim is no error. */
void names_drop(int metafd, const char *name);

#endif /* SCR_NAMES_H */
