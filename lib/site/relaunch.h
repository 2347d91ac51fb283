/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * relaunch.h - shall a loop that starts a job again and again go on?
 */
#ifndef SITE_RELAUNCH_H
#define SITE_RELAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct error;
struct hostlist;
struct job;

struct relaunch {
	const struct hostlist *down; /* nodes that are not usable; NULL: not
					looked at */
	uint64_t min_nodes; /* so many are needed; 0: SCR_MIN_NODES, else as
			       many as the last run had, else all */
	int64_t runs;	    /* that are left; -1: any number */
	int64_t now;	    /* seconds since the epoch */
};

/*
 * *stop: a halt condition is met, or there are not enough nodes, or no runs
 * left; each reason adds a line to `lines`.  -1: it cannot be told, which is no
 * leave to go on: ERROR_ABSENT (which nodes there are), ERROR_CORRUPT (nodes
 * file), ERROR_USAGE (a parameter), and those of halt_check().
 */
int relaunch_check(struct job *j, const struct relaunch *r, bool *stop,
		   struct buf *lines, struct error *err);

#endif /* SITE_RELAUNCH_H */
