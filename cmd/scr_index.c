/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_index - list, check and change the datasets of a prefix directory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "buf.h"
#include "dataset/catalogue.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/index.h"
#include "num.h"
#include "opt.h"
#include "par.h"
#include "progress.h"
#include "str.h"

/* Problems of one dataset that are told without -v. */
#define TELL_MAX 20

enum {
	VERB_LIST,
	VERB_BUILD,
	VERB_ADD,
	VERB_DROP,
	VERB_DROP_AFTER,
	VERB_DROP_ALL,
	VERB_CURRENT,
	VERB_UNCURRENT,
	VERB_DELETE,
	VERB_PRUNE,
	VERB_VERIFY,
};

struct settings {
	int verb;
	const char *name; /* the verb's value, or NULL */
	const char *prefix, *moved_from;
	struct catalogue_filter filter;
	bool all, names_only, json, dry_run, deep, checksums;
	uint64_t jobs, memory, keep; /* 0: not given */
};

/* --- The command line --- */

static const struct app_info info = {
	.name = "scr_index",
	.summary = "list, check and change the datasets of an SCR prefix",
	.usage = "[OPTION]... [--verify [NAME]]",
	.notes = "NAME is the name of a dataset; --delete and --verify take "
		 "its number as well.\n"
		 "Exit status: 0 done, 1 failed, 2 usage, 3 damaged but "
		 "recoverable, 4 lost.",
};

/* Options that mean something to some verbs only: with another one they are a
 * mistake, and "--drop NAME --dry-run" a costly one. */
static void
check_options(const struct settings *s)
{
#define ON(verb) (1u << VERB_##verb)
	const unsigned all_but_list = ~ON(LIST);
	const struct {
		bool given;
		const char *name;
		unsigned verbs;
	} rules[] = {
		{ s->all, "--all", ON(LIST) },
		{ s->names_only, "--names-only", ON(LIST) },
		{ s->filter.valid, "--valid", ON(LIST) },
		{ s->filter.checkpoints, "--checkpoints", ON(LIST) },
		{ s->filter.before != NULL, "--before", ON(LIST) },
		{ s->filter.after != NULL, "--after", ON(LIST) },
		{ s->filter.outputs, "--outputs", ON(LIST) | ON(PRUNE) },
		{ s->dry_run, "--dry-run", ON(BUILD) | ON(DELETE) | ON(PRUNE) },
		{ s->keep > 0, "--keep", ON(PRUNE) },
		{ s->deep, "--deep", ON(BUILD) | ON(VERIFY) },
		{ s->checksums, "--checksums",
		  ON(BUILD) | ON(ADD) | ON(VERIFY) },
		{ s->moved_from != NULL, "--moved-from", all_but_list },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].given && (rules[i].verbs & (1u << s->verb)) == 0)
			app_usage("%s does not go with what is to be done",
				  rules[i].name);
#undef ON
	if (s->verb == VERB_PRUNE && s->keep == 0)
		app_usage("--prune needs --keep N");
	if (s->names_only && s->json)
		app_usage("--names-only and --json exclude each other");
}

static void
check_stamp(const char *option, const char *text)
{
	struct error err = ERROR_INIT;

	if (text != NULL && catalogue_check_stamp(text, &err) < 0)
		app_usage("%s: %s", option, err.text);
}

