/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr.h - what the resource manager knows of the job around us: SLURM, LSF,
 * Flux, PBS (also below ALPS), or none.  Which one is found at run time.
 *
 * Most is in the environment; the rest is asked of the manager's commands
 * (scontrol, sinfo, bjobs, flux, qstat, pbsnodes, aprun, xtprocadmin), each
 * with a time limit (SCR_RESOURCE_MANAGER_TIMEOUT, 5 seconds) and without a
 * shell.  A command that is not there, fails
 * or hangs is no error where the environment has an answer, or where "unknown"
 * is one; resmgr_notice() tells.
 *
 * Ownership: strings are borrowed until resmgr_close().  Threads: one at a
 * time.
 */
#ifndef SITE_RESMGR_H
#define SITE_RESMGR_H

#include <stdint.h>

struct conf;
struct error;
struct hostlist;
struct resmgr; /* opaque */

/* End times that are not a moment. */
#define RESMGR_END_UNKNOWN 0
#define RESMGR_END_NEVER (-1)

/*
 * `name`: "slurm", "lsf", "flux", "pbs" (or "alps", "aprun") or "none", in
 * either case; NULL or "auto": SCR_RESOURCE_MANAGER of `c` (which may be
 * NULL), else the one whose variables are in the environment, else none.
 * NULL: ERROR_USAGE (no such name, the time limit is no number), ERROR_NOMEM.
 */
struct resmgr *resmgr_open(const struct conf *c, const char *name,
			   struct error *err);

/* Consistent with free(): NULL is ignored. */
void resmgr_close(struct resmgr *r);

/* "slurm", "lsf", "flux", "pbs" or "none". */
const char *resmgr_name(const struct resmgr *r);

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

/* What could not be asked, and what was taken instead: lines, or NULL. */
const char *resmgr_notice(const struct resmgr *r);

#endif /* SITE_RESMGR_H */
