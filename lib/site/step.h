/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h - end the running steps of a job but keep its allocation, so that the
 * caches on its nodes stay for a scavenge.
 *
 * The resource manager (resmgr.h) lists the running steps.  They get SIGTERM,
 * and SIGKILL if they still run after a grace period.  The step that we run in
 * is left alone; all others of the job are ended, or those that are named.  For
 * a run that no manager knows, a process such as mpiexec takes the place of the
 * steps.  If it leads a process group, the whole group is ended.
 */
#ifndef SITE_STEP_H
#define SITE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site/resmgr.h"

struct error;
struct hostlist;

struct step_where {
	struct resmgr *manager;
	struct resmgr_job job;
	const struct hostlist *only; /* of the job's steps; NULL: all */
	int64_t pid; /* > 0: end this process; manager and job are ignored */
	/* Seconds from SIGTERM to SIGKILL, and from SIGKILL to giving up. */
	double grace;
	bool dry_run;  /* only find the steps, and log */
	double answer; /* time limit of a manager's command, seconds; 0: 15 */
	bool (*stop)(void);		      /* true: give up; may be NULL */
	void (*log)(void *arg, const char *); /* each action; may be NULL */
	void *arg;
};

struct step_result {
	size_t found;  /* steps that were running */
	size_t killed; /* steps of these that needed SIGKILL */
};

/* Is *w valid for step_stop()?  ERROR_USAGE: the sentence says what is
 * missing. */
int step_check(const struct step_where *w, struct error *err);

/*
 * End the steps, and wait until they have ended.  No running step is not an
 * error.  -1: ERROR_USAGE (as step_check()), ERROR_ABSENT (no such job or
 * process, the manager's command is missing), or ERROR_SYSTEM: the manager does
 * not answer, or steps survive SIGKILL; the sentence says which.
 */
int step_stop(const struct step_where *w, struct step_result *r,
	      struct error *err);

/* Has process `pid` of this machine `mark` in its environment?  1 or 0; -1: it
 * cannot be read, for want of memory or descriptors. */
int step_is_marked(const char *pid, const char *mark);

/* Send `signal` to the processes of this machine that have `mark` in their
 * environment.  Returns how many there are; -1: not all can be looked at, and
 * more may run. */
int step_signal_marked(const char *mark, int signal);

#endif /* SITE_STEP_H */
