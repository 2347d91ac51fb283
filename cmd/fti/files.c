/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - the verbs of scr_fti that look at files: list, dump, verify.
 */
#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti.h"
#include "input.h"
#include "json.h"
#include "mem.h"
#include "report/fti.h"
#include "report/picture.h"
#include "str.h"

/* Files at a time: each is open, and its records are in memory. */
#define BATCH 256

/* Text is printed when there is so much, or in the end: until then there may be
 * a progress line. */
#define TEXT_MAX ((size_t)1 << 20)

struct look {
	struct fti_input_options in;
	const char *svg; /* file for a picture, or NULL */
	uint64_t jobs;
	enum report_fti_depth depth; /* of the answer */
	bool begun;		     /* a file was printed */
	struct buf text;	     /* not printed yet */
	struct json *json;	     /* of all files */
};

static int
draw(const char *to, const struct fti_rankfile *r)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;

	if (r->ff == NULL)
		error_set(&err, ERROR_USAGE,
			  "%s: --svg draws files of FTI-FF only (form: %s)",
			  r->name, fti_form_names[r->form]);
	else if (report_fti_svg(&r->checked, &text, &err) == 0)
		picture_save(to, &text, &err);
	buf_free(&text);
	return app_report(STATUS_OK, &err);
}

/* Returns an exit status. */
static int
look_at_all(struct look *l, struct fti_input *s, const struct fti_paths *paths,
	    const struct work *w)
{
	const bool text =
		!app_json() && (l->svg == NULL || !str_eq(l->svg, "-"));
	struct buf *out = &l->text;
	struct error err = ERROR_INIT;
	int status = STATUS_OK;

	if (app_json())
		l->json = json_new_array();
	for (size_t i = 0; i < paths->count; i += BATCH) {
		const size_t left = paths->count - i;

		if (fti_input_read(s, paths->list + i,
				   left < BATCH ? left : BATCH, w, &err) < 0)
			return app_report(status, &err);
		for (size_t k = 0; k < s->count; k++) {
			const struct fti_rankfile *r = &s->list[k];

			status = error_worse_status(status,
						    report_fti_status(r));
			if (app_json())
				json_push(l->json,
					  report_fti_file_json(r, l->depth));
			if (!text)
				continue;
			if (l->depth >= REPORT_FTI_VARIABLES && l->begun)
				buf_add_char(out, '\n');
			if (l->depth >= REPORT_FTI_VARIABLES ||
			    r->checked.verdict != FTI_INTACT ||
			    app_verbosity() >= 0)
				report_fti_text(r, l->depth, out);
			l->begun = true;
		}
		if (l->svg != NULL && s->count > 0)
			status = error_worse_status(status,
						    draw(l->svg, &s->list[0]));

		if (out->len >= TEXT_MAX)
			status = error_worse_status(status, app_print(out));
	}
	if (app_json())
		app_answer_list("checkpoint_files", l->json);
	l->json = NULL;
	return error_worse_status(status, s->status);
}

int
fti_run_look(const struct app_call *call)
{
	const char *verb = call->verb->name;
	struct look l = {
		.in = FTI_INPUT_ALL,
		.depth = str_eq(verb, "dump")	? REPORT_FTI_RECORDS
			 : str_eq(verb, "list") ? REPORT_FTI_VARIABLES
						: REPORT_FTI_VERDICT,
	};
	const struct opt opts[] = {
		FTI_INPUT_OPTIONS(l.in),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&l.jobs),
		l.depth == REPORT_FTI_RECORDS
			? (struct opt)OPT_STRING(
				  0, "svg", &l.svg, "FILE", OPT_FILE,
				  "draw blocks and containers of the file (-: standard output)")
			: (struct opt)OPT_END,
		OPT_END,
	};
	struct work w = { APP_WORK };
	struct error err = ERROR_INIT;
	struct fti_input s = { .count = 0 };
	struct fti_paths paths = { .count = 0 };
	struct arena *arena = arena_new();
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	if (count == 0)
		app_usage("no file given");
	if (l.svg != NULL && count > 1)
		app_usage("--svg: one file can be drawn at a time");
	if (app_json() && l.svg != NULL && str_eq(l.svg, "-"))
		app_usage("--json and --svg - cannot be used together");
	if (app_work_start(&w, l.jobs, "scr_fti", &err) == 0 &&
	    fti_input_start(&s, &l.in, &err) == 0 &&
	    fti_input_expand(args, (size_t)count, &paths, arena, &w, &err) == 0)
		status = look_at_all(&l, &s, &paths, &w);
	app_work_end(&w);
	status = app_report(status, &err);
	status = error_worse_status(status, app_print(&l.text));
	fti_input_end(&s);
	json_free(l.json);
	mem_free(paths.list);
	arena_free(arena);
	return status;
}
