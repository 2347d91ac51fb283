/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval.h - how often should this application checkpoint?  The answer is
 * computed from the log of its runs, PREFIX/.scr/log (scr_env(1)): the cost
 * of a checkpoint, and the time from the start of a run to the start of the
 * next one.
 */
#ifndef SITE_INTERVAL_H
#define SITE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct conf;
struct error;
struct json;

/* The number of events of one kind, and their duration in all. */
struct interval_sum {
	uint64_t count;
	double secs;
};

/* Transfers to the prefix: bytes and seconds, with recent transfers weighted
 * most. */
struct interval_speed {
	double bytes, secs; /* 0: no transfer */
};

struct interval_stats {
	uint64_t lines, unreadable; /* of the log */
	struct interval_sum runs;   /* from one START to the next */
	struct interval_sum compute, checkpoint, output;
	struct interval_sum flush; /* of checkpoints, with the job waiting */
	struct interval_sum output_flush; /* of other datasets */
	struct interval_sum async_flush;  /* of any, during computation */
	struct interval_sum fetch, rebuild;
	uint64_t flush_failed, fetch_failed, rebuild_failed;
	uint64_t restart, restart_failed, halts, node_failures;
	struct interval_speed flushing, scavenging;
};

/* Read the log `path` (io_open_read()), of any length, in a fixed amount of
 * memory.  Invalid lines are counted and skipped.  ERROR_ABSENT: no such
 * file. */
int interval_read(int dirfd, const char *path, struct interval_stats *out,
		  struct error *err);

/* The same for the log of a prefix. */
int interval_read_prefix(const char *prefix, struct interval_stats *out,
			 struct error *err);

/* Expected bytes per second of a scavenge: the rate of the last scavenges, or
 * else of the job's flushes.  0: unknown. */
double interval_scavenge_rate(const struct interval_stats *s);

enum interval_model { INTERVAL_DALY, INTERVAL_YOUNG };

struct interval {
	double cost;	/* seconds a checkpoint takes, its flush included */
	double mtbi;	/* mean seconds between interrupts */
	double seconds; /* to compute between two checkpoints */
	double percent; /* of the time spent in checkpoints */
};

/*
 * The interval by Young's formula, or by Daly's higher-order formula (his
 * equation 37).  ERROR_ABSENT, with a sentence that says what the log lacks:
 * runs, checkpoints, or time between interrupts.
 */
int interval_compute(const struct interval_stats *s, enum interval_model model,
		     struct interval *out, struct error *err);

/* The figures as lines of text, and as a JSON object. */
void interval_text(const struct interval_stats *s, struct buf *out);
struct json *interval_json(const struct interval_stats *s);

/* Seconds between two checkpoints if no parameter says when to write one: a job
 * that asks libscr must not run for ever without. */
#define INTERVAL_SECONDS 600

/* Does a parameter say when to write checkpoints, be it never? */
bool interval_chosen(const struct conf *c);

#endif /* SITE_INTERVAL_H */
