/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_pbs.c - PBS: the node file, pbsnodes and qstat.  On a Cray the node
 * file names the nodes that run the scripts, so ALPS is queried instead.  Only
 * ALPS lists steps.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "hostlist.h"
#include "num.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* The name of a Cray node is "nid" and its number in five digits. */
#define NID "nid"

static bool
below_alps(void)
{
	return resmgr_env("PBS_NUM_NODES") != NULL && remote_installed("aprun");
}

/* Add the node with this number. */
static int
nid_line(struct resmgr *r, char *text, void *out, struct error *err)
{
	char name[32];
	uint64_t nid = 0;

	(void)r;
	if (num_u64(text, 0, 9999999, &nid, NULL) < 0)
		return 0;
	snprintf(name, sizeof(name), NID "%05d", (int)nid);
	return hostlist_add_name(out, name, err);
}

static int
pbs_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *path = resmgr_env("PBS_NODEFILE");
	int rc = 1;

	if (below_alps()) {
		const char *argv[] = {
			"aprun", "-n",	resmgr_env("PBS_NUM_NODES"), "-N",
			"1",	 "cat", "/proc/cray_xt/nid",	     NULL
		};

		/* Run a command that prints the number of each node.  aprun
		 * adds a line of its own. */
		rc = resmgr_ask(r, argv, nid_line, out, err);
	}
	if (rc < 0 || (rc == 0 && out->count > 0))
		return rc;
	if (path == NULL)
		return error_set(err, ERROR_ABSENT,
				 "pbs: PBS_NODEFILE is not set");
	if (resmgr_read_hosts(path, out, err) < 0)
		return error_wrap(err, "pbs");
	return 0;
}

/* xtprocadmin's table: NID, (HEX), NODENAME, TYPE, STATUS, MODE. */
static int
proc_line(struct resmgr *r, char *text, void *out, struct error *err)
{
	char status[32], nid[16];

	if (sscanf(text, "%15s %*s %*s %*s %31s", nid, status) != 2 ||
	    strstr(status, "down") == NULL)
		return 0;
	return nid_line(r, nid, out, err);
}

/* A line has a node, its states, and possibly a remark. */
static int
node_line(struct resmgr *r, char *text, void *out, struct error *err)
{
	char *node = resmgr_word(&text), *state = resmgr_word(&text);

	if (state == NULL || strstr(state, "down") == NULL)
		return 0;
	return resmgr_add(r, node, out, err);
}

/* `pbsnodes -l` lists the nodes that are down or offline, with their state. */
static int
pbs_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	 struct error *err)
{
	const char *alps[] = { "xtprocadmin", NULL };
	const char *pbs[] = { "pbsnodes", "-l", NULL };
	int rc = below_alps() ? resmgr_ask(r, alps, proc_line, out, err)
			      : resmgr_ask(r, pbs, node_line, out, err);

	(void)nodes;
	return rc < 0 ? -1 : 0;
}

/* Fields of `qstat -f` for the job. */
struct times {
	int64_t began;	      /* epoch; 0: unknown */
	uint64_t limit, used; /* seconds; 0: unknown */
};

static int
time_line(struct resmgr *r, char *line, void *arg, struct error *err)
{
	struct times *t = arg;
	struct tm tm = { .tm_isdst = -1 };
	char *value = strstr(line, " = ");
	const char *rest = NULL;

	(void)r;
	(void)err;
	if (value == NULL)
		return 0;
	*value = '\0';
	value += 3;
	line += strspn(line, " \t");
	if (str_eq(line, "Resource_List.walltime")) {
		(void)resmgr_span(value, &t->limit);
	} else if (str_eq(line, "resources_used.walltime")) {
		(void)resmgr_span(value, &t->used);
	} else if (str_eq(line, "stime") || str_eq(line, "start_time")) {
		rest = strptime(value, "%a %b %d %H:%M:%S %Y", &tm);
		tm.tm_isdst = -1;
		if (rest != NULL)
			t->began = mktime(&tm);
	}
	return 0;
}

static int
pbs_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "qstat", "-f", r->id, NULL };
	struct times t = { .began = 0 };

	if (r->id == NULL)
		return 0;
	if (resmgr_ask(r, argv, time_line, &t, err) < 0)
		return -1;
	if (t.limit == 0)
		return 0;
	if (t.began <= 0)
		t.began = time(NULL) - (int64_t)t.used;
	*epoch = t.began + (int64_t)t.limit;
	return 0;
}

/* --- Steps: the applications that ALPS runs --- */

struct search {
	const char *job_id;
	struct hostlist *out;
	char apid[32]; /* application that the current lines describe */
};

/* "Ap[0]: apid 2286202, pagg ..." begins an application; a later line says
 * "Batch System ID = 1234.sdb". */
static int
apid_line(struct resmgr *r, char *text, void *arg, struct error *err)
{
	static const char apid[] = "apid ", batch[] = "Batch System ID = ";
	struct search *s = arg;
	char *at = strstr(text, apid), *id = NULL;

	(void)r;
	if (at != NULL) {
		at += strlen(apid);
		snprintf(s->apid, sizeof(s->apid), "%.*s",
			 (int)strspn(at, "0123456789"), at);
	}
	at = strstr(text, batch);
	if (at == NULL || s->apid[0] == '\0')
		return 0;
	at += strlen(batch);
	id = resmgr_word(&at);
	if (id == NULL || !resmgr_same_number(id, s->job_id))
		return 0;
	return hostlist_add_name(s->out, s->apid, err);
}

static int
alps_steps(struct resmgr *r, const struct resmgr_job *job, struct hostlist *out,
	   struct error *err)
{
	const char *const argv[] = { "apstat", "-avv", NULL };
	struct search s = { .job_id = job->id, .out = out };

	return resmgr_run(r, argv, apid_line, &s, err);
}

const struct resmgr_ops resmgr_pbs = {
	.name = "pbs",
	.aliases = { "alps", "aprun" },
	.id_variables = { "PBS_JOBID" },
	.nodes = pbs_nodes,
	.down = pbs_down,
	.end_time = pbs_end_time,
	.jobs = { { "qstat" },
		  .ids = 1,
		  .ended = " C F ",
		  .state = 4,
		  .number = true },
	.step_command = "apstat",
	.steps = alps_steps,
	.signal = { { "apkill", "-15" }, { "apkill", "-9" } },
};
