/* SPDX-License-Identifier: BSD-3-Clause */
/* relaunch.h - may a loop that restarts a job start it once more? */
#ifndef SITE_RELAUNCH_H
#define SITE_RELAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct error;
struct hostlist;
struct job;

struct relaunch {
	const struct hostlist *down; /* unusable nodes; NULL: not checked */
	/* Nodes needed.  0: SCR_MIN_NODES, else the number of the last run,
	 * else all. */
	uint64_t min_nodes;
	int64_t runs; /* runs left; -1: no limit */
	int64_t now;  /* seconds since the epoch */
};

/*
 * *stop: a halt condition is met, there are not enough nodes, or no runs are
 * left.  Each reason appends a line to `lines`.  -1: unknown, and the loop must
 * not start the job: ERROR_ABSENT (the nodes are unknown), ERROR_CORRUPT (nodes
 * file), ERROR_USAGE (a parameter), and errors of halt_check().
 */
int relaunch_check(struct job *j, const struct relaunch *r, bool *stop,
		   struct buf *lines, struct error *err);

#endif /* SITE_RELAUNCH_H */
