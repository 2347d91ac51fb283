/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_inspect - print metadata files and report the condition of datasets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "error.h"
#include "inspect/inspect.h"
#include "json.h"
#include "opt.h"
#include "path.h"
#include "report/condition.h"
#include "report/metafile.h"
#include "report/picture.h"
#include "run/runfile.h"
#include "str.h"
#include "style.h"

/* --- Helpers --- */

/* Is there an option that only the list of datasets obeys? */
static bool
lists(const struct inspect *in)
{
	return in->columns != NULL || in->order != NULL;
}

/* Is there an option that only the detailed output obeys? */
static bool
detailed(const struct inspect *in)
{
	return in->choice.map || in->choice.all_files || inspect_draws(in);
}

/* Print the collected output, then `reasons` (or NULL) after a blank line. */
static void
flush(struct inspect *in, const struct buf *reasons)
{
	in->apart = in->apart || in->out.len > 0;
	if (in->out.len > 0)
		fwrite(in->out.data, 1, in->out.len, stdout);
	buf_clear(&in->out);
	if (reasons != NULL && reasons->len > 0) {
		printf("\n%s", reasons->data);
		in->apart = false;
	}
}

/* End the list of datasets; of chosen columns it stands alone. */
static void
end_table(struct inspect *in, struct table *t)
{
	table_choose(t, &in->chosen, 0);
	table_end(t, in->chosen.count > 0 ? 0 : 2, &in->out);
	style_dress(&in->choice.style, &in->out);
}

/* A dataset was shown. */
static void
note_shown(struct inspect *in, const struct condition *h)
{
	char line[sizeof(h->next) + 32];

	in->status = error_worse_status(in->status, h->status);
	snprintf(line, sizeof(line), "  next:       %s\n", h->next);
	if (h->next[0] != '\0' &&
	    (in->last.len == 0 || strstr(in->last.data, line) == NULL))
		buf_add_str(&in->last, line);
}

/* --- Metadata files --- */

static int
show_file(struct inspect *in, const char *path, struct error *err)
{
	const struct metafile_options o = {
		.tree = in->mode != NULL && str_eq(in->mode, "tree"),
		.sort = in->sort,
		.exact = in->mode != NULL,
		.terminal = isatty(STDOUT_FILENO),
	};
	struct metafile f;
	int rc = 0;

	if (in->nargs > 1 && !app_json())
		printf("##### %s\n", path);
	if (metafile_read(path, &f, err) < 0)
		return -1;
	if (f.trailing > 0 && !f.redundancy)
		app_warn("%s: %" PRIu64
			 " %s after the metadata were not checked",
			 path, str_count(f.trailing, "byte"));
	if (app_json()) {
		json_push(in->files, metafile_json(&f, path));
	} else {
		rc = metafile_print(&f, &o, &in->out, err);
		flush(in, NULL);
	}
	metafile_fini(&f);
	return rc;
}

/* --- Prefixes --- */

/* Can a build write the index anew? */
static bool
buildable(const struct condition *h)
{
	return h->status == STATUS_OK && !h->absent && h->namesake == 0;
}

/* Show dataset `e`; if it is NULL, the dataset `name` in the layout of SCR
 * 1.1. */
static int
show_one(struct inspect *in, struct overview *s, const struct overview_entry *e,
	 const char *name, struct json *list, struct error *err)
{
	struct condition h;
	int rc = e != NULL ? condition_check(s, e, &in->look, &h, err)
			   : condition_check_old(s, name, &in->look, &h, err);

	if (rc == 0)
		rc = condition_check_containers(s, &in->look, &h, err);
	if (rc == 0)
		condition_next_remade(s, buildable(&h) ? h.id : 0, &h);
	note_shown(in, &h);
	if (rc == 0 && app_json())
		json_push(list, condition_json(&h, true, in->choice.all_files));
	else if (rc == 0 && !inspect_on_stdout(in))
		report_detail(&h, &in->choice, &in->out);
	style_dress(&in->choice.style, &in->out);
	flush(in, NULL);
	if (rc == 0 && inspect_draws(in))
		rc = picture_write(in->svg, in->html, &h, s, err);
	condition_fini(&h);
	return rc;
}

