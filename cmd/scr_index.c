/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_index - list, check and change the datasets of a prefix directory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app.h"
#include "buf.h"
#include "error.h"
#include "index/verbs.h"
#include "json.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "opt.h"
#include "report/hint.h"
#include "report/packing.h"
#include "stop.h"

/* --- The command line --- */

static const struct app_info info = {
	.name = "scr_index",
	.summary = "list, check and change the datasets of an SCR prefix",
	.usage = "[OPTION]... [--verify [DATASET]]",
	.notes = "DATASET is a name or a number; id:NUMBER and name:NAME "
		 "are unambiguous.",
};

/* Reject options that do not go with the verb. */
static void
check_options(const struct settings *s)
{
#define ON(verb) APP_VERB(VERB_##verb)
	static const char *const verbs[] = {
		[VERB_LIST] = "--list",
		[VERB_BUILD] = "--build",
		[VERB_ADD] = "--add",
		[VERB_DROP] = "--drop",
		[VERB_DROP_AFTER] = "--drop-after",
		[VERB_DROP_ALL] = "--drop-all",
		[VERB_CURRENT] = "--current",
		[VERB_UNCURRENT] = "--uncurrent",
		[VERB_DELETE] = "--delete",
		[VERB_PRUNE] = "--prune",
		[VERB_VERIFY] = "--verify",
		[VERB_DUMP] = "--dump-datasets",
	};
	const unsigned all_but_list = ~ON(LIST);
	const struct app_rule rules[] = {
		{ s->all, "--all", ON(LIST) },
		{ s->names_only, "--names-only", ON(LIST) },
		{ s->filter.valid, "--valid", ON(LIST) },
		{ s->filter.checkpoints, "--checkpoints", ON(LIST) },
		{ s->filter.before != NULL, "--before", ON(LIST) },
		{ s->filter.after != NULL, "--since", ON(LIST) },
		{ s->columns != NULL, "--columns", ON(LIST) },
		{ s->sort != NULL, "--sort", ON(LIST) },
		{ s->look.bytes, "--bytes", ON(LIST) },
		{ s->filter.outputs, "--outputs", ON(LIST) | ON(PRUNE) },
		{ s->o.work.dry_run, "--dry-run",
		  ON(BUILD) | ON(DELETE) | ON(PRUNE) },
		{ s->keep > 0, "--keep", ON(PRUNE) },
		{ s->keep_daily > 0, "--keep-daily", ON(PRUNE) },
		{ s->keep_within != NULL, "--keep-within", ON(PRUNE) },
		{ s->o.deep, "--deep", ON(BUILD) | ON(VERIFY) },
		{ s->o.checksums, "--checksums",
		  ON(BUILD) | ON(ADD) | ON(VERIFY) },
		{ s->force, "--force", ON(CURRENT) },
		{ s->nodes.list != NULL, "--nodes", ON(BUILD) | ON(VERIFY) },
		{ s->o.moved_from != NULL, "--moved-from", all_but_list },
	};

	app_check_rules(rules, sizeof(rules) / sizeof(rules[0]), s->verb,
			verbs[s->verb]);
#undef ON
	if (s->verb == VERB_PRUNE && s->keep == 0 && s->keep_daily == 0 &&
	    s->keep_within == NULL)
		app_usage("--prune needs --keep N, --keep-daily N or "
			  "--keep-within SPAN");
	if (s->names_only && app_json())
		app_usage("--names-only and --json cannot be used together");
	if (s->columns != NULL && (s->names_only || app_json()))
		app_usage("--columns and %s cannot be used together",
			  app_json() ? "--json" : "--names-only");
}

/* The stamp in `to` of the time that an option gives; NULL: not given. */
static const char *
stamp(const char *option, const char *text, char to[static WHEN_TEXT])
{
	struct error err = ERROR_INIT;

	if (text == NULL)
		return NULL;
	if (list_time(text, (int64_t)time(NULL), to, &err) < 0)
		app_usage("%s: %s", option, err.text);
	return to;
}

/* Check values that the option table cannot check. */
static void
check_values(struct settings *s)
{
	struct list_filter *f = &s->filter;
	struct error err = ERROR_INIT;
	char words[COLUMNS_WORDS];
	uint64_t span = 0;

	f->before = stamp("--before", f->before, s->before);
	f->after = stamp("--since", f->after, s->since);
	app_columns(&s->look.chosen, table_words(list_columns, words),
		    s->columns, "--sort", s->sort);
	if (s->columns != NULL)
		s->look.style = LIST_CHOSEN;
	if (s->keep_within != NULL &&
	    when_span(s->keep_within, &span, &err) < 0)
		app_usage("--keep-within: %s", err.text);
	s->rules = (struct catalogue_keep){
		.last = (size_t)s->keep,
		.daily = (size_t)s->keep_daily,
		.since = stamp("--keep-within", s->keep_within, s->within),
		.outputs = f->outputs,
	};
}

