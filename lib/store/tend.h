/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tend.h - the work on a store that nobody waits for: clean the pages of
 * deleted files, repair what killed processes left, keep the limits.
 *
 * A process killed within a write leaves a file whose size may be beyond its
 * data (zeros).  The slot of the file records the size before that write;
 * tend_once() sets it again, when no process has the file open.
 */
#ifndef STORE_TEND_H
#define STORE_TEND_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct store;

struct tend_done {
	uint64_t cleaned;   /* files, added to the pool */
	uint64_t dropped;   /* files removed instead: no room in the pool */
	uint64_t recovered; /* files set back to the size of their data */
	uint64_t trimmed;   /* files whose spare pages were freed */
	uint64_t spilled;   /* files moved to the disk */
};

/* Do what there is to do.  `done` is added to.  ERROR_SYSTEM with errnum
 * EWOULDBLOCK: another process tends the store. */
int tend_once(struct store *s, struct tend_done *done, struct error *err);

/* Do it until stop() is true, asked at least ten times a second; also after an
 * error, the first of which is returned then. */
int tend_run(struct store *s, bool (*stop)(void *arg), void *arg,
	     struct tend_done *done, struct error *err);

/* Add `count` files of `size` bytes to the pool, spread over the NUMA nodes.
 * Ends early, without an error, when the pool is full or stop() says so. */
struct tend_populate {
	uint64_t size, count;
	bool (*stop)(void *arg); /* or NULL */
	void *arg;
	uint64_t added; /* set to 0 by the caller */
};
int tend_populate(struct store *s, struct tend_populate *p, struct error *err);

/* Measure from which size on a mapped copy is faster than write(2) in this
 * store, and record it. */
int tend_measure(struct store *s, struct error *err);

#endif /* STORE_TEND_H */
