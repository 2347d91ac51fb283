/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pacing.h - should the job checkpoint now, should it stop (libscr.md 11).  The
 * conditions to stop are those of the halt file (site/halt.h).
 *
 * Rank 0 decides, and tells the others: all functions are collective over the
 * job, and cost one broadcast of a number at most.  A halt file that is damaged
 * or cannot be read stops the job, as it may have held any condition.
 */
#ifndef SCR_PACING_H
#define SCR_PACING_H

#include <stdbool.h>
#include <stdint.h>

struct run;

struct pacing {
	uint64_t asked;	      /* calls of pacing_need() */
	double last;	      /* end of the last checkpoint, or the start */
	double spent;	      /* seconds of all checkpoints */
	uint64_t checkpoints; /* of this run */
	int64_t end;	      /* of the allocation, as it was at `end_at` */
	double end_at;	      /* 0: not asked yet */
};

/* Of a new run: that the last one has finished by itself is forgotten. */
void pacing_begin(struct run *run);
/* The run ends by SCR_Finalize(): the halt file says so. */
void pacing_end(struct run *run);

bool pacing_need(struct run *run);	  /* SCR_Need_checkpoint() */
bool pacing_should_exit(struct run *run); /* SCR_Should_exit() */

/* A checkpoint is complete, which the application began at run->writes_since:
 * it counts in the halt file. */
void pacing_wrote(struct run *run);

/* With SCR_HALT_EXIT: must the job end now?  Then rank 0 says why, and the halt
 * file and the log get the reason. */
bool pacing_leave(struct run *run);

#endif /* SCR_PACING_H */