static void
parse(struct settings *s, int argc, char **argv)
{
	struct list_filter *f = &s->filter;
	const char **word = &s->word;
	int *verb = &s->verb, count = 0;
	char words[COLUMNS_WORDS];
	const struct opt opts[] = {
		OPT_GROUP("Verbs"),
		OPT_VERB('l', "list", verb, VERB_LIST,
			 "list the checkpoints in the index (default)"),
		OPT_VERB_ARG('b', "build", verb, VERB_BUILD, word, "DATASET",
			     OPT_DATASET,
			     "rebuild missing files of a dataset, and add it "
			     "to the index"),
		OPT_VERB_ARG('a', "add", verb, VERB_ADD, word, "DATASET",
			     OPT_ANY,
			     "add a dataset that has a summary to "
			     "the index"),
		OPT_VERB_ARG('d', "drop", verb, VERB_DROP, word, "DATASET",
			     OPT_DATASET,
			     "remove a dataset from the index; "
			     "keep its files"),
		OPT_VERB_ARG(0, "drop-after", verb, VERB_DROP_AFTER, word,
			     "DATASET", OPT_DATASET,
			     "remove all datasets newer than this one"),
		OPT_VERB(0, "drop-all", verb, VERB_DROP_ALL,
			 "remove all datasets from the index"),
		OPT_VERB_ARG('c', "current", verb, VERB_CURRENT, word,
			     "DATASET", OPT_DATASET,
			     "make this checkpoint the restart point"),
		OPT_VERB(0, "uncurrent", verb, VERB_UNCURRENT,
			 "mark no checkpoint as the restart point"),
		OPT_VERB_ARG(0, "delete", verb, VERB_DELETE, word, "DATASET",
			     OPT_DATASET, "delete a dataset and its files"),
		OPT_VERB(0, "prune", verb, VERB_PRUNE,
			 "delete the checkpoints that no --keep option keeps"),
		OPT_VERB(0, "verify", verb, VERB_VERIFY,
			 "check the files of all datasets, or of DATASET"),
		OPT_VERB_ARG(0, "dump-datasets", verb, VERB_DUMP, word, "TEXT",
			     OPT_ANY, NULL),
		OPT_GROUP("Where"),
		APP_OPT_PREFIX(&s->prefix),
		APP_OPT_MOVED_FROM(&s->o.moved_from),
		OPT_GROUP("Lists"),
		OPT_FLAG(0, "all", &s->all,
			 "also outputs; show files, sizes and the reason for "
			 "NO"),
		OPT_FLAG('n', "names-only", &s->names_only, "names only"),
		OPT_FLAG(0, "valid", &f->valid, "only valid ones"),
		OPT_FLAG(0, "checkpoints", &f->checkpoints, "only checkpoints"),
		OPT_FLAG(0, "outputs", &f->outputs,
			 "only outputs; with --prune: these, too"),
		OPT_STRING(0, "before", &f->before, "TIME", OPT_ANY,
			   "only if flushed before then: 2026-11-21, 2d (ago)"),
		OPT_STRING(0, "since", &f->after, "TIME", OPT_ANY,
			   "only if flushed then or later"),
		OPT_STRING(0, "after", &f->after, "TIME", OPT_ANY, NULL),
		OPT_COLUMNS('o', "columns", &s->columns, "LIST", words,
			    "columns to show, for example id,size,flushed"),
		OPT_COLUMNS(0, "sort", &s->sort, "COLUMN", words,
			    "sort by a column; -COLUMN: descending"),
		OPT_FLAG(0, "bytes", &s->look.bytes, "sizes in bytes"),
		OPT_GROUP("Work"),
		OPT_FLAG(0, "dry-run", &s->o.work.dry_run,
			 "build, delete, prune: change nothing"),
		OPT_FLAG(0, "force", &s->force,
			 "current: even a checkpoint that no job can fetch"),
		OPT_U64(0, "keep", &s->keep, "N", 1, UINT32_MAX,
			"prune: keep the N newest valid ones"),
		OPT_U64(0, "keep-daily", &s->keep_daily, "N", 1, UINT32_MAX,
			"prune: keep the newest valid one of N days"),
		OPT_STRING(0, "keep-within", &s->keep_within, "SPAN", OPT_ANY,
			   "prune: keep those flushed within this span, as 2w"),
		OPT_FLAG(
			0, "deep", &s->o.deep,
			"build, verify: also compare redundancy with the data"),
		OPT_FLAG(0, "checksums", &s->o.checksums,
			 "build, add, verify: read all files and compare "
			 "checksums; --build records them"),
		APP_OPT_JOBS(&s->jobs),
		APP_OPT_MEMORY(&s->o.work.memory, 1 << 20,
			       "memory for a rebuild"),
		APP_OPT_LIMIT_RATE(&s->o.work.rate),
		OPT_GROUP("Other nodes, for --build and --verify"),
		SHARE_OPTIONS(s->nodes),
		OPT_END,
	};

	table_words(list_columns, words);
	argv = app_start(&info, argc, argv, opts, &count);
	if (s->verb == VERB_VERIFY && count > 0)
		s->word = *argv++;
	if (*argv != NULL)
		app_unexpected(*argv);
	check_options(s);
	check_values(s);
	if ((s->verb == VERB_BUILD || s->verb == VERB_VERIFY) &&
	    share_join(&s->nodes))
		exit(STATUS_OK);
	if (share_lacks_nodes(&s->nodes))
		app_usage("--remote and --node-timeout need --nodes");
}

