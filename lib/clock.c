/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <time.h>

double
clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t
clock_now(void)
{
	return (int64_t)time(NULL);
}
