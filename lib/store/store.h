/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - a directory of a memory file system whose files are written at the
 * speed of memory.
 *
 * The files of a store are ordinary files of the kernel: every program reads
 * and writes them as it does any file.  What is slow on such a file system is
 * the first touch of pages, and the copy by the kernel.  Both are avoided for
 * files that are created in a store:
 *
 * - The pool has files of size 0 whose pages are there already, zeroed, behind
 *   the end of the file.  Such a file is renamed to the name of a new file, so
 *   its size is right for everybody at any time.
 * - The process that created the file has it mapped.  A large write lets the
 *   kernel write its last bytes, which sets size and times and finds all errors
 *   that a write can have, and copies the rest past the cache (past.h).
 * - The pages of a file that is deleted go back to the pool: it is renamed, and
 *   cleaned when somebody has time (tend.h).
 *
 * STORE/.scrkit-store has what is needed for that:
 *   state     options, the slots of the pool, sizes of earlier files; mapped
 *             by all processes that use the store
 *   pool/N    the clean file of slot N
 *   dirty/X   deleted files that are not clean yet
 * All of it belongs to the owner of the store, and nobody else may enter.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdint.h>

struct error;
struct store;

#define STORE_META ".scrkit-store"

/* Files from this size on are worth recycling. */
#define STORE_FILE_LEAST ((uint64_t)1 << 20)

#define STORE_JOB_MAX 128
#define STORE_PATH_MAX 1024

struct store_options {
	uint64_t size; /* bytes of files and pool; 0: that of the file system */
	uint64_t pool; /* bytes of the pool; 0: half of the size */
	uint64_t spill_size;	    /* bytes below `spill`; 0: no limit */
	uint64_t spill_rate;	    /* to there, per second; 0: no limit */
	char spill[STORE_PATH_MAX]; /* absolute directory on a disk; "": none */
	char job[STORE_JOB_MAX];    /* the job that owns it, "" */
};

/*
 * Make the existing directory `dir` a store, or change the options of one.
 * ERROR_USAGE: not a directory of a memory file system, or not the caller's
 * alone to write to.
 */
int store_make(const char *dir, const struct store_options *o,
	       struct error *err);

/*
 * Open a store.  ERROR_ABSENT: `dir` is none.  ERROR_UNSAFE: the directory or
 * its state belongs to somebody else, or others may write to it.
 * ERROR_CORRUPT: the state is not one.
 */
struct store *store_open(const char *dir, struct error *err);
void store_close(struct store *s);

/* Files that are created with the name `name`, whatever digits it has, have
 * `size` bytes.  A hint, as are the sizes of earlier files: a small file takes
 * nothing from the pool. */
void store_expect(struct store *s, const char *name, uint64_t size);

const char *store_dir(const struct store *s); /* absolute, links resolved */
void store_options(const struct store *s, struct store_options *o);

struct store_status {
	uint64_t size, used, free; /* of the file system, bytes */
	uint64_t page;		   /* bytes of a page that a file got */
	uint64_t least;	       /* bytes from which on a write is a mapped copy;
			       0: never, it would be slower */
	uint64_t clean, dirty; /* bytes of the pool */
	uint64_t spilled;      /* bytes on the disk: for the caller */
	uint64_t clean_files, dirty_files;
	uint64_t taken_files;	 /* from the pool, being written */
	uint64_t orphans;	 /* of these, their process is gone */
	uint64_t node_clean[64]; /* `clean`, by NUMA node */
};
int store_status(const struct store *s, struct store_status *to,
		 struct error *err);

#endif /* STORE_STORE_H */
