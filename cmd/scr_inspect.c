/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_inspect - print metadata files and report the condition of datasets.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "columns.h"
#include "error.h"
#include "find/locate.h"
#include "json.h"
#include "opt.h"
#include "path.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/metafile.h"
#include "report/page.h"
#include "report/runs.h"
#include "run/runfile.h"
#include "str.h"
#include "style.h"

/* Files of a packed dataset of which a page has each part: some 2 MB. */
#define PAGE_FILES 5000

/* Options and state. */
struct inspect {
	/* Options. */
	const char *prefix, *mode;
	const char *html;	     /* file for a page */
	const char *columns, *order; /* of the list, as given, or NULL */
	struct columns chosen;
	struct opt_list datasets;
	bool sort;
	bool lists;    /* an option that only the list of datasets obeys */
	bool detailed; /* one that only the detailed output obeys */
	uint64_t jobs;
	struct catalogue_options look;
	struct report_choice choice;
	/* State. */
	size_t nargs;
	int status;
	struct locate_caches caches;
	/* with --json or --html */
	struct json *files, *prefixes, *groups;
	bool partly;		 /* something could not be shown */
	int64_t id;		 /* the dataset shown last */
	struct page_title title; /* of a page: what is shown */
	struct buf out, shown;	 /* text not printed yet; for a page: printed */
	struct table table;	 /* of the datasets without details */
	struct buf reasons;	 /* why these are not whole */
	struct buf last;	 /* next steps that are for several datasets */
	bool apart;		 /* a blank line comes before them */
};

/* --- Helpers --- */

/* Print the collected output; a page on standard output has it instead. */
static void
flush(struct inspect *in)
{
	in->apart = in->apart || in->out.len > 0;
	if (in->html != NULL)
		buf_add(&in->shown, in->out.data, in->out.len);
	if (in->out.len > 0 && (in->html == NULL || !str_eq(in->html, "-")))
		fwrite(in->out.data, 1, in->out.len, stdout);
	buf_clear(&in->out);
}

/* End the list of datasets, and print it, then the reasons after a blank line;
 * of chosen columns it stands alone. */
static void
flush_table(struct inspect *in, bool print)
{
	const bool alone = in->chosen.count > 0;

	table_choose(&in->table, &in->chosen, 0);
	table_end(&in->table, alone ? 0 : 2, &in->out);
	style_dress(&in->choice.style, &in->out);
	if (print)
		flush(in);
	buf_clear(&in->out);
	if (print && !alone && in->reasons.len > 0) {
		buf_printf(&in->out, "\n%s", in->reasons.data);
		flush(in);
		in->apart = false;
	}
	buf_free(&in->reasons);
}

/* Note the status of a dataset, and what comes next. */
static void
note_step(struct inspect *in, const struct condition *h)
{
	char line[sizeof(h->next) + 32];

	in->status = error_worse_status(in->status, h->status);
	snprintf(line, sizeof(line), "  next:       %s\n", h->next);
	if (h->next[0] != '\0' &&
	    (in->last.len == 0 || strstr(in->last.data, line) == NULL))
		buf_add_str(&in->last, line);
}

/* Show one dataset, in detail or as a row. */
static void
show(struct inspect *in, const struct condition *h, bool detail,
     struct json *list)
{
	/* The page draws the files in containers, if they are not too many. */
	const bool all = in->choice.all_files ||
			 (in->html != NULL && h->containers != NULL &&
			  h->containers->packed.map.nfiles <= PAGE_FILES);

	in->id = h->id;
	if (list != NULL)
		json_push(list, condition_json(h, detail, all));
	if (app_json())
		return;
	if (!detail) {
		report_overview_row(&in->table, h);
		report_reasons(h, &in->reasons);
	} else {
		report_detail(h, &in->choice, &in->out);
	}
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
		buf_printf(&in->out, "##### %s\n", path);
	if (metafile_read(path, &f, err) < 0)
		return -1;
	if (f.trailing > 0 && !f.redundancy)
		app_warn("%s: %" PRIu64
			 " %s after the metadata were not checked",
			 path, str_count(f.trailing, "byte"));
	page_title(&in->title, path);
	if (in->files != NULL)
		json_push(in->files, metafile_json(&f, path));
	if (!app_json())
		rc = metafile_print(&f, &o, &in->out, err);
	flush(in);
	metafile_fini(&f);
	return rc;
}

/* --- Prefixes --- */

