/* SPDX-License-Identifier: BSD-3-Clause */
/* pace.h - limits of a copy that others are not to feel: its rate, its share of
 * the time, and whether it has to end. */
#ifndef TRANSFER_PACE_H
#define TRANSFER_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What all threads of a copy share. */
struct pace {
	uint64_t rate; /* bytes per second of all; 0: no limit */
	/* Of the time that may be spent copying, by one thread alone; 0: all
	 * of it. */
	double percent;
	bool (*stop)(void *arg); /* asked ten times a second; NULL: never */
	void *arg;
	double start; /* clock_seconds() */
	double block; /* the same, of the block; 0: the first */
	double owed;  /* seconds to rest for the blocks so far */
	_Atomic uint64_t done;
};

/* Call after each block of `len` bytes: wait as long as the limits say.  False:
 * the copy has to end. */
bool pace_keep(struct pace *p, uint64_t len);

#endif /* TRANSFER_PACE_H */
