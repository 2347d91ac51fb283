/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_slurm.c - SLURM: scontrol for the job, sinfo for its nodes, squeue and
 * scancel for its steps.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "num.h"
#include "site/resmgr_impl.h"
#include "site/step.h"

#include "str.h"

/* Most bytes of an argument of a command; the kernel's limit is 128 KiB. */
#define ARGUMENT_MAX ((size_t)100 << 10)

/* The value of " KEY=" in a line of `scontrol --oneliner`, up to the next blank.
 * NULL: not found, or no memory.  Values with blanks are not supported. */
static const char *
field(struct resmgr *r, const char *line, const char *key)
{
	const size_t len = strlen(key);

	for (const char *p = line; p != NULL; p = strchr(p, ' ')) {
		p += strspn(p, " ");
		if (strncmp(p, key, len) == 0 && p[len] == '=')
			return arena_strndup(r->arena, p + len + 1,
					     strcspn(p + len + 1, " "));
	}
	return NULL;
}

/* Query the job with scontrol, once.  The answer is one line in r->job.  For a
 * job array scontrol prints a line per job, for a heterogeneous job one per
 * component.  Keep the line with our id, and the nodes of all components. */
static int
ask_job(struct resmgr *r, struct error *err)
{
	const char *argv[] = { "scontrol", "--oneliner", "show",
			       "job",	   r->id,	 NULL };
	char *line = NULL;
	int rc = 0;

	if (r->asked || r->id == NULL)
		return 0;
	r->asked = true;
	rc = resmgr_ask(r, argv, err);
	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		const char *id = field(r, line, "JobId");
		const char *het = field(r, line, "HetJobId");
		const char *nodes = field(r, line, "NodeList");
		const bool own = id != NULL && str_eq(id, r->id);

		if (own && r->job == NULL) {
			r->job = arena_strdup(r->arena, line);
			if (r->job == NULL)
				return error_no_memory(err);
		}
		if ((!own && (het == NULL || !str_eq(het, r->id))) ||
		    nodes == NULL || *nodes == '\0' || *nodes == '(')
			continue;
		r->nodes = r->nodes == NULL ? nodes
					    : arena_printf(r->arena, "%s,%s",
							   r->nodes, nodes);
		if (r->nodes == NULL)
			return error_no_memory(err);
	}
	if (rc == 0 && r->job == NULL)
		resmgr_note(r, "scontrol: has no record of job %s", r->id);
	return rc < 0 ? -1 : 0;
}

/* The nodes at the start of the job; those of each component, if it is
 * heterogeneous. */
static int
slurm_began(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *text = resmgr_env("SLURM_JOB_NODELIST");
	char name[64];

	(void)r;
	if (text == NULL)
		text = resmgr_env("SLURM_NODELIST");
	for (unsigned i = 0; text != NULL || i == 0; i++) {
		if (text != NULL && hostlist_add(out, text, err) < 0)
			return -1;
		snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%u",
			 i);
		text = resmgr_env(name);
	}
	return 0;
}

/* scontrol is preferred: the environment lists the nodes at the start of the
 * job, scontrol leaves out nodes that have died since. */
static int
slurm_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	if (ask_job(r, err) < 0)
		return -1;
	if (r->nodes != NULL)
		return hostlist_add(out, r->nodes, err);
	if (slurm_began(r, out, err) < 0)
		return -1;
	if (out->count == 0)
		return error_set(err, ERROR_ABSENT,
				 "slurm: scontrol reports no nodes, and "
				 "SLURM_JOB_NODELIST is not set");
	resmgr_note(r, "nodes are those the job began with "
		       "(SLURM_JOB_NODELIST)");
	return 0;
}

/*
 * Does this state of sinfo mean that the node's memory is lost?  The word may
 * be followed by flags: '*' does not answer, '~' saves power, and so on.  A
 * drained or failing node is up.  A node that does not answer is down only once
 * SLURM reports it as down.
 */
static bool
is_down(const char *state)
{
	static const char *const words[] = {
		"down",	      "powered_down", "powering_down",
		"power_down", "poweroff",
	};
	size_t len = strspn(state, "abcdefghijklmnopqrstuvwxyz_"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (len == strlen(words[i]) &&
		    strncasecmp(state, words[i], len) == 0)
			return true;
	return strchr(state + len, '~') != NULL;
}

static int
slurm_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	   struct error *err)
{
	const char *argv[] = { "sinfo",		 "--noheader", "--Node",
			       "--format=%N %T", NULL,	       NULL };
	struct buf list = BUF_INIT;
	char *line = NULL;
	int rc = -1;

	if (buf_add_str(&list, "--nodes=") < 0) {
		error_no_memory(err);
	} else if (hostlist_text(nodes, &list, err) == 0) {
		if (list.len < ARGUMENT_MAX)
			argv[4] = list.data;
		rc = resmgr_ask(r, argv, err);
	}
	/* A line is "NODES STATE".  A line without a state is from a query for
	 * nodes that are down. */
	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		char *name = resmgr_word(&line), *state = resmgr_word(&line);

		if (name != NULL && (state == NULL || is_down(state)))
			rc = resmgr_add(r, name, out, err);
	}
	buf_free(&list);
	return rc < 0 ? -1 : 0;
}

