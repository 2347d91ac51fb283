/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.h - compute the redundancy sets from failure groups (scr-redset(5)).
 * Pure: every rank calls it with the same table and finds its own set without
 * messages.
 *
 * No set has two members that fail together.  As in LLNL's library, the ranks
 * with the same number within their groups form sets of about the same size.
 * If groups have different sizes, some ranks remain: each joins a set that has
 * no member of its group yet.  If there is no such set, the rank is a set of
 * its own, of type SINGLE: it is not protected.
 */
#ifndef TEAM_SETS_H
#define TEAM_SETS_H

#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct error;

struct sets_job {
	const uint32_t *group; /* by rank: the ranks with the same number, which
				  is below nranks, fail together */
	uint32_t nranks;
	enum redset_type type;
	/* minimum size of a set, if there are as many groups; at least failures
	 * + 1 */
	uint32_t size;
	uint32_t failures; /* RS: losses that a set must tolerate */
};

/* The set of one rank. */
struct sets_mine {
	/* SINGLE: not protected.  XOR instead of RS if the set tolerates only
	 * one loss. */
	enum redset_type type;
	uint32_t failures;  /* as in struct redset_desc */
	uint32_t set, sets; /* its number, from 0; number of sets */
	uint32_t member, members;
	const uint32_t *ranks; /* by member: ranks of the job */
	/* The same on all ranks, for a warning: */
	uint32_t alone; /* ranks that should be protected, but are not */
	/* ranks whose set tolerates fewer losses than configured */
	uint32_t weaker;
};

/* Find the set of `rank`, in memory of `a`.  O(nranks).  ERROR_NOMEM. */
int sets_find(const struct sets_job *j, uint32_t rank, struct arena *a,
	      struct sets_mine *out, struct error *err);

#endif /* TEAM_SETS_H */
