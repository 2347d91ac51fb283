/* SPDX-License-Identifier: BSD-3-Clause */
/* pace.h - limits of a copy that others are not to feel: its rate, its share of
 * the time, and whether it has to end. */
#ifndef PACE_H
#define PACE_H

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
	/* clock_seconds() until which the bytes so far may take; 0: none. */
	_Atomic double due;
	double start; /* the same, of the start; for `percent` */
	double block; /* the same, of the block; 0: the first */
	double owed;  /* seconds to rest for the blocks so far */
};

/* Call after each block of `len` bytes: wait as long as the limits say.  False:
 * the copy has to end. */
bool pace_keep(struct pace *p, uint64_t len);

#endif /* PACE_H */
