/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/runs.h"

#include <stdlib.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "json.h"
#include "num.h"
#include "report/table.h"
#include "site/interval.h"
#include "site/joblog.h"
#include "str.h"
#include "when.h"

/* Spans in a page: some 2 MB. */
#define SPANS_MAX 20000

static const char *const ends[] = {
	[JOBLOG_UNKNOWN] = "unknown",
	[JOBLOG_HALTED] = "ended",
	[JOBLOG_FAILED] = "failed",
};

/* --- Columns of the tables, which are members in JSON --- */

enum unit { TEXT, NUMBER, MILLISECONDS, TIME, FLAG };

struct column {
	const char *key, *head;
	enum unit unit;
};

/* NULL, or a negative number: unknown. */
struct value {
	const char *text;
	int64_t number;
};

#define LOST \
	{ "lost_milliseconds", ">LOST", MILLISECONDS }, \
	{ \
		"lost_milliseconds_at_most", ">AT MOST", MILLISECONDS \
	}
#define SUMS \
	{ "phase", "PHASE", TEXT }, { "count", ">COUNT", NUMBER }, \
		{ "failed_count", ">FAILED", NUMBER }, \
		{ "spent_milliseconds", ">SECONDS", MILLISECONDS }, \
		{ "bytes", ">BYTES", NUMBER }, \
	{ \
		"bytes_per_second", ">BYTES/S", NUMBER \
	}

static const struct column jobs[] = {
	{ "job_id", "JOB", TEXT },
	{ "first_line", "FIRST LINE", TIME },
	{ "run_count", ">RUNS", NUMBER },
	{ "failure_count", ">FAILURES", NUMBER },
	{ "last_run", "LAST RUN", TEXT },
	{ "log_seconds", ">SECONDS", NUMBER },
	{ "work_milliseconds", ">WORK", MILLISECONDS },
	LOST,
	{ "efficiency_percent", ">EFFICIENCY %", NUMBER },
	{ "interval_milliseconds", ">INTERVAL", MILLISECONDS },
	{ "best_interval_milliseconds", ">BEST", MILLISECONDS },
	{ NULL, NULL, TEXT },
};
static const struct column phases[] = {
	{ "job_id", "JOB", TEXT },
	SUMS,
	{ NULL, NULL, TEXT },
};
static const struct column failures[] = {
	{ "job_id", "JOB", TEXT },
	{ "run", ">RUN", NUMBER },
	{ "last_line", "LAST LINE", TIME },
	{ "died", "DIED", TIME },
	{ "next_start", "NEXT START", TIME },
	{ "next_job", "BY JOB", TEXT },
	{ "restarted_from", ">FROM DATASET", NUMBER },
	LOST,
	{ "restart_seconds", ">RESTART", NUMBER },
	{ NULL, NULL, TEXT },
};
static const struct column datasets[] = {
	{ "job_id", "JOB", TEXT }, { "id", ">DATASET", NUMBER },
	{ "name", "NAME", TEXT },  SUMS,
	{ NULL, NULL, TEXT },
};
static const struct column spans[] = {
	{ "job_id", "", TEXT },
	{ "run", "", NUMBER },
	{ "phase", "", TEXT },
	{ "begin_milliseconds", "", NUMBER }, /* since 1970 */
	{ "milliseconds", "", NUMBER },
	{ "id", "", NUMBER },
	{ "failed", "", FLAG },
	{ NULL, NULL, TEXT },
};
static const struct column events[] = {
	{ "time", "", TIME },
	{ "event", "", TEXT },
	{ NULL, NULL, TEXT },
};

/* Rows of a table, or objects of a list if it is not NULL. */
struct rows {
	const struct column *columns;
	struct table table;
	struct json *list;
	bool any; /* the job was found */
};

static void
start(struct rows *r, bool json)
{
	if (json) {
		r->list = json_new_array();
		return;
	}
	table_start(&r->table, NULL);
	for (const struct column *c = r->columns; c->key != NULL; c++)
		table_column(&r->table, c->head);
}

