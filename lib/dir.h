/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - the names in a directory.
 */
#ifndef DIR_H
#define DIR_H

struct error;

/*
 * Call fn for each name in directory `fd` but "." and "..", in no order; `what`
 * is for messages.  A return value other than 0 ends the walk and is returned.
 * The offset of `fd` is not moved.  ERROR_SYSTEM: it cannot be read.
 */
int dir_each(int fd, const char *what,
	     int (*fn)(void *arg, const char *name, struct error *err),
	     void *arg, struct error *err);

#endif /* DIR_H */
