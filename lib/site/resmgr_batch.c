/* SPDX-License-Identifier: BSD-3-Clause */
/* resmgr_batch.c - PBS: the node file, pbsnodes and qstat; it lists no steps.
 * And LSF. */
#include <string.h>
#include <time.h>

#include "error.h"
#include "hostlist.h"
#include "site/resmgr_impl.h"
#include "str.h"

static int
pbs_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	return resmgr_read_hosts(r, "PBS_NODEFILE", out, err);
}

/* `pbsnodes -l` lists the nodes that are down or offline, with their state, and
 * possibly a remark. */
static int
pbs_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	 struct error *err)
{
	const char *argv[] = { "pbsnodes", "-l", NULL };
	char *line = NULL;
	int rc = resmgr_ask(r, argv, err);

	(void)nodes;
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

const struct resmgr_ops resmgr_pbs = {
	.name = "pbs",
	.id_variables = { "PBS_JOBID" },
	.nodes = pbs_nodes,
	.down = pbs_down,
	.end_time = pbs_end_time,
	.jobs = { { "qstat" },
		  .ids = 1,
		  .ended = " C F ",
		  .state = 4,
		  .number = true },
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
