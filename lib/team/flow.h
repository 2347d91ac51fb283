/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.h - the members of a redundancy set compute strings of it together, as a
 * solution says (scheme/solve.h): all bodies, when the set is written; what is
 * lost, in a rebuild.
 *
 * The jobs are cut into slices, numbered in one order that all members know.
 * The inputs of a slice are sent to one of the members that have some, in turn.
 * This member computes, and sends each result to the member whose string it is.
 * So the work is spread, and a member only receives what it has lost.  Every
 * member works on its slices in order, as many at a time as its memory holds.
 * The lowest unfinished slice is the next one of all its members, so there is
 * no deadlock.
 */
#ifndef TEAM_FLOW_H
#define TEAM_FLOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheme/solve.h"

struct error;

struct flow_job {
	MPI_Comm comm;
	const uint32_t *ranks; /* by member: its rank in `comm` */
	/* By member: length of its data string; zeros follow, which are not
	 * sent. */
	const uint64_t *bytes;
	uint32_t me; /* this member */
	const struct solution *solution;
	uint64_t buffer; /* largest message in bytes; the same for all */
	/* Read, or write, `len` bytes at `at` of the data string of this
	 * member, or of its body. */
	int (*read)(void *arg, bool body, uint64_t at, char *data, size_t len,
		    struct error *err);
	int (*write)(void *arg, bool body, uint64_t at, const char *data,
		     size_t len, struct error *err);
	void *arg;
};

/* How to compute all bodies of a set from data strings of these lengths;
 * set.member is not needed.  For solution_free(). */
int flow_bodies(struct solve_set set, const uint64_t *bytes,
		struct solution *out, struct error *err);

struct flow; /* opaque */

/* Allocate all memory for flow_run(); `j` is borrowed.  NULL:  ERROR_NOMEM. */
struct flow *flow_new(const struct flow_job *j, struct error *err);
void flow_free(struct flow *f); /* NULL is ignored */

/*
 * Collective over the members, each of which has a flow.  A member that cannot
 * read or write, or has failed before (`rc` below 0), still takes part to the
 * end: the result is that of this rank alone.
 */
int flow_run(struct flow *f, int rc, struct error *err);

#endif /* TEAM_FLOW_H */
