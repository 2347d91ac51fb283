/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_prerun - prepare a prefix at the start of a batch script.
 */
#include "app.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "opt.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"

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
		app_warn("%s: the flush file of an earlier job tells of "
			 "datasets that were never saved, or cannot be read: "
			 "kept as flush.scr.bak",
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

static int
prepare(struct job *j, bool force, struct error *err)
{
	const struct jobfiles_job job = { j->id, runs, j->rm, force };
	struct jobfiles_prepared p;
	struct buf text = BUF_INIT;
	bool enabled = true, finished = false;

	if (conf_bool(j->conf, "SCR_ENABLE", true, &enabled, err) < 0)
		return -1;
	if (!enabled) {
		app_note("SCR_ENABLE is 0: nothing to do");
		return 0;
	}
	if (jobfiles_prepare(j->prefix, &job, &p, err) < 0)
		return -1;
	report_prepared(j, &p);
	if (halt_begin(j->prefix, &finished, err) < 0)
		return -1;
	if (finished)
		app_note("the job before had finished: no reason to halt any "
			 "more");
	if (job_notice(j, &text) == 0)
		app_warn_lines(text.data);
	buf_free(&text);
	return 0;
}

int
main(int argc, char **argv)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	bool force = false;
	int count = 0;
	const struct opt opts[] = {
		APP_OPT_PREFIX(&w.prefix),
		OPT_FLAG('f', "force", &force,
			 "put away the files of another job that may still "
			 "run"),
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
	if (job_open(&j, &w, &err) < 0)
		return app_finish(app_report(STATUS_OK, &err));
	(void)prepare(&j, force, &err);
	job_close(&j);
	return app_finish(app_report(STATUS_OK, &err));
}
