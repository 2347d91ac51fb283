/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_prerun - prepare a prefix at the start of a batch script.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "opt.h"
#include "report/hint.h"
#include "room.h"
#include "scavenge/turn.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/oldcaches.h"
#include "site/resmgr.h"
#include "str.h"
#include "work.h"

static const struct app_info info = {
	.name = "scr_prerun",
	.summary = "make a prefix directory ready for a job",
	.usage = "[OPTION]...",
	.notes = "Makes PREFIX/.scr, and puts away the flush and nodes files "
		 "of earlier jobs.\nDoes nothing if SCR_ENABLE is 0.\n"
		 "Exit status: 0 done; 1 failed; 2 usage.",
};

static int
runs(void *arg, const char *id)
{
	return resmgr_runs(arg, id);
}

static void
report_prepared(const struct job *j, const struct jobfiles_prepared *p)
{
	switch (p->left) {
	case JOBFILES_NONE:
		app_note("%s: nothing of an earlier job", j->prefix);
		break;
	case JOBFILES_REMOVED:
		app_note("%s: flush file of job %s removed", j->prefix,
			 p->owner[0] != '\0' ? p->owner : "(unknown)");
		break;
	case JOBFILES_ASIDE:
		if (p->unsaved > 0)
			app_warn(
				"%s: dataset %" PRId64
				" of job %s was never saved: the flush file is "
				"kept as flush.scr.bak",
				j->prefix, p->unsaved,
				p->owner[0] != '\0' ? p->owner : "(unknown)");
		else
			app_warn("%s: the flush file of an earlier job cannot "
				 "be read: kept as flush.scr.bak",
				 j->prefix);
		break;
	case JOBFILES_OURS:
		app_note("%s: flush file of this job kept", j->prefix);
		break;
	case JOBFILES_RUNNING:
		if (!p->may_run)
			app_warn("%s: job %s runs with this prefix: its flush "
				 "file is kept",
				 j->prefix, p->owner);
		else
			app_warn("%s: the flush file is of job %s, which may "
				 "still run: kept (--force puts it away)",
				 j->prefix, p->owner);
	}
}

/* Can the job write its files?  `scr` is PREFIX/.scr. */
static int
try_prefix(const struct job *j, int scr, struct error *err)
{
	int top = openat(scr, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = top < 0 ? error_sys(err, "cannot open") : room_try(top, err);

	if (rc == 0)
		rc = room_try(scr, err);
	if (rc < 0)
		room_explain(scr, 0, err);
	if (top >= 0)
		close(top);
	return rc < 0 ? error_wrap(err, "%s", j->prefix) : 0;
}

/* Warn of a halt file that stops the job as soon as it starts. */
static int
warn_of_halt(const struct job *j, struct error *err)
{
	char command[4096];
	struct buf lines = BUF_INIT;
	bool stop = false;
	const char *text = NULL, *rest = NULL;
	size_t len = 0;
	int rc = halt_check(j->prefix, NULL, (int64_t)time(NULL), &stop, &lines,
			    err);

	rest = lines.data;
	if (rc == 0 && stop && (text = str_line(&rest, &len)) != NULL) {
		report_command("scr_halt -r", NULL, j->prefix, command,
			       sizeof(command));
		if (str_starts(text, HALT_LINE))
			text += strlen(HALT_LINE), len -= strlen(HALT_LINE);
		app_warn("%s: the halt file stops this job at once (%.*s); to "
			 "let it run: %s",
			 j->prefix, (int)len, text, command);
	}
	buf_free(&lines);
	return rc;
}

static int
prepare(struct job *j, bool force, struct error *err)
{
	const struct jobfiles_job job = { j->id, runs, j->rm, force };
	struct jobfiles_prepared p;
	bool finished = false;

	if (jobfiles_prepare(j->prefix, &job, &p, err) < 0)
		return -1;
	report_prepared(j, &p);
	if (halt_begin(j->prefix, &finished, err) < 0)
		return -1;
	if (finished)
		app_note("the job before had finished: no reason to halt any "
			 "more");
	return warn_of_halt(j, err);
}

/* Prepare the prefix while no scavenge is at work there. */
static int
run(struct job *j, bool force, uint64_t wait, struct error *err)
{
	const struct work work = { APP_WORK };
	const struct turn turn = {
		.prefix = j->prefix,
		.seconds = wait,
		.work = &work,
	};
	struct buf text = BUF_INIT;
	int scr = jobfiles_open(j->prefix, true, err), lock = -1, rc = -1;

	if (scr < 0)
		return -1;
	if (try_prefix(j, scr, err) == 0)
		lock = turn_take(scr, &turn, err);
	if (lock != -1)
		rc = prepare(j, force, err);
	turn_end(lock);
	close(scr);
	if (rc == 0 && job_notice(j, &text) == 0 &&
	    oldcaches_describe(j, &text, NULL) == 0)
		app_warn_lines(text.data);
	buf_free(&text);
	return rc;
}

int
main(int argc, char **argv)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	bool force = false, enabled = true;
	uint64_t wait = TURN_SECONDS;
	int count = 0;
	const struct opt opts[] = {
		APP_OPT_PREFIX(&w.prefix),
		OPT_FLAG('f', "force", &force,
			 "put away the files of another job that may still "
			 "run"),
		OPT_U64(0, "wait", &wait, "SECONDS", 0, UINT32_MAX,
			"for the end of a scavenge here (default 600)"),
		OPT_STRING(0, "job-id", &w.job_id, "ID", OPT_ANY,
			   "job (default SCR_JOB_ID, then the one around us)"),
		OPT_STRING(0, "resource-manager", &w.resmgr,
			   "auto|" RESMGR_NAMES, OPT_WORDS,
			   "resource manager (default: found)"),
		OPT_STRING(0, "resmgr", &w.resmgr, "NAME", OPT_ANY, NULL),
		OPT_STRING(0, "conf", &w.conf_file, "FILE", OPT_FILE,
			   "user's configuration file"),
		OPT_END,
	};
	struct job j;

	argv = app_start(&info, argc, argv, opts, &count);
	if (count > 0)
		app_usage("%s: nothing but options is expected", argv[0]);
	app_catch_signals();
	if (job_open(&j, &w, &err) < 0)
		return app_finish(app_report(STATUS_OK, &err));
	if (conf_bool(j.conf, "SCR_ENABLE", true, &enabled, &err) == 0 &&
	    enabled)
		(void)run(&j, force, wait, &err);
	if (!enabled)
		app_note("SCR_ENABLE is 0: nothing to do");
	job_close(&j);
	return app_finish(app_report(STATUS_OK, &err));
}