/* Add a row; values are in the order of the columns. */
static void
put(struct rows *r, const struct value *v)
{
	struct json *one = r->list != NULL ? json_new_object() : NULL;

	r->any = true;
	for (const struct column *c = r->columns; c->key != NULL; c++, v++) {
		const int64_t n = v->number;
		const char *text =
			c->unit == TEXT	  ? v->text
			: n < 0		  ? NULL
			: c->unit == TIME ? when_local(n)
			: c->unit == MILLISECONDS
				? str_printed(32, "%.1f", (double)n / 1000)
				: num_str(n);

		if (one == NULL)
			table_name(&r->table, text != NULL ? text : "?");
		else if (c->unit == TEXT)
			json_set_str(one, c->key, text);
		else if (c->unit == TIME)
			json_set_time(one, c->key, n);
		else if (c->unit == FLAG)
			json_set_bool(one, c->key, n > 0);
		else
			json_set_or_null(one, c->key, n);
	}
	if (one != NULL)
		json_push(r->list, one);
}

static int64_t
milliseconds(double secs)
{
	return secs < 0 ? -1 : (int64_t)(secs * 1000 + 0.5);
}

/* --- The facts --- */

static void
put_job(const struct joblog_job *j, struct rows *r)
{
	const bool known = !j->vague && !j->owes && j->lost >= 0;
	const double part = joblog_efficiency(j);
	struct interval best = { .seconds = -1 };

	if (joblog_best(j, &best) < 0)
		best.seconds = -1;
	put(r,
	    (const struct value[]){
		    { .text = j->id },
		    { .number = j->first },
		    { .number = (int64_t)j->runs },
		    { .number = (int64_t)j->failures },
		    { .text = ends[j->end] },
		    { .number = j->back ? -1 : j->last - j->first },
		    { .number = milliseconds(j->work) },
		    { .number = milliseconds(known ? j->lost : -1) },
		    { .number = milliseconds(known ? j->lost_max : -1) },
		    { .number = part < 0 ? -1 : (int64_t)(part * 100 + 0.5) },
		    { .number = milliseconds(joblog_used(j)) },
		    { .number = milliseconds(best.seconds) },
	    });
}

/* The phases of a job, or of its dataset `d`. */
static void
put_phases(const struct joblog_job *j, const struct joblog_dataset *d,
	   struct rows *r)
{
	const struct joblog_sum *s = d != NULL ? d->phases : j->phases;

	for (int p = 0; p < JOBLOG_PHASES; p++, s++) {
		const bool moved = s->moving > 0;
		struct value v[] = {
			{ .text = j != NULL ? j->id : NULL },
			{ .number = d != NULL ? d->id : -1 },
			{ .text = d != NULL ? d->name : NULL },
			{ .text = joblog_phase_name((enum joblog_phase)p) },
			{ .number = (int64_t)s->count },
			{ .number = (int64_t)s->failed },
			{ .number =
				  milliseconds(s->untimed > 0 ? -1 : s->secs) },
			{ .number = moved ? (int64_t)s->bytes : -1 },
			{ .number = moved ? (int64_t)(s->bytes / s->moving)
					  : -1 },
		};

		if (d == NULL)
			v[2] = v[0];
		if (s->count > 0 || moved)
			put(r, d == NULL ? &v[2] : v);
	}
}

static void
put_failure(const struct joblog *g, const struct joblog_failure *f,
	    struct rows *r)
{
	const struct joblog_job *j = joblog_job(g, f->job);
	const struct joblog_job *by =
		f->next >= 0 ? joblog_job(g, f->by) : NULL;

	put(r,
	    (const struct value[]){
		    { .text = j != NULL ? j->id : NULL },
		    { .number = (int64_t)f->run },
		    { .number = f->seen },
		    { .number = f->died },
		    { .number = f->next },
		    { .text = by != NULL ? by->id : NULL },
		    { .number = f->from },
		    { .number = milliseconds(f->lost) },
		    { .number = f->lost < 0 ? -1 : milliseconds(f->lost_max) },
		    { .number = f->restart },
	    });
}

static bool
is_of(const struct joblog_job *j, const char *id)
{
	return id == NULL || (j != NULL && str_eq(j->id, id));
}

