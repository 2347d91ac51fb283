/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - the memory file systems (tmpfs) of this node, and the stores in
 * them (store/store.h). */
#ifndef SITE_MEMORY_H
#define SITE_MEMORY_H

#include <limits.h>
#include <stdbool.h>

struct memory_fs {
	char point[PATH_MAX]; /* where it is mounted */
	char source[64];      /* first word of its line in fstab */
	char huge[32];	      /* option huge=; "": none */
};

/* The memory file system of `dir`.  False: `dir` is in none, or missing. */
bool memory_of(const char *dir, struct memory_fs *to);

/* Call found() for each directory that looks like a store, in all memory file
 * systems, up to BASE/USER in each.  Those that the caller may not enter are
 * passed over. */
void memory_stores(void (*found)(void *arg, const char *dir), void *arg);

/* Of the processes that the caller may look at, one that has files below `dir`
 * (absolute, links resolved) open or mapped, or works there; 0: none.  The
 * caller itself does not count. */
int memory_user(const char *dir);

#endif /* SITE_MEMORY_H */
