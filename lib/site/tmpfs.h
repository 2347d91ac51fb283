/* SPDX-License-Identifier: BSD-3-Clause */
/* tmpfs.h - the memory file systems of this node, and who uses them. */
#ifndef SITE_TMPFS_H
#define SITE_TMPFS_H

#include <limits.h>
#include <stdbool.h>

struct tmpfs {
	char point[PATH_MAX]; /* where it is mounted */
	char source[64];      /* first word of its line in fstab */
	char huge[32];	      /* option huge=; "": none */
};

/* The memory file system of `dir`.  False: `dir` is in none, or missing. */
bool tmpfs_of(const char *dir, struct tmpfs *to);

/* The option huge= with which large files have huge pages, and small ones small
 * pages if this kernel has that. */
const char *tmpfs_best_huge(void);

/* Of the processes that the caller may look at, one that has files below `dir`
 * (absolute, links resolved) open or mapped, or works there; 0: none.  The
 * caller itself does not count. */
int tmpfs_user(const char *dir);

#endif /* SITE_TMPFS_H */
