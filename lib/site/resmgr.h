/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr.h - the job we run in, as the resource manager sees it: SLURM, LSF,
 * Flux, PBS, or none.  The manager is detected at run time.
 *
 * Everything specific to a manager is in a file resmgr_*.c, as one table
 * (resmgr_impl.h): detection, queries, listing and signalling the steps of a
 * job, reaching nodes.
 *
 * Most answers are in the environment.  The others come from the manager's
 * commands, run without a shell and with a time limit
 * (SCR_RESOURCE_MANAGER_TIMEOUT, default 5 seconds).  A command that is
 * missing, fails or hangs is not an error if the environment has the answer or
 * the function may return "unknown"; resmgr_notice() reports it.
 *
 * Ownership: strings are borrowed until resmgr_close().  Threads: one at a
 * time.
 */
#ifndef SITE_RESMGR_H
#define SITE_RESMGR_H

#include <stdbool.h>
#include <stdint.h>

#include "remote/remote.h"

struct conf;
struct error;
struct hostlist;
struct resmgr; /* opaque */

/* The managers, the most likely first. */
#define RESMGR_MANAGERS(X) X(slurm) X(flux) X(lsf) X(pbs)

/* Their names, as the words of an option. */
#define RESMGR_WORD(name) #name "|"
#define RESMGR_NAMES RESMGR_MANAGERS(RESMGR_WORD) "none"

/* Special end times. */
#define RESMGR_END_UNKNOWN 0
#define RESMGR_END_NEVER (-1)

/*
 * Open the manager `name`: one of RESMGR_NAMES, in upper or lower case.  NULL
 * or "auto": SCR_RESOURCE_MANAGER of `c` (which may be NULL), else the manager
 * whose variables are in the environment, else none.  Returns NULL on
 * ERROR_USAGE (no such name, the time limit is not a number), ERROR_NOMEM.
 */
struct resmgr *resmgr_open(const struct conf *c, const char *name,
			   struct error *err);

/* Consistent with free(): NULL is ignored. */
void resmgr_close(struct resmgr *r);

/* One of RESMGR_NAMES. */
const char *resmgr_name(const struct resmgr *r);

/* The name of the manager whose commands are in PATH, for jobs other than the
 * one we run in.  NULL: no manager. */
const char *resmgr_installed(void);

/* The manager's own way to run a command on a node of the job we run in.
 * REMOTE_AUTO: it has none, or we are not in a job. */
enum remote_kind resmgr_launcher(const struct resmgr *r);

/* The id of the job we run in.  NULL: not in a job, or unknown. */
const char *resmgr_job_id(const struct resmgr *r);

/*
 * Set `out` (initialised; its contents are replaced) to the nodes of the
 * allocation, in the manager's order, without repetitions.  SLURM: the nodes
 * that scontrol lists, which does not list nodes that died.  LSF: without the
 * launch node, which is the first in the host file if it occurs only once.
 * ERROR_ABSENT: unknown, the sentence says why; ERROR_NOMEM.
 */
int resmgr_nodes(struct resmgr *r, struct hostlist *out, struct error *err);

/* Add the nodes with which the job began, and which the manager may have taken
 * from it since, because they died (SLURM, --no-kill). */
int resmgr_began(struct resmgr *r, struct hostlist *out, struct error *err);

/*
 * Set `out` (initialised; its contents are replaced) to those of `nodes` that
 * the manager reports as down: dead or switched off.  A node that is drained,
 * failing, offline or does not answer the manager at present is not down: its
 * cache may be readable, which a probe will show.  If the manager does not know
 * or does not answer, `out` is empty.  -1: ERROR_NOMEM.
 */
int resmgr_down(struct resmgr *r, const struct hostlist *nodes,
		struct hostlist *out, struct error *err);

/* The end of the allocation in seconds since the epoch, or RESMGR_END_*. */
int resmgr_end_time(struct resmgr *r, int64_t *epoch, struct error *err);

/*
 * 1: the job with this id runs, is suspended or waits to be restarted.  0: it
 * has ended.  -1: unknown, because there is no resource manager or it does not
 * answer (see resmgr_notice()).
 * Outside of all jobs, if no manager was named, the installed one is asked for
 * an id that is a number.
 */
int resmgr_runs(struct resmgr *r, const char *job_id);

/* --- The steps of a job: the runs its launchers started --- */

/* The job whose steps are meant. */
struct resmgr_job {
	const char *id;
	bool around; /* the job we run in, not one the user named */
};

/* Set the time limit of further commands to `seconds`.  A command also ends
 * when stop() (may be NULL) returns true. */
void resmgr_limit(struct resmgr *r, double seconds, bool (*stop)(void));

/* Does the manager list the steps of any job? */
bool resmgr_lists_steps(const struct resmgr *r);

/* Can the steps of this job be stopped from here?  ERROR_USAGE: no, the
 * sentence says why. */
int resmgr_step_check(const struct resmgr *r, const struct resmgr_job *job,
		      struct error *err);

/*
 * Add the ids of the running steps to `out`, except the step that we run in.
 * ERROR_ABSENT: the manager does not know the job, or its command is missing;
 * ERROR_SYSTEM: the command fails or times out.
 */
int resmgr_steps(struct resmgr *r, const struct resmgr_job *job,
		 struct hostlist *out, struct error *err);

/*
 * Add the ids of the running steps that a launcher with `mark` (NAME=VALUE) in
 * its environment started: under SLURM on this machine, under Flux anywhere.
 * The other managers do not say who started a step: there, all steps that are
 * not in `before`.  Errors: as above.
 */
int resmgr_own(struct resmgr *r, const struct resmgr_job *job, const char *mark,
	       const struct hostlist *before, struct hostlist *out,
	       struct error *err);

/* Does resmgr_own() need `before`? */
bool resmgr_own_by_time(const struct resmgr *r);

/* The name of the step that we run in: by default, of the program that it was
 * told to start.  Valid until the next call.  NULL: unknown. */
const char *resmgr_step_name(struct resmgr *r);

/* Send `steps` SIGTERM, or SIGKILL if `hard`. */
int resmgr_signal(struct resmgr *r, const struct resmgr_job *job,
		  const struct hostlist *steps, bool hard, struct error *err);

/* Lines about failed queries and what was used instead, or NULL. */
const char *resmgr_notice(const struct resmgr *r);

#endif /* SITE_RESMGR_H */
