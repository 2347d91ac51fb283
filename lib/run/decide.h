/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decide.h - what a job does next, and the exit status of its wrapper.
 *
 * Both are functions of facts alone: nothing is asked or changed here.  The
 * rules are tried in the order of enum run_why; the first that applies decides.
 */
#ifndef RUN_DECIDE_H
#define RUN_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the last run of the program ended. */
enum run_end {
	RUN_NEVER,	 /* it has not run yet */
	RUN_OK,		 /* with status 0 */
	RUN_FAILED,	 /* with another status, or by a signal */
	RUN_NOT_STARTED, /* the launcher or the program cannot be started */
	RUN_HUNG,	 /* ended by the watchdog */
	RUN_STOPPED,	 /* ended because the wrapper was asked to stop */
};

enum run_halt {
	RUN_HALT_NONE,
	RUN_HALT_MET,
	RUN_HALT_FINISHED, /* the program has called SCR_Finalize */
	RUN_HALT_UNKNOWN,
};

/* A program that fails again so soon, without a new dataset, is not started a
 * third time. */
#define RUN_SOON 30 /* seconds */
#define RUN_FUTILE 2

/* Nor is one without an end to the number of runs that has failed so often in a
 * row, however late. */
#define RUN_FRUITLESS 5

struct run_facts {
	enum run_end end;
	int signal; /* that asked the wrapper to stop; 0: none */
	bool late;  /* no time is left but for saving the caches */
	enum run_halt halt;
	/* Runs in a row that failed and completed no dataset, not counting
	 * those whose restart libscr counts, or that lost a node; and of them,
	 * those within RUN_SOON seconds. */
	unsigned fruitless, futile;
	int64_t runs_left; /* -1: no limit */
	bool nodes_known;
	size_t usable, needed; /* nodes, if known */
};

enum run_why {
	RUN_WHY_DONE,	  /* the program ended with 0, and not for a halt */
	RUN_WHY_SIGNAL,	  /* the wrapper was asked to stop */
	RUN_WHY_HALT,	  /* a halt condition is met */
	RUN_WHY_FINISHED, /* the program had come to its end */
	RUN_WHY_LATE,	  /* the allocation ends */
	RUN_WHY_CANNOT,	  /* the program cannot be started */
	RUN_WHY_DAMAGED,  /* the halt file cannot be read: it may say stop */
	RUN_WHY_RUNS,	  /* SCR_RUNS */
	RUN_WHY_FUTILE,	  /* it fails again and again */
	RUN_WHY_FRUITLESS,
	RUN_WHY_NODES, /* too few are left */
	RUN_WHY_START, /* launch: it has not run yet */
	RUN_WHY_AGAIN, /* launch: it failed, and another run may succeed */
};
#define RUN_WHYS (RUN_WHY_AGAIN + 1)

/* Why the program is launched now (START, AGAIN), or no more (any other). */
enum run_why run_decide(const struct run_facts *f);

/* Does this reason mean: launch? */
static inline bool
run_launches(enum run_why why)
{
	return why >= RUN_WHY_START;
}

/* The reason as a clause for messages. */
const char *run_why_text(enum run_why why);

/*
 * Exit statuses of the wrapper beside those of the program.  env(1) and
 * timeout(1) use some of them in the same sense.
 */
enum {
	RUN_STATUS_LOST = 121,	  /* the program succeeded; data are lost */
	RUN_STATUS_OLDER = 122,	  /* ... only an older checkpoint is saved */
	RUN_STATUS_UNKNOWN = 123, /* ... it is unknown what is saved */
	RUN_STATUS_HUNG = 124,	  /* the last run was ended by the watchdog */
	RUN_STATUS_FAILED = 125,  /* the wrapper failed: nothing was run */
	RUN_STATUS_EXEC = 126,	  /* the launcher cannot be executed */
	RUN_STATUS_MISSING = 127, /* the launcher does not exist */
};

/* The status if everything is saved, and the program is not launched again
 * because of `why`: the program's own (`status`: exit status, or 128 + signal)
 * if the program decided.  A halt, the end of the time and SIGUSR1 are no
 * failure: `again`, the status if the job is to be submitted again; 0. */
int run_status(enum run_why why, const struct run_facts *f, int status,
	       int again);

/* The same with what scr_postrun, which ended with `saved`, has found: if the
 * status would be 0 or `again`, what is not saved counts. */
int run_status_saved(int status, int again, int saved);

#endif /* RUN_DECIDE_H */
