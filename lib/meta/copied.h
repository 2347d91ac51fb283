/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copied.h - copied_R.scr in PREFIX/.scr/scr.dataset.ID: what of rank R was
 * copied there from a cache, and its checksums.  Ours alone: LLNL's programs
 * do not look at files of that name.  By it a second copy knows what is right
 * already, and the index gets checksums without a second look at the data.
 *
 * FILE -> { <path relative to the prefix> -> { SIZE, CRC, MTIME_SECS,
 * MTIME_NSECS } ... }, files of the job and of its redundancy alike.
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
	struct timespec mtime; /* as the file system kept it: another time, and
				  somebody has changed the file */
};

struct copied {
	size_t nfiles;
	struct copied_file *files; /* in the order of the file */
};

/*
 * Read the view of tree `t`; all strings are copied into `arena`.
 * ERROR_CORRUPT: a path that is not clean, numbers that are missing or out of
 * range.
 */
int copied_read(const struct kvtree *t, struct arena *arena, struct copied *out,
		struct error *err);

/* The whole file, appended to `out`.  No path may come twice. */
int copied_encode(const struct copied *c, struct buf *out, struct error *err);

/* "copied_12.scr" -> 12; anything else: -1. */
int64_t copied_name_rank(const char *name);

/* "copied_<rank>.scr" into `to`. */
#define COPIED_NAME_MAX 40
char *copied_name(char to[static COPIED_NAME_MAX], int64_t rank);

#endif /* META_COPIED_H */
