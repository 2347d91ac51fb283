/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_run - run a parallel program until it ends well: prepare, launch, watch,
 * launch again on the nodes that are left, save the caches.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "conf.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "remote/remote.h"
#include "run/decide.h"
#include "run/run_job.h"
#include "run/runfile.h"
#include "site/job_options.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

#define GRACE_SECONDS 15
#define PAUSE_SECONDS 10
#define NODE_SECONDS 30

static const struct app_info info = {
	.name = "scr_run",
	.summary = "run a parallel program until it ends well, and save its "
		   "checkpoints",
	.usage = "[OPTION]... LAUNCHER [LAUNCHER-ARGUMENT]... PROGRAM "
		 "[ARGUMENT]...",
	.notes =
		"Exit status: the program's own; a halt is 0.  If the program "
		"succeeded: 121 data\n"
		"are lost, 122 only an older checkpoint is saved, 123 it is "
		"unknown what is saved.\n"
		"124 the last run hung; 125 nothing was launched; 126, 127 the "
		"launcher cannot be\n"
		"executed, or does not exist; 2 wrong options.",
	.raw = true,
	.command = true,
};

struct settings {
	struct job_where where;
	struct run_options run;
	const char *runs, *run_command, *restart_command;
	uint64_t again;
	bool no_watchdog, resume;
};

static void
warn(const char *line)
{
	app_warn("%s", line);
}

/* LLNL has a command for each launcher: scr_srun, scr_mpirun, ... */
static const char *
launcher_in(const char *name)
{
	return str_starts(name, "scr_") && !str_eq(name, "scr_run") ? name + 4
								    : NULL;
}

/* LLNL's short names of two options, if they are the first ones. */
static void
take_short_names(char **argv)
{
	for (int i = 1; argv[i] != NULL && argv[i][0] == '-'; i++) {
		char *word = argv[i];

		if ((str_starts(word, "-rc") || str_starts(word, "-rs")) &&
		    (word[3] == '\0' || word[3] == '=')) {
			const size_t size = strlen(word) + 16;

			argv[i] = mem_alloc(size, 1);
			str_print(argv[i], size, "--%s-cmd%s",
				  word[2] == 'c' ? "run" : "restart", word + 3);
		} else if (!str_starts(word, "--run-cmd") &&
			   !str_starts(word, "--restart-cmd")) {
			break;
		}
		/* Its value. */
		if (strchr(argv[i], '=') == NULL && argv[i + 1] != NULL)
			i++;
	}
}

/* By such a name, all words are the launcher's, but for LLNL's two options in
 * front. */
static char **
words_by_name(int *argc, char **argv)
{
	static char end[] = "--";
	static const char *const own[] = { "--run-cmd", "--restart-cmd",
					   "--help", "--version",
					   "--dump-options" };
	char **words = mem_calloc((size_t)*argc + 2, sizeof(*words));
	int n = 0;

	for (bool front = true; n < *argc; n++) {
		/* The name, or the value of the option before. */
		bool is = n == 0 || str_eq(argv[n - 1], own[0]) ||
			  str_eq(argv[n - 1], own[1]);

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			is = is || str_starts(argv[n], own[i]);
		if (front && !is)
			words[n] = end;
		front = front && is;
		words[n + !front] = argv[n];
	}
	*argc += words[n] != NULL;
	return words;
}

/* Commands of the two runs: by the name of a launcher the only options. */
#define COMMAND_OPTIONS(s) \
	OPT_STRING(0, "run-cmd", &(s)->run_command, "COMMAND", OPT_ANY, \
		   "the program, after the words of the launcher"), \
		OPT_STRING(0, "restart-cmd", &(s)->restart_command, "COMMAND", \
			   OPT_ANY, \
			   "the program, if there is a checkpoint to restart " \
			   "from: its name replaces " RUN_CKPT_NAME)

