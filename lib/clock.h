/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - how long something takes, and what time it is.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* Seconds since some moment in the past, by a clock that nobody sets
 * (clock_gettime(2), CLOCK_MONOTONIC).  Cannot fail. */
double clock_seconds(void);

/* Seconds since 1970. */
int64_t clock_now(void);

#endif /* CLOCK_H */
