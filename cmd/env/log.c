/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.c - the verb log of scr_env: where did the time of the jobs go?
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "env.h"
#include "error.h"
#include "json.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "report/page.h"
#include "report/runs.h"
#include "site/jobfiles.h"
#include "site/joblog.h"
#include "site/logdb.h"
#include "str.h"

/* Answer for job `id`, or all: tables, JSON, or also a page of `title`.
 * Returns the status. */
static int
answer(struct joblog *g, const char *id, bool datasets, const char *html,
       const char *title)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct json *j = NULL;
	int rc = 0;

	if (!app_json())
		rc = runs_report(g, id, datasets, &text, NULL, &err);
	if (rc == 0 && (app_json() || html != NULL)) {
		j = json_new_object();
		rc = runs_report(g, id, html != NULL, NULL, j, &err);
	}
	if (rc < 0) {
		json_free(j);
		buf_free(&text);
		return app_report(STATUS_OK, &err);
	}
	if (app_json())
		app_answer(j);
	else if (html != NULL)
		(void)page_write(html, "scr_env log --html", title, j, &text,
				 &err);
	if (g->jobs_seen > JOBLOG_JOBS || g->failures_seen > JOBLOG_FAILURES ||
	    g->datasets_seen > JOBLOG_DATASETS)
		app_warn("the log has more than %d jobs or failures, or %d "
			 "datasets: only the last are reported",
			 JOBLOG_JOBS, JOBLOG_DATASETS);
	if (g->unreadable + g->jobless > 0)
		app_warn("log: %" PRIu64 " %s of %" PRIu64 " skipped",
			 str_count(g->unreadable + g->jobless, "line"),
			 g->lines);
	if (html != NULL && str_eq(html, "-"))
		buf_clear(&text);
	return app_report(app_print(&text), &err);
}

/* Import the log into the database `file`, or the configured one. */
static int
import(const struct job *j, const char *file, struct error *err)
{
	bool on = false;
	uint64_t lines = 0;

	if (file == NULL) {
		if (conf_bool(j->conf, "SCR_LOG_DB_ENABLE", false, &on, err) <
		    0)
			return -1;
		file = conf_get(j->conf, "SCR_LOG_DB_NAME");
		if (!on)
			return 0;
		/* With LLNL's SCR it is the name of a database of MySQL. */
		if (file == NULL || file[0] != '/') {
			app_warn("SCR_LOG_DB_NAME: not the absolute path of a "
				 "file: the log is not imported");
			return 0;
		}
	}
	if (logdb_import(file, j->prefix_real, &lines, err) < 0)
		return -1;
	app_note("%s: %" PRIu64 " %s imported", str_shown(file),
		 str_count(lines, "line"));
	return 0;
}

int
env_log(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	const char *file = NULL, *job = NULL, *db = NULL, *html = NULL;
	struct buf title = BUF_INIT;
	bool datasets = false;
	struct error err = ERROR_INIT, why = ERROR_INIT;
	struct joblog g = { .lines = 0 };
	int rc = 0, dir = -1, status = STATUS_OK;
	struct job j;
	const struct opt opts[] = {
		OPT_STRING(0, "job", &job, "ID", OPT_ANY, "only this job"),
		OPT_FLAG(0, "datasets", &datasets, "each dataset, too"),
		OPT_STRING(0, "html", &html, "FILE", OPT_FILE,
			   "also a page with a timeline of the runs (-: on "
			   "standard output, instead)"),
		OPT_STRING(0, "db", &db, "FILE", OPT_FILE,
			   "also import the log into this database of SQLite "
			   "(default SCR_LOG_DB_NAME)"),
		APP_OPT_PREFIX(&w.prefix),
		OPT_STRING(0, "logfile", &file, "FILE", OPT_FILE,
			   "log (default PREFIX/.scr/log)"),
		OPT_END,
	};

	env_start(c, opts, NULL);
	if (file != NULL && db != NULL)
		app_usage("--db imports the log of a prefix, not a --logfile");
	if (app_json() && html != NULL)
		app_usage("--json and --html cannot be used together");
	if (file != NULL) {
		buf_add_str(&title, file);
		rc = joblog_read(AT_FDCWD, file, &g, &err);
	} else if (env_open_job(&j, &w, &err) < 0) {
		rc = -1;
	} else {
		path_join(&title, j.prefix, SCR_DIR "/log", NULL);
		dir = jobfiles_open(j.prefix, false, &why);
		rc = dir < 0 ? -1 : joblog_read(dir, "log", &g, &why);
		if (dir >= 0)
			close(dir);
		if (rc < 0 && why.errnum != 0)
			error_as(&err, &why, "%s/" SCR_DIR "/log: %s", j.prefix,
				 strerror(why.errnum));
		else if (rc < 0)
			error_as(&err, &why, "%s/" SCR_DIR "/%s", j.prefix,
				 why.text);
		else if (import(&j, db, &err) < 0)
			status = app_report(status, &err);
		job_close(&j);
	}
	if (job != NULL)
		buf_printf(&title, ", job %s", job);
	status = rc < 0 ? app_report(status, &err)
			: error_worse_status(
				  answer(&g, job, datasets, html, title.data),
				  status);
	buf_free(&title);
	joblog_free(&g);
	return status;
}
