/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h - unique names of files in a dataset directory in cache.
 *
 * Files of several directories on the prefix lie in one directory in cache, and
 * the ranks of a node route their files without communication.  A claim is a
 * symbolic link in the metadata directory, named by the hash of the file's
 * name.  The link points to the path on the prefix.  The first rank that makes
 * the link owns the name.
 */
#ifndef TEAM_NAMES_H
#define TEAM_NAMES_H

struct error;

/*
 * Claim `name` for the file `path`, in the metadata directory `metafd`. 1:
 * `path` has the name, claimed by this rank or another; 0: another file has it;
 * -1: error.
 */
int names_take(int metafd, const char *name, const char *path,
	       struct error *err);

/* Remove the claim; a missing claim is no error. */
void names_drop(int metafd, const char *name);

#endif /* TEAM_NAMES_H */
