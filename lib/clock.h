/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - elapsed time and the time of day. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* Seconds since an unspecified start, by CLOCK_MONOTONIC, which nobody can set.
 * Cannot fail. */
double clock_seconds(void);

/* Seconds since 1970. */
int64_t clock_now(void);

#endif /* CLOCK_H */
