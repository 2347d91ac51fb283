/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * joblog.h - what did the jobs of a prefix do with their time?  The answer is
 * computed from the log PREFIX/.scr/log (meta/log.h) in one pass and in fixed
 * memory: of many jobs, datasets and failures the last are kept, and the others
 * are counted.
 *
 * Work is a position.  Each computation moves it on, and a restart from a
 * dataset sets it back to where that dataset was written: the difference is
 * lost.  So nothing is counted twice if several runs fail from one dataset, or
 * if a run has to use an older one, be it that of another job.
 *
 * The log says what libscr did, not when a run died.  With RUN_END, which
 * scr_run writes, the moment is known to the second; else it was between the
 * last line of the run and the START of the next one, and what follows from it
 * is a range.  What the log does not say is unknown, here negative.
 */
#ifndef SITE_JOBLOG_H
#define SITE_JOBLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct interval;

/* Jobs, datasets, failures and spans that are kept. */
#define JOBLOG_JOBS 1024
#define JOBLOG_DATASETS 4096
#define JOBLOG_FAILURES 1024
#define JOBLOG_SPANS (1 << 18)
#define JOBLOG_EVENTS 40

/* Bytes of names; longer ones are cut. */
#define JOBLOG_NAME 96

enum joblog_phase {
	JOBLOG_COMPUTE,
	JOBLOG_CHECKPOINT, /* to the cache, redundancy included */
	JOBLOG_OUTPUT,	   /* of a dataset that is no checkpoint */
	JOBLOG_FLUSH,	   /* while the job waits */
	JOBLOG_ASYNC_FLUSH,
	JOBLOG_FETCH,
	JOBLOG_REBUILD,
	JOBLOG_SCAVENGE,
	JOBLOG_PHASES
};
#define JOBLOG_RUN JOBLOG_PHASES /* of a span: a run, or its failure */

/* "compute", "async_flush", ... */
const char *joblog_phase_name(enum joblog_phase p);

struct joblog_sum {
	uint64_t count, failed; /* failed ones are also in `count` */
	uint64_t untimed;	/* their duration is unknown */
	double secs;
	double bytes, moving; /* of its transfers, and their seconds */
};

/* How the last run of a job ended. */
enum joblog_end {
	JOBLOG_UNKNOWN, /* it may run, or is dead */
	JOBLOG_HALTED,	/* by SCR_Finalize or a halt condition */
	JOBLOG_FAILED,	/* neither, and it has ended */
};

struct joblog_job {
	char id[JOBLOG_NAME];
	uint64_t number;     /* from 0 on, in the order of their first lines */
	bool whole;	     /* the log has the START of its first run */
	bool back;	     /* the clock went back: spans are unknown */
	bool vague;	     /* it is not known how much work is lost */
	bool owes;	     /* ... because no run followed the last failure */
	int64_t first, last; /* its first line, the end of its last event */
	uint64_t runs, failures;
	enum joblog_end end;
	double run_secs; /* in runs, as far as the log has their lines */
	struct joblog_sum phases[JOBLOG_PHASES];
	double work;	       /* seconds of computation that are not lost */
	double lost, lost_max; /* seconds of computation, at least, at most */
	double spacing;	       /* sum of work before each checkpoint */
	uint64_t spacings;
	double ckpt_flush; /* seconds of JOBLOG_FLUSH for checkpoints */

	/* While the log is read: */
	uint64_t hash;	/* of the whole id */
	uint64_t saved; /* checkpoints it has written */
	uint64_t epoch; /* positions of other epochs cannot be compared */
	int64_t since[JOBLOG_PHASES]; /* that have not ended, else -1 */
	double until; /* its spans: those of JOBLOG_ASYNC_FLUSH can overlap */
	/* Of the run: its first and last line, its HALT, or -1; the newest
	 * stamp; the dataset from which it restarts, or -1. */
	int64_t start, seen, halt, tick, from;
	int64_t base;	     /* the dataset from which the job began; 0: none */
	double mark, before; /* work at the last checkpoint; since a dataset */
	/* In a run; it has computed; it restarts from something. */
	bool running, settled, restarts;
	/* 1 + number of the last failure, and of the last whose cost is not
	 * known yet or belongs to this run; 0: none. */
	uint64_t latest, pending;
};

struct joblog_dataset {
	int64_t id;
	uint64_t order; /* in which they began */
	uint64_t job; /* number of the job that wrote it; UINT64_MAX: unknown */
	bool is_ckpt, done;
	char name[JOBLOG_NAME];
	struct joblog_sum phases[JOBLOG_PHASES]; /* compute: before it */

	double work; /* of the job, when it was complete */
	uint64_t epoch;
};

struct joblog_failure {
	uint64_t job, run;     /* numbers; runs count from 1 */
	int64_t seen;	       /* last line of the run */
	int64_t died;	       /* RUN_END; -1: unknown */
	int64_t next;	       /* START of the next run; -1: there is none */
	uint64_t by;	       /* number of its job */
	int64_t from;	       /* dataset; 0: from the beginning; -1: unknown */
	double lost, lost_max; /* seconds of computation, at least, at most */
	int64_t restart; /* seconds from `next` until it computed; or -1 */
	bool early;	 /* the run died before it computed */
};

/* What a run did.  Stamps are whole seconds, so it can begin 1 s early, but
 * not before the last one ended, unless one of them is JOBLOG_ASYNC_FLUSH. */
struct joblog_span {
	uint64_t job, run;
	double begin, end; /* seconds since 1970 */
	int phase;
	bool failed;	 /* or cut off by the end of the run */
	int64_t dataset; /* not positive: unknown */
};

/* A failure or a halt that the log names. */
struct joblog_event {
	int64_t time;
	char text[256]; /* event, and its note */
};

struct joblog {
	uint64_t lines, unreadable, jobless;
	bool unfinished; /* the last line */
	uint64_t jobs_seen, datasets_seen, failures_seen, spans_seen,
		events_seen;
	struct joblog_job *jobs;	 /* of number N: N % JOBLOG_JOBS */
	struct joblog_dataset *datasets; /* the last with ID % ...; 0: none */
	struct joblog_failure *failures;
	struct joblog_span *spans; /* of number N: N % JOBLOG_SPANS */
	struct joblog_event events[JOBLOG_EVENTS];
	size_t last_job;
};

/* Read the log `path` (io_open_read()).  Free with joblog_free(), also after an
 * error.  ERROR_ABSENT: no such file. */
int joblog_read(int dirfd, const char *path, struct joblog *out,
		struct error *err);
void joblog_free(struct joblog *g);

/* The first number that is kept of `seen`, if `most` are. */
uint64_t joblog_first(uint64_t seen, uint64_t most);

/* Job `number`, or NULL: no longer kept. */
struct joblog_job *joblog_job(const struct joblog *g, uint64_t number);

/* The part of the time from the first to the last line that was work and is not
 * lost, 0 to 1.  Negative: unknown. */
double joblog_efficiency(const struct joblog_job *j);

/* Mean work before a checkpoint, negative: unknown; and what would have been
 * best by Daly's formula (interval_compute()), with the time in runs for each
 * failure.  -1: unknown, without a failure or a checkpoint. */
double joblog_used(const struct joblog_job *j);
int joblog_best(const struct joblog_job *j, struct interval *out);

#endif /* SITE_JOBLOG_H */
