/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_batch.c - PBS: the node file, pbsnodes and qstat.  On a Cray the node
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
add_nid(const char *text, struct hostlist *out, struct error *err)
{
	char name[32];
	uint64_t nid = 0;

	if (num_u64(text, 0, 9999999, &nid, NULL) < 0)
		return 0;
	snprintf(name, sizeof(name), NID "%05d", (int)nid);
	return hostlist_add_name(out, name, err);
}

static int
pbs_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	char *line = NULL;
	int rc = 1;

	if (below_alps()) {
		const char *argv[] = {
			"aprun", "-n",	resmgr_env("PBS_NUM_NODES"), "-N",
			"1",	 "cat", "/proc/cray_xt/nid",	     NULL
		};

		/* Run a command that prints the number of each node.  aprun
		 * adds a line of its own. */
		rc = resmgr_ask(r, argv, err);
		while (rc == 0 && (line = resmgr_line(r)) != NULL)
			rc = add_nid(line, out, err);
	}
	if (rc < 0 || (rc == 0 && out->count > 0))
		return rc;
	return resmgr_read_hosts(r, "PBS_NODEFILE", out, err);
}

/* `pbsnodes -l` lists the nodes that are down or offline, with their state, and
 * possibly a remark.  xtprocadmin's table: NID, (HEX), NODENAME, TYPE, STATUS,
 * MODE. */
static int
pbs_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	 struct error *err)
{
	const char *of_alps[] = { "xtprocadmin", NULL };
	const char *of_pbs[] = { "pbsnodes", "-l", NULL };
	const bool alps = below_alps();
	char status[32], nid[16], *line = NULL;
	int rc = resmgr_ask(r, alps ? of_alps : of_pbs, err);

	(void)nodes;
	while (rc == 0 && alps && (line = resmgr_line(r)) != NULL)
		if (sscanf(line, "%15s %*s %*s %*s %31s", nid, status) == 2 &&
		    strstr(status, "down") != NULL)
			rc = add_nid(nid, out, err);
	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		char *name = resmgr_word(&line), *state = resmgr_word(&line);

		if (state != NULL && strstr(state, "down") != NULL)
			rc = resmgr_add(r, name, out, err);
	}
	return rc < 0 ? -1 : 0;
}

static int
pbs_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "qstat", "-f", r->id, NULL };
	int64_t began = 0;	      /* epoch; 0: unknown */
	uint64_t limit = 0, used = 0; /* seconds; 0: unknown */
	char *line = NULL;

	if (r->id == NULL)
		return 0;
	if (resmgr_ask(r, argv, err) < 0)
		return -1;
	while ((line = resmgr_line(r)) != NULL) {
		struct tm tm = { .tm_isdst = -1 };
		char *value = strstr(line, " = ");
		const char *rest = NULL;

		if (value == NULL)
			continue;
		*value = '\0';
		value += 3;
		line += strspn(line, " \t");
		if (str_eq(line, "Resource_List.walltime")) {
			(void)resmgr_span(value, &limit);
		} else if (str_eq(line, "resources_used.walltime")) {
			(void)resmgr_span(value, &used);
		} else if (str_eq(line, "stime") ||
			   str_eq(line, "start_time")) {
			rest = strptime(value, "%a %b %d %H:%M:%S %Y", &tm);
			tm.tm_isdst = -1;
			if (rest != NULL)
				began = mktime(&tm);
		}
	}
	if (limit == 0)
		return 0;
	if (began <= 0)
		began = time(NULL) - (int64_t)used;
	*epoch = began + (int64_t)limit;
	return 0;
}

/* --- Steps: the applications that ALPS runs --- */

/* "Ap[0]: apid 2286202, pagg ..." begins an application; a later line says
 * "Batch System ID = 1234.sdb". */