/* Show the datasets `names` in detail; all if there are no names.  *old: each
 * of them is in the layout of SCR 1.1. */
static int
show_some(struct inspect *in, struct overview *s, const struct opt_list *names,
	  struct json *list, bool *old, struct error *err)
{
	const struct overview_entry *e = NULL;
	const bool all = names->count == 0;
	struct error why = ERROR_INIT;
	size_t n = all ? s->count : names->count;

	*old = n > 0;
	if (inspect_draws(in) && n != 1)
		return error_set(
			err, ERROR_USAGE,
			"--svg and --html: no dataset given: there are %zu in "
			"%s",
			n, catalogue_path(s->catalogue));
	for (size_t i = 0; i < n; i++) {
		e = all ? &s->entries[i]
			: overview_find(s, names->items[i], &why);
		if (e == NULL && why.kind != ERROR_ABSENT)
			return error_pass(err, &why);
		if (i > 0 && !app_json())
			putchar('\n');
		if (show_one(in, s, e, all ? NULL : names->items[i], list,
			     err) < 0)
			return -1;
		*old &= e == NULL;
	}
	return 0;
}

static int
show_all(struct inspect *in, struct overview *s, struct json *list,
	 struct error *err)
{
	const bool alone = in->chosen.count > 0; /* only the table */
	struct error why = ERROR_INIT;
	struct table t;
	struct buf reasons = BUF_INIT;
	struct condition h;
	int64_t whole = 0;  /* the newest one */
	bool steps = false; /* there is a next step for some dataset */
	int rc = 0;

	if (!alone) {
		report_prefix(s, &in->out);
		if (run_record_show(catalogue_path(s->catalogue), "  ",
				    &in->out, &why) < 0)
			app_warn("%s", why.text);
	}
	table_start_named(&t, report_overview);
	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		rc = condition_check(s, &s->entries[i], &in->look, &h, err);
		whole = buildable(&h) ? h.id : whole;
		steps = steps || h.next[0] != '\0';
		if (i == s->count - 1 && !steps)
			condition_next_remade(s, whole, &h);
		note_shown(in, &h);
		if (rc == 0 && app_json())
			json_push(list, condition_json(&h, false, false));
		else if (rc == 0 && !alone)
			report_reasons(&h, &reasons);
		if (rc == 0)
			report_overview_row(&t, &h);
		condition_fini(&h);
	}
	if (!alone)
		buf_add_char(&in->out, '\n');
	end_table(in, &t);
	if (rc == 0 && !app_json())
		flush(in, &reasons);
	buf_clear(&in->out);
	buf_free(&reasons);
	return rc;
}

/* Show a prefix, or only its datasets `names`. */
static int
show_prefix(struct inspect *in, const char *path, const struct opt_list *names,
	    struct error *err)
{
	struct json *list = NULL;
	struct overview s;
	bool old = false;
	int rc = 0;

	/* Without names, show_some() counts them. */
	if (in->counting) {
		in->drawn += names->count > 0 ? names->count : 1;
		return 0;
	}
	if (overview_init(&s, path, err) < 0) {
		overview_fini(&s);
		return -1;
	}
	list = app_json() ? json_new_array() : NULL;
	in->look.index = s.index;
	if (lists(in) && names->count > 0)
		rc = error_set(
			err, ERROR_USAGE,
			"%s: --columns and --sort-by are for the list of "
			"all datasets",
			names->items[0]);
	else if (s.index == NULL && s.count == 0 && names->count == 0)
		rc = error_set(err, ERROR_ABSENT, "%s", s.no_index);
	else
		rc = names->count > 0 || detailed(in)
			     ? show_some(in, &s, names, list, &old, err)
			     : show_all(in, &s, list, err);
	/* If all datasets are of SCR 1.1, the old kind of index is no
	 * damage. */
	if (rc < 0 || !old) {
		app_warn_lines(s.notes.data);
		if (s.remade)
			in->status =
				error_worse_status(in->status, STATUS_DAMAGED);
	}
	if (rc == 0 && s.unread) {
		app_error("%s: the datasets of the index are unknown",
			  s.no_index);
		in->status = error_worse_status(in->status, STATUS_FAILED);
	}
	if (app_json() && rc == 0)
		json_push(in->prefixes, condition_prefix_json(&s, list));
	else
		json_free(list);
	in->look.index = NULL;
	overview_fini(&s);
	return rc;
}

