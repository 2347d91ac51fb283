/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff.c - verb diff of scr_fti: the variables and bytes in which two
 * checkpoint files differ.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "fti/compare.h"
#include "input.h"
#include "json.h"
#include "mem.h"
#include "num.h"
#include "report/fti.h"
#include "str.h"

/* Ranges of each variable that are printed without --all. */
#define SHOWN 20

struct diff {
	struct fti_input_options in;
	struct opt_list words; /* of -v */
	bool all;
	uint64_t jobs;
	/* The run. */
	const struct fti_rankfile *a, *b;
	int64_t *ids; /* ascending; those of -v, if any */
	size_t nids;
	bool *seen; /* for each of them: does a file have it? */
	size_t differ, same;
	struct json *variables, *ranges; /* ranges: of the next variable */
	struct buf text;		 /* not printed yet */
};

/* --- Which variables --- */

/* Is the variable one that -v names? */
static bool
is_wanted(void *arg, int32_t id)
{
	struct diff *d = arg;
	const int64_t key = id, *at = NULL;

	if (d->nids == 0)
		return true;
	at = bsearch(&key, d->ids, d->nids, sizeof(*d->ids), num_by_id);
	if (at != NULL)
		d->seen[at - d->ids] = true;
	return at != NULL;
}

/* --- Results --- */

/* Print what is ready, so that it does not pile up. */
static void
flush(struct diff *d)
{
	if (d->text.len >= 65536)
		(void)app_print_unless_quiet(&d->text);
}

static void
take_range(void *arg, const struct fti_difference *v, const struct fti_range *r)
{
	struct diff *d = arg;
	struct json *j = NULL;

	/* v->ranges counts this one. */
	if (v->ranges > SHOWN && !d->all)
		return;
	if (app_json()) {
		j = json_new_object();
		json_set_u64(j, "offset", r->off);
		json_set_u64(j, "length", r->len);
		if (d->ranges == NULL)
			d->ranges = json_new_array();
		json_push(d->ranges, j);
		return;
	}
	buf_printf(&d->text, "variable %" PRId32 ": bytes %" PRIu64, v->id,
		   r->off);
	if (r->len > 1)
		buf_printf(&d->text, " to %" PRIu64, r->off + r->len - 1);
	buf_add_char(&d->text, '\n');
	flush(d);
}

static void
take_variable(void *arg, const struct fti_difference *v)
{
	struct diff *d = arg;
	const bool same = v->a != NULL && v->b != NULL &&
			  v->a->size == v->b->size && v->ranges == 0;
	struct buf *out = &d->text;
	struct json *j = NULL;

	d->same += same;
	d->differ += !same;
	if (!app_json() && same)
		return;
	if (!app_json() && (v->a == NULL || v->b == NULL)) {
		buf_printf(out, "variable %" PRId32 ": %s, %" PRIu64 " bytes\n",
			   v->id, v->a == NULL ? "added" : "removed",
			   v->a == NULL ? v->b->size : v->a->size);
		flush(d);
		return;
	}
	if (!app_json()) {
		buf_printf(out, "variable %" PRId32 ": ", v->id);
		if (v->a->size != v->b->size)
			buf_printf(out,
				   "size was %" PRIu64 ", is %" PRIu64
				   " bytes; ",
				   v->a->size, v->b->size);
		if (v->bytes == 0)
			buf_add_str(out,
				    "no byte of those that both have changed");
		else
			buf_printf(out,
				   "%" PRIu64 " %s in %" PRIu64 " %s changed",
				   v->bytes, str_plural(v->bytes, "byte"),
				   v->ranges, str_plural(v->ranges, "range"));
		if (v->ranges > SHOWN && !d->all)
			buf_printf(out, " (%d are listed; --all lists all)",
				   SHOWN);
		buf_add_char(out, '\n');
		flush(d);
		return;
	}
	j = json_new_object();
	json_set_i64(j, "variable", v->id);
	json_set_str(j, "state",
		     v->a == NULL   ? "added"
		     : v->b == NULL ? "removed"
		     : same	    ? "same"
				    : "changed");
	if (v->a != NULL)
		json_set_u64(j, "size_before", v->a->size);
	if (v->b != NULL)
		json_set_u64(j, "size", v->b->size);
	json_set_u64(j, "bytes_changed", v->bytes);
	json_set_u64(j, "range_count", v->ranges);
	json_set(j, "ranges", d->ranges != NULL ? d->ranges : json_new_array());
	d->ranges = NULL;
	json_push(d->variables, j);
}

