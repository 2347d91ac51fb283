/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_env - answers for batch scripts: the job, its nodes that are down,
 * whether to restart, the content of its files.  Each question is a verb; most
 * verbs can also be called by the name and with the options of LLNL's program.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "env/env.h"
#include "error.h"
#include "str.h"

static const struct env_tool tools[] = {
	{ "job-id", NULL, "[OPTION]...", "print the id of the job",
	  env_question, ENV_JOB_ID },
	{ "user", NULL, "[OPTION]...", "print the user's name", env_question,
	  ENV_USER },
	{ "end-time", NULL, "[OPTION]...",
	  "print when the job ends, in seconds since 1970; 0 unknown, -1 never",
	  env_question, ENV_END_TIME },
	{ "nodes", NULL, "[-c|-e] [OPTION]...", "print the nodes of the job",
	  env_question, ENV_NODES },
	{ "cntl-dir", NULL, "[-b] [OPTION]...",
	  "print the control directory of the job", env_question, ENV_CNTL },
	{ "cache-dir", NULL, "[-b] [OPTION]...",
	  "print the cache directories of the job, one per line", env_question,
	  ENV_CACHE },
	{ NULL, "scr_list_dir", "[-b] [OPTION]... control|cache",
	  "print the directories of the job", env_question, ENV_ARGUMENT },
	{ "conf", NULL, "[OPTION]... [NAME]...",
	  "print SCR parameters, and where they come from", env_conf, 0 },
	{ "hostlist", "scr_hostlist", "[OPTION]... LIST...",
	  "print the union, intersection or difference of node lists",
	  env_hostlist, 0 },
	{ "down-nodes", "scr_list_down_nodes", "[OPTION]... [LIST]...",
	  "print the nodes that cannot be used", env_down_nodes, 0 },
	{ "check-node", "scr_check_node", "[OPTION]...",
	  "check the directories of this node", env_check_node, 0 },
	{ "run", NULL, "[OPTION]...", "print what scr_run does", env_run, 0 },
	{ "traces", NULL, "[OPTION]...",
	  "print the stacks of the ranks of scr_run, by gdb", env_ranks,
	  false },
	{ "end-ranks", NULL, "[OPTION]...",
	  "end what a scr_run that was killed has left on the nodes", env_ranks,
	  true },
	{ "doctor", NULL, "[OPTION]...",
	  "check everything that a job and its scavenge need", env_doctor, 0 },
	{ "probe", NULL, "[OPTION]...",
	  "print version and clock of this node, for doctor", env_probe, 0 },
	{ "should-exit", "scr_should_exit", "[OPTION]...",
	  "exit 0 if no further run may be started, else 1", env_should_exit,
	  0 },
	{ "retries-halt", "scr_retries_halt", "[OPTION]...",
	  "exit 0 if a halt condition is met, else 1", env_retries_halt, 0 },
	{ "flush-file", "scr_flush_file", "[OPTION]...",
	  "report which datasets are in the cache, and which on the prefix",
	  env_flush_file, 0 },
	{ "nodes-file", "scr_nodes_file", "[OPTION]...",
	  "print the number of nodes of the last run", env_nodes_file, 0 },
	{ "log-event", "scr_log_event", "-T TYPE [OPTION]...",
	  "add an event to the log", env_log_add, false },
	{ "log-transfer", "scr_log_transfer", "-T TYPE [OPTION]...",
	  "add a transfer to the log", env_log_add, true },
	{ "log", NULL, "[OPTION]...",
	  "report from the log how the jobs used their time, and what each "
	  "failure cost",
	  env_log, 0 },
	{ "interval", "scr_ckpt_interval", "[OPTION]...",
	  "compute from the log how often to checkpoint", env_interval, 0 },
	{ "crc32", "scr_crc32", "FILE...", "print the CRC-32 of files",
	  env_crc32, 0 },
};
#define TOOLS (sizeof(tools) / sizeof(tools[0]))

char **
env_start(const struct env_call *c, const struct opt *opts, int *count)
{
	const char *verb = c->llnl ? NULL : c->tool->verb;
	char usage[256];
	struct app_info info = {
		.name = c->llnl ? c->tool->llnl : "scr_env",
		.summary = c->tool->summary,
		.usage = usage,
		.verb = verb,
	};

	snprintf(usage, sizeof(usage), "%s%s%s", verb != NULL ? verb : "",
		 verb != NULL ? " " : "", c->tool->usage);
	return app_start(&info, c->argc, c->argv, opts, count);
}

