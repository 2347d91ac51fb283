/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - the job we run in: user, id, directories, nodes and end time.
 *
 * Precedence: an option, a parameter (conf.h), the resource manager, the
 * default.  A job can be opened without a resource manager, without USER and
 * outside of a job; its id is made of its prefix then: jobs of two prefixes
 * must not share a cache.  (LLNL's library calls them all "defjobid".)
 *
 * Ownership: strings of the options are borrowed; all strings are valid until
 * job_close().  Threads: one at a time.
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

/* The options of the command line; NULL: not given. */
struct job_where {
	const char *prefix, *job_id, *user, *nodes;
	const char *cntl_base, *cache_base; /* instead of SCR_CNTL_BASE, ... */
	const char *resmgr;		    /* see resmgr_open() */
	const char *conf_file;		    /* the user's configuration file */
	/* Take the id that neither option, parameter nor resource manager gives
	 * from the flush file of the prefix, and the user with it: to read what
	 * that job has left. */
	bool by_flush;
};

/* A control or cache directory of the job, the same path on every node. */
struct job_cache {
	const char *base; /* "/ssd" */
	const char *dir;  /* "/ssd/USER/scr.ID" */
	uint64_t bytes;	  /* BYTES: required size; 0: any */
	bool shared;	  /* by all nodes: VIEW=GLOBAL, GROUP=WORLD */
	bool per_node;	  /* VIEW=GLOBAL: datasets are below dir/node.N */
	bool implied;	  /* not configured: the built-in default */
};

struct job {
	const char *prefix;	 /* as given, else "." */
	const char *prefix_real; /* absolute; links resolved if it exists */
	const char *user, *id;
	bool outside; /* of a job: the id is made of the prefix */
	struct conf *conf;
	struct resmgr *rm;
	struct hostlist nodes; /* after job_nodes() */
	/* of them, those of the job now; the resource manager has taken the
	 * rest from it, see job_began() */
	size_t present;
	bool nodes_known;
	/* Control directory: below SCR_CNTL_BASE, as in SCR's library, if that
	 * is set; else below the first CNTLDIR, as in LLNL's scripts; else
	 * below the built-in base.  `cntls` has all of them, this one first. */
	const char *cntl_dir;
	size_t ncntls;
	struct job_cache *cntls;
	/* Cache directories of enabled STORE lines, of CACHE and CACHEDIR
	 * lines, and of SCR_CACHE_BASE, without repetitions. */
	size_t ncaches;
	struct job_cache *caches;
	/* The source of a value: "given", "SCR_USER_NAME from environment". */
	const char *prefix_from, *user_from, *id_from, *nodes_from;
	const char *nodes_given; /* for job_nodes() */
	struct arena *arena;
};

/*
 * Fill *j from `w`, for job_close().  The resource manager is not asked, so the
 * nodes are unknown.  -1, with *j empty: ERROR_USAGE (a user or id that cannot
 * be part of a path, no such resource manager), ERROR_ABSENT or ERROR_SYSTEM
 * (conf_file cannot be read).  Only for commands, as all but job_identity() and
 * job_end_of(): without memory they end.
 */
int job_open(struct job *j, const struct job_where *w, struct error *err);

/* Only the user and the id, for a process that has read the configuration; the
 * prefix is SCR_PREFIX or the working directory.  Memory comes from `a`.
 * Errors as for job_open(). */
int job_identity(struct conf *c, struct arena *a, const char **user,
		 const char **id, struct error *err);

/* Free everything in *j, which may be empty. */
void job_close(struct job *j);

/*
 * Determine the nodes, without repetitions: from the option, SCR_NODELIST, or
 * the resource manager.  Does nothing if they are known.  ERROR_ABSENT: no
 * source gives nodes; the sentence says what to do.  ERROR_USAGE: not a node
 * list.
 */
int job_nodes(struct job *j, struct error *err);

/* The same, and behind them the nodes that the resource manager has taken from
 * the job since it began: they may have files of it.  Not if the user names
 * nodes. */
int job_began(struct job *j, struct error *err);

/* The end time in seconds since the epoch, from SCR_END_TIME or the resource
 * manager.  0: unknown, -1: no limit.  ERROR_USAGE: SCR_END_TIME is not a
 * number. */
int job_end_time(struct job *j, int64_t *epoch, struct error *err);

/* The same for a process that has read the configuration. */
int job_end_of(struct conf *c, int64_t *epoch, struct error *err);

/* Append the warnings to `out`: lines of configuration files that were skipped,
 * and failed queries of the resource manager.  With `describe`, for -v, also a
 * line for each value and its source. */
void job_notice(const struct job *j, bool describe, struct buf *out);

/*
 * Append a line for each base directory BASE of `j` in which other jobs of the
 * user have directories, BASE/USER/scr.ID, with files: their number, size and
 * names.  Only this node is looked at.  Directories that cannot be read are
 * passed over.
 */
void job_old_caches(const struct job *j, struct buf *out);

#endif /* SITE_JOB_H */
