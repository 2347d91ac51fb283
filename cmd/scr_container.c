/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_container - pack the files of a dataset into few containers.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "catalogue/share.h"
#include "container/extract.h"
#include "container/pack.h"
#include "container/packed.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "opt.h"
#include "progress.h"
#include "report/hint.h"
#include "report/packing.h"
#include "site/crew_transfer.h"
#include "stop.h"
#include "str.h"

/* Lines shown without -v: files of a list, and flaws. */
#define FILES_SHOWN 200
#define FLAWS_SHOWN 20

enum {
	VERB_PACK,
	VERB_UNPACK,
	VERB_LIST,
	VERB_CAT,
	VERB_EXTRACT,
	VERB_VERIFY,
	VERB_REPACK,
	VERB_EXPORT,
	VERB_IMPORT,
	VERBS
};

struct settings {
	int verb;
	const char *prefix, *order, *directory;
	enum pack_order by; /* `order` */
	const char *output, *compress;
	const char *columns, *sort; /* as given, or NULL */
	struct columns chosen;
	const char *typed; /* for completions: only list such paths */
	bool redundancy, keep, force, fast;
	uint64_t jobs, size, layout, split;
	struct catalogue *catalogue;
	struct catalogue_options look;
	struct json *list; /* one result for each dataset, or NULL */
	struct share_nodes nodes;
	struct crew_transfer others; /* for look.work.help */
	const char *part;	     /* of one of them */
};

static const struct app_info info = {
	.name = "scr_container",
	.summary = "pack the many files of a dataset into few containers",
	.usage = "pack|unpack|repack|list|verify [OPTION]... DATASET...\n"
		 "       scr_container cat [OPTION]... DATASET PATH...\n"
		 "       scr_container extract [OPTION]... DATASET [PATH]...\n"
		 "       scr_container export [OPTION]... DATASET\n"
		 "       scr_container import [OPTION]... ARCHIVE...",
	.notes = "DATASET is a name or number on the prefix, name:NAME or "
		 "id:NUMBER, or a\n"
		 "directory that SCR 1.1 wrote; PATH is a path as listed, "
		 "or a pattern.\n"
		 "Exit status: 0 done; 1 failed; 2 usage; 3 damaged, and "
		 "redundancy can repair\n"
		 "it; 4 data are lost.",
};

/* --- Verbs: each works on one dataset and returns an exit status --- */

static int
make_over(struct settings *s, struct packed *p, struct error *err)
{
	static const char *const done[VERBS] = {
		[VERB_PACK] = "packed",
		[VERB_UNPACK] = "unpacked",
		[VERB_REPACK] = "repacked",
	};
	struct owners_guard owners = { s->catalogue, p->id, .o = &s->look };
	struct pack_options po = {
		.guard = { owners_ask, &owners, owners_failed },
		.others = { owners_keep, &owners },
		.size = s->size,
		.order = s->by,
		.redundancy = s->redundancy,
		.keep = s->keep || s->layout == 1,
		.layout = (int)s->layout,
		.force = s->force,
		.work = &s->look.work,
	};
	struct pack_result r;
	struct buf text = BUF_INIT;

	if ((s->verb == VERB_PACK     ? pack(p, &po, &r, err)
	     : s->verb == VERB_UNPACK ? unpack(p, &po, &r, err)
				      : repack(p, &po, &r, err)) < 0)
		return error_status(err->kind);
	if (app_json()) {
		json_push(s->list, report_pack_json(p, &r));
		return STATUS_OK;
	}
	report_pack_text(p, done[s->verb], &r, s->look.work.dry_run, &text);
	return app_print_unless_quiet(&text);
}

static int
list(struct settings *s, struct packed *p)
{
	struct buf text = BUF_INIT;

	/* A damaged or missing file is listed all the same. */
	for (size_t i = 0; i < p->map.nfiles; i++)
		(void)packed_measure(p, i, NULL);

	if (s->typed != NULL) {
		for (size_t i = 0; i < p->map.nfiles; i++)
			if (str_starts(p->map.files[i].path, s->typed))
				buf_printf(&text, "%s\n", p->map.files[i].path);
		return app_print(&text);
	}
	if (app_json()) {
		json_push(s->list, report_map_json(p));
		return STATUS_OK;
	}
	report_map_text(p, &s->chosen, app_verbosity() > 0 ? 0 : FILES_SHOWN,
			&text);
	return app_print_unless_quiet(&text);
}

struct flaw_report {
	const struct packed *p;
	size_t count;
	struct json *flaws;
};

