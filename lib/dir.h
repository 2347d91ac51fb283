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
/* An open failed.  Should it be tried again, because a lease of the file
 * (fcntl(2)) is about to end, or openat2(2) saw a name that changed?  Then this
 * has waited.  *times, at first 0, counts the calls. */
bool dir_again(unsigned *times);
int dir_open(int dir, const char *name); /* a directory, or a link to one */
int dir_open_plain(int dir, const char *name); /* a directory, no link */
int dir_stat(int dir, const char *name, struct stat *st, int flags);
int dir_access(int dir, const char *name, int mode);

/*
 * The names in directory `fd` except "." and "..", in no particular order:
 *
 *     rc = dir_walk(&w, fd, what, err);
 *     while (rc == 0 && (name = dir_next(&w)) != NULL)
 *             rc = ...;
 *     rc = dir_done(&w, rc, err);
 *
 * `what` names the directory in messages.  The offset of `fd` does not change.
 * dir_done() returns `rc`, or if that is 0 and the directory could not be read,
 * -1 and ERROR_SYSTEM.
 */
struct dir_walk {
	void *dir;
	const char *what;
	int errnum;
};

int dir_walk(struct dir_walk *w, int fd, const char *what, struct error *err);
const char *dir_next(struct dir_walk *w);
int dir_done(struct dir_walk *w, int rc, struct error *err);

/* The same with a function, whose value other than 0 ends the walk. */
int dir_each(int fd, const char *what,
	     int (*fn)(void *arg, const char *name, struct error *err),
	     void *arg, struct error *err);

/* Is directory `fd` empty?  If it cannot be read: no. */
bool dir_is_empty(int fd);

#endif /* DIR_H */
