/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h - does a job go on?  Its progress is what libscr writes to the flush
 * file: the newest dataset, and where it is; and the newest dataset in the
 * caches, where it may still be written.  A run hangs if that does not
 * change for a time: one for computing, one while a dataset is flushed, and one
 * from the start of a run to its first dataset.
 */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct error;

struct run_progress {
	int64_t cached; /* dataset in the caches; 0: none, or not asked */
	int64_t newest; /* dataset; 0: none */
	uint64_t state; /* a hash of all ids and locations */
	bool flushing;	/* a dataset is being flushed */
};

/* The progress as the flush file of `prefix` shows it; a file that is missing
 * or cannot be read shows none.  p->cached is 0. */
void run_progress_read(const char *prefix, struct run_progress *p);

/* Seconds; 0: no limit. */
struct run_limits {
	uint64_t compute, flush, start;
};

/* The options that set them. */
#define RUN_LIMIT_OPTIONS(l) \
	OPT_U64(0, "timeout", &(l).compute, "SECONDS", 1, UINT32_MAX, \
		"end a run without a new dataset in this time " \
		"(SCR_WATCHDOG_TIMEOUT)"), \
		OPT_U64(0, "flush-timeout", &(l).flush, "SECONDS", 1, \
			UINT32_MAX, \
			"the same while a dataset is flushed, fetched or rebuilt " \
			"(SCR_WATCHDOG_TIMEOUT_PFS)"), \
		OPT_U64(0, "start-timeout", &(l).start, "SECONDS", 1, \
			UINT32_MAX, \
			"the same up to the first dataset of a run (default: " \
			"twice --timeout)")

/* Set those that no option has set.  ERROR_USAGE: there is no time at all. */
int run_limits_complete(struct run_limits *l, const struct conf *c,
			struct error *err);

struct run_watch {
	struct run_limits limits;
	struct run_progress last;
	double since; /* the last change, or the start */
	bool begun;   /* there was a change since the start */
};

/* Begin to watch a run at `now` (clock.h). */
void run_watch_start(struct run_watch *w, const struct run_limits *l,
		     const struct run_progress *p, double now);

/* A look at `now`.  True: the run hangs. */
bool run_watch_look(struct run_watch *w, const struct run_progress *p,
		    double now);

#endif /* RUN_WATCH_H */