static char **
parse(struct settings *s, const char *name, int argc, char **argv, int *count)
{
	struct run_options *r = &s->run;
	struct app_info by_name = info;
	const struct opt few[] = { COMMAND_OPTIONS(s), OPT_END };
	const struct opt opts[] = {
		OPT_GROUP("Runs"),
		OPT_STRING(0, "runs", &s->runs, "N", OPT_ANY,
			   "runs at most; -1: no limit (SCR_RUNS)"),
		OPT_U64('N', "nodes", &r->nodes, "N", 1, INT32_MAX,
			"nodes of a run; the others are spares (default: all)"),
		OPT_U64(0, "min-nodes", &r->min_nodes, "N", 1, INT32_MAX,
			"nodes that a run needs (SCR_MIN_NODES; default: as "
			"many as the last run)"),
		OPT_U64(0, "min-ranks", &r->min_ranks, "N", 1, UINT32_MAX,
			"with fewer nodes, launch fewer ranks, at least N, of "
			"a program that can read the files of more"),
		OPT_U64(0, "pause", &r->pause, "SECONDS", 0, 86400,
			"before another run (default 10); twice as long after "
			"each that failed at once"),
		COMMAND_OPTIONS(s),
		OPT_FLAG(0, "resume", &s->resume,
			 "go on with the job of a scr_run that was killed"),
		OPT_FLAG('n', "dry-run", &r->dry_run,
			 "only report what would be launched where, and why"),
		OPT_GROUP("End"),
		OPT_U64(0, "save-time", &r->save, "SECONDS", 1, UINT32_MAX,
			"kept for saving the caches before the time ends "
			"(default: from the log, else 300)"),
		OPT_STRING(0, "postrun", &r->postrun, "COMMAND", OPT_ANY,
			   "what saves the caches, with its options (default: "
			   "scr_postrun)"),
		OPT_U64(0, "grace", &r->grace, "SECONDS", 0, 86400,
			"from SIGTERM to SIGKILL (default 15)"),
		OPT_U64(0, "requeue-status", &s->again, "N", 1, 255,
			"exit status after a halt, at the end of the time, and "
			"after SIGUSR1 (default 0)"),
		OPT_GROUP("Watchdog"),
		RUN_LIMIT_OPTIONS(r->limits),
		OPT_FLAG(0, "no-watchdog", &s->no_watchdog,
			 "never end a run that hangs"),
		OPT_FLAG(0, "traces", &r->traces,
			 "write the stacks of the ranks of a run that hangs, "
			 "by gdb"),
		OPT_U64(0, "node-watch", &r->node_watch, "SECONDS", 0, 86400,
			"end a run if a node does not answer twice in a row, "
			"asked every N seconds (default 30; 0: never)"),
		OPT_GROUP("Which job"),
		APP_OPT_PREFIX(&s->where.prefix),
		JOB_ID_OPTION('J', s->where),
		OPT_STRING('w', "nodelist", &s->where.nodes, "LIST", OPT_ANY,
			   "its nodes (SCR_NODELIST)"),
		JOB_MANAGER_OPTIONS(s->where),
		OPT_STRING(0, "remote", &r->remote, REMOTE_NAMES, OPT_WORDS,
			   "how to reach the nodes (SCR_REMOTE)"),
		OPT_END
	};

	*s = (struct settings){
		.run = {
			.grace = GRACE_SECONDS,
			.pause = PAUSE_SECONDS,
			.node_watch = NODE_SECONDS,
			.log = warn,
		},
	};
	if (launcher_in(name) == NULL)
		return app_start(&info, argc, argv, opts, count);
	by_name.name = name;
	by_name.usage = "[OPTION]... [LAUNCHER-ARGUMENT]... PROGRAM "
			"[ARGUMENT]...";
	return app_start(&by_name, argc, argv, few, count);
}

/* --- The command --- */

/*
 * The words of a run: the launcher of our name, the arguments, and those of
 * `more`, split at blanks.  Freed at the end of the process.
 */
static const char **
words_of(const char *launcher, char **args, int count, const char *more)
{
	const size_t max =
		(size_t)count + 2 + (more != NULL ? strlen(more) : 0);
	const char **words = mem_calloc(max, sizeof(*words));
	char *rest = more != NULL ? mem_strdup(more) : NULL;
	size_t n = 0;

	if (launcher != NULL)
		words[n++] = launcher;
	for (int i = 0; i < count; i++)
		words[n++] = args[i];
	while (rest != NULL)
		if (*(words[n] = strsep(&rest, " \t")) != '\0')
			n++;
	words[n] = NULL;
	return words;
}

