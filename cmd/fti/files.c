/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - the files that a command line of scr_fti names, and the verbs that
 * look at them: list, dump, verify.
 */
#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "fti/file.h"
#include "json.h"
#include "mem.h"
#include "report/fti.h"
#include "report/fti_json.h"
#include "report/picture.h"
#include "str.h"
#include "style.h"

/* --- Files --- */

static int
open_one(struct fti_files *s, const char *path, enum fti_layout layout,
	 struct error *err)
{
	struct fti_checked *c = &s->checked[s->count];
	struct fti_source *from = &s->sources[s->count];

	if (fti_source_open(from, AT_FDCWD, path, err) < 0)
		return -1;
	c->source = from;
	c->file = fti_file_read(from, layout, err);
	if (c->file == NULL) {
		fti_source_close(from);
		return -1;
	}
	s->count++;
	return 0;
}

int
fti_files_open(struct fti_files *s, char **paths, size_t count,
	       const char *letter, const struct work *w, struct error *err)
{
	enum fti_layout layout = FTI_LAYOUTS;

	*s = (struct fti_files){ .status = STATUS_OK };
	if (letter != NULL && fti_layout_parse(letter, &layout, err) < 0)
		return -1;
	s->sources = mem_calloc(count + 1, sizeof(*s->sources));
	s->checked = mem_calloc(count + 1, sizeof(*s->checked));
	if (s->sources == NULL || s->checked == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		if (open_one(s, paths[i], layout, err) < 0)
			s->status = app_report(s->status, err);
	return fti_check(s->checked, s->count, true, w, err);
}

void
fti_files_close(struct fti_files *s)
{
	for (size_t i = 0; s->checked != NULL && i < s->count; i++) {
		fti_checked_fini(&s->checked[i]);
		fti_file_free(s->checked[i].file);
		fti_source_close(&s->sources[i]);
	}
	mem_free(s->sources);
	mem_free(s->checked);
}

/* --- The verbs --- */

struct look {
	const char *letter;
	const char *svg; /* file for a picture, or NULL */
	uint64_t jobs;
	bool records, variables; /* in the answer */
};

static int
print_text(const struct look *l, const struct fti_files *s)
{
	const struct style style = style_of(STDOUT_FILENO);
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < s->count; i++) {
		const struct fti_checked *c = &s->checked[i];

		if (l->records)
			report_fti_dump(c, &out);
		else if (l->variables)
			report_fti_list(c, &out);
		else if (c->verdict != FTI_INTACT || app_verbosity() >= 0)
			report_fti_verdict(c, &out);
		if (l->variables && i + 1 < s->count)
			buf_add_char(&out, '\n');
	}
	(void)style_dress(&style, &out);
	return app_print(&out);
}

static int
draw(const char *to, const struct fti_checked *c)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;

	if (report_fti_svg(c, &text, &err) == 0)
		picture_save(to, &text, &err);
	buf_free(&text);
	return app_report(STATUS_OK, &err);
}

static int
print_json(const struct look *l, const struct fti_files *s)
{
	struct json *list = json_new_array();

	for (size_t i = 0; i < s->count; i++)
		json_push(list, report_fti_file_json(
					&s->checked[i],
					l->records     ? REPORT_FTI_RECORDS
					: l->variables ? REPORT_FTI_VARIABLES
						       : REPORT_FTI_VERDICT));
	app_answer_list("checkpoint_files", list);
	return STATUS_OK;
}

static int
show(const struct look *l, const struct fti_files *s)
{
	int status = STATUS_OK;

	if (l->svg != NULL && s->count > 0)
		status = draw(l->svg, &s->checked[0]);
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
		OPT_GROUP("Files"),
		OPT_STRING(0, "layout", &l->letter, "A|B|C|D|E|F", OPT_WORDS,
			   "expect this layout of FTI-FF (default: found)"),
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
	struct fti_files s = { .count = 0 };
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
	if (fti_files_open(&s, args, (size_t)count, l->letter, &w, &err) < 0) {
		app_work_end(&w);
		fti_files_close(&s);
		return app_report(STATUS_OK, &err);
	}
	app_work_end(&w);
	status = s.status;
	for (size_t i = 0; i < s.count; i++)
		status = error_worse_status(status,
					    report_fti_status(&s.checked[i]));
	status = error_worse_status(status, show(l, &s));
	fti_files_close(&s);
	return status;
}

int
fti_run_list(const struct fti_call *c)
{
	struct look l = { .variables = true };

	return look_at(c, &l);
}

int
fti_run_dump(const struct fti_call *c)
{
	struct look l = { .variables = true, .records = true };

	return look_at(c, &l);
}

int
fti_run_verify(const struct fti_call *c)
{
	struct look l = { .letter = NULL };

	return look_at(c, &l);
}
