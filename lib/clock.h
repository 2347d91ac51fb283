/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - elapsed time and the time of day. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds since an unspecified start, by CLOCK_MONOTONIC, which nobody can set.
 * Cannot fail. */
static inline double
clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds since 1970. */
static inline int64_t
clock_now(void)
{
	return (int64_t)time(NULL);
}

#endif /* CLOCK_H */
