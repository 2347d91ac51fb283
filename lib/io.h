/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - files: whole reads with a bound, loops over short transfers, atomic
 * replacement, locks.
 *
 * All `*at` functions take a directory descriptor (AT_FDCWD allowed) and a
 * name below it.  Errors name the file.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;
struct buf;
struct error;

/* Read the whole regular file into `out` (replacing what it held).  A file
 * larger than `max` is ERROR_CORRUPT; one that is not a regular file too. */
int io_read_file(int dirfd, const char *name, size_t max, struct buf *out,
		 struct error *err);

/* The same for a descriptor, from its offset 0. */
int io_read_fd(int fd, const char *name, size_t max, struct buf *out,
	       struct error *err);

/* The same into memory of `arena`, which other things can share: *data, of *len
 * bytes.  ERROR_CORRUPT also where the file gets shorter meanwhile. */
int io_read_arena(int fd, const char *name, size_t max, struct arena *arena,
		  const char **data, size_t *len, struct error *err);

/* Exactly `len` bytes at `off`, EINTR and short transfers handled.  A file
 * that ends early is ERROR_CORRUPT ("ends at byte N, expected M more"). */
int io_pread(int fd, const char *name, void *data, size_t len, uint64_t off,
	     struct error *err);
int io_pwrite(int fd, const char *name, const void *data, size_t len,
	      uint64_t off, struct error *err);

/*
 * `len` bytes at `off` have been written: have the kernel take them to the disk
 * meanwhile, so that fsync(2) need not wait for all of it.  That begins when a
 * step of IO_BEHIND bytes of the file is full, or, with `last`, when the file
 * is, if it is worth it.  A hint, which cannot fail.
 */
#define IO_BEHIND ((uint64_t)4 << 20)
void io_write_behind(int fd, uint64_t off, size_t len, bool last);

/*
 * Replace (or create) `name` with `len` bytes, all or nothing: a temporary
 * file (temp.h) beside it, fsync, rename, fsync of the directory.  An
 * existing file's mode is kept, else `mode` & ~umask.  A crash at any point
 * leaves the old or the new contents; a left-over temporary file is reused by
 * the next call.
 */
int io_replace(int dirfd, const char *name, const void *data, size_t len,
	       mode_t mode, struct error *err);

/*
 * Remove `name`, file or directory, with all that is in it; what is not there
 * is no error.  Links are removed, not followed.  For things of our own only:
 * nobody is asked.
 */
int io_remove_tree(int dirfd, const char *name, struct error *err);

/* Make the directory `path` and what is missing above it; one that is there is
 * fine.  -1: errno says why, too. */
int io_make_dirs(const char *path, mode_t mode, struct error *err);

int io_fsync(int fd, const char *name, struct error *err);

/* fsync the directory itself, so that renames in it last. */
int io_sync_dir(int dirfd, const char *name, struct error *err);

/*
 * Advisory lock over several processes and nodes, held by a file `name` (made
 * mode 0666 & ~umask, never removed): waits until it is free.  Returns a
 * descriptor to close, or -1.  Where the file system has no locks or the
 * directory is read-only it is an error: the caller decides.
 */
int io_lock(int dirfd, const char *name, bool exclusive, struct error *err);

/* io_lock() that gives up: -1 and ERROR_SYSTEM with errnum EWOULDBLOCK. */
int io_trylock(int dirfd, const char *name, bool exclusive, struct error *err);

/*
 * For halt.scr only (design.md 3: a running LLNL job locks that inode): open
 * it, or with `create` make it, lock the file itself exclusively, and give the
 * descriptor; io_rewrite() then replaces the contents in place (write,
 * truncate, fsync).  Both flock() and fcntl() locks are taken, for LLNL's
 * library may be built for either.  Gives up after `seconds`: ERROR_SYSTEM with
 * errnum EWOULDBLOCK.
 */
int io_open_locked(int dirfd, const char *name, bool create, double seconds,
		   struct error *err);
int io_rewrite(int fd, const char *name, const void *data, size_t len,
	       struct error *err);

#endif /* IO_H */