static void
report_flaw(void *arg, const struct packed_flaw *f)
{
	struct flaw_report *t = arg;
	const struct segmap *m = f->red ? &t->p->hidden.map : &t->p->map;

	if (t->flaws != NULL) {
		struct json *j = json_new_object();

		json_set_str(j, "problem", f->text);
		if (f->file != SIZE_MAX && !f->red)
			json_set_str(j, "path", m->files[f->file].path);
		if (f->container != SIZE_MAX)
			json_set_str(j, "container",
				     m->containers[f->container].name);
		json_push(t->flaws, j);
	} else if (t->count < FLAWS_SHOWN || app_verbosity() > 0) {
		app_error("%s: %s", t->p->name, f->text);
	} else if (t->count == FLAWS_SHOWN) {
		app_error("%s: ... (-v shows all)", t->p->name);
	}
	t->count++;
}

static int
verify(struct settings *s, struct packed *p, struct catalogue *c,
       struct error *err)
{
	struct flaw_report t = {
		.p = p,
		.flaws = app_json() ? json_new_array() : NULL,
	};
	const struct packed_look look = {
		.work = &s->look.work,
		.sums = !s->fast,
		.flaw = report_flaw,
		.arg = &t,
	};
	struct packed_health h;
	int status = STATUS_OK;

	if (packed_check(p, &look, &h, err) < 0) {
		json_free(t.flaws);
		packed_health_free(&h);
		return error_status(err->kind);
	}
	s->look.checksums = !s->fast;
	if (!packed_healthy(&h))
		status = catalogue_packed_outlook(c, p, &h, &s->look, err);
	if (h.unread > 0)
		status = error_worse_status(status, STATUS_FAILED);
	if (app_json()) {
		struct json *j = report_health_json(p, &h);

		json_set_i64(j, "status", status);
		json_set(j, "problems", t.flaws);
		json_push(s->list, j);
	} else if (err->kind == ERROR_NONE) {
		struct buf line = BUF_INIT;
		char next[ERROR_TEXT_MAX];

		report_health_text(p, &h, status, &line);
		app_next(report_next_health(c, p, &h, status, next));
		app_print_unless_quiet(&line);
	}
	packed_health_free(&h);
	return status;
}

/* cat and extract: work on the files that `names` select; without names, all of
 * them. */
static int
some_files(struct settings *s, const struct packed *p,
	   const struct extract_names *names, struct error *err)
{
	bool *only = mem_calloc(p->map.nfiles + 1, sizeof(*only));
	struct extract_list list = { .count = 0 };
	struct owners_guard owners = { s->catalogue, p->id, .o = &s->look };
	const struct extract_options o = {
		.guard = { owners_ask, &owners, owners_failed },
		.only = only,
		.dir = s->directory != NULL ? s->directory : ".",
		.force = s->force,
		.work = &s->look.work,
	};
	struct extract_result r;

	if (names->count > 0)
		(void)extract_choose(p, names, &list, err);
	memset(only, names->count == 0, p->map.nfiles);
	for (size_t i = 0; i < list.count && err->kind == ERROR_NONE; i++)
		if (s->verb == VERB_CAT)
			(void)extract_cat(p, list.files[i], STDOUT_FILENO,
					  o.work, err);
		else
			only[list.files[i]] = true;
	if (err->kind == ERROR_NONE && s->verb == VERB_EXTRACT &&
	    extract_files(p, &o, &r, err) == 0) {
		if (app_json()) {
			struct json *j = json_new_object();

			report_set_packed(j, p);
			json_set_u64(j, "file_count", r.files);
			json_set_u64(j, "bytes", r.bytes);
			json_push(s->list, j);
		} else if (app_verbosity() >= 0) {
			printf("%s: %zu %s (%s) extracted to %s\n", p->name,
			       str_count(r.files, "file"), str_size(r.bytes),
			       o.dir);
		}
	}
	mem_free(list.files);
	mem_free(only);
	return error_status(err->kind);
}

/* On a node: copy a part of what is in a list. */
static int
part(struct settings *s, const char *list)
{
	struct work *work = &s->look.work;
	struct error err = ERROR_INIT;
	struct buf sums = BUF_INIT;
	struct json *done = NULL;
	struct crew_part is;

	if (!crew_part(s->part, &is))
		app_usage("--" CREW_PART ": not FROM-TO:DIGEST");
	if (app_work_start(work, s->jobs, NULL, &err) == 0) {
		app_part_start(work, "scr_container");
		if (crew_transfer_part(list, &is, work, &sums, &err) == 0) {
			buf_add_str(&sums, "");
			done = json_new_object();
			json_set_str(done, "sums", sums.data);
		}
		app_part_end(work, done);
	}
	app_work_end(work);
	buf_free(&sums);
	return app_report(STATUS_OK, &err);
}