static void
parse(struct settings *s, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP("What to do (default: list)"),
		OPT_VERB('l', "list", &s->verb, VERB_LIST,
			 "list the checkpoints in the index"),
		OPT_VERB_ARG('b', "build", &s->verb, VERB_BUILD, &s->name,
			     "ID", OPT_ANY,
			     "rebuild what is missing of dataset ID, and index "
			     "it"),
		OPT_VERB_ARG('a', "add", &s->verb, VERB_ADD, &s->name, "NAME",
			     OPT_ANY,
			     "index a dataset that has a summary"),
		OPT_VERB_ARG('d', "drop", &s->verb, VERB_DROP, &s->name,
			     "NAME", OPT_DATASET,
			     "forget a dataset; its files stay"),
		OPT_VERB_ARG(0, "drop-after", &s->verb, VERB_DROP_AFTER,
			     &s->name, "NAME", OPT_DATASET,
			     "forget all datasets newer than NAME"),
		OPT_VERB(0, "drop-all", &s->verb, VERB_DROP_ALL,
			 "forget all datasets"),
		OPT_VERB_ARG('c', "current", &s->verb, VERB_CURRENT, &s->name,
			     "NAME", OPT_DATASET,
			     "restart from this checkpoint"),
		OPT_VERB(0, "uncurrent", &s->verb, VERB_UNCURRENT,
			 "mark no checkpoint to restart from"),
		OPT_VERB_ARG(0, "delete", &s->verb, VERB_DELETE, &s->name,
			     "NAME", OPT_DATASET,
			     "delete a dataset and its files"),
		OPT_VERB(0, "prune", &s->verb, VERB_PRUNE,
			 "delete the checkpoints older than the --keep N "
			 "newest valid ones"),
		OPT_VERB(0, "verify", &s->verb, VERB_VERIFY,
			 "check the files of one or all datasets"),
		OPT_GROUP("Where"),
		OPT_STRING('p', "prefix", &s->prefix, "DIR", OPT_DIR,
			   "prefix directory (default $SCR_PREFIX, then .)"),
		OPT_STRING(0, "moved-from", &s->moved_from, "DIR", OPT_ANY,
			   "where the prefix was when its metadata were "
			   "written"),
		OPT_GROUP("List"),
		OPT_FLAG(0, "all", &s->all,
			 "also outputs, with size, files and reason for NO"),
		OPT_FLAG('n', "names-only", &s->names_only,
			 "only names, one a line"),
		OPT_FLAG(0, "valid", &s->filter.valid, "only valid ones"),
		OPT_FLAG(0, "checkpoints", &s->filter.checkpoints,
			 "only checkpoints"),
		OPT_FLAG(0, "outputs", &s->filter.outputs,
			 "only outputs; with --prune: prune them, too"),
		OPT_STRING(0, "before", &s->filter.before, "TIME", OPT_ANY,
			   "only flushed before TIME (YYYY-MM-DD"
			   "[THH:MM:SS])"),
		OPT_STRING(0, "after", &s->filter.after, "TIME", OPT_ANY,
			   "only flushed at TIME or later"),
		OPT_FLAG(0, "json", &s->json, "print JSON"),
		OPT_GROUP("Work"),
		OPT_FLAG(0, "dry-run", &s->dry_run,
			 "--build, --delete, --prune: only say what would be "
			 "done"),
		OPT_U64(0, "keep", &s->keep, "N", 1, UINT32_MAX,
			"--prune: how many to keep"),
		OPT_FLAG(0, "deep", &s->deep,
			 "--build, --verify: check the redundancy against the "
			 "data"),
		OPT_FLAG(0, "checksums", &s->checksums,
			 "--build, --add, --verify: read all files and compare "
			 "checksums; --build records them"),
		OPT_U64('j', "jobs", &s->jobs, "N", 1, 1024,
			"threads (default: one a processor)"),
		OPT_BYTES(0, "memory", &s->memory, "SIZE", 1 << 20,
			  UINT64_C(1) << 50, "memory for a rebuild"),
		OPT_END,
	};
	int count = 0;

	argv = app_start(&info, argc, argv, opts, &count);
	if (s->verb == VERB_VERIFY && count > 0) {
		s->name = argv[0];
		count--;
		argv++;
	}
	if (count > 0)
		app_usage("unexpected argument '%s'", argv[0]);
	check_options(s);
	check_stamp("--before", s->filter.before);
	check_stamp("--after", s->filter.after);
}

/* --- Helpers --- */

static bool
stop(void)
{
	return app_interrupted() != 0;
}

static void
log_line(void *arg, const char *what)
{
	(void)arg;
	app_warn("%s", what);
}

