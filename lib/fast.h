/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fast.h - a faster way to create, write, close and delete some files, which
 * create.h and io.h ask before the kernel.  libscr sets it if it has a store in
 * memory (store/file.h has the contracts).
 */
#ifndef FAST_H
#define FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FAST_KERNEL (-2) /* of pwrite(): the kernel has to do it */

struct fast {
	int (*create)(int dirfd, const char *path, int flags, mode_t mode);
	ssize_t (*pwrite)(int fd, const void *data, size_t n, off_t off);
	bool (*make_room)(int fd, size_t n);
	void (*closing)(int fd);
	bool (*unlink)(int dirfd, const char *path);
};

/* NULL: none.  Set while no other thread uses files. */
extern const struct fast *fast_files;

#endif /* FAST_H */