/* Run the verb for one dataset, and report its errors. */
static int
one(struct settings *s, const char *word, const struct extract_names *names)
{
	struct catalogue *c = s->catalogue;
	struct error err = ERROR_INIT;
	struct packed p = { .id = 0 };
	char next[ERROR_TEXT_MAX];
	const bool changes = s->verb == VERB_PACK || s->verb == VERB_UNPACK ||
			     s->verb == VERB_REPACK;
	/* If files are named, no more is read than they need. */
	const struct packed_how how = {
		.lock = changes && !s->look.work.dry_run,
		.files = { names->count > 0 ? extract_wants : NULL, names },
		.attrs = s->verb == VERB_EXTRACT,
	};
	int status = STATUS_FAILED;

	if (catalogue_packed_open(c, word, &how, &s->look, &p, &err) < 0) {
		report_remedy(&err, c, p.id);
		return app_report(STATUS_OK, &err);
	}
	s->others.help.dirfd = p.meta_fd;
	/* Unpacked, it needs no map. */
	if (p.flaw != NULL && s->verb == VERB_UNPACK && !s->look.work.dry_run)
		app_warn("%s: %s", p.name, p.flaw);
	else if (p.flaw != NULL && s->verb != VERB_VERIFY &&
		 s->verb != VERB_REPACK) {
		app_warn("%s: %s", p.name, p.flaw);
		app_next(report_next_packed(REMEDY_NONE, c, &p, next));
	}
	if (s->verb != VERB_LIST && s->verb != VERB_VERIFY &&
	    catalogue_packed_prove(c, &p, s->verb == VERB_PACK, &s->look,
				   &err) < 0)
		goto out;
	switch (s->verb) {
	case VERB_PACK:
	case VERB_UNPACK:
	case VERB_REPACK:
		status = make_over(s, &p, &err);
		if (s->verb == VERB_UNPACK && status == STATUS_OK &&
		    !s->look.work.dry_run && p.layout == 3 &&
		    catalogue_forgive(c, p.id, &s->look, &err) < 0)
			status = error_status(err.kind);
		/* LLNL's library cannot fetch a packed checkpoint. */
		if (s->verb == VERB_PACK && status == STATUS_OK && !s->keep &&
		    p.layout != 1 && s->layout != 1 &&
		    catalogue_restart_point(c) == p.id)
			app_warn(
				"%s: the next job restarts from it; one with "
				"LLNL's library cannot while it is packed: %s "
				"before that job starts",
				p.name,
				report_next_packed(REMEDY_UNPACK, c, &p, next));
		break;
	case VERB_LIST:
		status = list(s, &p);
		break;
	case VERB_VERIFY:
		status = verify(s, &p, c, &err);
		break;
	default:
		status = some_files(s, &p, names, &err);
	}
out:
	if (err.kind != ERROR_NONE) {
		(void)packed_blame(&p, &err);
		catalogue_packed_judge(c, &p, &s->look, &err);
		status = error_status(err.kind);
	}
	packed_close(&p);
	(void)stop_say(&err, catalogue_path(c), false);
	report_remedy(&err, c, p.id);
	app_report(status, &err);
	return status;
}

static int
run(struct settings *s, const char *const *args, size_t count)
{
	const bool files = s->verb == VERB_CAT || s->verb == VERB_EXTRACT;
	struct error err = ERROR_INIT;
	struct catalogue *c = catalogue_open(app_prefix(s->prefix), &err);
	struct extract_names names = { .count = 0 };
	struct crew crew = { .borrowed = true };
	char program[PATH_MAX];
	int status = STATUS_OK;

	s->others = (struct crew_transfer){
		.help = { -1, crew_transfer },
		.crew = &crew,
		.program =
			app_beside(program, sizeof(program), "scr_container"),
		.jobs = s->jobs,
	};
	if (c == NULL ||
	    app_work_start(&s->look.work, s->jobs, "scr_container", &err) < 0 ||
	    (s->nodes.list != NULL &&
	     share_crew(&crew, &s->nodes, app_prefix(s->prefix), &err) < 0)) {
		app_work_end(&s->look.work);
		crew_close(&crew);
		catalogue_close(c);
		return app_report(STATUS_OK, &err);
	}
	if (s->nodes.list != NULL)
		s->look.work.help = &s->others.help;
	if (files)
		extract_names_init(&names, args + 1, count - 1);
	catalogue_stop_on(c, app_stop);
	s->catalogue = c;
	s->look.replace = s->force;
	s->list = app_json() ? json_new_array() : NULL;
	for (size_t i = 0; i < count && (i == 0 || !files); i++) {
		if (count > 1 && !files)
			progress_subject(s->look.work.progress, "%s", args[i]);
		status = error_worse_status(status, one(s, args[i], &names));
	}
	app_work_end(&s->look.work);
	app_warn_lines(catalogue_notice(c));
	if (catalogue_notice(c) != NULL)
		app_warn("--build and --current are options of scr_index");
	if (app_json())
		app_answer_list("datasets", s->list);
	extract_names_free(&names);
	crew_close(&crew);
	launch_leave(&s->nodes.launch);
	catalogue_close(c);
	return status;
}