static int
slurm_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *text = NULL, *limit = NULL;
	struct tm tm = { .tm_isdst = -1 };
	const char *rest = NULL;
	time_t at = 0;

	if (ask_job(r, err) < 0)
		return -1;
	text = field(r, r->job, "EndTime");
	limit = field(r, r->job, "TimeLimit");
	if (limit != NULL && str_eq(limit, "UNLIMITED")) {
		*epoch = RESMGR_END_NEVER;
		return 0;
	}
	if (text != NULL) {
		if (str_eq(text, "NONE"))
			*epoch = RESMGR_END_NEVER;
		rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
		if (rest == NULL || *rest != '\0')
			return 0;
		tm.tm_isdst = -1;
		at = mktime(&tm);
		if (at > 0)
			*epoch = at;
		return 0;
	}
	/* Set since SLURM 22.05; wrong if the limit was changed since. */
	text = resmgr_env("SLURM_JOB_END_TIME");
	if (text != NULL && num_i64(text, 1, INT64_MAX, epoch, NULL) < 0)
		resmgr_note(r, "SLURM_JOB_END_TIME is not a number");
	return 0;
}

/* --- Steps --- */

/* "1234.5", "1234+0.5", "1234_7.5" are steps that srun started.  Steps with
 * names (batch, extern, interactive) belong to the allocation itself. */
static int
add_step(char *text, struct hostlist *out, struct error *err)
{
	char *id = resmgr_word(&text), *dot = NULL;
	bool own = false;

	dot = id != NULL ? strrchr(id, '.') : NULL;
	if (dot == NULL || strspn(id, "0123456789") == 0 ||
	    !resmgr_is_number(dot + 1))
		return 0;
	*dot = '\0';
	own = resmgr_env_is("SLURM_JOB_ID", id) &&
	      resmgr_env_is("SLURM_STEP_ID", dot + 1);
	*dot = '.';
	return own ? 0 : hostlist_add_name(out, id, err);
}

static const char *
slurm_step_name(struct resmgr *r)
{
	const char *step = resmgr_env("SLURM_STEP_ID");
	const char *argv[] = { "squeue", "--noheader", "--format=%j", NULL,
			       NULL };
	char *line = NULL;

	if (r->id == NULL || step == NULL)
		return NULL;
	argv[3] = arena_printf(r->arena, "--steps=%s.%s", r->id, step);
	if (resmgr_ask(r, argv, NULL) == 0)
		line = resmgr_line(r);
	return line != NULL ? resmgr_word(&line) : NULL;
}

static int
slurm_steps(struct resmgr *r, const struct resmgr_job *job,
	    struct hostlist *out, struct error *err)
{
	const char *argv[] = { "squeue", "-h", "-s", "-j",
			       job->id,	 "-o", "%i", NULL };
	struct error why = ERROR_INIT;
	char *line = NULL;
	int rc = resmgr_run(r, argv, &why);

	if (rc < 0 && strstr(why.text, "Invalid job id") != NULL)
		return error_set(
			err, ERROR_ABSENT,
			"job %s: slurm has no record of it: it has ended or "
			"never existed",
			job->id);
	if (rc < 0)
		return error_pass(err, &why);
	while (rc == 0 && (line = resmgr_line(r)) != NULL)
		rc = add_step(line, out, err);
	return rc;
}

/* "StepId=1234.5 ... SrunHost:Pid=node1:678".  The environment of the process
 * that started the step shows whose it is. */
static int
slurm_own(struct resmgr *r, const struct resmgr_job *job, const char *mark,
	  struct hostlist *out, struct error *err)
{
	static const char step[] = "StepId=", from[] = "SrunHost:Pid=";
	const char *argv[] = { "scontrol", "--oneliner", "show",
			       "step",	   job->id,	 NULL };
	char *line = NULL;
	int rc = resmgr_run(r, argv, err);

	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		const char *at = strstr(line, from);
		char host[256] = "", pid[32];
		size_t len = 0;
		int is = 0;

		if (!str_starts(line, step) || at == NULL)
			continue;
		at += strlen(from);
		len = strcspn(at, ":");
		(void)gethostname(host, sizeof(host) - 1);
		if (at[len] != ':' || strncmp(at, host, len) != 0 ||
		    (host[len] != '\0' && host[len] != '.'))
			continue;
		snprintf(pid, sizeof(pid), "%.*s",
			 (int)strspn(at + len + 1, "0123456789"), at + len + 1);
		is = step_is_marked(pid, mark);
		if (is < 0)
			rc = error_set(err, ERROR_SYSTEM,
				       "process %s: cannot see whose step it "
				       "started",
				       pid);
		else if (is > 0)
			rc = add_step(line + strlen(step), out, err);
	}
	return rc;
}

const struct resmgr_ops resmgr_slurm = {
	.name = "slurm",
	.id_variables = { "SLURM_JOB_ID", "SLURM_JOBID" },
	.nodes = slurm_nodes,
	.began = slurm_began,
	.down = slurm_down,
	.end_time = slurm_end_time,
	.jobs = { { "squeue", "-h", "-o", "%A %t" },
		  .ids = 1,
		  .ended = " CG CD CA F TO NF BF DL OOM PR ",
		  .state = 1 },
	.step_command = "squeue",
	.steps = slurm_steps,
	.step_name = slurm_step_name,
	.own = slurm_own,
	.signal = { { "scancel", "--signal=TERM" },
		    { "scancel", "--signal=KILL" } },
	.launcher = REMOTE_SRUN,
};
