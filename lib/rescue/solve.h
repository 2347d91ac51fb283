/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.h - which bytes of a redundancy set can be computed from which
 * others.  Pure: knows sizes and losses, reads no file.
 *
 * A set has members; each has a data string (its files end to end) and a body
 * (of its redundancy file).  Losses are byte ranges of data strings, and whole
 * bodies: a member that lost one small file has lost only those bytes, so two
 * members may each have lost something and the set still be saved, as long as
 * no byte position of a stripe has more losses than checks.
 *
 * The result is a list of jobs.  A job computes equal stretches of the lost
 * strings (out) from equal stretches of strings that are there (in); jobs are
 * independent of each other and of any order.
 */
#ifndef RESCUE_SOLVE_H
#define RESCUE_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct error;
struct recipe;

struct solve_range {
	uint64_t from, to; /* to > from */
};

struct solve_member {
	uint64_t bytes; /* length of the data string */
	uint64_t body;	/* length of the body */
	bool body_lost;
	size_t nlost;
	const struct solve_range
		*lost; /* of the data string: ascending, apart */
};

struct solve_set {
	enum redset_type type;
	uint32_t n;	   /* members */
	uint32_t failures; /* replicas, or check chunks (redset_desc) */
	uint64_t chunk;	   /* XOR, RS */
	const struct solve_member *member; /* n of them */
};

/* Where a stretch starts. */
struct solve_ref {
	uint32_t member;
	bool body;
	uint64_t off;
};

struct solve_job {
	const struct recipe *recipe; /* NULL: every out is a copy of in[0] */
	uint64_t len;
	uint32_t stripe; /* of the set; scheme.apart: whose data they are */
	uint32_t nin, nout;
	struct solve_ref *in, *out;
};

/* Bytes for which no solution exists. */
struct solve_lost {
	uint32_t member;
	bool body;
	struct solve_range range;
};

struct solution {
	size_t njobs;
	struct solve_job *jobs;
	size_t nlost;
	struct solve_lost *lost; /* empty: everything can be computed */
	struct arena *arena;	 /* owns the lists */
	struct recipe **recipes;
	size_t nrecipes;
};

/*
 * Solve.  Returns 0 also where something stays lost (solution.nlost > 0); -1:
 * ERROR_NOMEM, ERROR_CORRUPT (geometry against the limits of the code).  For
 * solution_free().
 */
int solve(const struct solve_set *set, struct solution *out, struct error *err);
void solution_free(struct solution *s);

#endif /* RESCUE_SOLVE_H */