/* --- The command line --- */

/* Reject options that do not go with the verb. */
static void
check_options(struct settings *s, const char *verb)
{
	static const char *const orders[] = { "node", "rank", "name" };
	char words[COLUMNS_WORDS];

	/* -o is the output of export, the columns of list. */
	if (s->verb == VERB_LIST && s->columns == NULL) {
		s->columns = s->output;
		s->output = NULL;
	}
#define ON(verb) APP_VERB(VERB_##verb)
	const struct app_rule rules[] = {
		{ s->size > 0, "--size", ON(PACK) | ON(REPACK) },
		{ s->order != NULL, "--order", ON(PACK) | ON(REPACK) },
		{ s->redundancy, "--with-redundancy", ON(PACK) | ON(EXPORT) },
		{ s->keep, "--keep", ON(PACK) },
		{ s->layout != 0, "--layout", ON(PACK) },
		{ s->force, "--force", ON(UNPACK) | ON(EXTRACT) | ON(IMPORT) },
		{ s->output != NULL, "--output", ON(EXPORT) },
		{ s->compress != NULL, "--compress", ON(EXPORT) },
		{ s->split > 0, "--split", ON(EXPORT) },
		{ s->columns != NULL, "--columns", ON(LIST) },
		{ s->sort != NULL, "--sort", ON(LIST) },
		{ s->typed != NULL, "--dump-paths", ON(LIST) },
		{ s->look.work.dry_run, "--dry-run",
		  ON(PACK) | ON(UNPACK) | ON(REPACK) | ON(IMPORT) },
		{ s->fast, "--fast", ON(VERIFY) },
		{ s->directory != NULL, "--directory", ON(EXTRACT) },
		{ s->nodes.list != NULL, "--nodes", ~(ON(LIST) | ON(CAT)) },
		{ app_json(), "--json", ~ON(CAT) },
	};

	app_check_rules(rules, sizeof(rules) / sizeof(rules[0]), s->verb, verb);
#undef ON
	if ((s->columns != NULL || s->sort != NULL) && app_json())
		app_usage("%s and --json cannot be used together",
			  s->columns != NULL ? "--columns" : "--sort");
	app_columns(&s->chosen, table_words(report_map_columns, words),
		    s->columns, "--sort", s->sort);
	/* What is extracted may go to a directory of each node. */
	if ((s->verb == VERB_PACK || s->verb == VERB_UNPACK ||
	     s->verb == VERB_REPACK || s->verb == VERB_VERIFY) &&
	    share_join(&s->nodes))
		exit(STATUS_OK);
	if (share_lacks_nodes(&s->nodes))
		app_usage("--remote and --node-timeout need --nodes");
	if (s->layout == 1 && s->redundancy)
		app_usage("--layout 1 has no place for redundancy");
	for (int i = 0; s->order != NULL && i < 3; i++)
		if (str_eq(s->order, orders[i]))
			s->by = (enum pack_order)(PACK_NODE + i);
	if (s->order != NULL && s->by == PACK_AS_IS)
		app_usage("--order: %s is not one of node, rank, name",
			  s->order);
}

