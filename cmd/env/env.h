/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * env.h - shared by the files of scr_env.
 */
#ifndef CMD_ENV_ENV_H
#define CMD_ENV_ENV_H

#include <limits.h>
#include <stdbool.h>

#include "app.h"
#include "remote/remote.h"
#include "site/job_options.h"

struct buf;
struct error;

/* The call of a verb, as `scr_env VERB` or by the name of LLNL's program. */
struct env_call {
	const struct env_tool *tool;
	bool llnl;
	int argc;
	char **argv;
};

struct env_tool {
	/* NULL: no such verb; no such program of LLNL */
	const char *verb, *llnl;
	const char *usage, *summary;
	int (*run)(const struct env_call *c); /* returns an exit status */
	int which; /* of several that `run` serves: an env_question, ... */
};

/* Questions about the job. */
enum env_question {
	ENV_USER,
	ENV_JOB_ID,
	ENV_END_TIME,
	ENV_NODES,
	ENV_DOWN,      /* nodes that the resource manager reports as down */
	ENV_RUN_NODES, /* number of nodes of the last run */
	ENV_CNTL,
	ENV_CACHE,
};

/* In place of a question: an argument names it. */
#define ENV_ARGUMENT (-1)

/* Format of the answer. */
struct env_look {
	bool plain;	       /* nodes: each name, not ranges */
	const char *separator; /* between them; NULL: a comma */
	bool count;	       /* nodes: their number */
	bool base; /* directories: without the part for user and job */
	bool line; /* directories: all on one line */
};

/* Print the answers to `count` questions, one line each; a list of directories
 * may take several.  Returns an exit status. */
int env_ask(const struct job_where *w, const enum env_question *q, size_t count,
	    const struct env_look *l);

/* app_start() for a verb: parse the options, set *count (NULL: there are
 * none) and return the other arguments. */
char **env_start(const struct env_call *c, const struct opt *opts, int *count);

/* Open the job, and warn of problems in its configuration. */
int env_open_job(struct job *j, const struct job_where *w, struct error *err);

/* Look up the job's nodes.  The error names the option that gives them. */
int env_job_nodes(struct job *j, struct error *err);

/* Print `out`, or report *err if rc < 0; free `out`.  Returns an exit
 * status. */
int env_finish(int rc, struct buf *out, struct error *err);

/* Options that choose the job; and for programs of LLNL that know two names of
 * the option, the prefix. */
#define ENV_PREFIX_OR_DIR(prefix, dir) \
	APP_OPT_PREFIX(&(prefix)), \
		OPT_STRING('d', "dir", &(dir), "DIR", OPT_DIR, "the same")
#define ENV_JOB_OPTIONS(w) \
	OPT_GROUP("Which job"), APP_OPT_PREFIX(&(w).prefix), \
		JOB_ID_OPTION(0, w), \
		OPT_STRING(0, "user", &(w).user, "NAME", OPT_ANY, \
			   "user (default SCR_USER_NAME, then $USER)"), \
		OPT_STRING( \
			0, "nodes", &(w).nodes, "LIST", OPT_ANY, \
			"its nodes (default SCR_NODELIST, then the job's)"), \
		JOB_MANAGER_OPTIONS(w)

/* How commands are run on the nodes. */
struct env_remote {
	const char *remote, *launcher; /* its name; LLNL's option */
	uint64_t timeout, fanout;      /* seconds (0: SCR_NODE_TIMEOUT); nodes
					  at a time */
	const char *helper;	       /* scr_env on the nodes; NULL: as here */
	char beside[PATH_MAX];	       /* where it is here */
	const char *job_id;
};

/* Default of SCR_NODE_TIMEOUT, seconds. */
#define ENV_ANSWER_SECS 20

#define ENV_REMOTE_OPTIONS(h) \
	OPT_STRING(0, "remote", &(h).remote, REMOTE_NAMES, OPT_WORDS, \
		   "how to reach the nodes (default SCR_REMOTE)"), \
		OPT_U64(0, "fanout", &(h).fanout, "N", 1, REMOTE_FANOUT_MAX, \
			"nodes at the same time (default 64)"), \
		OPT_U64(0, "timeout", &(h).timeout, "SECONDS", 1, 86400, \
			"time-out for a node (default SCR_NODE_TIMEOUT)"), \
		OPT_STRING(0, "helper", &(h).helper, "FILE", OPT_FILE, \
			   "scr_env as the nodes have it (default: as here)")

/* Set *o, to be freed by remote_forget(), for the nodes of the job, which are
 * known, and r->helper; `said` gets the ways as a line. */
int env_set_remote(struct job *j, struct env_remote *r,
		   struct remote_options *o, struct buf *said,
		   struct error *err);

/* The answer of a node that does not see the file it was asked for. */
#define ENV_ELSEWHERE " elsewhere"

/* A line of its answer begins so, and a directory follows that is in the file
 * system of the root directory. */
#define ENV_ROOT "root "

/* --- The verbs --- */

/* job.c */
/* which: an env_question; or ENV_ARGUMENT: an argument names it */
int env_question(const struct env_call *c);
int env_run(const struct env_call *c);
int env_conf(const struct env_call *c);
int env_hostlist(const struct env_call *c);

/* nodes.c */
int env_down_nodes(const struct env_call *c);
int env_check_node(const struct env_call *c);
int env_probe(const struct env_call *c);
int env_should_exit(const struct env_call *c);
int env_retries_halt(const struct env_call *c);
int env_ranks(const struct env_call *c); /* which: are they ended? */

/* doctor.c */
int env_doctor(const struct env_call *c);

/* files.c */
int env_flush_file(const struct env_call *c);
int env_nodes_file(const struct env_call *c);
int env_log_add(const struct env_call *c); /* which: is it a transfer? */
int env_interval(const struct env_call *c);
int env_crc32(const struct env_call *c);

/* log.c */
int env_log(const struct env_call *c);

#endif /* CMD_ENV_ENV_H */
