/* SPDX-License-Identifier: BSD-3-Clause */
/* numa.h - on which NUMA node the pages of a file are allocated.  One thread
 * at a time. */
#ifndef STORE_NUMA_H
#define STORE_NUMA_H

struct numa;

/* NULL: nothing is known, and all calls below do nothing. */
struct numa *numa_open(void);
void numa_close(struct numa *n);

unsigned numa_count(const struct numa *n); /* at least 1 */

/* The calling thread allocates on node `i`, of numa_count(), if it has room.
 * Returns the number that the kernel gives it. */
unsigned numa_use(struct numa *n, unsigned i);

#endif /* STORE_NUMA_H */