static char **
parse(struct settings *s, int argc, char **argv, int *count)
{
	static const char *const names[VERBS + 1] = {
		"pack",	  "unpack", "list",   "cat",	"extract",
		"verify", "repack", "export", "import", NULL,
	};
	const char *meant = NULL;
	char words[COLUMNS_WORDS];
	const struct opt opts[] = {
		OPT_GROUP("Packing and unpacking"),
		OPT_BYTES(0, "size", &s->size, "SIZE", 1, UINT64_C(1) << 62,
			  "size of a container (default 100GB; repack: "
			  "unchanged)"),
		OPT_STRING(0, "order", &s->order, "node|rank|name", OPT_WORDS,
			   "order of the files (default node; repack: "
			   "unchanged)"),
		OPT_FLAG(0, "with-redundancy", &s->redundancy,
			 "pack filemaps and redundancy files, too"),
		OPT_FLAG(0, "keep", &s->keep, "keep the original files"),
		OPT_U64(0, "layout", &s->layout, "1", 1, 1,
			"pack a copy in the layout of SCR 1.1, in "
			"PREFIX/scr.dataset.ID"),
		OPT_FLAG('f', "force", &s->force,
			 "replace existing files that differ"),
		OPT_FLAG('n', "dry-run", &s->look.work.dry_run,
			 "only report what would be done"),
		OPT_GROUP("Reading"),
		OPT_FLAG(0, "fast", &s->fast,
			 "verify: only map and sizes, read no data"),
		OPT_STRING('C', "directory", &s->directory, "DIR", OPT_DIR,
			   "directory for extracted files (default .)"),
		OPT_COLUMNS(0, "columns", &s->columns, "LIST", words,
			    "list: columns to show; as -o LIST"),
		OPT_COLUMNS(0, "sort", &s->sort, "COLUMN", words,
			    "list: sort by a column; -COLUMN: descending"),
		OPT_GROUP("Archives"),
		OPT_STRING('o', "output", &s->output, "FILE", OPT_FILE,
			   "file to export to (default standard output)"),
		OPT_STRING(0, "compress", &s->compress, "none|gzip|xz|zstd",
			   OPT_WORDS, "compression (default none)"),
		OPT_BYTES(0, "split", &s->split, "SIZE", 1, UINT64_C(1) << 62,
			  "export pieces FILE.001, FILE.002, ... of at most "
			  "this size before compression"),
		OPT_STRING(0, "dump-paths", &s->typed, "TEXT", OPT_ANY, NULL),
		OPT_STRING(0, CREW_PART, &s->part, "PART", OPT_ANY, NULL),
		OPT_GROUP("Where and how"),
		APP_OPT_PREFIX(&s->prefix),
		APP_OPT_JOBS(&s->jobs),
		APP_OPT_MEMORY(&s->look.work.memory, 1 << 16,
			       "memory for buffers (default: 256 KiB for each "
			       "thread)"),
		APP_OPT_LIMIT_RATE(&s->look.work.rate),
		SHARE_OPTIONS(s->nodes),
		OPT_END,
	};

	table_words(report_map_columns, words);
	argv = app_start(&info, argc, argv, opts, count);
	if (*count == 1 && s->part != NULL)
		return argv;
	if (*count == 0)
		app_usage("no verb given: pack, unpack, repack, list, cat, "
			  "extract, verify, export or import");
	for (s->verb = 0; s->verb < VERBS; s->verb++)
		if (str_eq(argv[0], names[s->verb]))
			break;
	meant = s->verb == VERBS ? str_meant(argv[0], names) : NULL;
	if (meant != NULL)
		app_usage("%s: no such verb; did you mean %s?", argv[0], meant);
	if (s->verb == VERBS)
		app_usage("%s: not one of pack, unpack, repack, list, cat, "
			  "extract, verify, export, import",
			  argv[0]);
	check_options(s, argv[0]);
	if (s->verb == VERB_EXPORT || s->verb == VERB_IMPORT)
		return argv;
	if (*count == 1)
		app_usage("no dataset given: its name or number");
	if (s->verb == VERB_CAT && *count == 2)
		app_usage("no file given: %s",
			  report_command_str("scr_container list",
					     app_prefix(s->prefix), argv[1]));
	--*count;
	return argv + 1;
}

int
main(int argc, char **argv)
{
	struct settings s = { .look.work = { APP_WORK,
					     .detail = app_log_note } };
	char **given = mem_calloc((size_t)argc + 1, sizeof(*given));
	char path[PATH_MAX];
	int count = 0, status = STATUS_FAILED;

	/* Parsing reorders the arguments. */
	for (int i = 0; i < argc; i++)
		given[i] = argv[i];
	argv = parse(&s, argc, argv, &count);
	app_catch_signals();
	if (s.part != NULL) {
		status = part(&s, argv[0]);
		mem_free(given);
		return app_finish(status);
	}
	/* Export and import are done by scr_archive: loading its libraries
	 * would delay each start of this command by three milliseconds. */
	if (s.verb == VERB_EXPORT || s.verb == VERB_IMPORT) {
		execvp(app_beside(path, sizeof(path), "scr_archive"), given);
		execvp("scr_archive", given);
		app_error("scr_archive: cannot start: %s", strerror(errno));
	} else {
		status = run(&s, (const char *const *)argv, (size_t)count);
	}
	mem_free(given);
	return app_finish(status);
}