/* --- Helpers --- */

int
verbs_start(struct settings *s, struct error *err)
{
	const bool reads = s->verb == VERB_BUILD || s->o.checksums || s->o.deep;

	app_catch_signals();
	if (s->nodes.list != NULL) {
		if (share_open(&s->share, &s->nodes, app_prefix(s->prefix),
			       err) < 0)
			return -1;
		s->share.program =
			app_beside(s->program, PATH_MAX, "scr_rebuild");
		s->share.reading.program =
			app_beside(s->reader, PATH_MAX, "scr_container");
		s->share.jobs = s->share.reading.jobs = s->jobs;
		s->o.work.help = &s->share.reading.help;
		s->o.help = s->verb == VERB_BUILD ? share_build : share_verify;
		s->o.helper = &s->share;
	}
	return app_work_start(&s->o.work, s->jobs, reads ? info.name : NULL,
			      err);
}

int
verbs_finish(struct settings *s, struct json *j, const char *next, int status,
	     struct error *why)
{
	struct json *list = NULL;

	share_close(&s->share);
	launch_leave(&s->nodes.launch);

	if (!stop_say(why, app_prefix(s->prefix), s->barred)) {
		json_set_known_str(j, "next", next);
		app_next(next);
	}
	/* The dataset of these has the command. */
	if (j != NULL && (s->verb == VERB_BUILD || s->verb == VERB_ADD)) {
		list = json_new_array();
		json_push(list, j);
		app_answer_list("datasets", list);
	} else if (j != NULL) {
		app_answer(j);
	}
	return app_report(status, why);
}

/* --- List --- */

static int
do_list(struct settings *s, struct catalogue *c)
{
	struct list_filter f = s->filter;
	struct list_look look = s->look;
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	struct index_entry *entries = NULL;
	struct buf text = BUF_INIT;
	struct json *j = NULL;
	char next[ERROR_TEXT_MAX] = "";
	size_t count = 0;
	int status = STATUS_OK;

	if (ix == NULL)
		return verbs_finish(s, NULL, "", status, &err);
	if (catalogue_notice(c) != NULL) {
		status = STATUS_DAMAGED;
		report_command("scr_inspect", catalogue_path(c), NULL, next,
			       sizeof(next));
	}
	/* LLNL's tool shows checkpoints only. */
	if (!f.outputs && !s->all && !app_json())
		f.checkpoints = true;
	if (s->columns == NULL)
		look.style = s->names_only	    ? LIST_NAMES
			     : s->all || app_json() ? LIST_WIDE
						    : LIST_LLNL;
	entries = index_entries(ix, &count, &err);
	if (count != (size_t)-1) {
		if (app_json())
			j = list_json(c, ix, entries, count, &f, &look);
		else
			list_text(ix, entries, count, &f, &look, &text);
		(void)app_print(&text);
	}
	mem_free(entries);
	index_free(ix);
	return verbs_finish(s, j, next, status, &err);
}

