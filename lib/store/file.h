/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - what a process does with files of its stores: create, write, delete.
 *
 * Each function does the fast thing, or says that it is the kernel's turn: then
 * nothing has happened, and the caller makes the ordinary system call.  None of
 * them decides what is true: whoever uses other calls, in between or instead,
 * is right as well.  Any thread may call them, and signal handlers, too; errno
 * does not change unless they make the call.
 *
 * Not like the kernel's: a source buffer that cannot be read, or a file that
 * somebody cuts during the write, ends the process by a signal; two writes that
 * overlap at the same time mix; a file that was created by this process has its
 * leases refused while it is open; a deleted file that somebody has open with
 * O_PATH alone is lost to him; inotify(7) sees files move in and out.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

struct error;
struct iovec;

/* Use the store `dir` in this process, until it ends. */
int store_use(const char *dir, struct error *err);

/* Is a store in use?  If not, the functions below have nothing to do. */
extern _Atomic unsigned store_in_use;
static inline bool
store_used(void)
{
	return atomic_load_explicit(&store_in_use, memory_order_acquire) > 0;
}

/* open(2) with O_CREAT of a file that does not exist, from the pool.  Returns a
 * descriptor, or -1: open it. */
int store_create(int dirfd, const char *path, int flags, mode_t mode);

/* As write(2), pwrite(2), writev(2), or STORE_KERNEL: make that call. */
#define STORE_KERNEL (-2)
ssize_t store_write(int fd, const void *data, size_t n);
ssize_t store_pwrite(int fd, const void *data, size_t n, off_t off);
ssize_t store_writev(int fd, const struct iovec *v, int count);

/* Could a write of `n` bytes to `fd` be a fast one?  Streams ask for writes of
 * at least STORE_STREAM bytes. */
#define STORE_STREAM ((size_t)16384)
bool store_has(int fd, size_t n);

/* After a dup of `fd`, and before a close. */
void store_duped(int fd);
void store_closing(int fd);

/* The file of `fd` is written by the kernel alone from now on. */
void store_drop(int fd);

/* unlinkat(2) of a file, whose pages go to the pool.  False: unlink it. */
bool store_unlink(int dirfd, const char *path);

/* Before a rename to `path`, and after it: the pages of the file that is
 * replaced go to the pool. */
struct store_kept {
	int fd; /* with a lease, or -1: none */
	struct store *store;
	char path[STORE_PATH_MAX + 64];
};
void store_renaming(int dirfd, const char *path, struct store_kept *k);
void store_renamed(struct store_kept *k);

/* A write failed with ENOSPC: make room by giving up the pool, first what is
 * not clean.  False: none could be made. */
bool store_make_room(int fd, size_t n);

/* The process takes record locks.  Closing any descriptor of a file would drop
 * them, so from now on no file is kept for the pool. */
void store_locking(void);

/* The working directory has changed. */
void store_moved(void);

/* At the end of the process: give back what was taken. */
void store_leave(void);

/* What was done, for those who want to know that it was. */
struct file_counts {
	_Atomic uint64_t taken, writes, bytes, given, small;
	_Atomic bool locking;
};
struct file_counts *store_counts(void);

#endif /* STORE_FILE_H */
