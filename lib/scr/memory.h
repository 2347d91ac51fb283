/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.h - devices in memory: STORE lines with TYPE=MEMORY.
 *
 * The directory BASE/USER of such a device is a store (store/store.h).  The
 * files that libscr writes there are written at the speed of memory.  Those of
 * the application are, too, if libscr_preload.so is preloaded.  A rank of each
 * node has a thread that tends the store; it does not call MPI.
 */
#ifndef SCR_MEMORY_H
#define SCR_MEMORY_H

#include <stdbool.h>

struct device;
struct run;

/* Make the stores, repair what killed processes left there, and use them.  A
 * directory that cannot be a store is an ordinary cache, with a warning.
 * Collective. */
void memory_begin(struct run *run);

/*
 * Start the threads, after the restart.  First they measure a new store, for a
 * second.  With the preloaded library they then fill the pool: for each rank of
 * the node as many files as a rank has in the newest dataset in this store, and
 * one more, of the mean size of these files; without a dataset, two for each
 * rank, which divide POOL.
 */
void memory_tend(struct run *run);

/* The directory `name` in the open `fd` will be deleted: delete the copies of
 * its spilled files. */
void memory_forget(const struct device *st, int fd, const char *name);

/* While the application writes a dataset, the threads do little. */
void memory_pause(struct run *run, bool pause);

void memory_end(struct run *run);

#endif /* SCR_MEMORY_H */
