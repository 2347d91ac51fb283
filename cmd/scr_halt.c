/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_halt - make a running job stop at a condition, or stop it now.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "lock.h"
#include "opt.h"
#include "site/halt.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "site/step.h"
#include "str.h"
#include "when.h"

#define NOT_GIVEN UINT64_MAX

/* In the order in which LLNL's tool prints that it sets or unsets them. */
enum { CHECKPOINTS, AFTER, BEFORE, SECONDS, REASON, CONDITIONS };

static const char *const keys[CONDITIONS] = {
	[CHECKPOINTS] = "CheckpointsLeft", [AFTER] = "ExitAfter",
	[BEFORE] = "ExitBefore",	   [SECONDS] = "HaltSeconds",
	[REASON] = "ExitReason",
};

struct settings {
	/* Options as given. */
	const char *before, *after, *seconds, *reason;
	uint64_t checkpoints, grace, pid;
	const char *job_id, *resmgr, *prefix;
	bool immediate, list, remove, force, dry_run;
	bool unset[CONDITIONS];
	/* Derived from the options. */
	bool set[CONDITIONS], changes;
	int64_t values[CONDITIONS]; /* valid for conditions with a number */
	int64_t now;
	struct json *prefixes; /* JSON output; or NULL */
};

static const struct app_info info = {
	.name = "scr_halt",
	.summary = "ask a job that uses SCR to stop later, or stop it now",
	.usage = "[OPTION]... [DIR]...",
	.notes = "DIR is the job's prefix directory, as with --prefix.  "
		 "Without a\ncondition the job stops after its next "
		 "successful checkpoint.\nTIME: 2026-11-21T10:00:00, '12:00pm "
		 "today', '8:30am tomorrow', now+2h, 'in 30m'.\nExit status: "
		 "0 done; 1 failed; 2 usage; 3 a listed halt file is damaged.",
};

/* --- Changing the halt file --- */

/* Set and unset the requested conditions, in the order that leaves the keys as
 * LLNL's tool does (scr_halt(1)). */
static int
change(struct kvtree *t, void *arg, struct error *err)
{
	static const int order[] = { REASON, CHECKPOINTS, BEFORE, AFTER,
				     SECONDS };
	const struct settings *s = arg;

	for (size_t i = 0; i < CONDITIONS; i++) {
		const int c = order[i];

		if (s->unset[c])
			kvtree_remove(t, keys[c]);
		if (s->set[c] &&
		    (c == REASON ? halt_set_reason(t, s->reason, err)
				 : halt_set_number(t, keys[c], s->values[c],
						   err)) < 0)
			return -1;
	}
	return 0;
}

/* --- Output --- */

static void
show(const struct settings *s, const char *prefix,
     const struct halt_state *state)
{
	static const char *const words[2][2] = {
		{ "Unsetting", "Setting" },
		{ "Would unset", "Would set" },
	};
	struct buf text = BUF_INIT;

	if (s->prefixes != NULL) {
		json_push(s->prefixes, halt_json(prefix, state, s->now));
		return;
	}
	for (int c = 0; c < CONDITIONS; c++)
		if (s->set[c] || s->unset[c])
			buf_printf(&text, "%s %s\n",
				   words[s->dry_run][s->set[c]], keys[c]);
	if (s->changes)
		buf_add_str(&text,
			    s->dry_run ? "\nNothing was changed.  " : "\n");
	halt_text(state, &text);
	if (app_verbosity() > 0 && !state->damaged)
		(void)halt_due(&state->is, s->now, -1, 0, &text);
	app_print_unless_quiet(&text);
}

/* --- One prefix --- */

static int
remove_one(const struct settings *s, const char *prefix, struct error *err)
{
	struct halt_state state;
	bool was = false;

	if (halt_remove(prefix, s->dry_run, &was, err) < 0)
		return -1;
	if (!was)
		app_warn("%s: no halt file", prefix);
	else if (s->dry_run)
		app_warn("%s: the halt file would be removed", prefix);
	if (!s->list && s->prefixes == NULL)
		return 0;
	if (halt_load(prefix, &state, err) < 0)
		return -1;
	show(s, prefix, &state);
	halt_state_free(&state);
	return 0;
}