int
env_finish(int rc, struct buf *out, struct error *err)
{
	if (rc == 0)
		return app_print(out);
	buf_free(out);
	return app_report(STATUS_OK, err);
}

int
env_open_job(struct job *j, const struct job_where *w, struct error *err)
{
	struct buf text = BUF_INIT;

	if (job_open(j, w, err) < 0)
		return -1;
	/* Look up the nodes only so that they are described, too; a verb that
	 * needs them reports a failure itself. */
	if (app_verbosity() > 0)
		job_nodes(j, NULL);
	job_notice(j, app_verbosity() > 0, &text);
	app_warn_lines(text.data);
	buf_free(&text);
	return 0;
}

int
env_job_nodes(struct job *j, struct error *err)
{
	if (job_nodes(j, err) == 0)
		return 0;
	return err->kind == ERROR_ABSENT ? app_advise(err, "or give --nodes")
					 : -1;
}

/* --- Without a verb --- */

static const char notes[] =
	"Exit status, unless a verb says otherwise: 0 done; 1 failed; 2 usage.";

/* The options of LLNL's scr_env: each asks a question. */
static int
without_verb(int argc, char **argv)
{
	struct job_where w = { .prefix = NULL };
	const struct env_look l = { .plain = true };
	bool want[ENV_CACHE + 1] = { false };
	enum env_question q[ENV_CACHE + 1];
	const struct opt opts[] = {
		OPT_GROUP("Questions"),
		OPT_FLAG('u', "user", &want[ENV_USER], "print the user"),
		OPT_FLAG('j', "jobid", &want[ENV_JOB_ID], "print the job's id"),
		OPT_FLAG('e', "endtime", &want[ENV_END_TIME],
			 "print the end time, in seconds since 1970"),
		OPT_FLAG('n', "nodes", &want[ENV_NODES],
			 "print its nodes, separated by commas"),
		OPT_FLAG('d', "down", &want[ENV_DOWN],
			 "print the nodes that the resource manager reports "
			 "as down"),
		OPT_FLAG('r', "runnodes", &want[ENV_RUN_NODES],
			 "print the number of nodes of the last run"),
		OPT_GROUP("Which job"),
		APP_OPT_PREFIX(&w.prefix),
		OPT_END,
	};
	struct app_verb verbs[TOOLS + 1] = { { NULL, NULL } };
	const struct app_info info = {
		.name = "scr_env",
		.summary =
			"report facts about a job, its nodes and directories",
		.usage =
			"VERB [OPTION]... [ARGUMENT]...\n"
			"       scr_env [-u] [-j] [-e] [-n] [-d] [-r] [-p DIR]",
		.verbs = verbs,
		.notes = notes,
	};
	size_t n = 0;

	for (size_t i = 0, k = 0; i < TOOLS; i++)
		if (tools[i].verb != NULL)
			verbs[k++] = (struct app_verb){ tools[i].verb,
							tools[i].summary };
	app_without_verb(&info, opts, argc, argv);
	for (int i = 0; i <= ENV_CACHE; i++)
		if (want[i])
			q[n++] = (enum env_question)i;
	if (n == 0)
		app_usage("no verb given");
	return env_ask(&w, q, n, &l);
}

int
main(int argc, char **argv)
{
	const char *name = app_called(argc, argv);
	struct env_call c = { .argc = argc, .argv = argv };

	for (size_t i = 0; i < TOOLS; i++) {
		const struct env_tool *t = &tools[i];

		c.tool = t;
		/* Names of LLNL's programs may end in .py. */
		c.llnl = t->llnl != NULL && str_starts(name, t->llnl) &&
			 (str_eq(name, t->llnl) ||
			  str_eq(name + strlen(t->llnl), ".py"));
		if (c.llnl)
			return app_finish(t->run(&c));
		if (t->verb == NULL || argc < 2 || !str_eq(argv[1], t->verb))
			continue;
		c.argc = argc - 1;
		c.argv = argv + 1;
		return app_finish(t->run(&c));
	}
	return app_finish(without_verb(argc, argv));
}