/* Show the datasets `names` in detail; all if there are no names.  *old: each
 * of them is in the layout of SCR 1.1. */
static int
show_some(struct inspect *in, struct overview *s, const struct opt_list *names,
	  struct json *list, bool *old, struct error *err)
{
	const struct overview_entry *e = NULL;
	const bool all = names->count == 0;
	struct error why = ERROR_INIT;
	struct condition h;
	size_t n = all ? s->count : names->count;
	int rc = 0;

	*old = n > 0;
	if (n == 0 && !app_json())
		report_prefix(s, &in->out);
	flush(in);
	for (size_t i = 0; i < n && rc == 0; i++) {
		e = all ? &s->entries[i]
			: overview_find(s, names->items[i], &why);
		if (e == NULL && why.kind != ERROR_ABSENT)
			return error_pass(err, &why);
		if (i > 0 && !app_json())
			buf_add_char(&in->out, '\n');
		rc = e != NULL ? condition_check(s, e, &in->look, &h, err)
			       : condition_check_old(s, names->items[i],
						     &in->look, &h, err);
		if (rc == 0)
			rc = condition_check_containers(s, &in->look, &h, err);
		if (rc == 0)
			condition_next_remade(
				s, condition_buildable(&h) ? h.id : 0, &h);
		note_step(in, &h);
		if (rc == 0)
			show(in, &h, true, list);
		style_dress(&in->choice.style, &in->out);
		flush(in);
		condition_fini(&h);
		*old &= e == NULL;
	}
	return rc;
}

static int
show_all(struct inspect *in, struct overview *s, struct json *list,
	 struct error *err)
{
	const bool alone = in->chosen.count > 0; /* only the table */
	struct error why = ERROR_INIT;
	struct condition h;
	int64_t whole = 0;  /* the newest one */
	bool steps = false; /* there is a next step for some dataset */
	int rc = 0;

	if (!alone) {
		report_prefix(s, &in->out);
		if (run_record_show(catalogue_path(s->catalogue), "  ",
				    &in->out, NULL, &why) < 0)
			app_warn("%s", why.text);
	}
	table_start_named(&in->table, report_overview);
	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		rc = condition_check(s, &s->entries[i], &in->look, &h, err);
		whole = condition_buildable(&h) ? h.id : whole;
		steps = steps || h.next[0] != '\0';
		if (i == s->count - 1 && !steps)
			condition_next_remade(s, whole, &h);
		note_step(in, &h);
		if (rc == 0)
			show(in, &h, false, list);
		condition_fini(&h);
	}
	if (!alone)
		buf_add_char(&in->out, '\n');
	flush_table(in, rc == 0 && !app_json());
	return rc;
}

/* Show a prefix, or only its datasets `names`. */
static int
show_prefix(struct inspect *in, const char *path, const struct opt_list *names,
	    struct error *err)
{
	struct json *list = NULL;
	struct error why = ERROR_INIT;
	struct overview s;
	bool old = false;
	int rc = 0;

	if (overview_init(&s, path, err) < 0) {
		overview_fini(&s);
		return -1;
	}
	list = in->prefixes != NULL ? json_new_array() : NULL;
	in->look.index = s.index;
	if (in->lists && names->count > 0)
		rc = error_set(
			err, ERROR_USAGE,
			"%s: --columns and --sort-by are for the list of "
			"all datasets",
			names->items[0]);
	else if (s.index == NULL && s.count == 0 && names->count == 0)
		rc = error_set(err, ERROR_ABSENT, "%s", s.no_index);
	else
		rc = names->count > 0 || in->detailed
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
	if (list != NULL && rc == 0) {
		struct json *j = condition_prefix_json(&s, list);

		if (in->html != NULL && runs_page(s.catalogue, j, &why) < 0)
			in->status = app_report(in->status, &why);
		page_title(&in->title,
			   names->count == 1
				   ? str_printed(PATH_MAX + 64,
						 "dataset %" PRId64 " of %s",
						 in->id, path)
				   : path);
		json_push(in->prefixes, j);
	} else {
		json_free(list);
	}
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
	const bool detailed_all = (c->count == 1 && !in->lists) ||
				  in->datasets.count > 0 || in->detailed;
	struct condition h;
	size_t shown = 0;
	int rc = 0;

