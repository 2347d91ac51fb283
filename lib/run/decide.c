/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/decide.h"

#include <signal.h>

#include "error.h"

enum run_why
run_decide(const struct run_facts *f)
{
	const bool rules[RUN_WHY_START] = {
		/* Else it has obeyed, by SCR_Should_exit(). */
		[RUN_WHY_DONE] =
			f->end == RUN_OK && !f->late && f->halt != RUN_HALT_MET,
		[RUN_WHY_SIGNAL] = f->signal != 0 && f->end != RUN_OK,
		[RUN_WHY_HALT] = f->halt == RUN_HALT_MET,
		[RUN_WHY_FINISHED] =
			f->halt == RUN_HALT_FINISHED && f->end != RUN_OK,
		[RUN_WHY_LATE] = f->late,
		[RUN_WHY_CANNOT] = f->end == RUN_NOT_STARTED,
		[RUN_WHY_DAMAGED] = f->halt == RUN_HALT_UNKNOWN,
		[RUN_WHY_RUNS] = f->runs_left == 0,
		[RUN_WHY_FUTILE] = f->futile >= RUN_FUTILE,
		[RUN_WHY_FRUITLESS] =
			f->runs_left < 0 && f->fruitless >= RUN_FRUITLESS,
		[RUN_WHY_NODES] = f->nodes_known && f->usable < f->needed,
	};

	for (enum run_why why = RUN_WHY_DONE; why < RUN_WHY_START; why++)
		if (rules[why])
			return why;
	return f->end == RUN_NEVER ? RUN_WHY_START : RUN_WHY_AGAIN;
}

const char *
run_why_text(enum run_why why)
{
	static const char *const texts[RUN_WHYS] = {
		[RUN_WHY_DONE] = "the program has ended with status 0",
		[RUN_WHY_SIGNAL] = "a signal asks to stop",
		[RUN_WHY_HALT] = "a halt condition is met",
		[RUN_WHY_FINISHED] = "the program has called SCR_Finalize",
		[RUN_WHY_LATE] =
			"the rest of the time is for saving the caches",
		[RUN_WHY_CANNOT] = "the program cannot be started",
		[RUN_WHY_DAMAGED] = "the halt file cannot be read",
		[RUN_WHY_RUNS] = "no run is left (SCR_RUNS)",
		[RUN_WHY_FUTILE] =
			"it failed twice at once, without a new dataset",
		[RUN_WHY_FRUITLESS] =
			"five runs in a row ended without a new dataset",
		[RUN_WHY_NODES] = "too few nodes are left",
		[RUN_WHY_START] = "first run",
		[RUN_WHY_AGAIN] = "it failed, and runs are left",
	};

	return texts[why];
}

int
run_status(enum run_why why, const struct run_facts *f, int status, int again)
{
	switch (why) {
	case RUN_WHY_DONE:
		return 0;
	case RUN_WHY_HALT:
		/* The next job would find it, too. */
		return f->end != RUN_NEVER ? again : 0;
	case RUN_WHY_LATE:
		return again;
	case RUN_WHY_SIGNAL:
		/* SIGUSR1 announces preemption, or the end of the time. */
		return f->signal == SIGUSR1 ? again : 128 + f->signal;
	default:
		if (f->end == RUN_NEVER)
			return RUN_STATUS_FAILED;
		return f->end == RUN_HUNG ? RUN_STATUS_HUNG : status;
	}
}

int
run_status_saved(int status, int again, int saved)
{
	if (status != 0 && status != again)
		return status;
	switch (saved) {
	case STATUS_OK:
		return status;
	case STATUS_DAMAGED:
		return RUN_STATUS_OLDER;
	case STATUS_LOST:
		return RUN_STATUS_LOST;
	default:
		return RUN_STATUS_UNKNOWN;
	}
}
