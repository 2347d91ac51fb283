/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.h - write files and put them in place: the one way in which rescued data
 * get their final names.
 *
 * Data flow.  A file is added with its path, size and attributes.  The first
 * put_open() creates a temporary file (temp.h) in the same directory.  Any
 * number of threads may write to it.  When all bytes are counted, the file is
 * full: its attributes are completed, and it waits in a queue.  The files of a
 * full queue are synced together, because after the first sync a file system
 * has usually written most of the log that the others need.  A synced file gets
 * its name by a rename: at once if the options say so, otherwise when
 * put_commit() puts all files in place, kind after kind.  A directory is synced
 * once for all renames in it.
 *
 * Calls.  On a parallel file system each call sends a message to a server, so a
 * file costs only six calls: open, write, set times, fsync, rename, close.  The
 * owner, group and mode that a directory gives to new files are looked up once
 * per directory.  A file is opened with its final mode, except if its owner has
 * to be changed: then it is private (0600) until its owner is set.
 *
 * Ownership.  The engine owns temporary files and their descriptors from
 * put_open() on; put_free() removes the files that did not get their names.
 * The caller owns what a struct put_what points to, and keeps it until
 * put_free().
 *
 * Other processes.  Two processes must not write the same file at the same
 * time: the caller holds a lock.  If the file system has no locks, the caller
 * sets `unlocked`: then the second process takes over, and the first one fails
 * with EBUSY before its rename.
 *
 * Threads.  put_open(), put_wrote(), put_write(), put_drop(), put_settle() and
 * put_sync() may be called by any thread at any time.  The other functions are
 * for one thread while no other thread uses the engine.
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
struct owner;
struct par;
struct put;	 /* opaque: the engine */
struct put_file; /* opaque: one file of it */
struct work;

/* The order in which put_commit() puts files in place: a rank's files, the
 * files that protect them, and last the filemap that names them.  A rebuild
 * writes a descriptor only together with its redundancy file.  So the
 * descriptor comes first: if an interruption left the redundancy file alone,
 * the next run would not write the descriptor. */
enum put_kind { PUT_FILE, PUT_DESCRIPTOR, PUT_REDUNDANCY, PUT_MAP, PUT_KINDS };

struct put_what {
	enum put_kind kind;
	int dirfd;		 /* root of `path` */
	const char *path;	 /* clean, beneath dirfd */
	uint64_t size;		 /* in bytes */
	const struct attr *attr; /* mode, owner, times; NULL: only `mode` */
	mode_t mode;		 /* exact, no umask; 0: 0666 & ~umask */
	const void *image;	 /* the first bytes, or all; NULL: none */
	size_t image_size;
	/* The file will be read back from the disk: drop it from the page
	 * cache. */
	bool reread;
	/* A file with other contents has the name; see struct put_guard. */
	bool replaces;
	bool kept; /* by put_undo() */
	/* If it is large, take up the temporary file that an interrupted run
	 * left: bytes that it has are not written again.  It is locked, so that
	 * a run which is not dead loses its file to nobody.  Ignored
	 * with `unlocked`. */
	bool resume;
	/* Another process has made the temporary file, and gives it its name.
	 * put_commit() only syncs what was written, of which `size` is the
	 * number of bytes. */
	bool lent;
	void *arg; /* for the caller */
};

/*
 * Called once by put_commit(), before its first rename, if there are files of
 * kind PUT_FILE or files that replace others: another owner of their paths must
 * be recorded first. -1: nothing is renamed.
 */
struct put_guard {
	int (*fn)(void *arg, const struct put *p, struct error *err);
	void *arg;
	/* Called by put_free() after fn, if put_commit() then failed or
	 * put_undo() was called: perhaps no file was replaced.  NULL: none. */
	void (*failed)(void *arg);
};

