/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.h - which ranks protect each other: redundancy sets made from failure
 * groups (formats.md 6).  Pure: every rank calls it with the same table and
 * finds its own set, so that no messages are needed.
 *
 * No set has two members that fail together.  The ranks with the same number
 * within their groups form sets of about the same size, as LLNL's library makes
 * them.  Where groups are of different sizes, ranks can be left over: each
 * joins a set that has no member of its group yet.  If there is none, the rank
 * is a set of its own, of type SINGLE: it is not protected.
 */
#ifndef SCR_SETS_H
#define SCR_SETS_H

#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct error;

struct sets_job {
	const uint32_t *group; /* by rank: the ranks with the same number, which
				  is below nranks, fail together */
	uint32_t nranks;
	enum redset_type type;
	uint32_t size;	   /* least members of a set, if there are as many
			      groups; at least failures + 1 are taken */
	uint32_t failures; /* RS: losses that a set shall survive */
};

/* The set of one rank. */
struct sets_mine {
	enum redset_type type; /* SINGLE: not protected.  XOR instead of RS if
				  the set survives one loss only. */
	uint32_t failures;     /* as in struct redset_desc */
	uint32_t set, sets;    /* its number, from 0; number of sets */
	uint32_t member, members;
	const uint32_t *ranks; /* by member: ranks of the job */
	/* The same on all ranks, for a warning: */
	uint32_t alone;	 /* ranks that are not protected, though asked for */
	uint32_t weaker; /* ranks whose set survives fewer losses than asked */
};

/* Find the set of `rank`, in memory of `a`.  O(nranks).  ERROR_NOMEM. */
int sets_find(const struct sets_job *j, uint32_t rank, struct arena *a,
	      struct sets_mine *out, struct error *err);

#endif /* SCR_SETS_H */
