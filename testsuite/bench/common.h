/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - for the benchmarks: time, and the median.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

/* Seconds. */
double now(void);

/* Sorts v[n]. */
double median(double *v, int n);

#endif
