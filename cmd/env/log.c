/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.c - the verb log of scr_env: where did the time of the jobs go?
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "env.h"
#include "error.h"
#include "json.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "report/picture.h"
#include "report/table.h"
#include "site/interval.h"
#include "site/jobfiles.h"
#include "site/joblog.h"
#include "site/logdb.h"
#include "str.h"
#include "when.h"

static const char *const ends[] = {
	[JOBLOG_UNKNOWN] = "unknown",
	[JOBLOG_HALTED] = "ended",
	[JOBLOG_FAILED] = "failed",
};

/* Rows of a table, or objects of a list if it is not NULL.  Each value has a
 * key there, and "?" or null if it is unknown. */
struct rows {
	struct table table;
	struct json *list, *one;
};

static void
put_text(const char *key, const char *text, struct rows *r)
{
	if (r->list != NULL)
		json_set_str(r->one, key, text);
	else
		table_name(&r->table, text != NULL ? text : "?");
}

static void
put_number(const char *key, int64_t n, struct rows *r)
{
	if (r->list != NULL)
		json_set_or_null(r->one, key, n);
	else
		put_text(key, n < 0 ? NULL : num_str(n), r);
}

static void
put_secs(const char *key, double secs, struct rows *r)
{
	if (r->list != NULL)
		put_number(key, secs < 0 ? -1 : (int64_t)(secs * 1000 + 0.5),
			   r);
	else
		put_text(key, secs < 0 ? NULL : str_printed(32, "%.1f", secs),
			 r);
}

static void
put_time(const char *key, int64_t t, struct rows *r)
{
	if (r->list != NULL)
		json_set_time(r->one, key, t);
	else
		put_text(key, t < 0 ? NULL : when_local(t), r);
}

static void
put_lost(double least, double most, struct rows *r)
{
	put_secs("lost_milliseconds", least, r);
	put_secs("lost_milliseconds_at_most", least < 0 ? -1 : most, r);
}

static void
put_job(const struct joblog_job *j, struct rows *r)
{
	const bool known = !j->vague && !j->owes;
	const double part = joblog_efficiency(j);
	struct interval best = { .seconds = -1 };

	put_text("job_id", j->id, r);
	put_time("first_line", j->first, r);
	put_number("run_count", (int64_t)j->runs, r);
	put_number("failure_count", (int64_t)j->failures, r);
	put_text("last_run", ends[j->end], r);
	put_number("log_seconds", j->back ? -1 : j->last - j->first, r);
	put_secs("work_milliseconds", j->work, r);
	put_lost(known ? j->lost : -1, j->lost_max, r);
	put_number("efficiency_percent",
		   part < 0 ? -1 : (int64_t)(part * 100 + 0.5), r);
	put_secs("interval_milliseconds", joblog_used(j), r);
	if (joblog_best(j, &best) < 0)
		best.seconds = -1;
	put_secs("best_interval_milliseconds", best.seconds, r);
}

/* The phases of a job, or of its dataset `d`. */
static void
put_phases(const struct joblog_job *j, const struct joblog_dataset *d,
	   struct rows *r)
{
	for (int p = 0; p < JOBLOG_PHASES; p++) {
		const struct joblog_sum *s =
			d != NULL ? &d->phases[p] : &j->phases[p];

		if (s->count == 0 && s->moving <= 0)
			continue;
		r->one = r->list != NULL ? json_new_object() : NULL;
		put_text("job_id", j != NULL ? j->id : NULL, r);
		if (d != NULL) {
			put_number("id", d->id, r);
			put_text("name", d->name, r);
		}
		put_text("phase", joblog_phase_name((enum joblog_phase)p), r);
		put_number("count", (int64_t)s->count, r);
		put_number("failed_count", (int64_t)s->failed, r);
		put_secs("spent_milliseconds", s->untimed > 0 ? -1 : s->secs,
			 r);
		put_number("bytes", s->moving > 0 ? (int64_t)s->bytes : -1, r);
		put_number("bytes_per_second",
			   s->moving > 0 ? (int64_t)(s->bytes / s->moving) : -1,
			   r);
		if (r->list != NULL)
			json_push(r->list, r->one);
	}
}

static void
put_failure(const struct joblog *g, const struct joblog_failure *f,
	    struct rows *r)
{
	const struct joblog_job *j = joblog_job(g, f->job);
	const struct joblog_job *by =
		f->next >= 0 ? joblog_job(g, f->by) : NULL;

	put_text("job_id", j != NULL ? j->id : NULL, r);
	put_number("run", (int64_t)f->run, r);
	put_time("last_line", f->seen, r);
	put_time("died", f->died, r);
	put_time("next_start", f->next, r);
	put_text("next_job", by != NULL ? by->id : NULL, r);
	put_number("restarted_from", f->from, r);
	put_lost(f->lost, f->lost_max, r);
	put_number("restart_seconds", f->restart, r);
}