static int
change_or_list(struct settings *s, const char *prefix, struct error *err)
{
	const unsigned flags =
		(s->force ? HALT_FORCE : 0u) | (s->dry_run ? HALT_DRY_RUN : 0u);
	static const char *const left[] = { "nodes.scr", "index.scr",
					    "flush.scr", "log" };
	struct halt_state state = { .damaged = false };
	bool create = false, fresh = false;
	char path[PATH_MAX];
	int rc = 0;

	for (int c = 0; c < CONDITIONS; c++)
		create = create || s->set[c];
	rc = s->changes
		     ? halt_update(prefix, flags | (create ? HALT_CREATE : 0u),
				   change, s, &state, err)
		     : halt_load(prefix, &state, err);
	if (rc < 0)
		return err->kind == ERROR_CORRUPT
			       ? app_advise(err, "--force replaces it")
			       : -1;
	show(s, prefix, &state);
	if (state.damaged)
		rc = error_set(err, ERROR_DAMAGED,
			       "%s: damaged, so jobs will stop; --remove it, "
			       "or set conditions with --force: %s",
			       state.path.data, state.why.text);
	/* Has no job used this prefix?  Each leaves one of these files. */
	fresh = rc == 0 && state.created && !s->immediate;
	for (size_t i = 0; fresh && i < sizeof(left) / sizeof(left[0]); i++) {
		snprintf(path, sizeof(path), "%s/.scr/%s", prefix, left[i]);
		fresh = access(path, F_OK) < 0;
	}
	if (fresh)
		app_warn("%s: no job has run with this prefix yet; the first "
			 "one will be halted",
			 prefix);
	if (rc == 0 && state.unlocked)
		app_warn("%s: " LOCK_NONE ": a job that changes the file at "
			 "this moment may undo this",
			 state.path.data);
	halt_state_free(&state);
	return rc;
}

/* --- Stopping at once --- */

struct target {
	struct step_where where;
	struct conf *conf;
	struct jobfiles_owner owner; /* of the first prefix's flush file */
};

static void
target_close(struct target *t)
{
	resmgr_close(t->where.manager);
	conf_close(t->conf);
}

/* Find the job whose steps to stop, before the halt file is written. */
static int
target_open(struct target *t, const struct settings *s, const char *const *dirs,
	    size_t count, struct error *err)
{
	const struct conf_where where = { .prefix = dirs[0] };
	struct resmgr_job *job = &t->where.job;
	struct jobfiles_owner owner;
	const char *here = NULL;

	t->where = (struct step_where){
		.pid = (int64_t)s->pid,
		.grace = (double)s->grace,
		.dry_run = s->dry_run,
		.stop = app_stop,
		.log = app_log,
	};
	if (s->pid > 0)
		return step_check(&t->where, err);
	t->conf = conf_open(&where, err);
	if (t->conf == NULL)
		return -1;
	/* The resource manager that we run under; or, if there is none, the one
	 * that is installed. */
	here = s->resmgr == NULL ? resmgr_installed() : NULL;
	t->where.manager = resmgr_open(t->conf, s->resmgr, err);
	if (t->where.manager != NULL && here != NULL &&
	    str_eq(resmgr_name(t->where.manager), "none")) {
		resmgr_close(t->where.manager);
		t->where.manager = resmgr_open(t->conf, here, err);
	}
	if (t->where.manager == NULL)
		return -1;
	/* The job named, the one that we run in, else the one that has datasets
	 * in the caches by the flush file of the prefix. */
	job->around = s->job_id == NULL;
	job->id = s->job_id;
	if (job->id == NULL)
		job->id = conf_get(t->conf, "SCR_JOB_ID");
	if (job->id == NULL)
		job->id = resmgr_job_id(t->where.manager);
	if (job->id == NULL)
		jobfiles_owner(dirs[0], &t->owner);
	if (job->id == NULL && t->owner.id[0] != '\0') {
		job->id = t->owner.id;
		job->around = false;
		app_note("job %s (from the flush file of %s)", job->id,
			 dirs[0]);
	}
	if (step_check(&t->where, err) < 0)
		return app_advise(err,
				  resmgr_lists_steps(t->where.manager)
					  ? "--job-id names the job, --pid a "
					    "launcher to stop"
					  : "--pid names a launcher to stop");
	if (s->force)
		return 0;
	/* Refuse to stop a job that is not the one of these prefixes. */
	for (size_t i = 0; i < count; i++) {
		jobfiles_owner(dirs[i], &owner);
		if (owner.id[0] != '\0' && !str_eq(owner.id, t->where.job.id))
			return error_set(err, ERROR_USAGE,
					 "job %s: the flush file of %s names "
					 "job %s: give that job, or add "
					 "--force",
					 t->where.job.id, dirs[i], owner.id);
	}
	return 0;
}

