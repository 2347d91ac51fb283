/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - the verbs of scr_fti that look at files: list, dump, verify.
 */
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "input.h"
#include "json.h"
#include "mem.h"
#include "report/fti.h"
#include "report/fti_json.h"
#include "report/picture.h"
#include "str.h"
#include "style.h"

struct look {
	struct fti_input_options in;
	const char *svg; /* file for a picture, or NULL */
	uint64_t jobs;
	bool records, variables; /* in the answer */
};

static int
print_text(const struct look *l, const struct fti_input *s)
{
	const struct style style = style_of(STDOUT_FILENO);
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < s->count; i++) {
		const struct fti_rankfile *r = &s->list[i];

		if (l->records)
			report_fti_dump(r, &out);
		else if (l->variables)
			report_fti_list(r, &out);
		else if (r->verdict != FTI_INTACT || app_verbosity() >= 0)
			report_fti_verdict(r, &out);
		if (l->variables && i + 1 < s->count)
			buf_add_char(&out, '\n');
	}
	(void)style_dress(&style, &out);
	return app_print(&out);
}

static int
draw(const char *to, const struct fti_rankfile *r)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;

	if (r->ff == NULL)
		error_set(&err, ERROR_USAGE,
			  "%s: --svg draws files of FTI-FF only (form: %s)",
			  r->name, fti_form_name(r->form));
	else if (report_fti_svg(&r->checked, &text, &err) == 0)
		picture_save(to, &text, &err);
	buf_free(&text);
	return app_report(STATUS_OK, &err);
}

static int
print_json(const struct look *l, const struct fti_input *s)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < s->count; i++)
		json_push(list, report_fti_file_json(
					&s->list[i],
					l->records     ? REPORT_FTI_RECORDS
					: l->variables ? REPORT_FTI_VARIABLES
						       : REPORT_FTI_VERDICT));
	app_answer_list("checkpoint_files", list);
	return STATUS_OK;
}

static int
show(const struct look *l, const struct fti_input *s)
{
	int status = STATUS_OK;

	if (l->svg != NULL && s->count > 0)
		status = draw(l->svg, &s->list[0]);
	if (app_json())
		return error_worse_status(status, print_json(l, s));
	if (l->svg != NULL && str_eq(l->svg, "-"))
		return status;
	return error_worse_status(status, print_text(l, s));
}

static int
look_at(const struct fti_call *call, struct look *l)
{
	const struct opt opts[] = {
		FTI_INPUT_OPTIONS(l->in),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&l->jobs),
		l->records
			? (struct opt)OPT_STRING(
				  0, "svg", &l->svg, "FILE", OPT_FILE,
				  "draw blocks and containers of the file (-: standard output)")
			: (struct opt)OPT_END,
		OPT_END,
	};
	struct work w = { APP_WORK };
	struct error err = ERROR_INIT;
	struct fti_input s = { .count = 0 };
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	if (count == 0)
		app_usage("no file given");
	if (l->svg != NULL && count > 1)
		app_usage("--svg: one file can be drawn at a time");
	if (app_json() && l->svg != NULL && str_eq(l->svg, "-"))
		app_usage("--json and --svg - cannot be used together");
	if (app_work_start(&w, l->jobs, "scr_fti", &err) < 0)
		return app_report(STATUS_OK, &err);
	if (fti_input_open(&s, args, (size_t)count, &l->in, &w, &err) < 0) {
		app_work_end(&w);
		fti_input_close(&s);
		return app_report(STATUS_OK, &err);
	}
	app_work_end(&w);
	status = s.status;
	for (size_t i = 0; i < s.count; i++)
		status = error_worse_status(status,
					    report_fti_status(&s.list[i]));
	status = error_worse_status(status, show(l, &s));
	fti_input_close(&s);
	return status;
}

int
fti_run_list(const struct fti_call *c)
{
	struct look l = { .in = FTI_INPUT_ALL, .variables = true };

	return look_at(c, &l);
}

int
fti_run_dump(const struct fti_call *c)
{
	struct look l = { .in = FTI_INPUT_ALL,
			  .variables = true,
			  .records = true };

	return look_at(c, &l);
}

int
fti_run_verify(const struct fti_call *c)
{
	struct look l = { .in = FTI_INPUT_ALL };

	return look_at(c, &l);
}