struct put_options {
	struct par *par; /* threads of put_commit(); NULL: only the caller */
	bool at_once;	 /* rename each file as soon as it is synced */
	bool unlocked;	 /* another process may put the same files */
	bool tidy;  /* although unlocked, remove directories that it has made */
	bool alone; /* one thread writes files, until put_commit(): the threads
		       of `par` sync what it has queued */
	/* Where it is said, once, that the file system refuses modes, owners
	 * or times, which is no error.  NULL: nowhere. */
	const struct work *work;
	bool made; /* the directories exist, and their names are on disk */
	/* The owner of new files (create.h).  NULL: it is looked up. */
	const struct owner *owner;
	struct put_guard guard; /* fn NULL: none */
	/* Called when a file that is `lent` was opened: does its owner still
	 * want it?  False: ESTALE. */
	bool (*still)(void *arg);
	/* Called for each file that got its name, with the modification time
	 * that the file system stored.  Any thread may call it; -1 is passed on
	 * as a failure.  NULL: none. */
	int (*placed)(void *arg, const struct put_what *what,
		      const struct timespec *mtime, struct error *err);
	void *arg;
};

/* Create an engine, to be freed by put_free().  NULL: ERROR_NOMEM. */
struct put *put_new(const struct put_options *o, struct error *err);

/* Free the engine and remove the temporary files of all files that are not in
 * place, and the directories that were made for them.  NULL is ignored. */
void put_free(struct put *p);

/* Let put_free() leave the temporary files, for the next run (`resume`). */
void put_keep(struct put *p);

/* Add a file.  It is freed with the engine.  NULL: ERROR_NOMEM. */
struct put_file *put_add(struct put *p, const struct put_what *what,
			 struct error *err);

/* Set mode and times of the directory `path` in put_commit(), if the engine
 * makes it.  A directory without added files in or below it is ignored. */
void put_dir(struct put *p, int dirfd, const char *path,
	     const struct attr *attr);

/* What was added.  `replaces`, `kept` may be set before put_commit(); `size`,
 * if it was not known, before the last put_wrote(). */
struct put_what *put_what(struct put_file *f);

/* The number of files, and file `i` in the order of put_add(). */
size_t put_count(const struct put *p);
struct put_file *put_at(const struct put *p, size_t i);

/* Remove whatever an interrupted run left under the temporary names of the
 * added files and of their directories, to make room. */
int put_clear(struct put *p, struct error *err);

/* room_check() for all files. */
int put_check_room(const struct put *p, const char *what, struct error *err);

/*
 * put_open() returns a descriptor to write to, borrowed until put_wrote(); the
 * first call creates the temporary file and writes the image.  put_wrote()
 * counts `len` bytes as written; when all bytes of the file are counted, the
 * file is full.  A file of 0 bytes needs one put_wrote() with 0.
 */
int put_open(struct put_file *f, struct error *err);
int put_wrote(struct put_file *f, uint64_t len, struct error *err);

/* Make the temporary file, for other processes to write to, unless it exists;
 * and count bytes that they have written and synced.  As they may have failed,
 * all bytes are written, also zeros. */
int put_lend(struct put_file *f, struct error *err);
int put_wrote_elsewhere(struct put_file *f, uint64_t len, struct error *err);

/* Is this a file that was taken up?  Then all bytes have to be written, as what
 * it has is not known. */
bool put_resumed(const struct put_file *f);

/* Between the two: write `len` bytes at offset `off` to `fd`, and start to
 * write them to disk.  Long runs of zeros become holes. */
int put_pwrite(struct put_file *f, int fd, const void *data, size_t len,
	       uint64_t off, struct error *err);

/* put_open(), put_pwrite(), put_wrote(). */
int put_write(struct put_file *f, const void *data, size_t len, uint64_t off,
	      struct error *err);

/* Abandon a file after put_open(), instead of put_wrote(): its temporary file
 * is removed. */
void put_drop(struct put_file *f);

/* Sync the files in the queue if the oldest one has waited for `seconds`.  If
 * the node dies, the files without a name are lost. */
#define PUT_SECONDS 1.0 /* a good wait */
int put_settle(struct put *p, double seconds, struct error *err);

/* Sync, with the threads of `par` (NULL: the caller only), the directories in
 * which files were renamed since the last put_sync(). */
int put_sync(struct put *p, struct par *par, struct error *err);

/*
 * Write the files that consist of an image only, then put all remaining files
 * in place, kind after kind; each kind is on disk before the next one.  On
 * error, files that were renamed stay.  ERROR_CORRUPT: not all bytes of a file
 * were written.
 */
int put_commit(struct put *p, struct error *err);

/*
 * Remove the files that are in place, except those that are `kept`: files that
 * replaced others, for instance.  put_free() then removes the directories, too.
 */
void put_undo(struct put *p);

#endif /* TRANSFER_PUT_H */