/* --- Caches --- */

/* Did the user name this dataset, or no dataset? */
static bool
wanted(const struct inspect *in, int64_t id)
{
	struct word w;

	for (size_t i = 0; i < in->datasets.count; i++) {
		word_parse(in->datasets.items[i], &w);
		if (w.id == id)
			return true;
	}
	return in->datasets.count == 0;
}

static int
show_caches(struct inspect *in, struct error *err)
{
	const struct locate_caches *c = &in->caches;
	const bool detailed_all = (c->count == 1 && !lists(in)) ||
				  in->datasets.count > 0 || detailed(in);
	struct buf reasons = BUF_INIT;
	struct condition h;
	struct table t;
	size_t shown = 0;
	int rc = 0;

	for (size_t i = 0; i < c->count; i++)
		shown += wanted(in, c->groups[i].id);
	if (in->counting) {
		in->drawn += shown;
		return 0;
	}
	table_start_named(&t, report_overview);
	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		bool detail = false;

		if (!wanted(in, c->groups[i].id))
			continue;
		rc = condition_check_group(&c->groups[i], in->prefix, &in->look,
					   &h, err);
		note_shown(in, &h);
		/* Without a plan there are no details. */
		detail = detailed_all && h.plan != NULL;
		if (rc == 0 && app_json()) {
			json_push(in->groups,
				  condition_json(&h, detail,
						 in->choice.all_files));
		} else if (rc == 0 && detail && !inspect_on_stdout(in)) {
			report_detail(&h, &in->choice, &in->out);
		} else if (rc == 0) {
			report_overview_row(&t, &h);
			report_reasons(&h, &reasons);
		}
		if (rc == 0 && inspect_draws(in))
			rc = picture_write(in->svg, in->html, &h, NULL, err);
		condition_fini(&h);
	}
	table_drop_empty(&t);
	end_table(in, &t);
	flush(in, in->chosen.count > 0 ? NULL : &reasons);
	buf_free(&reasons);
	if (rc == 0 && c->count > 0 && shown == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: no dataset of this number in the caches",
				 in->datasets.items[0]);
	return rc;
}

/* --- Arguments --- */

/* The argument is no path that SCR knows: try it as the word of a dataset.
 * `why` explains what is wrong with the path; NULL: it cannot be one. */
static int
show_named(struct inspect *in, const char *name, struct error *why,
	   struct error *err)
{
	const struct opt_list names = { .items = &name, .count = 1 };
	struct error local = ERROR_INIT;
	int rc = show_prefix(in, app_prefix(in->prefix), &names, &local);

	if (rc == 0)
		return 0;
	if (local.kind != ERROR_ABSENT || why == NULL)
		return error_pass(err, &local);
	return error_set(err, ERROR_ABSENT, "%s; %s", why->text, local.text);
}

/* Show the directory of a dataset of SCR 1.1.  1: it is none. */
static int
show_old_dir(struct inspect *in, const char *arg, struct error *err)
{
	struct buf path = BUF_INIT, word = BUF_INIT;
	struct stat st;
	char *slash = NULL;
	const struct opt_list one = {
		.items = (const char **)&word.data,
		.count = 1,
	};
	int rc = 1;

	path_join(&path, arg, ".scr/rank2file.scr", NULL);
	if (lstat(path.data, &st) == 0 && path_real(arg, &path, NULL) == 0)
		slash = strrchr(path.data, '/');
	if (slash != NULL && slash != path.data) {
		*slash = '\0';
		buf_printf(&word, WORD_NAME "%s", slash + 1);
		rc = show_prefix(in, path.data, &one, err);
	}
	buf_free(&word);
	buf_free(&path);
	return rc;
}

