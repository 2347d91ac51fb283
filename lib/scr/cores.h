/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cores.h - threads that copy (SCR_FLUSH_TYPE=PTHREAD), and where they run: on
 * cores of the rank's NUMA node that no other rank of the node is bound to.
 * The topology is hwloc's.  Threads do not call MPI.
 */
#ifndef SCR_CORES_H
#define SCR_CORES_H

#include <hwloc.h>
#include <stdint.h>

struct cores; /* opaque: those of this rank */
struct error;
struct run;
struct store;

/* More threads of a rank do not help a file system. */
#define CORES_MOST 16

/* Find them, if a store asks for threads.  NULL, without error: none does, or
 * hwloc knows nothing.  run->node and run->stores must be made.  Collective.
 * ERROR_NOMEM. */
int cores_find(struct run *run, struct cores **out, struct error *err);
void cores_free(struct cores *c);

/* Threads to copy from or to the store, for par_free(); NULL: the caller copies
 * alone.  The caller is one of them, and stays where it is. */
struct par *cores_pool(const struct cores *c, const struct store *st);

/*
 * Which processing units are those of rank `me`, one in each core; bound[i]: to
 * which the i-th of `n` ranks of the node is bound.  Ranks that are bound to
 * the same cores share them, and so do those of a NUMA node the cores to which
 * no rank is bound.  Pure.  ERROR_NOMEM.
 */
int cores_share(hwloc_topology_t t, hwloc_bitmap_t const *bound, uint32_t n,
		uint32_t me, hwloc_bitmap_t out, struct error *err);

#endif /* SCR_CORES_H */
