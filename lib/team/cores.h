/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cores.h - threads that copy (SCR_FLUSH_TYPE=PTHREAD), and where they run: on
 * cores of the rank's NUMA node that no other rank of the node is bound to.
 * The topology is hwloc's.  Threads do not call MPI.
 */
#ifndef TEAM_CORES_H
#define TEAM_CORES_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

struct cores; /* opaque: those of this rank */
struct error;
struct par;
struct team;

/* Limit for one rank: more threads do not make a file system faster. */
#define CORES_MOST 16

/* Find the cores of this rank among the ranks of its node, if any rank of the
 * job `wants` threads, which is the same on all; else *out is NULL.  Without a
 * topology from hwloc the rank has no cores.  Collective.  ERROR_NOMEM. */
int cores_find(const struct team *world, const struct team *node, bool wants,
	       struct cores **out, struct error *err);
void cores_free(struct cores *c);

/* Start threads that copy, for par_free().  The caller is one of them, and is
 * not bound to a core.  NULL: copy without threads. */
struct par *cores_pool(const struct cores *c);

/* Bind the calling thread to all of these cores, if there are any.  True: no
 * rank is bound to one of them. */
bool cores_enter(const struct cores *c);

/*
 * Set `out` to the processing units of rank `me`, one in each of its cores.
 * bound[i] are the units to which the i-th of the `n` ranks of the node is
 * bound.  Ranks that are bound to the same cores divide them.  Cores to which
 * no rank is bound are divided among the ranks of their NUMA node.  Pure.
 * ERROR_NOMEM.
 */
int cores_share(hwloc_topology_t t, hwloc_bitmap_t const *bound, uint32_t n,
		uint32_t me, hwloc_bitmap_t out, struct error *err);

#endif /* TEAM_CORES_H */
