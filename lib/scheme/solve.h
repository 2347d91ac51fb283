/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.h - which bytes of a redundancy set can be computed from which others.
 * Pure: works on sizes and losses, reads no file.
 *
 * A set has members; each has a data string (its files end to end) and a body
 * (the part of its redundancy file after the header).  A loss is a byte range
 * of a data string, or a whole body.  A member that lost one small file has
 * lost only those bytes.  So two members may each have lost a file and the set
 * can still be rebuilt, if no byte position of a stripe has more losses than
 * check chunks.
 *
 * The result is a list of jobs.  A job computes equally long ranges of lost
 * strings (out) from ranges of present strings (in).  Jobs are independent of
 * each other and can run in any order.
 */
#ifndef SCHEME_SOLVE_H
#define SCHEME_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct error;
struct recipe;

struct solve_range {
	uint64_t from, to; /* to > from; num_by_u64() */
};

struct solve_member {
	uint64_t bytes; /* length of the data string */
	uint64_t body;	/* length of the body */
	bool body_lost;
	size_t nlost;
	const struct solve_range
		*lost; /* ranges of the data string: ascending, not
			  overlapping */
};

struct solve_set {
	enum redset_type type;
	uint32_t n;	   /* members */
	uint32_t failures; /* replicas (PARTNER) or check chunks (XOR, RS); see
			      redset_desc */
	uint64_t chunk;	   /* chunk size in bytes; only for XOR and RS */
	const struct solve_member *member; /* n of them */
};

/* Start of a byte range in a string. */
struct solve_ref {
	uint32_t member;
	bool body;
	uint64_t off;
};

struct solve_job {
	const struct recipe *recipe; /* NULL: each output is a copy of in[0] */
	uint64_t len;
	uint32_t stripe; /* stripe of the set; if scheme.apart: the member that
			    owns the data */
	uint64_t from;	 /* where in the chunks, or in the owner's data */
	uint32_t nin, nout;
	struct solve_ref *in, *out;
};

/* Bytes that cannot be computed. */
struct solve_lost {
	uint32_t member;
	bool body;
	struct solve_range range;
};

struct solution {
	size_t njobs;
	struct solve_job *jobs;
	size_t nlost;
	struct solve_lost *lost; /* if empty, everything can be computed */
	struct arena *arena;	 /* owns the refs of the jobs */
	struct recipe **recipes;
	size_t nrecipes;
};

/*
 * Find out how to compute all lost bytes of `set`.  Returns 0 even if some
 * bytes cannot be computed (solution.nlost > 0), or -1: ERROR_NOMEM,
 * ERROR_CORRUPT (the code does not support this geometry).  The caller frees
 * *out with solution_free().
 */
int solve(const struct solve_set *set, struct solution *out, struct error *err);

/*
 * Find out what can be compared: where more strings are left than are needed to
 * compute all others, the jobs compute these surplus ones (out, which are
 * present, too).  With SOLVE_BESIDE_LOSSES only what a computation of the
 * losses depends on: XOR and RS read files of all members, so that is every
 * stripe; of PARTNER it is the data that lack a copy.  out->nlost is 0.
 */
enum solve_check { SOLVE_ALL, SOLVE_BESIDE_LOSSES };
int solve_check(const struct solve_set *set, enum solve_check where,
		struct solution *out, struct error *err);
void solution_free(struct solution *s);

#endif /* SCHEME_SOLVE_H */
