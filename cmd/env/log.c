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
#include "mem.h"
#include "meta/dataset_dir.h"
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

/* What is shown. */
struct view {
	const struct joblog *g;
	const char *job; /* only this one; NULL: all */
	const struct joblog_dataset **datasets;
	size_t ndatasets;
};

static bool
is_shown(const struct view *v, const struct joblog_job *j)
{
	return v->job == NULL || (j != NULL && str_eq(j->id, v->job));
}

/* --- Text --- */

/* Seconds, "?" if they are unknown, or a range. */
static const char *
span(double least, double most, char to[static 64])
{
	if (least < 0)
		return "?";
	return most - least < 0.05
		       ? str_print(to, 64, "%.1f", least)
		       : str_print(to, 64, "%.1f-%.1f", least, most);
}
#define SPAN(least, most) span(least, most, (char[64]){ 0 })

/* The seconds of a phase: "" if there were none. */
static const char *
put_secs(const struct joblog_sum *s, char to[static 64])
{
	if (s->count == 0)
		return "";
	if (s->untimed == s->count)
		return "?";
	return str_print(to, 64, "%s%.1f", s->untimed > 0 ? ">" : "", s->secs);
}
#define SECS(s) put_secs(s, (char[64]){ 0 })

static const char *
put_speed(const struct joblog_sum *s, char to[static 64])
{
	return s->moving > 0
		       ? str_print(to, 64, "%s/s",
				   str_size((uint64_t)(s->bytes / s->moving)))
		       : "";
}
#define SPEED(s) put_speed(s, (char[64]){ 0 })

static void
put_jobs(const struct view *v, struct buf *out)
{
	struct table t;
	struct interval best;

	table_start(&t, "JOB|>RUNS|>FAILURES|>SECONDS|>COMPUTE|>CHECKPOINT|"
			">FLUSH|>LOST|>EFFICIENCY|>INTERVAL|>BEST|LAST RUN");
	for (uint64_t n = joblog_first(v->g->jobs_seen, JOBLOG_JOBS);
	     n < v->g->jobs_seen; n++) {
		const struct joblog_job *j = joblog_job(v->g, n);
		const double part = joblog_efficiency(j);

		if (!is_shown(v, j))
			continue;
		table_name(&t, j->id);
		table_cells(&t, "%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s",
			    j->runs, j->failures,
			    j->back ? "?"
				    : str_printed(32, "%" PRId64,
						  j->last - j->first),
			    SECS(&j->phases[JOBLOG_COMPUTE]),
			    SECS(&j->phases[JOBLOG_CHECKPOINT]),
			    SECS(&j->phases[JOBLOG_FLUSH]));
		table_cells(
			&t, "%s\t%s\t%s\t%s\t%s",
			j->vague || j->owes ? "?" : SPAN(j->lost, j->lost_max),
			part < 0 ? "?" : str_printed(16, "%.0f%%", part * 100),
			SPAN(joblog_used(j), joblog_used(j)),
			joblog_best(j, &best) == 0
				? str_printed(32, "%.1f", best.seconds)
				: "?",
			ends[j->end]);
	}
	table_end(&t, 0, out);
}

