/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_lsf.c - LSF: the host file for the nodes, bjobs for the time left,
 * jslist and jskill for the steps that jsrun started.  LSF does not report
 * which nodes are down.
 */
#include <time.h>

#include "error.h"
#include "hostlist.h"
#include "site/resmgr_impl.h"
#include "str.h"

/*
 * Each line of the file is a slot.  The first is the launch node, which runs
 * the batch script but no part of the job.  If LSF is set up without launch
 * nodes, the first node has as many slots as the others.  So the first node is
 * removed only if it occurs once.
 */
static int
lsf_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *path = resmgr_env("LSB_DJOB_HOSTFILE");
	bool again = false;

	(void)r;
	if (path == NULL)
		return error_set(err, ERROR_ABSENT,
				 "lsf: LSB_DJOB_HOSTFILE is not set");
	if (resmgr_read_hosts(path, out, err) < 0)
		return error_wrap(err, "lsf");
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