/* --- All prefixes --- */

static int
run(struct settings *s, const char *const *dirs, size_t count)
{
	struct target target = { .conf = NULL };
	struct error err = ERROR_INIT;
	struct step_result r;
	int status = STATUS_OK, rc = 0;

	if (s->immediate && target_open(&target, s, dirs, count, &err) < 0) {
		status = app_report(STATUS_OK, &err);
		target_close(&target);
		return status;
	}
	s->prefixes = app_json() ? json_new_array() : NULL;
	for (size_t i = 0; i < count; i++) {
		rc = s->remove ? remove_one(s, dirs[i], &err)
			       : change_or_list(s, dirs[i], &err);
		if (rc < 0)
			status = app_report(status, &err);
	}
	if (s->immediate && status != STATUS_OK) {
		app_error("the job was not stopped: it would be restarted");
	} else if (s->immediate && step_stop(&target.where, &r, &err) < 0) {
		status = app_report(status, &err);
		if (!s->dry_run)
			app_warn("the halt condition stays set, and no further "
				 "run starts (a reason holds only until a job "
				 "calls SCR_Finalize): scr_halt --remove "
				 "removes it");
	} else if (s->immediate && r.found == 0) {
		app_warn("no process of the job is running");
	} else if (s->immediate && !s->dry_run) {
		app_warn("stopped %zu %s%s; the allocation and its caches "
			 "stay",
			 r.found,
			 s->pid > 0 ? "process" : str_plural(r.found, "step"),
			 r.killed > 0 ? ", by SIGKILL" : "");
	}
	if (app_json())
		app_answer_list("prefixes", s->prefixes);
	target_close(&target);
	return status;
}

/* --- The command line --- */

static void
read_time(struct settings *s, const char *option, const char *text, int which)
{
	struct error err = ERROR_INIT;

	if (text == NULL)
		return;
	if (when_parse(text, s->now, &s->values[which], &err) < 0)
		app_usage("%s: %s", option, err.text);
	s->set[which] = true;
}

/* Check the options, and derive the settings from them. */
static void
check_options(struct settings *s)
{
	static const char *const names[CONDITIONS] = {
		"checkpoints", "after", "before", "seconds", "reason",
	};
	struct error err = ERROR_INIT;
	uint64_t secs = 0;
	bool any = false;

	s->now = clock_now();
	s->set[CHECKPOINTS] = s->checkpoints != NOT_GIVEN;
	s->values[CHECKPOINTS] = (int64_t)s->checkpoints;
	read_time(s, "--before", s->before, BEFORE);
	read_time(s, "--after", s->after, AFTER);
	if (s->seconds != NULL) {
		if (when_span(s->seconds, &secs, &err) < 0)
			app_usage("--seconds: %s", err.text);
		if (secs > INT32_MAX)
			app_usage("--seconds: %s: more than %d", s->seconds,
				  INT32_MAX);
		s->set[SECONDS] = true;
		s->values[SECONDS] = (int64_t)secs;
	}
	if (s->reason != NULL && s->reason[0] == '\0')
		app_usage("--reason: must not be empty");
	s->set[REASON] = s->reason != NULL;
	for (int c = 0; c < CONDITIONS; c++) {
		if (s->set[c] && s->unset[c])
			app_usage("--%s and --unset-%s cannot be used together",
				  names[c], names[c]);
		any = any || s->set[c] || s->unset[c];
	}
	if (s->remove && (any || s->immediate || s->force))
		app_usage("--remove can be used with --list, --json and "
			  "--dry-run only");
	if (s->immediate && s->unset[REASON])
		app_usage("--immediate needs a reason");
	/* If a reason is needed and none was given, use the default. */
	if (s->reason == NULL &&
	    (s->immediate || (!any && !s->list && !s->remove))) {
		s->reason = HALT_DEFAULT_REASON;
		s->set[REASON] = true;
	}
	s->changes = any || s->set[REASON];
	if (s->force && !s->changes)
		app_usage("--force needs a condition to set");
	if (!s->immediate && (s->pid > 0 || s->job_id != NULL ||
			      s->resmgr != NULL || s->grace != NOT_GIVEN))
		app_usage(
			"--grace, --job-id, --pid and --resource-manager need "
			"--immediate");
	if (s->pid > 0 && (s->job_id != NULL || s->resmgr != NULL))
		app_usage("--pid cannot be used with --job-id or "
			  "--resource-manager");
	if (s->grace == NOT_GIVEN)
		s->grace = 30;
}

