/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - the names in a directory.
 */
#ifndef DIR_H
#define DIR_H

struct error;

/*
 * Call fn for each name in directory `fd` except "." and "..", in no particular
 * order.  `what` names the directory in messages.  If fn returns a value other
 * than 0, the walk ends and returns that value.  The offset of `fd` does not
 * change.  -1 and ERROR_SYSTEM: the directory cannot be read.
 */
int dir_each(int fd, const char *what,
	     int (*fn)(void *arg, const char *name, struct error *err),
	     void *arg, struct error *err);

#endif /* DIR_H */
