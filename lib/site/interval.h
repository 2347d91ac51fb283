/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval.h - how often should this application checkpoint?  Worked out from
 * the log of its own past, PREFIX/.scr/log (formats.md 9): what a checkpoint
 * has cost so far, and how long a run lasted until the next one had to be
 * started.
 */
#ifndef SITE_INTERVAL_H
#define SITE_INTERVAL_H

#include <stdint.h>

struct buf;
struct error;
struct json;

/* How often something happened, and how many seconds it took in all. */
struct interval_sum {
	uint64_t count;
	double secs;
};

/* How fast something was written to the prefix, recent transfers weighing
 * most. */
struct interval_speed {
	double bytes, secs; /* 0: never done */
};

struct interval_stats {
	uint64_t lines, unreadable; /* of the log */
	struct interval_sum runs;   /* a START and all up to the next one */
	struct interval_sum compute, checkpoint, output;
	struct interval_sum flush;	  /* of checkpoints, the job waiting */
	struct interval_sum output_flush; /* of other datasets */
	struct interval_sum async_flush;  /* of any, beside the computation */
	struct interval_sum fetch, rebuild;
	uint64_t flush_failed, fetch_failed, rebuild_failed;
	uint64_t restart, restart_failed, halts, node_failures;
	struct interval_speed flushing, scavenging;
};

/*
 * Read the log `path`, of any length, in a fixed amount of memory.  Lines that
 * are none are counted and passed over.  ERROR_ABSENT: there is no such file.
 */
int interval_read(const char *path, struct interval_stats *out,
		  struct error *err);

/* Bytes per second that a scavenge can be expected to copy: as the last ones
 * did, or else as the job flushed.  0: the log does not tell. */
double interval_scavenge_rate(const struct interval_stats *s);

enum interval_model { INTERVAL_DALY, INTERVAL_YOUNG };

struct interval {
	double cost;	/* seconds a checkpoint takes, its flush included */
	double mtbi;	/* mean seconds between interrupts */
	double seconds; /* to compute between two checkpoints */
	double percent; /* of the time that checkpoints then take */
};

/*
 * The interval by Young's formula, or Daly's of higher order (his equation 37).
 * ERROR_ABSENT, with what is missing: no run, no checkpoint, or no time
 * between interrupts in the log.
 */
int interval_compute(const struct interval_stats *s, enum interval_model model,
		     struct interval *out, struct error *err);

/* A line for each figure; and the members of a JSON object.  Text: -1:
 * ENOMEM. */
int interval_text(const struct interval_stats *s, struct buf *out);
struct json *interval_json(const struct interval_stats *s);

#endif /* SITE_INTERVAL_H */