	for (size_t i = 0; i < c->count; i++)
		shown += wanted(in, c->groups[i].id);
	table_start_named(&in->table, report_overview);
	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		if (!wanted(in, c->groups[i].id))
			continue;
		rc = condition_check_group(&c->groups[i], in->prefix, &in->look,
					   &h, err);
		/* Without a plan there are no details. */
		note_step(in, &h);
		if (rc == 0)
			show(in, &h, detailed_all && h.plan != NULL,
			     in->groups);
		page_title(&in->title,
			   str_printed(PATH_MAX + 64,
				       "dataset %" PRId64 " in %s",
				       c->groups[i].id, c->groups[i].dirs[0]));
		condition_fini(&h);
	}
	table_drop_empty(&in->table);
	flush_table(in, !app_json());
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

static int
show_argument(struct inspect *in, const char *arg, struct error *err)
{
	struct error why = ERROR_INIT;
	struct buf path = BUF_INIT;
	struct locate_place at;
	size_t found = 0;
	const char *name = NULL;
	char *slash = NULL;
	const struct opt_list one = { .items = &name, .count = 1 };
	struct word w;
	struct stat st;
	int rc = 1;

	word_parse(arg, &w);
	if (w.marked)
		return show_named(in, arg, NULL, err);
	/* Is it the directory of a dataset of SCR 1.1? */
	path_join(&path, arg, ".scr/rank2file.scr", NULL);
	if (lstat(path.data, &st) == 0 && path_real(arg, &path, NULL) == 0)
		slash = strrchr(path.data, '/');
	if (slash != NULL && slash != path.data) {
		*slash = '\0';
		name = str_printed(NAME_MAX + 8, WORD_NAME "%s", slash + 1);
		rc = show_prefix(in, path.data, &one, err);
	}
	buf_free(&path);
	if (rc <= 0)
		return rc;
	if (locate_path(arg, in->caches.arena, &at, &why) < 0)
		return why.kind == ERROR_ABSENT ? show_named(in, arg, &why, err)
						: error_pass(err, &why);
	if (at.kind == LOCATE_FILE)
		return show_file(in, arg, err);
	name = word_id_str(at.id);
	if (at.kind == LOCATE_PREFIX || at.kind == LOCATE_DATASET)
		return show_prefix(
			in, at.prefix,
			at.kind == LOCATE_PREFIX ? &in->datasets : &one, err);
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

static void
check(struct inspect *in, int rc, struct error *err)
{
	if (rc == 0)
		return;
	in->status = app_report(in->status, err);
	in->partly = true;
}

/* Show them all; a failure of one is reported. */
static void
show_arguments(struct inspect *in, char **args)
{
	struct error err = ERROR_INIT;

	if (in->nargs == 0)
		check(in,
		      show_prefix(in, app_prefix(in->prefix), &in->datasets,
				  &err),
		      &err);
	for (; *args != NULL; args++)
		check(in, show_argument(in, *args, &err), &err);
	check(in, show_caches(in, &err), &err);
}

/* --- The command line --- */

static const struct app_info info = {
	.name = "scr_inspect",
	.summary =
		"report the state of datasets, and print metadata files of SCR",
	.usage = "[OPTION]... [FILE|DIR|DATASET]...",
	.notes = "FILE is any metadata file; DIR a prefix, the directory "
		 "of a dataset in it, or\n"
		 "the cache of one or more nodes; DATASET a name or "
		 "number on the prefix,\n"
		 "name:NAME or id:NUMBER.  Default: the prefix.\n"
		 "Exit status: 0 all are whole; 1 failed or unknown; 2 "
		 "usage; 3 damaged, but no\n"
		 "data are lost; 4 data are lost.",
};

static char **
parse(struct inspect *in, int argc, char **argv)
{
	struct catalogue_options *o = &in->look;
	char words[COLUMNS_WORDS];
	const char *name = app_called(argc, argv), *other = NULL;
	int count = 0;
	const struct opt opts[] = {
		OPT_GROUP("Datasets"),
		APP_OPT_PREFIX(&in->prefix),
		OPT_LIST('d', "dataset", &in->datasets, "NAME", OPT_DATASET,
			 "show this dataset, by name or number, in detail"),
		OPT_COLUMNS('o', "columns", &in->columns, "LIST", words,
			    "columns of the list of datasets, for example "
			    "id,state"),
		OPT_COLUMNS(0, "sort-by", &in->order, "COLUMN", words,
			    "sort that list by a column; -COLUMN: descending"),
		OPT_FLAG(0, "map", &in->choice.map,
			 "also draw the ranks by redundancy sets"),
		OPT_FLAG(0, "files", &in->choice.all_files,
			 "also list every file"),
		OPT_STRING(0, "html", &in->html, "FILE", OPT_FILE,
			   "also a page with ranks, sets, containers and the "
			   "timeline (-: on standard output, instead)"),
		OPT_FLAG(0, "checksums", &o->checksums,
			 "read the files and compare recorded checksums"),
		OPT_FLAG(0, "verify", &o->checksums, NULL),
		OPT_FLAG(0, "deep", &o->deep,
			 "read everything and compare redundancy with data"),
		APP_OPT_MOVED_FROM(&o->moved_from),
		OPT_GROUP("Metadata files"),
		OPT_STRING('m', "mode", &in->mode, "tree|keyval", OPT_WORDS,
			   "exactly as LLNL's kvtree_print (tree) or, with "
			   "--sort, scr_print (keyval)"),
		OPT_FLAG(0, "sort", &in->sort, "keys in order of their bytes"),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&in->jobs),
		APP_OPT_MEMORY(&o->work.memory, 1 << 20, "memory for --deep"),
		OPT_END,
	};

	/* LLNL's programs, which print metadata files. */
	if (str_eq(name, "kvtree_print"))
		in->mode = "tree";
	in->sort = str_eq(name, "scr_print");
	if (in->sort)
		in->mode = "keyval";
	table_words(report_overview, words);
	argv = app_start(&info, argc, argv, opts, &count);
	in->choice.all_containers = in->choice.all_files || app_verbosity() > 0;
	in->nargs = (size_t)count;
	in->lists = in->columns != NULL || in->order != NULL;
	in->detailed =
		in->choice.map || in->choice.all_files || in->html != NULL;
	if (in->mode != NULL && !str_eq(in->mode, "tree") &&
	    !str_eq(in->mode, "keyval"))
		app_usage("-m %s: must be tree or keyval", in->mode);
	app_columns(&in->chosen, words, in->columns, "--sort-by", in->order);
	/* Refuse options of the list together with those of a dataset. */
	other = app_json()		 ? "--json"
		: in->datasets.count > 0 ? "--dataset"
		: in->choice.map	 ? "--map"
		: in->choice.all_files	 ? "--files"
		: in->html != NULL	 ? "--html"
					 : NULL;
	if (in->lists && other != NULL)
		app_usage("%s and %s cannot be used together",
			  in->columns != NULL ? "--columns" : "--sort-by",
			  other);
	if (app_json() && in->html != NULL)
		app_usage("--json and --html cannot be used together");
	return argv;
}

