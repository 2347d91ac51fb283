/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - how long something takes.
 */
#ifndef CLOCK_H
#define CLOCK_H

/* Seconds since some moment in the past, by a clock that nobody sets
 * (clock_gettime(2), CLOCK_MONOTONIC).  Cannot fail. */
double clock_seconds(void);

#endif /* CLOCK_H */