/* --- Settings --- */

static int
fill(struct settings *s, const struct conf *c, struct error *err)
{
	struct run_options *r = &s->run;
	struct remote_options way = { .limit = 0 };
	const char *remote =
		r->remote != NULL ? r->remote : conf_get(c, "SCR_REMOTE");
	/* Wrong ones would be found by those who use them, too late. */
	static const char *const numbers[] = { "SCR_HALT_SECONDS",
					       "SCR_MIN_NODES",
					       "SCR_NODE_TIMEOUT", NULL };
	const char *without = conf_get(c, "SCR_EXCLUDE_NODES");
	struct hostlist nodes = HOSTLIST_INIT;
	uint64_t retries = 0, unused = 0;
	bool watchdog = false;

	r->again = (int)s->again;
	if (s->runs == NULL &&
	    (conf_u64(c, "SCR_RETRIES", 0, &retries, err) < 0 ||
	     conf_i64(c, "SCR_RUNS", (int64_t)retries + 1, &r->runs, err) < 0))
		return -1;
	if (r->runs < -1 || r->runs == 0)
		return error_set(err, ERROR_USAGE,
				 "SCR_RUNS: %lld: expected a number of runs, "
				 "or -1",
				 (long long)r->runs);
	if (r->nodes > 0 && r->nodes < r->min_nodes)
		return error_set(err, ERROR_USAGE,
				 "--nodes %llu: fewer than --min-nodes",
				 (unsigned long long)r->nodes);
	for (const char *const *key = numbers; *key != NULL; key++)
		if (conf_u64(c, *key, 0, &unused, err) < 0)
			return -1;
	if (without != NULL && hostlist_add(&nodes, without, err) < 0)
		return error_wrap(err, "SCR_EXCLUDE_NODES");
	hostlist_free(&nodes);
	if (remote_choose(remote, &way, err) < 0 ||
	    conf_bool(c, "SCR_WATCHDOG", false, &watchdog, err) < 0)
		return -1;
	if (r->limits.compute > 0 || r->limits.flush > 0 || r->limits.start > 0)
		watchdog = true;
	if (watchdog && !s->no_watchdog)
		return run_limits_complete(&r->limits, c, err);
	r->limits = (struct run_limits){ .compute = 0 };
	return 0;
}

/* Options that the program and our own commands must follow, too. */
static void
hand_down(const struct job_where *w)
{
	const struct {
		const char *name, *value;
	} given[] = {
		{ "SCR_PREFIX", w->prefix },
		{ "SCR_JOB_ID", w->job_id },
		{ "SCR_NODELIST", w->nodes },
		{ "SCR_CONF_FILE", w->conf_file },
		{ "SCR_RESOURCE_MANAGER", w->resmgr },
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value != NULL)
			setenv(given[i].name, given[i].value, 1);
}

/* Become the wrapper that was killed, with its command line.  It finds its
 * record, and takes over. */
static int
resume(struct job *job, struct error *err)
{
	struct run_record old = { .status = -1 };
	const int scr = jobfiles_open(job->prefix, false, err);

	if (scr < 0 || run_record_read(scr, &old, job->arena, err) < 0)
		return error_wrap(err, "%s: no scr_run to resume",
				  job->prefix_real);
	/* Its command is executed. */
	if (run_record_is_mine(scr, err) < 0)
		return error_wrap(err, "%s", job->prefix_real);
	if (old.state == RUN_ENDED || old.argv[0] == NULL)
		return error_set(err, ERROR_ABSENT,
				 "%s: scr_run has ended with status %d: "
				 "nothing to resume",
				 job->prefix_real, old.status);
	/* On another machine, the environment may be another. */
	setenv("SCR_JOB_ID", old.job, 1);
	setenv("SCR_PREFIX", job->prefix_real, 1);
	if (old.nodes != NULL && str_eq(resmgr_name(job->rm), "none"))
		setenv("SCR_NODELIST", old.nodes, 0);
	if (old.dir != NULL && chdir(old.dir) < 0)
		return error_sys(err, "%s", old.dir);
	execv("/proc/self/exe", (char *const *)old.argv);
	return error_sys(err, "%s: cannot execute it", old.argv[0]);
}

