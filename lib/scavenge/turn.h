/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - one scavenge at a time works on a prefix, and no job starts there
 * meanwhile.
 *
 * A scavenge holds the lock CATALOGUE_SCAVENGE_LOCK; the file names its job,
 * host and process, for those who wait.  A starting job shares the lock with
 * others that start, so it excludes a scavenge only.
 */
#ifndef SCAVENGE_TURN_H
#define SCAVENGE_TURN_H

#include <stdint.h>

struct error;
struct work;

/* Seconds to wait by default: long enough for most scavenges. */
#define TURN_SECONDS 600

struct turn {
	const char *prefix; /* for messages */
	uint64_t seconds;   /* longest wait; 0: none */
	const char *job;    /* whose scavenge it is; NULL: a job starts */
	const struct work *work;
};

/*
 * Wait for the lock in PREFIX/.scr, open as `scr`.  The wait is reported once.
 * Returns a value for turn_end(), or -1: ERROR_SYSTEM, a scavenge still held
 * the lock after t->seconds, or a stop was requested.  On a file system without
 * locks, return -2 and report that.
 */
int turn_take(int scr, const struct turn *t, struct error *err);

/* Release it.  A value < 0 is ignored. */
void turn_end(int lock);

#endif /* SCAVENGE_TURN_H */
