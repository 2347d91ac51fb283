/* SPDX-License-Identifier: BSD-3-Clause */
/* resmgr_flux.c - Flux: the job is the instance we run in, and the steps are
 * the jobs of that instance. */
#include <string.h>
#include <time.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "num.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* Flux often runs inside a job of another manager, never the other way round.
 * Without the command `flux` it cannot be queried. */
static enum resmgr_around
flux_around(void)
{
	if (resmgr_env("FLUX_URI") == NULL && resmgr_env("FLUX_JOB_ID") == NULL)
		return RESMGR_OUTSIDE;
	return remote_installed("flux") ? RESMGR_INNERMOST : RESMGR_UNUSABLE;
}

/* Keep the first word that the command prints. */
static int
ask_word(struct resmgr *r, const char *const *argv, const char **kept,
	 struct error *err)
{
	const char *word = NULL;
	char *line = NULL;
	int rc = resmgr_ask(r, argv, err);

	while (rc == 0 && word == NULL && (line = resmgr_line(r)) != NULL)
		word = resmgr_word(&line);
	if (word == NULL)
		return rc < 0 ? -1 : 0;
	*kept = arena_strdup(r->arena, word);
	return *kept != NULL ? 0 : error_no_memory(err);
}

/* A batch script has no FLUX_JOB_ID: ask its instance. */
static int
flux_find_id(struct resmgr *r, struct error *err)
{
	const char *argv[] = { "flux", "getattr", "jobid", NULL };

	return ask_word(r, argv, &r->id, err);
}

/* Add the nodes in `state` to `out`.  1: no answer. */
static int
list(struct resmgr *r, const char *state, struct hostlist *out,
     struct error *err)
{
	const char *argv[] = { "flux",	     "resource", "list", "-n", "-o",
			       "{nodelist}", "-s",	 state,	 NULL };
	char *line = NULL;
	int rc = resmgr_ask(r, argv, err);

	while (rc == 0 && (line = resmgr_line(r)) != NULL)
		rc = resmgr_add(r, line, out, err);
	return rc;
}

static int
flux_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	int rc = list(r, "all", out, err);

	if (rc <= 0)
		return rc;
	return error_set(err, ERROR_ABSENT,
			 "flux: `flux resource list' does not answer");
}

static int
flux_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	  struct error *err)
{
	(void)nodes;
	return list(r, "down", out, err) < 0 ? -1 : 0;
}

/* Seconds, or "inf". */
static int
flux_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "flux", "job", "timeleft", NULL };
	const char *word = NULL;
	int64_t seconds = 0;

	if (ask_word(r, argv, &word, err) < 0)
		return -1;
	if (word != NULL && str_starts(word, "inf"))
		*epoch = RESMGR_END_NEVER;
	else if (word != NULL &&
		 num_i64(word, 0, INT32_MAX, &seconds, NULL) == 0)
		*epoch = time(NULL) + seconds;
	return 0;
}

/* --- Steps --- */

/*
 * Are we inside the instance that is the job?  Then `flux jobs` lists its
 * steps.  From outside, the same command lists the user's allocations, and the
 * steps are listed through `flux proxy`.
 */
static bool
inside(const struct resmgr_job *job)
{
	return resmgr_env("FLUX_ENCLOSING_ID") != NULL &&
	       (job->around || resmgr_env_is("FLUX_ENCLOSING_ID", job->id));
}

static int
flux_check(const struct resmgr_job *job, struct error *err)
{
	if (!job->around || inside(job))
		return 0;
	return error_set(err, ERROR_USAGE, "this is not inside a Flux job");
}

static size_t
flux_proxy(const struct resmgr_job *job, const char **words)
{
	if (inside(job))
		return 0;
	words[0] = "flux";
	words[1] = "proxy";
	words[2] = job->id;
	return 3;
}

/* Ids in base 58 begin with a florin sign, or with f in locales without it.
 * Skip it. */
static const char *
digits(const char *id)
{
	return str_starts(id, "\xc6\x92") ? id + 2 : id + (*id == 'f');
}

/* A line has an id in decimal and in base 58.  Our own id may be in either
 * form. */
static int
flux_steps(struct resmgr *r, const struct resmgr_job *job, struct hostlist *out,
	   struct error *err)
{
	static const char *const jobs[] = { "flux",
					    "jobs",
					    "-n",
					    "-f",
					    "running",
					    "-o",
					    "{id.dec} {id.f58}",
					    NULL };
	const char *own = resmgr_env("FLUX_JOB_ID"), *argv[16];
	char *line = NULL;
	int rc = 0;

	memcpy(argv + flux_proxy(job, argv), jobs, sizeof(jobs));
	rc = resmgr_run(r, argv, err);
	while (rc == 0 && (line = resmgr_line(r)) != NULL) {
		const char *id = resmgr_word(&line);
		const char *other = resmgr_word(&line);

		if (id != NULL && resmgr_is_number(id) &&
		    (own == NULL ||
		     (!str_eq(id, own) &&
		      (other == NULL || !str_eq(digits(other), digits(own))))))
			rc = hostlist_add_name(out, id, err);
	}
	return rc;
}

static int
flux_own(struct resmgr *r, const struct resmgr_job *job, const char *mark,
	 struct hostlist *out, struct error *err)
{
	struct hostlist all = HOSTLIST_INIT;
	int rc = flux_steps(r, job, &all, err);

	for (size_t i = 0; rc == 0 && i < all.count; i++) {
		const char *argv[16] = { NULL }, *value = strchr(mark, '=') + 1;
		size_t n = flux_proxy(job, argv);
		bool ours = false;
		char *line = NULL;

		memcpy(argv + n,
		       (const char *[]){ "flux", "job", "info", all.names[i],
					 "jobspec" },
		       5 * sizeof(*argv));
		/* A job's description has the environment of the command that
		 * submitted it.  A job that has gone since is none of ours. */
		rc = resmgr_ask(r, argv, err);
		while (rc == 0 && !ours && (line = resmgr_line(r)) != NULL)
			ours = strstr(line, value) != NULL;
		if (rc >= 0)
			rc = ours ? hostlist_add_name(out, all.names[i], err)
				  : 0;
	}
	hostlist_free(&all);
	return rc;
}

const struct resmgr_ops resmgr_flux = {
	.name = "flux",
	.id_variables = { "FLUX_JOB_ID" },
	.around = flux_around,
	.find_id = flux_find_id,
	.nodes = flux_nodes,
	.down = flux_down,
	.end_time = flux_end_time,
	/* We run in our own instance: jobs are listed by its parent. */
	.jobs = { { "flux", "--parent", "jobs", "-A", "-n", "-o",
		    "{id} {id.dec}" },
		  .ids = 2 },
	.step_command = "flux",
	.check = flux_check,
	.steps = flux_steps,
	.own = flux_own,
	.signal = { { "flux", "job", "kill", "--signal=SIGTERM" },
		    { "flux", "job", "kill", "--signal=SIGKILL" } },
	.proxy = flux_proxy,
	.launcher = REMOTE_FLUX,
};