int
main(int argc, char **argv)
{
	const char *name = app_called(argc, argv);
	const char *launcher = launcher_in(name);
	struct error err = ERROR_INIT;
	char env[PATH_MAX], prerun[PATH_MAX], postrun[PATH_MAX];
	struct settings s;
	struct job job;
	bool enabled = true;
	int count = 0, status = RUN_STATUS_FAILED;
	/* Parsing moves the words. */
	const char **whole = words_of(NULL, argv, argc, NULL);
	char **args = argv;

	take_short_names(argv);
	if (launcher != NULL)
		args = words_by_name(&argc, argv);
	args = parse(&s, name, argc, args, &count);
	s.run.argv = whole;
	if (s.resume &&
	    (count > 0 || s.run.dry_run || s.runs != NULL || s.run.nodes > 0 ||
	     s.run.min_nodes > 0 || s.run.min_ranks > 0 || s.run.save > 0 ||
	     s.run.postrun != NULL || s.run.remote != NULL || s.again > 0))
		app_usage("--resume takes the command and its options from the "
			  "record");
	if (!s.resume && count == 0 &&
	    (launcher == NULL || s.run_command == NULL))
		app_usage("no command given, for example: scr_run srun -n 8 "
			  "./app");
	if (s.runs != NULL &&
	    (num_i64(s.runs, -1, INT32_MAX, &s.run.runs, &err) < 0 ||
	     s.run.runs == 0))
		app_usage("option '--runs': %s",
			  err.kind != ERROR_NONE ? err.text
						 : "0: nothing would run");
	if (s.restart_command != NULL && s.run_command == NULL)
		app_usage("--restart-cmd needs --run-cmd");
	s.run.command = words_of(launcher, args, count, s.run_command);
	if (s.restart_command != NULL)
		s.run.restart =
			words_of(launcher, args, count, s.restart_command);
	if (job_open(&job, &s.where, &err) < 0)
		goto out;
	if (s.resume) {
		(void)resume(&job, &err);
		goto close;
	}
	s.run.job = &job;
	hand_down(&s.where);
	s.run.env = app_beside(env, sizeof(env), "scr_env");
	s.run.prerun = app_beside(prerun, sizeof(prerun), "scr_prerun");
	if (s.run.postrun != NULL) {
		const char *words = s.run.postrun + strspn(s.run.postrun, " ");

		if (!remote_installed(str_printed(
			    PATH_MAX, "%.*s", (int)strcspn(words, " "), words)))
			error_set(&err, ERROR_USAGE,
				  "--postrun: \"%s\": there is no such "
				  "program",
				  s.run.postrun);
	} else {
		s.run.postrun =
			app_beside(postrun, sizeof(postrun), "scr_postrun");
	}
	if (err.kind != ERROR_NONE)
		goto close;
	if (conf_bool(job.conf, "SCR_ENABLE", true, &enabled, &err) == 0 &&
	    !enabled && s.run.dry_run) {
		app_warn("SCR_ENABLE is 0: only the program would be run");
		status = STATUS_OK;
	} else if (err.kind == ERROR_NONE && !enabled) {
		app_note("SCR_ENABLE is 0: only the program is run");
		execvp(s.run.command[0], (char *const *)s.run.command);
		error_sys(&err, "%s: cannot execute it", s.run.command[0]);
		status = err.kind == ERROR_ABSENT ? RUN_STATUS_MISSING
						  : RUN_STATUS_EXEC;
	} else if (err.kind == ERROR_NONE && fill(&s, job.conf, &err) == 0) {
		(void)run_job(&s.run, &status, &err);
	}
close:
	job_close(&job);
out:
	if (err.kind == ERROR_USAGE)
		status = STATUS_USAGE;
	app_report(STATUS_OK, &err);
	return app_finish(status);
}
