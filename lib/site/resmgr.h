/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr.h - what the resource manager knows of the job around us: SLURM, LSF,
 * Flux, PBS (also below ALPS), or none.  Which one is found at run time.
 *
 * All that is particular to a manager stands in its own file resmgr_NAME.c, as
 * one table (resmgr_impl.h): how to detect it, what to ask, how to list and
 * signal the steps of a job, how to reach nodes.
 *
 * Most answers are in the environment.  The others come from the manager's
 * commands, each with a time limit (SCR_RESOURCE_MANAGER_TIMEOUT, 5 seconds)
 * and without a shell.  A command that is missing, fails or hangs is no error
 * if the environment has an answer, or if "unknown" is one; resmgr_notice()
 * reports it.
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

/* The managers, each of a file resmgr_NAME.c, the likeliest first. */
#define RESMGR_MANAGERS(X) X(slurm) X(flux) X(lsf) X(pbs)

/* Their names as the words of an option. */
#define RESMGR_WORD(name) #name "|"
#define RESMGR_NAMES RESMGR_MANAGERS(RESMGR_WORD) "none"

/* End times that are not a moment. */
#define RESMGR_END_UNKNOWN 0
#define RESMGR_END_NEVER (-1)

/*
 * `name`: one of RESMGR_NAMES, or LLNL's "alps" and "aprun" for PBS, in
 * either case; NULL or "auto": SCR_RESOURCE_MANAGER of `c` (which may be
 * NULL), else the one whose variables are in the environment, else none.
 * NULL: ERROR_USAGE (no such name, the time limit is no number), ERROR_NOMEM.
 */
struct resmgr *resmgr_open(const struct conf *c, const char *name,
			   struct error *err);

/* Consistent with free(): NULL is ignored. */
void resmgr_close(struct resmgr *r);

/* One of RESMGR_NAMES. */
const char *resmgr_name(const struct resmgr *r);

/* The manager whose commands are in PATH, for a job that is not the one around
 * us; NULL: none. */
const char *resmgr_installed(void);

/* The manager's own way to run a command on a node of the job around us;
 * REMOTE_AUTO: there is none, or no job. */
enum remote_kind resmgr_launcher(const struct resmgr *r);

/* The job's id, or NULL: not in a job, or it cannot be told. */
const char *resmgr_job_id(const struct resmgr *r);

/*
 * Put the nodes of the allocation into `out` (initialised; replaced), each
 * once, in the manager's order.  SLURM: those it still counts to the job, as
 * scontrol has them; a node that died is not among them.  LSF: without the
 * launch node, the first in the host file if it is there only once.
 * ERROR_ABSENT: cannot be told, and why; ERROR_NOMEM.
 */
int resmgr_nodes(struct resmgr *r, struct hostlist *out, struct error *err);

/*
 * Put those of `nodes` into `out` (initialised; replaced) that the manager
 * says are down: dead or switched off.  A node that is drained, failing,
 * offline or does not answer the manager just now is not: its cache can
 * perhaps be read, and whether it can is found by trying.  A manager that does
 * not know or does not answer reports none.  -1: ERROR_NOMEM.
 */
int resmgr_down(struct resmgr *r, const struct hostlist *nodes,
		struct hostlist *out, struct error *err);

/* When the allocation ends, in seconds since the epoch, or RESMGR_END_*. */
int resmgr_end_time(struct resmgr *r, int64_t *epoch, struct error *err);

/*
 * 1: the job with this id runs, is suspended or waits to run again; 0: it is
 * gone; -1: unknown, because there is no resource manager or it does not answer
 * (see resmgr_notice()).
 */
int resmgr_runs(struct resmgr *r, const char *job_id);

/* --- The steps of a job: what its launchers started --- */

/* Which job. */
struct resmgr_job {
	const char *id;
	bool around; /* it is the one around us, nobody named another */
};

/* From now on a command may take `seconds`, and ends when stop() (may be NULL)
 * is true. */
void resmgr_limit(struct resmgr *r, double seconds, bool (*stop)(void));

/* Can the steps of this job be stopped from here?  ERROR_USAGE: why not. */
int resmgr_step_check(const struct resmgr *r, const struct resmgr_job *job,
		      struct error *err);

/*
 * Add the ids of the running steps to `out`, but for the step that we run in.
 * A job that is gone has none.  ERROR_ABSENT, ERROR_SYSTEM: the manager's
 * command is missing, fails or takes too long.
 */
int resmgr_steps(struct resmgr *r, const struct resmgr_job *job,
		 struct hostlist *out, struct error *err);

/* Send them SIGTERM, or SIGKILL if `hard`. */
int resmgr_signal(struct resmgr *r, const struct resmgr_job *job,
		  const struct hostlist *steps, bool hard, struct error *err);

/* What could not be asked, and what was taken instead: lines, or NULL. */
const char *resmgr_notice(const struct resmgr *r);

#endif /* SITE_RESMGR_H */
