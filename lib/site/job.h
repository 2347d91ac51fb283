/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - the job around us: whose it is, where it keeps what, on which nodes
 * it runs and until when.
 *
 * An option beats a parameter (conf.h) beats the resource manager beats the
 * default.  Nothing here needs a resource manager, USER or a job: outside of
 * one the id is "defjobid", as SCR's library has it.
 *
 * Ownership: all strings live until job_close().  Threads: one at a time.
 */
#ifndef SITE_JOB_H
#define SITE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlist.h"

struct arena;
struct buf;
struct conf;
struct error;
struct resmgr;

/* What the command line said; NULL: nothing. */
struct job_where {
	const char *prefix, *job_id, *user, *nodes;
	const char *cntl_base, *cache_base; /* for SCR_CNTL_BASE, _CACHE_BASE */
	const char *resmgr;		    /* see resmgr_open() */
	const char *conf_file;		    /* the user's configuration file */
};

/* A control or cache directory of the job, the same path on every node. */
struct job_cache {
	const char *base; /* "/ssd" */
	const char *dir;  /* "/ssd/USER/scr.ID" */
	uint64_t bytes;	  /* BYTES: size it must have; 0: any */
	bool shared;	  /* all nodes see the same: VIEW=GLOBAL, GROUP=WORLD */
	bool per_node;	  /* VIEW=GLOBAL: datasets are below dir/node.N */
	bool implied;	  /* nobody named it: the built-in default */
};

struct job {
	const char *prefix;	 /* as it was given; "." if not */
	const char *prefix_real; /* absolute; links resolved if it exists */
	const char *user, *id;
	struct conf *conf;
	struct resmgr *rm;
	struct hostlist nodes; /* after job_nodes() */
	bool nodes_known;
	/* Control directory.  SCR's library has it below SCR_CNTL_BASE;
	 * LLNL's scripts look below the first CNTLDIR.  Where SCR_CNTL_BASE is
	 * set it is the one, else the first CNTLDIR, else the built-in base.
	 * All of them, this one first, are in `cntls`. */
	const char *cntl_dir;
	size_t ncntls;
	struct job_cache *cntls;
	/* Those of STORE lines that are enabled, of CACHE and CACHEDIR lines,
	 * and SCR_CACHE_BASE; each once. */
	size_t ncaches;
	struct job_cache *caches;
	/* Where a value came from: "given", "SCR_USER_NAME from environment". */
	const char *prefix_from, *user_from, *id_from, *nodes_from;
	char *nodes_given; /* until job_nodes() */
	struct arena *arena;
};

/*
 * Fill *j from `w` for job_close(), asking nobody: the nodes are not known
 * yet.  -1, *j is then empty: ERROR_USAGE (a user or id that cannot be part
 * of a path, no such resource manager), ERROR_ABSENT or ERROR_SYSTEM
 * (conf_file cannot be read), ERROR_NOMEM.
 */
int job_open(struct job *j, const struct job_where *w, struct error *err);

/* Give all back; an empty *j is fine. */
void job_close(struct job *j);

/*
 * Find out the nodes, each once: given, SCR_NODELIST, or the resource
 * manager's.  Does nothing when they are known.  ERROR_ABSENT: there are none,
 * and what to do; ERROR_USAGE: not a node list.
 */
int job_nodes(struct job *j, struct error *err);

/* When it ends, seconds since the epoch: SCR_END_TIME, or the resource
 * manager's; 0: unknown, -1: no limit.  ERROR_USAGE: SCR_END_TIME is no
 * number. */
int job_end_time(struct job *j, int64_t *epoch, struct error *err);

/* What was left out of configuration files, and what the resource manager did
 * not tell: the lines to warn about are added to `out`. */
int job_notice(const struct job *j, struct buf *out);

/* One line for each value and where it came from, for -v. */
int job_describe(const struct job *j, struct buf *out);

#endif /* SITE_JOB_H */
