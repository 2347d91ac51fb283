/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - files: bounded reads of whole files, complete transfers, atomic
 * replacement, locks.
 *
 * `dirfd` is a directory descriptor (AT_FDCWD allowed), and `name` a path below
 * it.  The sentence of an error names the file.
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

/*
 * Open a regular file for reading.  A name below a directory is not the user's
 * choice: a symbolic link that leads out of `dirfd` is ERROR_UNSAFE.  With
 * AT_FDCWD links are followed.  ERROR_CORRUPT: not a regular file; a FIFO is
 * not waited for.  Returns a descriptor to close, or -1.
 */
int io_open_read(int dirfd, const char *name, struct error *err);

/* io_open_read(), and read the whole file into `out`, replacing its contents.
 * ERROR_CORRUPT also if it is larger than `max`. */
int io_read_file(int dirfd, const char *name, size_t max, struct buf *out,
		 struct error *err);

/* The same for a descriptor, from its offset 0. */
#define IO_SPARE 8 /* bytes for which `out` has room after that */
int io_read_fd(int fd, const char *name, size_t max, struct buf *out,
	       struct error *err);

/* The same into memory of `arena`: *len bytes, or NULL.  ERROR_CORRUPT also if
 * the file gets shorter meanwhile. */
const char *io_read_arena(int fd, const char *name, size_t max,
			  struct arena *arena, size_t *len, struct error *err);

/* Read or write exactly `len` bytes at `off`; EINTR and short transfers are
 * handled.  A file that ends early is ERROR_CORRUPT ("ends at byte N, expected
 * M more"). */
int io_pread(int fd, const char *name, void *data, size_t len, uint64_t off,
	     struct error *err);

/* Does the file have these bytes at offset `off`? */
bool io_has(int fd, const void *data, size_t len, uint64_t off);
int io_pwrite(int fd, const char *name, const void *data, size_t len,
	      uint64_t off, struct error *err);

/*
 * io_pwrite() to a part of a new file that was not written before: pages of
 * zeros become holes.  Returns 1 if there are holes; then the caller must set
 * the size of the file in the end.
 */
int io_pwrite_sparse(int fd, const char *name, const void *data, size_t len,
		     uint64_t off, struct error *err);

/*
 * Call after writing `len` bytes at `off`, so that the kernel starts to write
 * them to disk and fsync(2) does not wait for the whole file.  Write-back
 * starts for each complete step of IO_BEHIND bytes, and with `last` also for
 * the rest of the file unless it is small.  A hint, which cannot fail.
 */
#define IO_BEHIND ((uint64_t)4 << 20)
void io_write_behind(int fd, uint64_t off, size_t len, bool last);

/*
 * Open the regular file `name`; `flags` as for open(2), O_CLOEXEC is added.
 * With O_CREAT a missing file is created (create.h).  A symbolic link is
 * ERROR_UNSAFE, anything else that is not a regular file ERROR_CORRUPT; a FIFO
 * is not waited for.  Returns a descriptor to close, or -1.
 */
int io_open(int dirfd, const char *name, int flags, mode_t mode,
	    struct error *err);

/*
 * Replace or create `name` with `len` bytes atomically: a temporary file
 * (temp.h) beside it, fsync, rename, fsync of the directory.  The mode of an
 * existing file is kept, else it is `mode` & ~umask.  A crash at any point
 * leaves the old or the new contents.  The next call replaces a left-over
 * temporary file.  The message of a full file system is that of room_explain().
 */
int io_replace(int dirfd, const char *name, const void *data, size_t len,
	       mode_t mode, struct error *err);

/* The same without fsync of the directory: for the first of several files, or
 * if the old contents serve as well after a crash. */
int io_replace_lazy(int dirfd, const char *name, const void *data, size_t len,
		    mode_t mode, struct error *err);

/* renameat(2) in one directory.  An empty directory in the place of the file
 * `to` is removed.  -1 with errno. */
int io_rename(int dirfd, const char *from, const char *to);

/*
 * Check that the file `path`, which the user chose, may be replaced by a
 * rename.  ERROR_USAGE: it exists and is not a regular file (links are
 * followed), such as a device or a pipe.
 */
int io_check_output(const char *path, struct error *err);

/*
 * Remove the file or directory `name` with all its contents.  A missing file is
 * not an error.  Links are removed, not followed.  Only for files of our own:
 * there is no further check.
 */
int io_remove_tree(int dirfd, const char *name, struct error *err);

/* Add the bytes of the regular file `name`, or of all in the directory `name`,
 * to *bytes.  Links are not followed. */
int io_tree_size(int dirfd, const char *name, uint64_t *bytes,
		 struct error *err);

/* Create the directory `path` and all missing directories above it.  An
 * existing one is not an error.  -1 also sets errno. */
int io_make_dirs(const char *path, mode_t mode, struct error *err);

int io_fsync(int fd, const char *name, struct error *err);

/* Close `fd` unless it is negative.  errno does not change. */
void io_close(int fd);

/* fsync the directory itself, so that renames in it are durable. */
int io_sync_dir(int dirfd, const char *name, struct error *err);

/*
 * Take an advisory lock between processes and nodes on the file `name` (created
 * with mode 0666 & ~umask, never removed), and wait until it is free, or `stop`
 * (NULL: never) is true: ERROR_SYSTEM with errnum EINTR.  Returns a descriptor
 * to close, or -1.  A file system without locks or a read-only directory is an
 * error, too: the caller decides what to do.
 */
int io_lock(int dirfd, const char *name, bool exclusive, bool (*stop)(void),
	    struct error *err);

/* io_lock() without waiting.  If the lock is held: -1 and ERROR_SYSTEM with
 * errnum EWOULDBLOCK. */
int io_trylock(int dirfd, const char *name, bool exclusive, struct error *err);

/* Lock the directory itself, for a file system without room for a lock file.
 * Waits.  Returns a descriptor to close, or -1. */
int io_lock_dir(int dirfd, bool (*stop)(void), struct error *err);

/*
 * For halt.scr only, because a running LLNL job locks the inode of that file
 * (design.md 3).  Open the file, created if `create`, lock the file itself
 * exclusively, and return the descriptor. io_rewrite() then replaces the
 * contents in place (write, truncate, fsync).  Both flock() and fcntl() locks
 * are taken, as LLNL's library may be built for either.  After `seconds`
 * without the lock: ERROR_SYSTEM with errnum EWOULDBLOCK.
 */
int io_open_locked(int dirfd, const char *name, bool create, double seconds,
		   struct error *err);
int io_rewrite(int fd, const char *name, const void *data, size_t len,
	       struct error *err);

#endif /* IO_H */