static int
by_order(const void *a, const void *b)
{
	const struct joblog_dataset *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* The last spans, and events. */
static void
set_spans(const struct joblog *g, const char *id, struct json *to)
{
	struct rows s = { .columns = spans, .list = json_new_array() };
	struct rows e = { .columns = events, .list = json_new_array() };
	const uint64_t kept = joblog_first(g->spans_seen, JOBLOG_SPANS);
	uint64_t first = g->spans_seen, count = 0;

	for (; first > kept && count < SPANS_MAX; first--)
		count += is_of(
			joblog_job(g, g->spans[(first - 1) % JOBLOG_SPANS].job),
			id);
	for (uint64_t n = first; n < g->spans_seen; n++) {
		const struct joblog_span *p = &g->spans[n % JOBLOG_SPANS];
		const struct joblog_job *j = joblog_job(g, p->job);

		if (j == NULL || !is_of(j, id))
			continue;
		put(&s, (const struct value[]){
				{ .text = j->id },
				{ .number = (int64_t)p->run },
				{ .text = p->phase < JOBLOG_PHASES
						  ? joblog_phase_name(
							    (enum joblog_phase)
								    p->phase)
						  : "run" },
				{ .number = milliseconds(p->begin) },
				{ .number = milliseconds(p->end - p->begin) },
				{ .number = p->dataset > 0 ? p->dataset : -1 },
				{ .number = p->failed },
			});
	}
	for (uint64_t n = g->events_seen;
	     n-- > joblog_first(g->events_seen, JOBLOG_EVENTS);) {
		const struct joblog_event *v = &g->events[n % JOBLOG_EVENTS];

		put(&e, (const struct value[]){ { .number = v->time },
						{ .text = v->text } });
	}
	json_set(to, "log_spans", s.list);
	json_set_bool(to, "log_spans_cut", first > 0);
	json_set(to, "log_events", e.list);
}

int
runs_report(struct joblog *g, const char *id, bool all, struct buf *out,
	    struct json *to, struct error *err)
{
	static const char *const keys[] = { "log_jobs", "log_phases",
					    "log_failures", "log_datasets" };
	struct rows t[] = { { .columns = jobs },
			    { .columns = phases },
			    { .columns = failures },
			    { .columns = datasets } };
	bool any = id == NULL;

	for (int k = 0; k < 4; k++)
		start(&t[k], to != NULL);
	for (uint64_t n = joblog_first(g->jobs_seen, JOBLOG_JOBS);
	     n < g->jobs_seen; n++) {
		const struct joblog_job *j = joblog_job(g, n);

		if (!is_of(j, id))
			continue;
		put_job(j, &t[0]);
		put_phases(j, NULL, &t[1]);
	}
	for (uint64_t n = joblog_first(g->failures_seen, JOBLOG_FAILURES);
	     n < g->failures_seen; n++) {
		const struct joblog_failure *f =
			&g->failures[n % JOBLOG_FAILURES];

		if (is_of(joblog_job(g, f->job), id))
			put_failure(g, f, &t[2]);
	}
	qsort(g->datasets, JOBLOG_DATASETS, sizeof(*g->datasets), by_order);
	for (size_t i = 0; (to != NULL || all) && i < JOBLOG_DATASETS; i++) {
		const struct joblog_dataset *d = &g->datasets[i];
		const struct joblog_job *j = joblog_job(g, d->job);

		if (d->id != 0 && is_of(j, id))
			put_phases(j, d, &t[3]);
	}
	for (int k = 0; k < 4; k++) {
		any = any || t[k].any;
		if (to != NULL) {
			json_set(to, keys[k], t[k].list);
			continue;
		}
		table_drop_empty(&t[k].table);
		table_end(&t[k].table, 0, out);
	}
	if (to != NULL) {
		json_set_u64(to, "line_count", g->lines);
		json_set_u64(to, "lines_skipped", g->unreadable + g->jobless);
		json_set_bool(to, "unfinished", g->unfinished);
	}
	if (to != NULL && all)
		set_spans(g, id, to);
	return any ? 0
		   : error_set(err, ERROR_ABSENT, "job %s: not in the log",
			       str_shown(id));
}

int
runs_page(const struct catalogue *c, struct json *prefix, struct error *err)
{
	const int scr = catalogue_scr_fd(c);
	struct error why = ERROR_INIT;
	struct joblog g;
	int rc = 0;

	if (scr < 0)
		return 0;
	if (joblog_read(scr, "log", &g, &why) == 0) {
		struct json *log = json_new_object();

		(void)runs_report(&g, NULL, true, NULL, log, NULL);
		json_set(prefix, "log", log);
	} else if (why.kind != ERROR_ABSENT) {
		json_set_str(prefix, "log_problem", why.text);
		rc = error_pass(err, &why);
	}
	joblog_free(&g);
	return rc;
}
