/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step.h - end what a job runs just now, and leave its allocation: the caches
 * on its nodes stay for a scavenge.
 *
 * The running steps are asked of the resource manager, told to end (SIGTERM),
 * and killed if they have not after a while:
 *
 *   slurm  squeue -s; scancel --signal of each step but batch, extern and
 *          interactive
 *   flux   flux jobs; flux job kill; through flux proxy where the job is
 *          another one than that around us
 *   lsf    jslist; jskill: only from inside of the job
 *   pbs    the applications that apstat -avv shows for the batch job; apkill
 *
 * The step that we run in ourselves is left alone.  Nothing else is told apart:
 * all other steps of the job are ended.  Where no manager knows the run, a
 * process (that of mpiexec, say) takes the place of the steps; if it leads a
 * process group, all of that.
 */
#ifndef SITE_STEP_H
#define SITE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct step_where {
	const char *manager; /* resmgr_name() */
	const char *job_id;
	bool around;   /* it is the job around us, nobody named another */
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

/* The manager whose commands are in PATH, for a job that is not the one around
 * us, where no environment tells; NULL: none. */
const char *step_manager_here(void);

/* Can step_stop() be asked this at all?  ERROR_USAGE: what is missing. */
int step_check(const struct step_where *w, struct error *err);

/*
 * End the steps, and wait until they are gone.  None running is no error.
 * -1: ERROR_USAGE (as step_check()), ERROR_ABSENT (no such process), or
 * ERROR_SYSTEM: the manager does not answer, or refuses, or steps run on
 * despite SIGKILL; the sentence says which.
 */
int step_stop(const struct step_where *w, struct step_result *r,
	      struct error *err);

#endif /* SITE_STEP_H */