/* For completions: the words of datasets that begin with s->word. */
static int
do_dump(struct settings *s, struct catalogue *c)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);

	if (ix != NULL)
		catalogue_words(c, ix, s->word, stdout, &err);
	index_free(ix);
	return app_report(STATUS_OK, &err);
}

/* --- Changes of the index alone --- */

static int
do_edit(struct settings *s, struct catalogue *c)
{
	static const enum catalogue_edit_kind kinds[] = {
		[VERB_DROP] = CATALOGUE_DROP,
		[VERB_DROP_AFTER] = CATALOGUE_DROP_AFTER,
		[VERB_DROP_ALL] = CATALOGUE_DROP_ALL,
		[VERB_CURRENT] = CATALOGUE_CURRENT,
		[VERB_UNCURRENT] = CATALOGUE_UNCURRENT,
	};
	struct catalogue_edit e = { .kind = kinds[s->verb], .word = s->word };
	struct next_case n = { .status = STATUS_FAILED };
	struct error err = ERROR_INIT;
	struct json *j = NULL;
	char next[ERROR_TEXT_MAX] = "";
	bool done = false, moved = false;

	if (app_json())
		e.names = json_new_array();
	if (s->verb == VERB_CURRENT && !s->force && verbs_start(s, &err) == 0)
		e.look = &s->o;
	done = err.kind == ERROR_NONE && catalogue_edit(c, &e, &err) == 0;
	app_work_end(&s->o.work);
	if (e.refused > 0) {
		/* After --current was refused: what makes the dataset fit for
		 * it. */
		n.remedy = err.kind == ERROR_SYSTEM ? REMEDY_CURRENT
						    : REMEDY_INDEX;
		if (!app_stop())
			report_next_after(c, e.refused, &err, n, next);
		app_advise(&err, err.kind != ERROR_DAMAGED
					 ? "--force makes it current"
					 : "repair it first, or add --force");
	}
	moved = done && e.moved && s->verb != VERB_CURRENT &&
		s->verb != VERB_UNCURRENT;
	if (done && s->verb == VERB_CURRENT && e.reason[0] != '\0')
		app_warn("%s is marked NO (%s): a job may not be able to "
			 "restart from it",
			 str_shown(e.current_word), e.reason);
	else if (moved && e.current[0] != '\0')
		app_warn("the restart point is %s now",
			 str_shown(e.current_word));
	else if (moved && e.next_word[0] != '\0')
		app_warn("no checkpoint is marked as the restart point: the "
			 "next job tries %s",
			 str_shown(e.next_word));
	else if (moved)
		app_warn("no valid checkpoint is left");
	if (app_json()) {
		j = json_new_object();
		json_set(j, "dropped", e.names);
		json_set_str(j, "current",
			     e.current[0] != '\0' ? e.current : NULL);
	}
	return verbs_finish(s, j, next, STATUS_OK, &err);
}

/* --- Build, add --- */

/* The command to run next after a build. */
static void
next_of_build(const struct settings *s, struct catalogue *c, int64_t id,
	      const struct build_result *r, const struct error *why,
	      char next[static ERROR_TEXT_MAX])
{
	/* What stopped it comes first. */
	const bool barred =
		r->way.obstacle[0] != '\0' && why->kind == ERROR_SYSTEM;
	struct next_case n = {
		.status = STATUS_DAMAGED,
		.undecided = r->undecided && !barred,
		.remedy = r->undecided && !barred ? REMEDY_NONE : REMEDY_INDEX,
		.deep = s->o.deep,
		.checksums = s->o.checksums,
	};

	next[0] = '\0';
	if (id <= 0 || app_stop())
		return;
	if (r->undecided || r->way.was[0] != '\0' || barred ||
	    error_may_pass(why) ||
	    (r->dry_run && r->status == STATUS_DAMAGED)) {
		n.way = r->way;
		report_next_now(c, id, &n, next);
		return;
	}
	n.remedy = REMEDY_LOOK;
	n.deep = s->o.deep || r->deep;
	report_next_after(c, id, why, n, next);
}

