/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.h - files put in their places: the one way in which rescued bytes get
 * their names.
 *
 * Data flow.  A file is added: where, how long, with which attributes.  When
 * its first byte comes, a temporary file (temp.h) is made beside its place.
 * Any number of threads write to it.  When all its bytes have been counted, it
 * is full: it gets what it lacks of its attributes, and waits in a queue.  The
 * files of a full queue are synced together, because a file system that has
 * written its log for one has nearly done so for all.  What is synced gets its
 * name by a rename: at once, if the options say so, or when put_commit() puts
 * all files in place, kind after kind.  Directories are synced once for all
 * renames in them.
 *
 * Calls.  On a parallel file system each call takes a message to a server, so a
 * file takes six: open, write, set times, fsync, rename, close.  Each directory
 * is asked only once which owner, group and mode a new file in it gets.  A file
 * is opened with its final mode, except when its owner has to be changed: then
 * it is private (0600) until it has its owner.
 *
 * Ownership.  The engine owns temporary files and their descriptors from
 * put_open() on; put_free() removes those that did not get their names.  The
 * caller owns what a struct put_what points to, until put_free().
 *
 * Others.  Two processes must not put the same file at a time: the caller holds
 * a lock.  Where the file system has no locks, `unlocked` is set: who comes
 * second takes over, and the other one fails with EBUSY before its rename.
 *
 * Threads.  put_open(), put_wrote(), put_write(), put_drop(), put_due(),
 * put_settle() and put_sync() may be called by any thread at any time.  The
 * other functions are for one thread while no other uses the engine.
 */
#ifndef TRANSFER_PUT_H
#define TRANSFER_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct attr;
struct error;
struct par;
struct put;	 /* opaque: the engine */
struct put_file; /* opaque: one file of it */

/* The order in which put_commit() puts files in place: a rank's files, what
 * protects them, and last the filemap that names them.  A descriptor is written
 * only together with its redundancy file, so after an interruption it must be
 * there first. */
enum put_kind { PUT_FILE, PUT_DESCRIPTOR, PUT_REDUNDANCY, PUT_MAP, PUT_KINDS };

struct put_what {
	enum put_kind kind;
	int dirfd;		 /* root of `path` */
	const char *path;	 /* clean, beneath dirfd */
	uint64_t size;		 /* in bytes */
	const struct attr *attr; /* mode, owner, times; NULL: as `mode` says */
	mode_t mode;		 /* exactly; 0: 0666 & ~umask */
	const void *image;	 /* the first bytes, or all; NULL: none */
	size_t image_size;
	bool reread; /* it will be read again, and from the disk */
	void *arg;   /* the caller's */
};

struct put_options {
	struct par *par; /* for put_commit(); NULL: only the caller */
	bool at_once;	 /* rename each file as soon as it is synced */
	bool unlocked;	 /* another process may put the same files */
	/* at_once: called for each file that got its name, with the time that
	 * the file system has recorded.  By any thread; -1 ends the work. */
	int (*placed)(void *arg, const struct put_what *what,
		      const struct timespec *mtime, struct error *err);
	void *arg;
};

/* An engine for put_free(), or NULL: ERROR_NOMEM. */
struct put *put_new(const struct put_options *o, struct error *err);

/* Remove the temporary files of all that is not in place.  NULL is ignored. */
void put_free(struct put *p);

/* Add a file; NULL: ERROR_NOMEM.  It is freed with the engine. */
struct put_file *put_add(struct put *p, const struct put_what *what,
			 struct error *err);

const struct put_what *put_what(const struct put_file *f);

/* All files, in the order in which they were added. */
size_t put_count(const struct put *p);
struct put_file *put_at(const struct put *p, size_t i);

/* Remove what an interrupted run left of the files that were added: that is
 * room for them. */
int put_clear(struct put *p, struct error *err);

/* Is there room for all files?  ERROR_SYSTEM with ENOSPC says how much is
 * missing for `what`. */
int put_check_room(const struct put *p, const char *what, struct error *err);

/* The same for `need` bytes where `fd` is. */
int put_room(int fd, uint64_t need, const char *what, struct error *err);

/*
 * A descriptor to write with, borrowed until put_wrote(); the first call makes
 * the file and writes its image.  put_wrote() counts `len` bytes as written;
 * with the last of the file's size the file is full.  For a file of 0 bytes
 * put_wrote() is called with 0.
 */
int put_open(struct put_file *f, struct error *err);
int put_wrote(struct put_file *f, uint64_t len, struct error *err);

/* Both, and the writing between them. */
int put_write(struct put_file *f, const void *data, size_t len, uint64_t off,
	      struct error *err);

/* The size of a file, known only after put_open(), and before the last
 * put_wrote(). */
void put_set_size(struct put_file *f, uint64_t size);

/* Give up a file that was opened, in place of put_wrote(). */
void put_drop(struct put_file *f);

/* Sync the full files: all of them, or (put_due()) if one has waited for
 * PUT_SECONDS.  The node may die, and with it what has no name by then. */
#define PUT_SECONDS 1.0
int put_settle(struct put *p, struct error *err);
int put_due(struct put *p, struct error *err);

/* Sync the directories that files were renamed in since the last time. */
int put_sync(struct put *p, struct error *err);

/*
 * Make the files that have only an image, and put all that are not in place
 * there, kind after kind, each kind on disk before the next.  On error what was
 * renamed stays.  ERROR_CORRUPT: not all bytes of a file were written.
 */
int put_commit(struct put *p, struct error *err);

#endif /* TRANSFER_PUT_H */