/* --- The verb --- */

/* Warn of a file whose data are damaged: the damage differs, too.  Returns its
 * exit status. */
static int
warn_damaged(const struct fti_rankfile *r)
{
	struct buf text = BUF_INIT;

	if (report_fti_status(r) != STATUS_LOST)
		return STATUS_OK;
	report_fti_text(r, REPORT_FTI_VERDICT, &text);
	app_warn_lines(text.data);
	buf_free(&text);
	return STATUS_LOST;
}

static int
compare(struct diff *d, struct work *w)
{
	const struct fti_compare_calls calls = {
		.wanted = is_wanted,
		.range = take_range,
		.variable = take_variable,
		.arg = d,
	};
	struct error err = ERROR_INIT;
	int status = STATUS_OK;

	if (app_json())
		d->variables = json_new_array();
	if (fti_compare(&d->a->content, &d->b->content, &calls, w, &err) < 0)
		return app_report(STATUS_OK, &err);
	app_work_end(w); /* erases the progress line */
	for (size_t i = 0; i < d->nids; i++)
		if (!d->seen[i]) {
			app_error("neither file has variable %" PRId64,
				  d->ids[i]);
			status = STATUS_FAILED;
		}
	if (app_json()) {
		app_answer_list("variables", d->variables);
		d->variables = NULL;
	} else if (d->differ > 0) {
		buf_printf(&d->text, "%zu of %zu variables differ\n", d->differ,
			   d->differ + d->same);
		status = error_worse_status(status,
					    app_print_unless_quiet(&d->text));
	}
	return d->differ > 0 ? error_worse_status(status, STATUS_DAMAGED)
			     : status;
}

int
fti_run_diff(const struct app_call *call)
{
	struct diff d = { .in = FTI_INPUT_ALL };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_LIST('v', "variable", &d.words, "ID", OPT_ANY,
			 "only this variable (can be given several times; "
			 "default: all)"),
		OPT_FLAG(0, "all", &d.all,
			 "list all ranges, not only the first ones"),
		FTI_INPUT_OPTIONS(d.in),
		FTI_WORK_OPTIONS(&d.jobs),
	};
	struct work w = { APP_WORK };
	struct error err = ERROR_INIT;
	struct fti_input in = { .count = 0 };
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	if (count != 2)
		app_usage("give the two files to compare");
	d.ids = fti_input_ids(&d.words, &d.nids);
	d.seen = mem_calloc(d.nids + 1, sizeof(*d.seen));
	if (app_work_start(&w, d.jobs, "scr_fti", &err) < 0 ||
	    fti_input_start(&in, &d.in, &err) < 0 ||
	    fti_input_read(&in, args, 2, &w, &err) < 0)
		status = app_report(STATUS_OK, &err);
	else if (in.count < 2)
		status = in.status;
	else
		for (size_t i = 0; i < 2; i++)
			if (fti_input_check(&in.list[i], &err) < 0)
				status = app_report(status, &err);
	if (status == STATUS_OK) {
		d.a = &in.list[0];
		d.b = &in.list[1];
		status = error_worse_status(warn_damaged(d.a),
					    warn_damaged(d.b));
		status = error_worse_status(status, compare(&d, &w));
	}
	app_work_end(&w);
	fti_input_end(&in);
	json_free(d.variables);
	json_free(d.ranges);
	buf_free(&d.text);
	mem_free(d.seen);
	mem_free(d.ids);
	opt_list_free(&d.words);
	return status;
}