static int
do_build(struct settings *s, struct catalogue *c)
{
	struct build_result r = { .status = STATUS_OK };
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct json *j = NULL;
	int64_t id = catalogue_resolve_now(c, s->word, false, &err);
	struct word w;
	char next[ERROR_TEXT_MAX];

	/* A number needs no dataset: the build itself reports that it is
	 * missing. */
	word_parse(s->word, &w);
	if (id < 0 && err.kind == ERROR_ABSENT && !w.marked) {
		if (w.id < 0)
			app_usage("--build: %s", err.text);
		error_clear(&err);
		id = w.id;
	}
	if (id >= 0 && verbs_start(s, &err) == 0)
		catalogue_build(c, id, &s->o, &r, &err);
	app_work_end(&s->o.work);
	rebuild_result_add(&r.rebuild, &s->share.rebuilt);
	/* What was compared shows only if it is compared. */
	s->o.checksums |= r.compared || r.rebuild.crc_checked > 0 ||
			  r.rebuild.crc_wrong > 0;
	s->o.deep |= r.rebuild.deep;
	if (err.kind == ERROR_NONE) {
		report_build_text(id, &r, &text);
		app_warn("%s", text.data);
	}
	buf_free(&text);
	if (r.left[0] != '\0' && err.kind == ERROR_NONE && r.map == REMEDY_NONE)
		app_warn("dataset %" PRId64 ": %s: %s", id,
			 r.dry_run ? "to be repaired" : "not repaired", r.left);
	if (r.undecided) {
		error_remedy(&err, REMEDY_CHOOSE);
		report_remedy(&err, c, id);
	}
	if (r.map != REMEDY_NONE)
		app_warn("dataset %" PRId64 ": %s", id, r.map_flaw);
	/* Files are rebuilt first. */
	if (r.map == REMEDY_NONE || err.kind != ERROR_NONE ||
	    (r.dry_run && r.rebuild.files > 0))
		next_of_build(s, c, id, &r, &err, next);
	else
		report_next(r.map, c, id, next);
	s->barred = r.barred;
	if (app_json() && id >= 0)
		j = report_build_json(id, &r);
	return verbs_finish(s, j, next, r.status, &err);
}

static int
do_add(struct settings *s, struct catalogue *c)
{
	struct error err = ERROR_INIT;
	struct json *j = app_json() ? json_new_object() : NULL;
	struct buf name = BUF_INIT;
	const int64_t id = catalogue_resolve_now(c, s->word, true, &err);
	struct next_case n = { .checksums = s->o.checksums };
	char next[ERROR_TEXT_MAX] = "";

	if (id >= 0 && verbs_start(s, &err) == 0)
		catalogue_add(c, id, &s->o, &name, &err);
	app_work_end(&s->o.work);
	/* In LLNL's words, which scripts read. */
	if (err.kind == ERROR_NONE && !app_json() && app_verbosity() >= 0) {
		const char *shown = verbs_shown(name.data);

		printf("Found `%s' as dataset %" PRId64 " at %s/" SCR_DIR
		       "/" DATASET_DIR_FMT "\n"
		       "Adding `%s' to index\n",
		       shown, id, catalogue_path(c), id, shown);
	}
	json_set_i64(j, "id", id);
	json_set_str(j, "name", name.data);
	buf_free(&name);
	n.remedy = err.kind == ERROR_SYSTEM ? REMEDY_ADD : REMEDY_INDEX;
	if (!app_stop())
		report_next_after(c, id, &err, n, next);
	return verbs_finish(s, id >= 0 ? j : NULL, next, STATUS_OK, &err);
}

/* --- Main --- */

int
main(int argc, char **argv)
{
	int (*const verbs[])(struct settings *, struct catalogue *) = {
		[VERB_LIST] = do_list,	     [VERB_BUILD] = do_build,
		[VERB_ADD] = do_add,	     [VERB_DROP] = do_edit,
		[VERB_DROP_AFTER] = do_edit, [VERB_DROP_ALL] = do_edit,
		[VERB_CURRENT] = do_edit,    [VERB_UNCURRENT] = do_edit,
		[VERB_DELETE] = verbs_each,  [VERB_PRUNE] = verbs_each,
		[VERB_VERIFY] = verbs_each,  [VERB_DUMP] = do_dump,
	};
	struct settings s = { .verb = VERB_LIST,
			      .o.work = { APP_WORK, .detail = app_log_note } };
	struct error err = ERROR_INIT;
	struct catalogue *c = NULL;
	int status = STATUS_OK;

	parse(&s, argc, argv);
	c = catalogue_open(app_prefix(s.prefix), &err);
	if (c == NULL)
		return app_finish(verbs_finish(&s, NULL, "", STATUS_OK, &err));
	catalogue_stop_on(c, app_stop);
	status = verbs[s.verb](&s, c);
	app_warn_lines(catalogue_notice(c));
	catalogue_close(c);
	return app_finish(status);
}
