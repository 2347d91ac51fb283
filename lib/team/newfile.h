/* SPDX-License-Identifier: BSD-3-Clause */
/* newfile.h - files of a dataset that no process reads before it is committed.
 * They are written under their final names, with few operations. */
#ifndef TEAM_NEWFILE_H
#define TEAM_NEWFILE_H

#include <stdbool.h>

struct error;
struct kvtree;

/* Create the file `name` in `dirfd`, and open it for writing.  A file left by
 * an interrupted run is removed first. */
int newfile_open(int dirfd, const char *name, struct error *err);

/* Close the file, with `sync` after an fsync.  `rc` and *err are the result of
 * writing it, and are passed on. */
int newfile_close(int fd, const char *name, bool sync, int rc,
		  struct error *err);

/* Create the file with the image of `t`. */
int newfile_tree(int dirfd, const char *name, const struct kvtree *t, bool sync,
		 struct error *err);

#endif /* TEAM_NEWFILE_H */
