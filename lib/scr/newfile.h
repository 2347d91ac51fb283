/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * newfile.h - files of a dataset that nobody reads before it is committed:
 * written in place, with as few operations as possible.
 */
#ifndef SCR_NEWFILE_H
#define SCR_NEWFILE_H

#include <stdbool.h>

struct error;
struct kvtree;

/* Create the file `name` in `dirfd`, and open it for writing.  What an
 * interrupted run has left there goes first. */
int newfile_open(int dirfd, const char *name, struct error *err);

/* Close it; with `sync` it is on disk then.  `rc` and *err tell how writing it
 * went, and are passed on. */
int newfile_close(int fd, const char *name, bool sync, int rc,
		  struct error *err);

/* Create the file with the image of `t`. */
int newfile_tree(int dirfd, const char *name, const struct kvtree *t, bool sync,
		 struct error *err);

#endif /* SCR_NEWFILE_H */
