/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.h - the pieces of the data strings of a set on their way to those who
 * code or keep them, and the bodies of the redundancy files made from them
 * (formats.md 5.4 to 5.7).
 *
 * In step t every member sends a piece of another stripe, so that nobody
 * receives from all at once.  The order of the steps is the same for all, and
 * messages of a step wait only for those of earlier steps: no deadlock.
 */
#ifndef SCR_FLOW_H
#define SCR_FLOW_H

#include <stddef.h>
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
	uint64_t buffer;       /* bytes of a message at most; the same for
				  all */
	struct source *source;
	int fd; /* gets the body at `body` */
	uint64_t body;
	const char *name; /* of fd, for errors */
};

struct flow; /* opaque */

/* Allocate all that flow_run() needs.  NULL: ERROR_NOMEM. */
struct flow *flow_new(const struct flow_job *j, struct error *err);
void flow_free(struct flow *f); /* NULL is ignored */

/* Read the data string, send, receive, code and write the body.  Collective
 * over the members, each of which has a flow.  A member that cannot read or
 * write takes part to the end: the result is that of this rank alone. */
int flow_run(struct flow *f, struct error *err);

#endif /* SCR_FLOW_H */
