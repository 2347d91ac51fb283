/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.h - send the pieces of the data strings of a set to the members that
 * code or keep them, and make the bodies of the redundancy files from them
 * (scr-redset(5)).
 *
 * In step t every member sends a piece of another stripe, so that no member
 * receives from all at once.  All members have the same order of steps, and
 * messages of a step wait only for those of earlier steps, so there is no
 * deadlock.
 */
#ifndef TEAM_FLOW_H
#define TEAM_FLOW_H

#include <stdint.h>

#include "meta/redset.h"

struct error;
struct source;
struct team;

struct flow_job {
	const struct team *members;
	enum redset_type type;
	uint32_t failures;
	const uint64_t *bytes; /* by member: length of its data string */
	uint64_t chunk;	       /* XOR, RS */
	uint64_t buffer;       /* largest message in bytes; the same for all */
	struct source *source;
	int fd; /* the body is written to it at `body` */
	uint64_t body;
	const char *name; /* of fd, for errors */
};

struct flow; /* opaque */

/* Allocate all memory for flow_run().  NULL:  ERROR_NOMEM. */
struct flow *flow_new(const struct flow_job *j, struct error *err);
void flow_free(struct flow *f); /* NULL is ignored */

/*
 * Read the data string, send, receive, code and write the body.  Collective
 * over the members, each of which has a flow.  A member that cannot read or
 * write still takes part to the end: the result is that of this rank alone.
 */
int flow_run(struct flow *f, struct error *err);

#endif /* TEAM_FLOW_H */