int
main(int argc, char **argv)
{
	struct settings s = { .checkpoints = NOT_GIVEN, .grace = NOT_GIVEN };
	const char *prefix = NULL;
	int count = 0;
	const struct opt opts[] = {
		OPT_GROUP("When to stop"),
		OPT_U64('c', "checkpoints", &s.checkpoints, "N", 0, INT32_MAX,
			"after N more successful checkpoints"),
		OPT_STRING('b', "before", &s.before, "TIME", OPT_ANY,
			   "in time before TIME: from TIME minus HaltSeconds "
			   "on"),
		OPT_STRING('a', "after", &s.after, "TIME", OPT_ANY,
			   "after the first checkpoint after TIME"),
		OPT_STRING('s', "seconds", &s.seconds, "N", OPT_ANY,
			   "HaltSeconds: margin before the end of the "
			   "allocation and before --before (3600, 30m, 2h)"),
		OPT_STRING('R', "reason", &s.reason, "TEXT", OPT_ANY,
			   "after the next checkpoint, for this reason"),
		OPT_FLAG('i', "immediate", &s.immediate,
			 "now: stop the running processes, not the allocation"),
		OPT_GROUP("Other actions"),
		OPT_FLAG('l', "list", &s.list, "list the settings"),
		OPT_FLAG(0, "unset-checkpoints", &s.unset[CHECKPOINTS],
			 "unset --checkpoints"),
		OPT_FLAG(0, "unset-before", &s.unset[BEFORE], "unset --before"),
		OPT_FLAG(0, "unset-after", &s.unset[AFTER], "unset --after"),
		OPT_FLAG(0, "unset-seconds", &s.unset[SECONDS],
			 "unset --seconds"),
		OPT_FLAG(0, "unset-reason", &s.unset[REASON],
			 "unset --reason, or the reason that a job left"),
		OPT_FLAG('r', "remove", &s.remove,
			 "remove the halt file, so that jobs can run"),
		OPT_GROUP("What --immediate stops"),
		OPT_STRING(0, "job-id", &s.job_id, "ID", OPT_ANY,
			   "the job (default: $SCR_JOB_ID, then this "
			   "allocation's, then the one in DIR's flush file)"),
		OPT_STRING(0, "resource-manager", &s.resmgr, RESMGR_NAMES,
			   OPT_WORDS, "resource manager (default: detected)"),
		OPT_U64(0, "pid", &s.pid, "PID", 2, INT32_MAX,
			"a process on this machine, such as mpiexec"),
		OPT_U64(0, "grace", &s.grace, "SECONDS", 0, 86400,
			"time between SIGTERM and SIGKILL (default 30)"),
		OPT_GROUP("How"),
		APP_OPT_PREFIX(&s.prefix),
		OPT_FLAG('f', "force", &s.force,
			 "replace a damaged halt file; stop a job although "
			 "DIR is of another"),
		OPT_FLAG('n', "dry-run", &s.dry_run,
			 "only report what would be done"),
		OPT_END,
	};

	argv = app_start(&info, argc, argv, opts, &count);
	check_options(&s);
	if (count > 0 && s.prefix != NULL)
		app_usage("%s: name it with --prefix or without, not both",
			  argv[0]);
	app_catch_signals();
	if (count > 0)
		return app_finish(
			run(&s, (const char *const *)argv, (size_t)count));
	prefix = app_prefix(s.prefix);
	return app_finish(run(&s, &prefix, 1));
}
