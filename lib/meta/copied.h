/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copied.h - copied_R.scr in PREFIX/.scr/scr.dataset.ID: the files of rank R
 * that were copied to the prefix from a cache, with their checksums.  The file
 * is our own; LLNL's programs ignore the name.  A repeated copy skips the files
 * listed here, and the index takes their checksums from here instead of reading
 * the data again.
 *
 *   FILE -> { <path relative to the prefix> -> { SIZE, CRC, MTIME_SECS,
 *   MTIME_NSECS } ... }, for files of the job and redundancy files.
 *   DSETDESC -> { the dataset's descriptor in the cache index }, if that has
 *   one: on the prefix, flush.scr may be missing.
 */
#ifndef META_COPIED_H
#define META_COPIED_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct arena;
struct buf;
struct error;
struct kvtree;

struct copied_file {
	const char *path; /* clean, relative to the prefix */
	uint64_t size;
	uint32_t crc;
	struct timespec mtime; /* as stored by the file system; if it differs
				  now, the file was changed */
};

struct copied {
	size_t nfiles;
	struct copied_file *files; /* in the order of copied_R.scr */
};

/*
 * Read the view of tree `t`; all strings are copied into `arena`.
 * ERROR_CORRUPT: a path that is not clean, numbers that are missing or out of
 * range.
 */
int copied_read(const struct kvtree *t, struct arena *arena, struct copied *out,
		struct error *err);

/*
 * Call fn with the descriptor of each record in directory `fd` (for messages:
 * `what`) until it returns another value than 0, and return that value.  All
 * records have the same one; those that cannot be read are left out.
 */
int copied_each_desc(int fd, const char *what,
		     int (*fn)(void *arg, const struct kvtree *desc,
			       struct error *err),
		     void *arg, struct error *err);

/* Append the encoded file to `out`.  The paths must be unique; the children of
 * `desc` are the descriptor, NULL: none. */
int copied_encode(const struct copied *c, const struct kvtree *desc,
		  struct buf *out, struct error *err);

/* "copied_12.scr" -> 12; anything else: -1. */
int64_t copied_name_rank(const char *name);

/* Write "copied_<rank>.scr" into `to`, and return `to`. */
#define COPIED_NAME_MAX 40
char *copied_name(char to[static COPIED_NAME_MAX], int64_t rank);

#endif /* META_COPIED_H */