static int
show_argument(struct inspect *in, const char *arg, struct error *err)
{
	struct error why = ERROR_INIT;
	struct locate_place at;
	size_t found = 0;
	char id[WORD_ID_SIZE];
	const char *name = id;
	const struct opt_list one = { .items = &name, .count = 1 };
	struct word w;
	int rc = 0;

	word_parse(arg, &w);
	if (w.marked)
		return show_named(in, arg, NULL, err);
	rc = show_old_dir(in, arg, err);
	if (rc <= 0)
		return rc;
	if (locate_path(arg, in->caches.arena, &at, &why) < 0) {
		if (why.kind == ERROR_ABSENT)
			return show_named(in, arg, &why, err);
		return error_pass(err, &why);
	}
	switch (at.kind) {
	case LOCATE_FILE:
		return inspect_draws(in)
			       ? error_set(err, ERROR_USAGE,
					   "%s: only datasets are drawn", arg)
			       : show_file(in, arg, err);
	case LOCATE_PREFIX:
		return show_prefix(in, at.prefix, &in->datasets, err);
	case LOCATE_DATASET:
		snprintf(id, sizeof(id), WORD_ID_FMT, at.id);
		return show_prefix(in, at.prefix, &one, err);
	default:
		break;
	}
	if (locate_caches_add(&in->caches, arg, &found, err) < 0)
		return -1;
	if (found > 0)
		return 0;
	error_set(&why, ERROR_ABSENT,
		  "%s: neither a prefix (no .scr in it) nor a cache (no "
		  "scr.dataset.ID below it)",
		  arg);
	return show_named(in, arg, &why, err);
}

/* Show them all; a failure of one is reported. */
static void
show_arguments(struct inspect *in, char **args)
{
	struct error err = ERROR_INIT;

	if (in->nargs == 0 &&
	    show_prefix(in, app_prefix(in->prefix), &in->datasets, &err) < 0)
		in->status = app_report(in->status, &err);
	for (; *args != NULL; args++)
		if (show_argument(in, *args, &err) < 0)
			in->status = app_report(in->status, &err);
	if (show_caches(in, &err) < 0)
		in->status = app_report(in->status, &err);
}

int
main(int argc, char **argv)
{
	struct inspect in = { .status = STATUS_OK, .look.work.log = app_log };
	struct error err = ERROR_INIT;
	struct json *j = NULL;

	argv = inspect_parse(&in, argc, argv);
	in.choice.style = style_of(STDOUT_FILENO);
	locate_caches_init(&in.caches);
	/* Refuse to draw several datasets, before any of them is shown. */
	if (inspect_draws(&in)) {
		in.counting = true;
		show_arguments(&in, argv);
		in.counting = false;
		if (in.drawn > 1)
			error_set(&err, ERROR_USAGE,
				  "--svg and --html: one dataset only");
		locate_caches_fini(&in.caches);
		if (in.drawn > 1 || in.status != STATUS_OK)
			goto out;
		locate_caches_init(&in.caches);
	}
	if (app_work_start(&in.look.work, in.jobs,
			   in.look.deep || in.look.checksums ? "reading" : NULL,
			   &err) < 0)
		goto out;
	if (app_json()) {
		in.files = json_new_array();
		in.prefixes = json_new_array();
		in.groups = json_new_array();
	}
	show_arguments(&in, argv);
	/* Behind all reasons, and each once. */
	if (in.last.len > 0 && !app_json() && !lists(&in) &&
	    !inspect_on_stdout(&in))
		printf("%s%s", in.apart ? "\n" : "", in.last.data);
	buf_free(&in.last);
	app_work_end(&in.look.work);
	if (app_json()) {
		j = json_new_object();
		json_set(j, "metadata_files", in.files);
		json_set(j, "prefixes", in.prefixes);
		json_set(j, "caches", in.groups);
		app_answer(j);
	}
out:
	in.status = app_report(in.status, &err);
	locate_caches_fini(&in.caches);
	buf_free(&in.out);
	opt_list_free(&in.datasets);
	return app_finish(in.status);
}