static int
by_order(const void *a, const void *b)
{
	const struct joblog_dataset *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* Report job `id`, or all: append the tables to `out`. */
static int
report(struct joblog *g, const char *id, bool datasets, struct buf *out)
{
	static const char *const heads[] = {
		"JOB|FIRST LINE|>RUNS|>FAILURES|LAST RUN|>SECONDS|>WORK|>LOST|"
		">AT MOST|>EFFICIENCY %|>INTERVAL|>BEST",
		"JOB|PHASE|>COUNT|>FAILED|>SECONDS|>BYTES|>BYTES/S",
		"JOB|>RUN|LAST LINE|DIED|NEXT START|BY JOB|>FROM DATASET|"
		">LOST|>AT MOST|>RESTART",
		"JOB|>DATASET|NAME|PHASE|>COUNT|>FAILED|>SECONDS|>BYTES|"
		">BYTES/S",
	};
	static const char *const keys[] = { "log_jobs", "log_phases",
					    "log_failures", "log_datasets" };
	const uint64_t first[] = {
		joblog_first(g->jobs_seen, JOBLOG_JOBS),
		joblog_first(g->jobs_seen, JOBLOG_JOBS),
		joblog_first(g->failures_seen, JOBLOG_FAILURES), 0
	};
	const uint64_t end[] = { g->jobs_seen, g->jobs_seen, g->failures_seen,
				 JOBLOG_DATASETS };
	struct json *top = app_json() ? json_new_object() : NULL;
	bool any = id == NULL;

	qsort(g->datasets, JOBLOG_DATASETS, sizeof(*g->datasets), by_order);
	for (int k = 0; k < (datasets || top != NULL ? 4 : 3); k++) {
		struct rows r = { .list = NULL };

		if (top != NULL)
			r.list = json_new_array();
		else
			table_start(&r.table, heads[k]);
		for (uint64_t n = first[k]; n < end[k]; n++) {
			const struct joblog_failure *f =
				&g->failures[n % JOBLOG_FAILURES];
			const struct joblog_dataset *d =
				&g->datasets[n % JOBLOG_DATASETS];
			const struct joblog_job *j =
				joblog_job(g, k == 2   ? f->job
					      : k == 3 ? d->job
						       : n);

			if ((k == 3 && d->id == 0) ||
			    (id != NULL && (j == NULL || !str_eq(j->id, id))))
				continue;
			any = true;
			if (k % 2 == 1) {
				put_phases(j, k == 3 ? d : NULL, &r);
				continue;
			}
			r.one = r.list != NULL ? json_new_object() : NULL;
			if (k == 0)
				put_job(j, &r);
			else
				put_failure(g, f, &r);
			if (r.list != NULL)
				json_push(r.list, r.one);
		}
		if (top != NULL) {
			json_set(top, keys[k], r.list);
			continue;
		}
		table_drop_empty(&r.table);
		table_end(&r.table, 0, out);
	}
	if (!any) {
		app_error("job %s: not in the log", str_shown(id));
		json_free(top);
		return STATUS_FAILED;
	}
	if (top != NULL) {
		json_set_u64(top, "line_count", g->lines);
		json_set_u64(top, "lines_skipped", g->unreadable + g->jobless);
		json_set_bool(top, "unfinished", g->unfinished);
		app_answer(top);
	}
	if (first[0] + first[2] > 0 || g->datasets_seen > JOBLOG_DATASETS)
		app_warn("the log has more than %d jobs or failures, or %d "
			 "datasets: only the last are reported",
			 JOBLOG_JOBS, JOBLOG_DATASETS);
	if (g->unreadable + g->jobless > 0)
		app_warn("log: %" PRIu64 " %s of %" PRIu64 " skipped",
			 str_count(g->unreadable + g->jobless, "line"),
			 g->lines);
	return STATUS_OK;
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
	struct buf text = BUF_INIT, of = BUF_INIT;
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
	buf_add_str(&of, file != NULL ? file : "");
	if (file != NULL) {
		rc = joblog_read(AT_FDCWD, file, &g, &err);
	} else if (env_open_job(&j, &w, &err) < 0) {
		rc = -1;
	} else {
		buf_add_str(&of, j.prefix_real);
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
	if (rc < 0)
		status = app_report(status, &err);
	else if ((rc = report(&g, job, datasets, &text)) != STATUS_OK)
		status = rc;
	else if (html != NULL &&
		 picture_runs(html, &g, job, of.data, &text, &err) < 0)
		status = app_report(status, &err);
	if (html != NULL && str_eq(html, "-"))
		buf_clear(&text);
	status = error_worse_status(app_print(&text), status);
	buf_free(&of);
	joblog_free(&g);
	return status;
}