static void
put_job(const struct joblog_job *j, struct buf *out)
{
	const double part = joblog_efficiency(j), used = joblog_used(j);
	struct interval best;
	struct table t;

	buf_printf(out,
		   "job %s: %" PRIu64 " %s, %" PRIu64
		   " %s; the last run: %s\n%s to %s",
		   str_shown(j->id), str_count(j->runs, "run"),
		   str_count(j->failures, "failure"), ends[j->end],
		   when_local(j->first), when_local(j->last));
	if (!j->back)
		buf_printf(out, ", %" PRId64 " s", j->last - j->first);
	buf_add_str(out, j->back     ? "; the clock went back\n"
			 : !j->whole ? "; its start is not in the log\n"
				     : "\n");
	table_start(&t, "PHASE|>COUNT|>FAILED|>SECONDS|>EACH|>BYTES|>SPEED");
	for (int p = 0; p < JOBLOG_PHASES; p++) {
		const struct joblog_sum *s = &j->phases[p];

		if (s->count == 0 && s->moving <= 0)
			continue;
		table_cells(
			&t, "%s\t%" PRIu64 "\t%s\t%s\t%s\t%s\t%s",
			joblog_phase_name((enum joblog_phase)p), s->count,
			s->failed > 0 ? str_printed(32, "%" PRIu64, s->failed)
				      : "",
			SECS(s),
			s->untimed < s->count
				? str_printed(32, "%.2f",
					      s->secs / (double)(s->count -
								 s->untimed))
				: "",
			s->moving > 0 ? str_size((uint64_t)s->bytes) : "",
			SPEED(s));
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
	buf_printf(out, "lost work: %s s\n",
		   j->vague || j->owes ? "?" : SPAN(j->lost, j->lost_max));
	buf_printf(out, "efficiency: %s\n",
		   part < 0 ? "?"
			    : str_printed(80,
					  "%.0f%% of the time was work that is "
					  "not lost",
					  part * 100));
	buf_printf(out, "interval: %s s of work before each checkpoint; ",
		   SPAN(used, used));
	if (joblog_best(j, &best) == 0)
		buf_printf(out,
			   "best %.1f s: a checkpoint takes %.1f s, a failure "
			   "every %.0f s\n",
			   best.seconds, best.cost, best.mtbi);
	else
		buf_printf(out, "best ?: %s\n",
			   j->back	      ? "the clock went back"
			   : j->failures == 0 ? "no failure"
			   : j->spacings == 0 ? "no checkpoint"
					      : "no duration");
}

static void
put_failures(const struct view *v, struct buf *out)
{
	const struct joblog *g = v->g;
	struct table t;

	table_start(&t, "JOB|>RUN|LAST LINE|ENDED|RESTARTED FROM|>LOST WORK|"
			">DOWN|>RESTART");
	for (uint64_t n = joblog_first(g->failures_seen, JOBLOG_FAILURES);
	     n < g->failures_seen; n++) {
		const struct joblog_failure *f =
			&g->failures[n % JOBLOG_FAILURES];
		const struct joblog_job *j = joblog_job(g, f->job);
		const int64_t least = f->died >= 0 ? f->next - f->died : 0;
		const int64_t most = f->died >= 0 ? least : f->next - f->seen;

		if (!is_shown(v, j))
			continue;
		table_name(&t, j != NULL ? j->id : "?");
		table_cells(&t, "%" PRIu64 "\t%s\t%s\t%s\t%s", f->run,
			    when_local(f->seen),
			    f->died >= 0 ? when_local(f->died) : "?",
			    f->early	   ? "before it computed"
			    : f->from > 0  ? str_printed(32, "dataset %" PRId64,
							 f->from)
			    : f->from == 0 ? "the beginning"
					   : "?",
			    SPAN(f->lost, f->lost_max));
		table_cells(&t, "%s\t%s",
			    f->next < 0 || least < 0 || most < 0
				    ? "?"
				    : SPAN((double)least, (double)most),
			    SPAN((double)f->restart, (double)f->restart));
	}
	table_drop_empty(&t);
	table_end(&t, 0, out);
}

static void
put_datasets(const struct view *v, struct buf *out)
{
	struct table t;

	table_start(&t, ">DATASET|NAME|JOB|>BYTES|>COMPUTE|>WRITE|>SPEED|"
			">FLUSH|>SPEED|>ASYNC|>SPEED|>FETCH|>REBUILD");
	for (size_t i = 0; i < v->ndatasets; i++) {
		const struct joblog_dataset *d = v->datasets[i];
		const struct joblog_job *j = joblog_job(v->g, d->job);
		const struct joblog_sum *p = d->phases;
		const struct joblog_sum *w =
			&p[d->is_ckpt ? JOBLOG_CHECKPOINT : JOBLOG_OUTPUT];

		table_cell(&t, "%" PRId64, d->id);
		table_name(&t, d->name);
		table_name(&t, j != NULL ? j->id : "?");
		table_cells(&t, "%s\t%s\t%s\t%s",
			    w->moving > 0 ? str_size((uint64_t)w->bytes) : "",
			    SECS(&p[JOBLOG_COMPUTE]), SECS(w), SPEED(w));
		table_cells(&t, "%s\t%s\t%s\t%s\t%s\t%s",
			    SECS(&p[JOBLOG_FLUSH]), SPEED(&p[JOBLOG_FLUSH]),
			    SECS(&p[JOBLOG_ASYNC_FLUSH]),
			    SPEED(&p[JOBLOG_ASYNC_FLUSH]),
			    SECS(&p[JOBLOG_FETCH]), SECS(&p[JOBLOG_REBUILD]));
	}
	table_drop_empty(&t);
	table_end(&t, 0, out);
}

/* --- JSON --- */

static int64_t
ms(double secs)
{
	return secs < 0 ? -1 : (int64_t)(secs * 1000 + 0.5);
}

static struct json *
phases_json(const struct joblog_sum *all)
{
	struct json *list = json_new_array();

	for (int p = 0; p < JOBLOG_PHASES; p++) {
		const struct joblog_sum *s = &all[p];
		struct json *j = NULL;

		if (s->count == 0 && s->moving <= 0)
			continue;
		j = json_new_object();
		json_set_str(j, "phase",
			     joblog_phase_name((enum joblog_phase)p));
		json_set_u64(j, "count", s->count);
		json_set_u64(j, "failed_count", s->failed);
		json_set_u64(j, "untimed_count", s->untimed);
		json_set_u64(j, "milliseconds", (uint64_t)ms(s->secs));
		json_set_or_null(j, "bytes",
				 s->moving > 0 ? (int64_t)s->bytes : -1);
		json_set_or_null(j, "bytes_per_second",
				 s->moving > 0 ? (int64_t)(s->bytes / s->moving)
					       : -1);
		json_push(list, j);
	}
	return list;
}

static void
set_lost(struct json *j, double least, double most)
{
	json_set_or_null(j, "lost_milliseconds", ms(least));
	json_set_or_null(j, "lost_milliseconds_at_most", ms(most));
}

static struct json *
job_json(const struct joblog_job *j)
{
	const bool known = !j->vague && !j->owes;
	struct json *one = json_new_object();
	struct interval best;

	json_set_str(one, "job_id", j->id);
	json_set_time(one, "first_line", j->first);
	json_set_time(one, "last_line", j->last);
	json_set_bool(one, "has_start", j->whole);
	json_set_bool(one, "clock_went_back", j->back);
	json_set_u64(one, "run_count", j->runs);
	json_set_u64(one, "failure_count", j->failures);
	json_set_str(one, "last_run", ends[j->end]);
	json_set_or_null(one, "run_milliseconds",
			 j->back ? -1 : ms(j->run_secs));
	json_set(one, "log_phases", phases_json(j->phases));
	json_set_or_null(one, "work_milliseconds", ms(j->work));
	set_lost(one, known ? j->lost : -1, known ? j->lost_max : -1);
	if (joblog_efficiency(j) < 0)
		json_set_null(one, "efficiency");
	else
		json_set_real(one, "efficiency", joblog_efficiency(j));
	json_set_or_null(one, "interval_milliseconds", ms(joblog_used(j)));
	json_set_or_null(one, "best_interval_milliseconds",
			 joblog_best(j, &best) == 0 ? ms(best.seconds) : -1);
	return one;
}

static struct json *
view_json(const struct view *v)
{
	const struct joblog *g = v->g;
	const uint64_t job = joblog_first(g->jobs_seen, JOBLOG_JOBS);
	const uint64_t failure =
		joblog_first(g->failures_seen, JOBLOG_FAILURES);
	struct json *top = json_new_object(), *jobs = json_new_array();
	struct json *failures = json_new_array(), *datasets = json_new_array();
	struct json *one = NULL;

	for (uint64_t n = job; n < g->jobs_seen; n++)
		if (is_shown(v, joblog_job(g, n)))
			json_push(jobs, job_json(joblog_job(g, n)));
	for (uint64_t n = failure; n < g->failures_seen; n++) {
		const struct joblog_failure *f =
			&g->failures[n % JOBLOG_FAILURES];
		const struct joblog_job *j = joblog_job(g, f->job);
		const struct joblog_job *by = joblog_job(g, f->by);

		if (!is_shown(v, j))
			continue;
		one = json_new_object();
		json_set_str(one, "job_id", j != NULL ? j->id : NULL);
		json_set_u64(one, "run", f->run);
		json_set_time(one, "last_line", f->seen);
		json_set_time(one, "died", f->died);
		json_set_time(one, "next_start", f->next);
		json_set_str(one, "next_job",
			     f->next >= 0 && by != NULL ? by->id : NULL);
		json_set_bool(one, "before_it_computed", f->early);
		json_set_or_null(one, "restarted_from", f->from);
		set_lost(one, f->lost, f->lost_max);
		json_set_or_null(one, "restart_seconds", f->restart);
		json_push(failures, one);
	}
	for (size_t i = 0; i < v->ndatasets; i++) {
		const struct joblog_dataset *d = v->datasets[i];
		const struct joblog_job *j = joblog_job(g, d->job);

		one = json_new_object();
		json_set_u64(one, "id", (uint64_t)d->id);
		json_set_str(one, "name", d->name);
		json_set_str(one, "job_id", j != NULL ? j->id : NULL);
		json_set(one, "log_phases", phases_json(d->phases));
		json_push(datasets, one);
	}
	json_set_u64(top, "line_count", g->lines);
	json_set_u64(top, "lines_skipped", g->unreadable + g->jobless);
	json_set_u64(top, "jobs_left_out", job);
	json_set_u64(top, "failures_left_out", failure);
	json_set_u64(top, "datasets_left_out",
		     joblog_first(g->datasets_seen, JOBLOG_DATASETS));
	json_set_bool(top, "unfinished", g->unfinished);
	json_set(top, "log_jobs", jobs);
	json_set(top, "log_failures", failures);
	json_set(top, "log_datasets", datasets);
	return top;
}

/* --- The verb --- */

static int
by_order(const void *a, const void *b)
{
	const struct joblog_dataset *const *x = a, *const *y = b;

	return (*x)->order < (*y)->order ? -1 : 1;
}

/* Choose the datasets of these jobs, in the order in which they began. */
static void
choose_datasets(struct view *v)
{
	size_t cap = 0;

	for (size_t i = 0; i < JOBLOG_DATASETS; i++) {
		const struct joblog_dataset *d = &v->g->datasets[i];

		if (d->id == 0 || !is_shown(v, joblog_job(v->g, d->job)))
			continue;
		(void)MEM_ROOM(v->datasets, v->ndatasets, cap);
		v->datasets[v->ndatasets++] = d;
	}
	if (v->ndatasets > 0)
		qsort(v->datasets, v->ndatasets, sizeof(*v->datasets),
		      by_order);
}

/* Append what is not in the answer. */
static void
put_limits(const struct joblog *g, bool datasets, struct buf *out)
{
	const struct {
		uint64_t seen, most;
		const char *what;
	} kept[] = {
		{ g->jobs_seen, JOBLOG_JOBS, "jobs" },
		{ g->failures_seen, JOBLOG_FAILURES, "failures" },
		{ datasets ? g->datasets_seen : 0, JOBLOG_DATASETS,
		  "datasets" },
	};
	const uint64_t skipped = g->unreadable + g->jobless;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i].seen > kept[i].most)
			buf_printf(out,
				   "%s: the last %" PRIu64 " of %" PRIu64 "\n",
				   kept[i].what, kept[i].most, kept[i].seen);
	if (skipped > 0)
		buf_printf(out, "lines skipped: %" PRIu64 " of %" PRIu64 "\n",
			   skipped, g->lines);
	if (g->unfinished)
		buf_add_str(out, "the last line is not finished, and not "
				 "used\n");
}