static int
alps_steps(struct resmgr *r, const struct resmgr_job *job, struct hostlist *out,
	   struct error *err)
{
	static const char apid[] = "apid ", batch[] = "Batch System ID = ";
	const char *const argv[] = { "apstat", "-avv", NULL };
	char is[32] = ""; /* application that the current lines describe */
	char *line = NULL;
	int rc = resmgr_run(r, argv, err);

	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		char *at = strstr(line, apid), *id = NULL;

		if (at != NULL) {
			at += strlen(apid);
			snprintf(is, sizeof(is), "%.*s",
				 (int)strspn(at, "0123456789"), at);
		}
		at = strstr(line, batch);
		if (at == NULL || is[0] == '\0')
			continue;
		at += strlen(batch);
		id = resmgr_word(&at);
		if (id != NULL && resmgr_same_number(id, job->id))
			rc = hostlist_add_name(out, is, err);
	}
	return rc;
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

/*
 * --- LSF ---
 *
 * The host file for the nodes, bjobs for the time left, jslist and jskill for
 * the steps that jsrun started.  LSF does not report which nodes are down.
 */

/*
 * Each line of the file is a slot.  The first is the launch node, which runs
 * the batch script but no part of the job.  If LSF is set up without launch
 * nodes, the first node has as many slots as the others.  So the first node is
 * removed only if it occurs once.
 */
static int
lsf_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	bool again = false;

	if (resmgr_read_hosts(r, "LSB_DJOB_HOSTFILE", out, err) < 0)
		return -1;
	for (size_t i = 1; i < out->count && !again; i++)
		again = str_eq(out->names[i], out->names[0]);
	if (!again && out->count > 1)
		hostlist_keep(out, -(int64_t)(out->count - 1));
	return 0;
}

/* A line has hours, minutes and a letter, such as "1:30 L"; or "-": no
 * limit. */
static int
lsf_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "bjobs",	    "-noheader", "-o",
			       "time_left", r->id,	 NULL };
	char *line = NULL;

	if (r->id == NULL)
		return 0;
	if (resmgr_ask(r, argv, err) < 0)
		return -1;
	while ((line = resmgr_line(r)) != NULL) {
		const char *word = resmgr_word(&line);
		uint64_t minutes = 0;

		if (word != NULL && str_eq(word, "-"))
			*epoch = RESMGR_END_NEVER;
		/* resmgr_span() reads H:M as M:S: the result is in minutes. */
		else if (word != NULL && resmgr_span(word, &minutes))
			*epoch = time(NULL) + (int64_t)(minutes * 60);
	}
	return 0;
}

/* --- Steps --- */

/* jslist and jskill only work on the allocation they are called in. */
static int
lsf_check(const struct resmgr_job *job, struct error *err)
{
	if (job->around || resmgr_env_is("LSB_JOBID", job->id))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "job %s: steps of an LSF job can be stopped only from "
			 "inside it",
			 job->id);
}

/* A table row: the first column is the id of the step, the last its state. */
static int
lsf_steps(struct resmgr *r, const struct resmgr_job *job, struct hostlist *out,
	  struct error *err)
{
	const char *const argv[] = { "jslist", NULL };
	char *line = NULL;
	int rc = resmgr_run(r, argv, err);

	(void)job;
	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		const char *id = resmgr_word(&line), *word = NULL;
		bool running = false;

		while ((word = resmgr_word(&line)) != NULL)
			running = str_eq(word, "Running");
		if (running && resmgr_is_number(id))
			rc = hostlist_add_name(out, id, err);
	}
	return rc;
}

const struct resmgr_ops resmgr_lsf = {
	.name = "lsf",
	.id_variables = { "LSB_JOBID" },
	.nodes = lsf_nodes,
	.end_time = lsf_end_time,
	.jobs = { { "bjobs", "-u", "all", "-noheader", "-o", "jobid stat" },
		  .ids = 1,
		  .ended = " DONE EXIT ",
		  .state = 1 },
	.step_command = "jslist",
	.check = lsf_check,
	.steps = lsf_steps,
	.signal = { { "jskill" }, { "jskill", "-s", "KILL" } },
};
