/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_job.h - run a program until it ends well: prepare the prefix, launch,
 * watch, launch again on the nodes that are left, save the caches.
 *
 * The program gets descriptors, terminal and environment of the wrapper
 * unchanged, but for SCR_JOB_ID, SCR_END_TIME, SCR_HALT_SECONDS (if they are
 * not set) and SCR_RUN_NODES, the nodes to run on.  What comes next is decided
 * by run_decide().  The preparation, the questions to nodes and the saving are
 * the toolkit's commands, run as processes of their own.
 */
#ifndef RUN_RUN_JOB_H
#define RUN_RUN_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "run/watch.h"

struct error;
struct job;

struct run_options {
	struct job *job; /* its nodes are looked up */
	/* The user's command, ended by NULL; the second, if there is one, for
	 * runs that have a checkpoint to restart from, with RUN_CKPT_NAME
	 * replaced by its name. */
	const char *const *command, *const *restart;
	const char *const *argv; /* the whole command line, for the record */
	uint64_t nodes;		 /* to run on; the rest are spares; 0: all */
	uint64_t min_nodes;	 /* 0: see halt_nodes_needed() */
	/* On fewer nodes, a run has fewer ranks, but at least so many; 0: it
	 * never has. */
	uint64_t min_ranks;
	int64_t runs; /* -1: no limit */
	int again;    /* see run_status() */
	/* Seconds: before another run; kept for saving the caches (0: from the
	 * log); from SIGTERM to SIGKILL; between two looks whether the nodes of
	 * a run answer (0: none). */
	uint64_t pause, save, grace, node_watch;
	struct run_limits limits;
	const char *remote; /* as scr_env takes it; NULL */
	bool traces;	    /* write the stacks of a run that hangs */
	bool dry_run;	    /* report what would be launched */
	/* Paths of the commands; postrun: with options, separated by blanks. */
	const char *prerun, *env, *postrun;
	void (*log)(const char *line); /* warnings */
};

/* In PREFIX/.scr. */
#define RUN_TRACES "run.traces"

#define RUN_CKPT_NAME "SCR_CKPT_NAME"

/* Returns 0 with *status set, or -1 if nothing was launched: *status is
 * RUN_STATUS_FAILED, or an exit status of exec. */
int run_job(const struct run_options *o, int *status, struct error *err);

#endif /* RUN_RUN_JOB_H */
