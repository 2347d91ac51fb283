/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - shared by the references.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdint.h>

/* Print an error of the system, and end. */
void die(const char *what);

/* Run work() in this many threads, at most 64, and wait for all. */
void in_threads(unsigned threads, void *(*work)(void *));

/* Read the whole kvtree file and verify its checksum: `p` is its body. */
void read_tree(int dirfd, const char *name);

/* For walks over the bytes of a kvtree: what is read next. */
extern const unsigned char *p;
uint32_t count(void);
const char *key(void);

#endif /* BENCH_COMMON_H */