static void
log_detail(void *arg, const char *what)
{
	(void)arg;
	app_note("%s", what);
}

/* What there is to say on the index itself, a message a line. */
static void
tell_notice(const struct catalogue *c)
{
	const char *line = catalogue_notice(c);
	size_t n = 0;

	while (line != NULL && *line != '\0') {
		n = strcspn(line, "\n");
		app_warn("%.*s", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

/* Options for the library; `what` goes with the progress line. */
static int
options_init(struct catalogue_options *o, const struct settings *s,
	     const char *what, struct error *err)
{
	*o = (struct catalogue_options){
		.memory = s->memory,
		.moved_from = s->moved_from,
		.checksums = s->checksums,
		.deep = s->deep,
		.dry_run = s->dry_run,
		.stop = stop,
		.log = log_line,
		.detail = log_detail,
	};
	app_catch_signals();
	o->par = par_new(s->jobs > 0 ? (unsigned)s->jobs : par_cpus(), err);
	if (o->par == NULL)
		return -1;
	if (what != NULL)
		o->progress = progress_start(what, app_verbosity() < 0);
	return 0;
}

static void
options_fini(struct catalogue_options *o)
{
	progress_end(o->progress);
	par_free(o->par);
}

/* A name in a message. */
static const char *
shown(const char *name, char to[static 256])
{
	return str_printable(to, 256, name != NULL ? name : "?");
}

/* Print `j`, with "error" and "status" if something failed, and report it. */
static int
finish_json(struct json *j, int status, struct error *why)
{
	struct error err = ERROR_INIT;

	if (j != NULL) {
		status = error_worse_status(status, error_status(why->kind));
		json_set_i64(j, "status", status);
		if (why->kind != ERROR_NONE)
			json_set_str(j, "error", why->text);
	}
	if (json_print(j, stdout, &err) < 0)
		status = app_report(status, &err);
	return app_report(status, why);
}

/* --- List --- */

static int
list_json(const struct catalogue *c, const struct index *ix,
	  const struct index_entry *entries, size_t count,
	  const struct catalogue_filter *f, int status)
{
	struct json *j = json_new_object(), *list = json_new_array();
	struct error why = ERROR_INIT;

	json_set_str(j, "prefix", catalogue_path(c));
	if (index_current(ix) != NULL)
		json_set_str(j, "current", index_current(ix));
	else
		json_set_null(j, "current");
	if (catalogue_notice(c) != NULL)
		json_set_str(j, "notice", catalogue_notice(c));
	else
		json_set_null(j, "notice");
	for (size_t i = 0; i < count; i++)
		if (catalogue_match(f, &entries[i]))
			json_push(list, catalogue_json(ix, &entries[i]));
	json_set(j, "datasets", list);
	return finish_json(j, status, &why);
}

static int
do_list(const struct settings *s, struct catalogue *c)
{
	struct catalogue_filter f = s->filter;
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	struct index_entry *entries = NULL;
	struct buf text = BUF_INIT;
	size_t count = 0;
	int status = STATUS_OK;

	if (ix == NULL)
		return app_report(STATUS_OK, &err);
	if (catalogue_notice(c) != NULL)
		status = STATUS_DAMAGED;
	/* LLNL's tool shows checkpoints only. */
	if (!f.outputs && !s->all && !s->json)
		f.checkpoints = true;
	entries = index_entries(ix, &count, &err);
	if (count == (size_t)-1) {
		status = app_report(status, &err);
	} else if (s->json) {
		status = list_json(c, ix, entries, count, &f, status);
	} else {
		if (catalogue_list(entries, count, &f,
				   s->names_only ? CATALOGUE_NAMES
				   : s->all	 ? CATALOGUE_WIDE
						 : CATALOGUE_LLNL,
				   &text, &err) < 0)
			status = app_report(status, &err);
		else if (text.len > 0)
			fwrite(text.data, 1, text.len, stdout);
	}
	buf_free(&text);
	mem_free(entries);
	index_free(ix);
	return status;
}

/* --- Changes of the index alone --- */

static void
dropped(void *arg, const char *name)
{
	json_push_str(arg, name);
}

static void
tell_edit(const struct catalogue_edit *e)
{
	char name[256];

	if (e->kind == CATALOGUE_CURRENT || e->kind == CATALOGUE_UNCURRENT) {
		if (e->reason[0] != '\0')
			app_warn("%s is marked NO (%s): a job may not be able "
				 "to restart from it",
				 shown(e->name, name), e->reason);
		return;
	}
	app_note("%zu %s dropped", e->count, str_plural(e->count, "dataset"));
	if (e->moved && e->current[0] != '\0')
		app_warn("the restart point is %s now",
			 shown(e->current, name));
	else if (e->moved)
		app_warn("there is no restart point any more");
}

static int
do_edit(const struct settings *s, struct catalogue *c)
{
	static const enum catalogue_edit_kind kinds[] = {
		[VERB_DROP] = CATALOGUE_DROP,
		[VERB_DROP_AFTER] = CATALOGUE_DROP_AFTER,
		[VERB_DROP_ALL] = CATALOGUE_DROP_ALL,
		[VERB_CURRENT] = CATALOGUE_CURRENT,
		[VERB_UNCURRENT] = CATALOGUE_UNCURRENT,
	};
	struct catalogue_edit e = { .kind = kinds[s->verb], .name = s->name };
	struct error err = ERROR_INIT;
	struct json *j = NULL, *list = NULL;
	int rc = -1;

	if (s->json) {
		j = json_new_object();
		list = json_new_array();
		e.dropped = dropped;
		e.arg = list;
	}
	rc = catalogue_edit(c, &e, &err);
	if (rc == 0)
		tell_edit(&e);
	if (!s->json)
		return app_report(STATUS_OK, &err);
	json_set(j, "dropped", list);
	if (rc == 0 && e.current[0] != '\0')
		json_set_str(j, "current", e.current);
	else
		json_set_null(j, "current");
	return finish_json(j, STATUS_OK, &err);
}

/* --- Build, add -------------------------------------------------------------------------- */

static void
tell_build(const struct settings *s, int64_t id, const struct build_result *r)
{
	const size_t mended = r->rebuild.files + r->rebuild.maps +
			      r->rebuild.redundancy + r->rebuild.descriptors;
	char name[256], size[32];

	app_warn("dataset %" PRId64 " (%s): %zu %s of %zu %s, %s: %s", id,
		 shown(r->name, name), r->files, str_plural(r->files, "file"),
		 r->ranks, str_plural(r->ranks, "rank"),
		 str_bytes(size, sizeof(size), r->bytes),
		 s->dry_run ? "can be built" : "in the index");
	if (mended > 0)
		app_warn("rebuilt: %zu %s, %zu %s, %zu redundancy %s",
			 r->rebuild.files, str_plural(r->rebuild.files, "file"),
			 r->rebuild.maps,
			 str_plural(r->rebuild.maps, "filemap"),
			 r->rebuild.redundancy + r->rebuild.descriptors,
			 str_plural(r->rebuild.redundancy +
					    r->rebuild.descriptors,
				    "file"));
}

static struct json *
build_json(int64_t id, const struct build_result *r)
{
	struct json *j = json_new_object(), *b = json_new_object();

	json_set_i64(j, "id", id);
	if (r->name[0] != '\0')
		json_set_str(j, "name", r->name);
	else
		json_set_null(j, "name");
	json_set_u64(j, "ranks", r->ranks);
	json_set_u64(j, "files", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_bool(j, "descriptor_guessed", r->descriptor_guessed);
	json_set_u64(b, "files", r->rebuild.files);
	json_set_u64(b, "filemaps", r->rebuild.maps);
	json_set_u64(b, "redundancy_files", r->rebuild.redundancy);
	json_set_u64(b, "descriptors", r->rebuild.descriptors);
	json_set_u64(b, "bytes_read", r->rebuild.bytes_read);
	json_set_u64(b, "bytes_written", r->rebuild.bytes_written);
	json_set_u64(b, "checksums_compared", r->rebuild.crc_checked);
	json_set_u64(b, "checksums_wrong", r->rebuild.crc_wrong);
	json_set(j, "rebuilt", b);
	return j;
}

static int
do_build(const struct settings *s, struct catalogue *c)
{
	struct catalogue_options o;
	struct build_result r = { .status = STATUS_OK };
	struct error err = ERROR_INIT;
	int64_t id = 0;

	if (num_i64(s->name, 1, DATASET_ID_MAX, &id, &err) < 0)
		app_usage("--build: %s", err.text);
	if (options_init(&o, s, "build", &err) == 0)
		catalogue_build(c, id, &o, &r, &err);
	options_fini(&o);
	if (err.kind == ERROR_NONE)
		tell_build(s, id, &r);
	if (s->json)
		return finish_json(build_json(id, &r), STATUS_OK, &err);
	return app_report(STATUS_OK, &err);
}

static int
do_add(const struct settings *s, struct catalogue *c)
{
	struct catalogue_options o;
	struct error err = ERROR_INIT;
	struct json *j = NULL;
	char name[256];
	int64_t id = -1;

	if (options_init(&o, s, s->checksums ? "add" : NULL, &err) == 0)
		catalogue_add(c, s->name, &o, &id, &err);
	options_fini(&o);
	if (err.kind == ERROR_NONE)
		app_note("dataset %" PRId64 " (%s): in the index", id,
			 shown(s->name, name));
	if (!s->json)
		return app_report(STATUS_OK, &err);
	j = json_new_object();
	json_set_str(j, "name", s->name);
	if (id > 0)
		json_set_i64(j, "id", id);
	else
		json_set_null(j, "id");
	return finish_json(j, STATUS_OK, &err);
}

/* --- Delete, prune ------------------------------------------------------------------------- */

/* Delete one dataset, or say what that would do: a line of a table, or an
 * object in `list`. */
static int
delete_one(const struct settings *s, struct catalogue *c, int64_t id,
	   const char *name, const struct catalogue_options *o,
	   struct json *list)
{
	struct error err = ERROR_INIT;
	struct delete_result r;
	char text[256], size[32];
	struct json *j = NULL;
	int rc = catalogue_delete(c, id, o, &r, &err);

	str_bytes(size, sizeof(size), r.bytes);
	if (list != NULL) {
		j = json_new_object();
		json_set_i64(j, "id", id);
		if (name != NULL)
			json_set_str(j, "name", name);
		else
			json_set_null(j, "name");
		json_set_u64(j, "files", r.files);
		json_set_u64(j, "directories", r.dirs);
		json_set_u64(j, "bytes", r.bytes);
		json_set_u64(j, "files_kept", r.kept);
		json_set_bool(j, "deleted", rc == 0 && !s->dry_run);
		if (err.kind != ERROR_NONE)
			json_set_str(j, "error", err.text);
		json_push(list, j);
	} else if (rc == 0 && s->dry_run) {
		printf("%4" PRId64 " %7zu %10s %s\n", id, r.files, size,
		       shown(name, text));
	}
	if (rc == 0 && !s->dry_run)
		app_warn("dataset %" PRId64 " (%s): deleted, %zu %s and %zu "
			 "%s, %s",
			 id, shown(name, text), r.files,
			 str_plural(r.files, "file"), r.dirs,
			 r.dirs == 1 ? "directory" : "directories", size);
	return app_report(STATUS_OK, &err);
}

/* Delete what `ids` says, in this order; the first failure ends it. */
static int
delete_list(const struct settings *s, struct catalogue *c,
	    const struct index *ix, const int64_t *ids, size_t count)
{
	struct catalogue_options o;
	struct error err = ERROR_INIT;
	struct json *list = s->json ? json_new_array() : NULL, *j = NULL;
	int status = STATUS_OK;

	if (options_init(&o, s, NULL, &err) < 0) {
		status = app_report(status, &err);
		count = 0;
	}
	if (s->dry_run && !s->json)
		puts("DSET   FILES       SIZE NAME");
	for (size_t i = 0; i < count && status == STATUS_OK && !stop(); i++) {
		struct index_entry e = { .name = NULL };

		if (ix != NULL && index_find_id(ix, ids[i], &e, NULL) < 0)
			e.name = NULL;
		status = delete_one(s, c, ids[i], e.name, &o, list);
	}
	options_fini(&o);
	if (!s->json)
		return status;
	j = json_new_object();
	json_set_bool(j, "dry_run", s->dry_run);
	json_set(j, "datasets", list);
	return finish_json(j, status, &err);
}

/* --delete NAME, or the datasets that --prune chooses. */
static int
do_delete(const struct settings *s, struct catalogue *c)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	int64_t *ids = NULL, one = -1;
	size_t count = 0;
	int status = STATUS_OK;

	if (ix == NULL)
		return app_report(status, &err);
	if (s->verb == VERB_DELETE) {
		one = catalogue_resolve(c, ix, s->name, &err);
		count = one > 0 ? 1 : (size_t)-1;
	} else if (catalogue_notice(c) != NULL) {
		/* Marks of failed fetches and of the restart point are gone
		 * with the index: what is worth keeping is a guess. */
		error_set(&err, ERROR_DAMAGED,
			  "the index is damaged or missing: look at the list, "
			  "repair it, then prune");
		count = (size_t)-1;
	} else {
		ids = catalogue_prune(ix, (size_t)s->keep, s->filter.outputs,
				      &count, &err);
	}
	if (count == (size_t)-1)
		status = app_report(status, &err);
	else
		status = delete_list(s, c, ix, ids != NULL ? ids : &one,
				     count);
	mem_free(ids);
	index_free(ix);
	return status;
}

/* --- Verify ---------------------------------------------------------------------------------- */

struct problems {
	const char *name;
	struct json *list; /* NULL: to stderr */
	size_t count;
};

static void
bad(void *arg, const char *what)
{
	struct problems *p = arg;

	if (p->list != NULL)
		json_push_str(p->list, what);
	else if (p->count < TELL_MAX || app_verbosity() > 0)
		app_error("%s: %s", p->name, what);
	p->count++;
}

static void
verify_row(int64_t id, const char *name, const char *state,
	   const struct verify_result *r)
{
	char size[32];

	printf("%4" PRId64 " %-10s %7zu %7zu %10s %s\n", id, state, r->files,
	       r->bad_files, str_bytes(size, sizeof(size), r->bytes), name);
}

static void
verify_object(struct json *list, int64_t id, const char *name,
	      const char *state, const struct verify_result *r,
	      struct json *found)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", id);
	json_set_str(j, "name", name);
	json_set_str(j, "state", state);
	json_set_u64(j, "files", r->files);
	json_set_u64(j, "bad_files", r->bad_files);
	json_set_u64(j, "files_without_size", r->unchecked);
	json_set_u64(j, "checksums_compared", r->crc_checked);
	json_set_u64(j, "bytes", r->bytes);
	json_set(j, "problems", found);
	json_push(list, j);
}

/* Check one dataset; `complete` is false for one that the index itself does
 * not call complete: that is no news. */
static int
verify_one(struct catalogue *c, int64_t id, const char *name, bool complete,
	   const struct catalogue_options *o, struct json *list)
{
	static const char *const states[] = {
		[STATUS_OK] = "ok",	    [STATUS_FAILED] = "unknown",
		[STATUS_USAGE] = "unknown", [STATUS_DAMAGED] = "damaged",
		[STATUS_LOST] = "lost",
	};
	struct verify_result r = { .status = STATUS_OK };
	struct error err = ERROR_INIT;
	struct problems p = { .count = 0 };
	const char *state = "incomplete";
	char text[256];
	int status = STATUS_OK;

	p.name = shown(name, text);
	if (list != NULL)
		p.list = json_new_array();
	if (complete) {
		catalogue_verify(c, id, o, bad, &p, &r, &err);
		status = app_report(r.status, &err);
		state = states[status];
	}
	if (list == NULL && p.count > TELL_MAX && app_verbosity() <= 0)
		app_error("%s: %zu more problems (-v shows all)", p.name,
			  p.count - TELL_MAX);
	if (list != NULL)
		verify_object(list, id, p.name, state, &r, p.list);
	else
		verify_row(id, p.name, state, &r);
	return status;
}

static int
verify_all(struct catalogue *c, const struct index *ix,
	   const struct catalogue_options *o, struct json *list)
{
	struct error err = ERROR_INIT;
	size_t count = 0;
	struct index_entry *all = index_entries(ix, &count, &err);
	int status = STATUS_OK;

	if (count == (size_t)-1)
		return app_report(status, &err);
	for (size_t i = 0; i < count && !stop(); i++)
		status = error_worse_status(
			status,
			verify_one(c, all[i].id, all[i].name,
				   all[i].complete == 1, o, list));
	mem_free(all);
	return status;
}

static int
verify_chosen(const struct settings *s, struct catalogue *c,
	      const struct index *ix, const struct catalogue_options *o,
	      struct json *list)
{
	struct error err = ERROR_INIT;
	struct index_entry e;
	int64_t id = catalogue_resolve(c, ix, s->name, &err);
	const char *name = s->name;

	if (id < 0)
		return app_report(STATUS_OK, &err);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    e.name != NULL)
		name = e.name;
	return verify_one(c, id, name, true, o, list);
}

static int
do_verify(const struct settings *s, struct catalogue *c)
{
	struct catalogue_options o;
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	struct json *list = s->json ? json_new_array() : NULL, *j = NULL;
	int status = STATUS_OK;

	if (ix == NULL ||
	    options_init(&o, s, s->checksums || s->deep ? "verify" : NULL,
			 &err) < 0) {
		index_free(ix);
		json_free(list);
		return app_report(status, &err);
	}
	if (catalogue_notice(c) != NULL)
		status = STATUS_DAMAGED;
	if (list == NULL)
		puts("DSET STATE        FILES     BAD       SIZE NAME");
	status = error_worse_status(
		status, s->name != NULL ? verify_chosen(s, c, ix, &o, list)
					: verify_all(c, ix, &o, list));
	options_fini(&o);
	index_free(ix);
	if (list == NULL)
		return status;
	j = json_new_object();
	json_set(j, "datasets", list);
	return finish_json(j, status, &err);
}

/* --- Main ---------------------------------------------------------------------------------------- */

/* The prefix directory: --prefix, $SCR_PREFIX, the working directory. */
static const char *
prefix_dir(const struct settings *s)
{
	const char *dir = s->prefix != NULL ? s->prefix : getenv("SCR_PREFIX");

	return dir != NULL && dir[0] != '\0' ? dir : ".";
}

int
main(int argc, char **argv)
{
	int (*const verbs[])(const struct settings *, struct catalogue *) = {
		[VERB_LIST] = do_list,	      [VERB_BUILD] = do_build,
		[VERB_ADD] = do_add,	      [VERB_DROP] = do_edit,
		[VERB_DROP_AFTER] = do_edit,  [VERB_DROP_ALL] = do_edit,
		[VERB_CURRENT] = do_edit,     [VERB_UNCURRENT] = do_edit,
		[VERB_DELETE] = do_delete,    [VERB_PRUNE] = do_delete,
		[VERB_VERIFY] = do_verify,
	};
	struct settings s = { .verb = VERB_LIST };
	struct error err = ERROR_INIT;
	struct catalogue *c = NULL;
	int status = STATUS_OK;

	parse(&s, argc, argv);
	c = catalogue_open(prefix_dir(&s), &err);
	if (c == NULL)
		return app_finish(app_report(STATUS_OK, &err));
	status = verbs[s.verb](&s, c);
	tell_notice(c);
	catalogue_close(c);
	return app_finish(status);
}