static int
report(const struct joblog *g, const char *job, bool datasets)
{
	struct view v = { .g = g, .job = job };
	const struct joblog_job *only = NULL;
	struct buf out = BUF_INIT;
	size_t n = 0;

	for (uint64_t i = joblog_first(g->jobs_seen, JOBLOG_JOBS);
	     i < g->jobs_seen; i++)
		if (is_shown(&v, joblog_job(g, i))) {
			only = joblog_job(g, i);
			n++;
		}
	if (job != NULL && n == 0) {
		app_error("job %s: not in the log", str_shown(job));
		return STATUS_FAILED;
	}
	choose_datasets(&v);
	if (app_json()) {
		app_answer(view_json(&v));
	} else if (n == 0) {
		app_note("no job in the log");
	} else {
		if (n == 1)
			put_job(only, &out);
		else
			put_jobs(&v, &out);
		put_failures(&v, &out);
		if (datasets)
			put_datasets(&v, &out);
		put_limits(g, datasets, &out);
	}
	mem_free(v.datasets);
	return app_print(&out);
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
	const char *file = NULL, *job = NULL, *db = NULL;
	bool datasets = false;
	struct error err = ERROR_INIT, why = ERROR_INIT;
	struct joblog g = { .lines = 0 };
	int rc = 0, dir = -1, status = STATUS_OK;
	struct job j;
	const struct opt opts[] = {
		OPT_STRING(0, "job", &job, "ID", OPT_ANY, "only this job"),
		OPT_FLAG(0, "datasets", &datasets, "each dataset, too"),
		OPT_STRING(0, "db", &db, "FILE", OPT_FILE,
			   "also import the log into this database of SQLite "
			   "(default SCR_LOG_DB_NAME)"),
		APP_OPT_PREFIX(&w.prefix),
		OPT_STRING(0, "logfile", &file, "FILE", OPT_FILE,
			   "log (default PREFIX/.scr/log)"),
		OPT_END,
	};

	env_options(c, opts);
	if (file != NULL && db != NULL)
		app_usage("--db imports the log of a prefix, not a --logfile");
	if (file != NULL) {
		rc = joblog_read(AT_FDCWD, file, &g, &err);
	} else if (env_open_job(&j, &w, &err) < 0) {
		rc = -1;
	} else {
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
	status = rc < 0 ? app_report(status, &err)
			: error_worse_status(report(&g, job, datasets), status);
	joblog_free(&g);
	return status;
}
