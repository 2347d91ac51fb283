/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pacing.h - should the job checkpoint now, should it stop (scr(3))?  The
 * conditions to stop are those of the halt file (site/halt.h).
 *
 * Rank 0 decides: all functions are collective over the job, and cost one
 * broadcast of a number at most.  A halt file that is damaged or cannot be read
 * stops the job, as it may have held any condition.
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
	int64_t end;	      /* end of the allocation, as known at `end_at` */
	double end_at;	      /* 0: not queried yet */
};

/* Call at the start of a run: remove the reason with which the last run
 * finished by itself. */
void pacing_begin(struct run *run);
/* Call in SCR_Finalize(): record in the halt file that the run finished. */
void pacing_end(struct run *run);

bool pacing_need(struct run *run);	  /* SCR_Need_checkpoint() */
bool pacing_should_exit(struct run *run); /* SCR_Should_exit() */

/* Count a checkpoint in the halt file.  The application began it at
 * run->writes_since. */
void pacing_wrote(struct run *run);

/* With SCR_HALT_EXIT: must the job end now?  If so, rank 0 prints the reason,
 * and records it in the halt file and the log. */
bool pacing_leave(struct run *run);

#endif /* SCR_PACING_H */
