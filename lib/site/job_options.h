/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_options.h - the options that choose a job, for the tables of commands;
 * `w` is a struct job_where (job.h), `key` the short option or 0.
 */
#ifndef SITE_JOB_OPTIONS_H
#define SITE_JOB_OPTIONS_H

#include "opt.h"
#include "site/job.h"
#include "site/resmgr.h"

#define JOB_ID_OPTION(key, w) \
	OPT_STRING(key, "job-id", &(w).job_id, "ID", OPT_ANY, \
		   "job (default SCR_JOB_ID, then this allocation's)")

#define JOB_MANAGER_OPTIONS(w) \
	OPT_STRING(0, "resource-manager", &(w).resmgr, "auto|" RESMGR_NAMES, \
		   OPT_WORDS, "resource manager (default: detected)"), \
		OPT_STRING(0, "resmgr", &(w).resmgr, "NAME", OPT_ANY, NULL), \
		OPT_STRING(0, "conf", &(w).conf_file, "FILE", OPT_FILE, \
			   "user's configuration file (SCR_CONF_FILE)")

#endif /* SITE_JOB_OPTIONS_H */
