/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_watchdog - end a run that completes no dataset, for scripts that launch
 * programs themselves.  scr_run watches its own in the same way.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "app.h"
#include "arena.h"
#include "clock.h"
#include "error.h"
#include "hostlist.h"
#include "run/decide.h"
#include "run/watch.h"
#include "site/job_options.h"
#include "site/step.h"

#define GRACE_SECONDS 30

/* Seconds between two looks at the dataset, and whether the run has ended. */
#define LOOK 1
#define LOOK_END 10

static const struct app_info info = {
	.name = "scr_watchdog",
	.summary = "end a run that completes no dataset",
	.usage = "[OPTION]... --jobStepId ID | --pid PID",
	.notes = "Exit status: 0 the run has ended by itself; 124 it was "
		 "ended; 1 failed; 2 usage.",
	.raw = true,
};

/* Watch until the run has ended (0), or hangs (1); -1: an error. */
static int
watch(const struct job *j, const struct step_where *w,
      const struct run_limits *l, struct error *err)
{
	const struct timespec pause = { .tv_sec = LOOK };
	struct step_where look = *w;
	struct step_result r;
	struct run_progress now;
	struct run_watch watch;
	double ended = 0, t = clock_seconds();

	look.dry_run = true;
	look.log = NULL;
	run_progress_read(j->prefix, &now);
	for (run_watch_start(&watch, l, &now, t); !app_stop();
	     t = clock_seconds()) {
		if (t > ended + (w->pid > 0 ? LOOK : LOOK_END)) {
			const bool first = ended == 0;

			ended = t;
			if (step_stop(&look, &r, err) < 0 &&
			    err->kind != ERROR_ABSENT)
				app_warn("%s", err->text);
			else if (err->kind == ERROR_ABSENT || r.found == 0)
				return first && w->pid > 0
					       ? error_set(err, ERROR_ABSENT,
							   "process %lld: does "
							   "not run",
							   (long long)w->pid)
					       : 0;
			error_clear(err);
		}
		run_progress_read(j->prefix, &now);
		if (run_watch_look(&watch, &now, t)) {
			app_warn(
				"no progress for %.0f s (last dataset: %" PRId64
				"): the run is ended",
				t - watch.since, now.newest);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_SYSTEM, "interrupted");
}

int
main(int argc, char **argv)
{
	struct step_where w = {
		.job = { .around = true },
		.grace = GRACE_SECONDS,
		.stop = app_stop,
		.log = app_log,
	};
	struct job_where where = { .prefix = NULL };
	struct hostlist only = HOSTLIST_INIT;
	struct run_limits limits = { .compute = 0 };
	struct error err = ERROR_INIT;
	const char *step = NULL;
	uint64_t pid = 0, grace = GRACE_SECONDS;
	struct step_result r;
	struct job j;
	const struct opt opts[] = {
		OPT_GROUP("What to watch"),
		APP_OPT_PREFIX(&where.prefix),
		OPT_STRING('d', "dir", &where.prefix, "DIR", OPT_DIR,
			   "the same"),
		OPT_STRING('j', "jobStepId", &step, "ID", OPT_ANY,
			   "step of the resource manager, as 1234.0"),
		OPT_U64(0, "pid", &pid, "PID", 2, INT32_MAX,
			"a process on this machine, such as mpiexec"),
		OPT_GROUP("When to end it"),
		RUN_LIMIT_OPTIONS(limits),
		OPT_U64(0, "grace", &grace, "SECONDS", 0, 86400,
			"from SIGTERM to SIGKILL (default 30)"),
		OPT_GROUP("Which job"),
		JOB_ID_OPTION(0, where),
		JOB_MANAGER_OPTIONS(where),
		OPT_END,
	};
	int count = 0, rc = -1;

	app_start(&info, argc, argv, opts, &count);
	if (count > 0 || (step == NULL) == (pid == 0))
		app_usage("give either --jobStepId or --pid");
	if (job_open(&j, &where, &err) < 0)
		return app_finish(app_report(STATUS_OK, &err));
	app_catch_signals();
	w.manager = j.rm;
	w.grace = (double)grace;
	w.pid = (int64_t)pid;
	w.only = step != NULL ? &only : NULL;
	/* Steps of SLURM have the id of their job in front. */
	w.job.id = step != NULL && strchr(step, '.') != NULL
			   ? arena_strndup(j.arena, step, strcspn(step, "."))
			   : j.id;
	if ((step == NULL || hostlist_add_name(&only, step, &err) == 0) &&
	    step_check(&w, &err) == 0 &&
	    run_limits_complete(&limits, j.conf, &err) == 0)
		rc = watch(&j, &w, &limits, &err);
	if (rc == 1 && step_stop(&w, &r, &err) < 0)
		rc = -1;
	hostlist_free(&only);
	job_close(&j);
	if (rc < 0)
		return app_finish(app_report(STATUS_OK, &err));
	error_clear(&err);
	return app_finish(rc == 1 ? RUN_STATUS_HUNG : STATUS_OK);
}
