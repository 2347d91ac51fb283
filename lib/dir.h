/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - directories: opening one, and the names in it.
 */
#ifndef DIR_H
#define DIR_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct stat;

/* openat(2), fstatat(2) and faccessat(2) below `dir` (or AT_FDCWD).  If the
 * handle of a file server is stale, the name is looked up once more.  They
 * return what the system calls return, with errno. */
int dir_open_file(int dir, const char *name, int flags, mode_t mode);
int dir_open(int dir, const char *name); /* a directory, or a link to one */
int dir_open_plain(int dir, const char *name); /* a directory, no link */
int dir_stat(int dir, const char *name, struct stat *st, int flags);
int dir_access(int dir, const char *name, int mode);

/*
 * Call fn for each name in directory `fd` except "." and "..", in no particular
 * order.  `what` names the directory in messages.  If fn returns a value other
 * than 0, the walk ends and returns that value.  The offset of `fd` does not
 * change.  -1 and ERROR_SYSTEM: the directory cannot be read.
 */
int dir_each(int fd, const char *what,
	     int (*fn)(void *arg, const char *name, struct error *err),
	     void *arg, struct error *err);

/* Is directory `fd` empty?  If it cannot be read: no. */
bool dir_is_empty(int fd);

#endif /* DIR_H */
