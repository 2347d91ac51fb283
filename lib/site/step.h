/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h - end what a job runs just now, and leave its allocation: the caches
 * on its nodes stay for a scavenge.
 *
 * The resource manager (resmgr.h) lists the running steps.  They get SIGTERM,
 * and SIGKILL if they still run after a while.  The step that we run in is left
 * alone; all others of the job are ended.  If no manager knows the run, a
 * process (that of mpiexec, say) takes the place of the steps; if it leads a
 * process group, all of that.
 */
#ifndef SITE_STEP_H
#define SITE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site/resmgr.h"

struct error;

struct step_where {
	struct resmgr *manager;
	struct resmgr_job job;
	int64_t pid;   /* > 0: this process; manager and job do not matter */
	double grace;  /* seconds from SIGTERM to SIGKILL, and to giving up */
	bool dry_run;  /* only find, and log */
	double answer; /* seconds a manager's command may take; 0: 15 */
	bool (*stop)(void);		      /* give up? may be NULL */
	void (*log)(void *arg, const char *); /* what is done; may be NULL */
	void *arg;
};

struct step_result {
	size_t found;  /* steps that ran */
	size_t killed; /* of these needed SIGKILL */
};

/* Can step_stop() be asked this at all?  ERROR_USAGE: what is missing. */
int step_check(const struct step_where *w, struct error *err);

/*
 * End the steps, and wait until they are gone.  None running is no error.
 * -1: ERROR_USAGE (as step_check()), ERROR_ABSENT (no such process, the
 * manager's command is missing), or ERROR_SYSTEM: the manager does not answer,
 * or refuses, or steps run on despite SIGKILL; the sentence says which.
 */
int step_stop(const struct step_where *w, struct step_result *r,
	      struct error *err);

#endif /* SITE_STEP_H */
