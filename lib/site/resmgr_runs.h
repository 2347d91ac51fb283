/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_runs.h - does another job still run?
 */
#ifndef SITE_RESMGR_RUNS_H
#define SITE_RESMGR_RUNS_H

struct resmgr;

/*
 * 1: the job with this id runs, is suspended or waits to run again; 0: it is
 * gone; -1: that cannot be told, as there is no resource manager or it does
 * not answer (see resmgr_notice()).
 */
int resmgr_runs(struct resmgr *r, const char *job_id);

#endif /* SITE_RESMGR_RUNS_H */