int
main(int argc, char **argv)
{
	struct inspect in = { .status = STATUS_OK, .look.work.log = app_log };
	struct error err = ERROR_INIT;

	argv = parse(&in, argc, argv);
	if (in.html == NULL) /* a page has plain text */
		in.choice.style = style_of(STDOUT_FILENO);
	locate_caches_init(&in.caches);
	if (app_work_start(&in.look.work, in.jobs,
			   in.look.deep || in.look.checksums ? "reading" : NULL,
			   &err) < 0)
		goto out;
	if (app_json() || in.html != NULL) {
		in.files = json_new_array();
		in.prefixes = json_new_array();
		in.groups = json_new_array();
	}
	show_arguments(&in, argv);
	/* Behind all reasons, and each once. */
	if (in.last.len > 0 && !app_json() && !in.lists) {
		buf_printf(&in.out, "%s%s", in.apart ? "\n" : "", in.last.data);
		flush(&in);
	}
	buf_free(&in.last);
	app_work_end(&in.look.work);
	if (in.files != NULL) {
		struct json *j = json_new_object();

		json_set(j, "metadata_files", in.files);
		json_set(j, "prefixes", in.prefixes);
		json_set(j, "caches", in.groups);
		if (app_json())
			app_answer(j);
		else if (!in.partly)
			(void)page_write(in.html, "scr_inspect --html",
					 in.title.text.data, j, &in.shown,
					 &err);
		else /* the page that there is stays */
			json_free(j);
	}
out:
	in.status = app_report(in.status, &err);
	locate_caches_fini(&in.caches);
	buf_free(&in.out);
	buf_free(&in.shown);
	buf_free(&in.title.text);
	opt_list_free(&in.datasets);
	return app_finish(in.status);
}
