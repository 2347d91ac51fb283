/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_archive - export a dataset to an archive, and import it: run by
 * `scr_container export` and `scr_container import`.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app.h"
#include "archive/export.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/share.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "opt.h"
#include "par.h"
#include "path.h"
#include "report/hint.h"
#include "report/packing.h"
#include "str.h"
#include "stream.h"

struct settings {
	bool exporting;
	const char *prefix, *output, *compress;
	bool redundancy;
	uint64_t jobs, split;
	/* The nodes that write pieces; the part of such a node, or NULL. */
	struct share_nodes nodes;
	struct crew crew;
	const char *part;
	struct catalogue_options look;
	struct json *list; /* one result for each archive, or NULL */
};

static const struct app_info info = {
	.name = "scr_archive",
	.summary =
		"export a dataset as one archive, or in pieces, or import it",
	.usage = "export [OPTION]... DATASET\n"
		 "       scr_archive import [OPTION]... ARCHIVE...",
	.notes = "DATASET is a name or number on the prefix, name:NAME or "
		 "id:NUMBER; ARCHIVE a\nfile, or - for standard input.\n"
		 "Exit status: 0 done; 1 failed; 2 usage; 3 the dataset "
		 "is damaged,\nand redundancy can repair it; 4 data are "
		 "lost.",
};

static bool
to_stdout(const struct settings *s)
{
	return s->output == NULL || str_eq(s->output, "-");
}

/* The command by which a node does some of the pieces, in `a`, with room for
 * `more` arguments. */
static const char **
worker(const struct settings *s, size_t more, struct arena *a)
{
	const char **argv = arena_alloc(a, 10 + more, sizeof(*argv));
	struct buf path = BUF_INIT;
	size_t n = 0;

	argv[n++] = app_beside(arena_alloc(a, PATH_MAX, 1), PATH_MAX,
			       "scr_archive");
	argv[n++] = s->exporting ? "export" : "import";
	(void)path_real(app_prefix(s->prefix), &path, NULL);
	argv[n++] = arena_printf(a, "--prefix=%s", path.data);
	if (s->exporting) {
		(void)path_absolute(s->output, &path, NULL);
		argv[n++] = arena_printf(a, "--output=%s", path.data);
		argv[n++] = arena_printf(a, "--split=%" PRIu64, s->split);
	}
	if (s->compress != NULL)
		argv[n++] = arena_printf(a, "--compress=%s", s->compress);
	if (s->redundancy)
		argv[n++] = "--with-redundancy";
	if (s->jobs > 0)
		argv[n++] = arena_printf(a, "--jobs=%" PRIu64, s->jobs);
	buf_free(&path);
	return argv;
}

static int
export_one(struct settings *s, struct catalogue *c, const char *what)
{
	struct export_options eo = {
		.filter = ARK_NONE,
		.redundancy = s->redundancy,
		.threads = par_threads(s->look.work.par),
		.work = &s->look.work,
		.split = s->split,
		.crew = s->nodes.list != NULL ? &s->crew : NULL,
		.part = s->part,
	};
	/* The caller of a part holds the lock, and has compared. */
	const struct packed_how how = { .lock = s->part == NULL };
	struct arena *a = arena_new();
	struct error err = ERROR_INIT;
	struct packed p = { .id = 0 };
	struct export_result r;

	/* Locked, so that no other process packs it while it is read. */
	if (catalogue_packed_open(c, what, &how, &s->look, &p, &err) < 0)
		goto out;
	if (eo.crew != NULL) {
		const char **argv = worker(s, 1, a);

		eo.argv = argv;
		while (*argv != NULL)
			argv++;
		*argv = p.layout == 3 ? arena_printf(a, "id:%" PRId64, p.id)
				      : what;
	}
	if ((s->part == NULL &&
	     catalogue_packed_prove(c, &p, true, &s->look, &err) < 0) ||
	    (s->compress != NULL &&
	     ark_filter_parse(s->compress, &eo.filter, &err) < 0) ||
	    export_to(&p, s->output, &eo, &r, &err) < 0) {
		(void)packed_blame(&p, &err);
		catalogue_packed_judge(c, &p, &s->look, &err);
	} else if (s->part != NULL) {
		/* run() says that it is done. */
	} else if (app_json()) {
		struct json *j = report_archive_json(&r);

		json_set_str(j, "name", p.name);
		json_set_u64(j, "bytes_written", r.written);
		if (r.pieces > 0)
			json_set_u64(j, "piece_count", r.pieces);
		json_push(s->list, j);
	} else if (!to_stdout(s) && app_verbosity() >= 0) {
		printf("%s: %zu %s (%s) exported to %s%s\n", p.name,
		       str_count(r.files, "file"), str_size(r.bytes), s->output,
		       r.pieces == 0
			       ? ""
			       : str_printed(64, ".*, %" PRIu64 " %s",
					     str_count(r.pieces, "piece")));
	}
	packed_close(&p);
out:
	arena_free(a);
	report_remedy(&err, c, p.id);
	return app_report(STATUS_OK, &err);
}

static void
say_complete(const struct settings *s, const struct export_result *r,
	     const char *name)
{
	const bool dry_run = s->look.work.dry_run;

	if (app_verbosity() >= 0 && !app_json())
		printf("%s: dataset %" PRId64 ", %zu %s (%s)%s\n",
		       dry_run ? name : r->name, r->id,
		       str_count(r->files, "file"), str_size(r->bytes),
		       dry_run ? ": can be imported"
			       : " imported, in the index");
}

/* The data files of pieces are in place: what is to be done for the rest? */
static int
say_incomplete(const struct settings *s, const struct export_result *r,
	       struct error *err)
{
	char what[256];

	snprintf(what, sizeof(what),
		 "dataset %" PRId64 ": files of piece %s (of %" PRIu64 ") %s",
		 r->id, r->given, r->pieces,
		 s->look.work.dry_run ? "can be imported"
				      : "imported; not in the index");
	if (r->last == NULL) {
		/* Also with -q, as the exit status does not say it. */
		app_error("%s: import the last piece when all others are there",
			  what);
		return 0;
	}
	return error_set(
		err, ERROR_SYSTEM,
		"%s: %zu %s missing or different, first %s: import "
		"pieces %s%s %s",
		what, r->missing, r->missing == 1 ? "file is" : "files are",
		str_shown(r->first), r->lacking,
		r->missing_hidden > 0 ? " together with" : ", then again",
		r->last);
}

static int
commit_one(struct settings *s, struct import *x, const char *name)
{
	struct error err = ERROR_INIT;
	struct export_result r;
	struct json *j = NULL;

	if (import_commit(x, &r, &err) < 0)
		return app_report(STATUS_OK, &err);
	if (r.complete)
		say_complete(s, &r, name);
	else
		(void)say_incomplete(s, &r, &err);
	if (!app_json())
		return app_report(STATUS_OK, &err);
	j = report_archive_json(&r);
	json_set_str(j, "name", r.name[0] != '\0' ? r.name : NULL);
	json_set_u64(j, "files_unchanged", r.same);
	json_set_bool(j, "dry_run", s->look.work.dry_run);
	if (r.pieces > 0) {
		json_set_u64(j, "piece_count", r.pieces);
		json_set_bool(j, "complete", r.complete);
	}
	if (r.piece > 0)
		json_set_u64(j, "piece", r.piece);
	if (!r.complete)
		json_set_str(j, "pieces_missing", r.lacking);
	json_push(s->list, j);
	return app_report(STATUS_OK, &err);
}

static bool
is_pipe(const char *arg)
{
	return str_eq(arg, "-");
}

static const char *
shown(const char *arg)
{
	return is_pipe(arg) ? "standard input" : arg;
}

static int
read_one(struct import *x, const char *arg, struct error *err)
{
	const int fd = is_pipe(arg) ? STDIN_FILENO : stream_open(arg, err);
	const int rc = fd < 0 ? -1 : import_read(x, fd, shown(arg), err);

	if (!is_pipe(arg))
		io_close(fd);
	return rc;
}

/* Import archives one by one, and pieces together: the last one first, if other
 * nodes are to import those before it. */
static int
import_all(struct settings *s, struct catalogue *c, const char *const *args,
	   size_t count)
{
	const size_t last =
		s->nodes.list == NULL || s->look.work.dry_run || s->look.replace
			? count
			: import_last(args, count, &s->look.work);
	struct arena *a = arena_new();
	struct import *x = NULL;
	int status = STATUS_OK;

	for (size_t k = 0; k < count; k++) {
		const size_t i = last == count ? k
				 : k == 0      ? last
				 : k <= last   ? k - 1
					       : k;
		struct error err = ERROR_INIT;
		int rc = 0;

		if (x == NULL)
			x = import_new(c, &s->look, &err);
		if (x == NULL ||
		    (!import_did(x, i) && read_one(x, args[i], &err) < 0))
			rc = -1;
		if (rc == 0 && i == last)
			rc = import_share(x, &s->crew, worker(s, count, a),
					  args, count, &err);
		if (rc == 0 && k == count - 1 && !import_confirm(x))
			for (size_t n = 0; rc == 0 && n < count; n++)
				if (import_did(x, n))
					rc = read_one(x, args[n], &err);
		status =
			error_worse_status(status, app_report(STATUS_OK, &err));
		/* All pieces, or none; and what the prefix refuses to one, it
		 * refuses to all. */
		if (rc < 0 && (x == NULL || import_pieces(x) > 0))
			break;
		if (rc == 0 && k < count - 1 && import_pieces(x) > 0)
			continue;
		if (rc == 0)
			status = error_worse_status(
				status, commit_one(s, x, shown(args[i])));
		import_free(x);
		x = NULL;
	}
	import_free(x);
	arena_free(a);
	return status;
}

/* On a node: its part of the pieces. */
static int
import_some(const struct settings *s, struct catalogue *c,
	    const char *const *args, size_t count, struct json **answer)
{
	struct error err = ERROR_INIT;
	struct import_sum total = { 0 };
	struct crew_part is;

	if (!crew_part(s->part, &is) || is.to >= count)
		app_usage("--" CREW_PART ": not FROM-TO:DIGEST");
	if (import_part(c, &s->look, args, &is, &total, &err) == 0) {
		*answer = json_new_object();
		json_set_u64(*answer, "piece_count", total.pieces);
		json_set_u64(*answer, "files_placed", total.placed);
		json_set_u64(*answer, "sum", total.sum);
	}
	return app_report(STATUS_OK, &err);
}

static int
run(struct settings *s, const char *const *args, size_t count)
{
	struct error err = ERROR_INIT;
	struct catalogue *c = catalogue_open(app_prefix(s->prefix), &err);
	struct work *work = &s->look.work;
	const char *verb = s->exporting ? "export" : "import";
	struct json *answer = NULL;
	int status = STATUS_OK;

	if (c != NULL &&
	    app_work_start(work, s->jobs, s->part != NULL ? NULL : verb,
			   &err) == 0 &&
	    (s->nodes.list == NULL ||
	     share_crew(&s->crew, &s->nodes, app_prefix(s->prefix), &err) ==
		     0)) {
		if (s->part != NULL)
			app_part_start(work, verb);
		catalogue_stop_on(c, app_stop);
		s->list = app_json() ? json_new_array() : NULL;
		if (s->exporting)
			status = export_one(s, c, args[0]);
		else if (s->part == NULL)
			status = import_all(s, c, args, count);
		else
			status = import_some(s, c, args, count, &answer);
		if (s->part != NULL)
			app_part_end(work, s->exporting && status == STATUS_OK
						   ? json_new_object()
						   : answer);
		app_work_end(work);
		if (s->part == NULL)
			app_warn_lines(catalogue_notice(c));
		if (s->part == NULL && catalogue_notice(c) != NULL)
			app_warn("--build and --current are options of "
				 "scr_index");
		if (app_json())
			app_answer_list("datasets", s->list);
	}
	app_work_end(work);
	crew_close(&s->crew);
	launch_leave(&s->nodes.launch);
	catalogue_close(c);
	return error_worse_status(status, app_report(STATUS_OK, &err));
}

/* --- The command line --- */

int
main(int argc, char **argv)
{
	struct settings s = {
		.look = { .work = { APP_WORK } },
		.crew = { .borrowed = true },
	};
	struct app_info as = info;
	int count = 0;
	const struct opt opts[] = {
		OPT_GROUP("Export"),
		OPT_STRING('o', "output", &s.output, "FILE", OPT_FILE,
			   "file to write (default standard output)"),
		OPT_STRING(0, "compress", &s.compress, "none|gzip|xz|zstd",
			   OPT_WORDS, "compression (default none)"),
		OPT_FLAG(0, "with-redundancy", &s.redundancy,
			 "also filemaps and redundancy files"),
		OPT_BYTES(0, "split", &s.split, "SIZE", 1, UINT64_C(1) << 62,
			  "write FILE.001, FILE.002, ... of at most this size "
			  "before compression"),
		OPT_GROUP("Import"),
		OPT_FLAG('f', "force", &s.look.replace,
			 "replace existing files that differ"),
		OPT_FLAG('n', "dry-run", &s.look.work.dry_run,
			 "only check the archive; import nothing"),
		OPT_GROUP("Other nodes, for pieces"),
		SHARE_OPTIONS(s.nodes),
		OPT_STRING(0, CREW_PART, &s.part, "PART", OPT_ANY, NULL),
		OPT_GROUP("Where and how"),
		APP_OPT_PREFIX(&s.prefix),
		APP_OPT_JOBS(&s.jobs),
		APP_OPT_LIMIT_RATE(&s.look.work.rate),
		OPT_END,
	};

	/* A user of scr_container should not see the name of its helper. */
	if (str_eq(app_called(argc, argv), "scr_container"))
		as.name = "scr_container";
	argv = app_start(&as, argc, argv, opts, &count);
	if (count == 0 ||
	    (!str_eq(argv[0], "export") && !str_eq(argv[0], "import")))
		app_usage("no verb given: export or import");
	s.exporting = str_eq(argv[0], "export");
	if (s.exporting && (s.look.replace || s.look.work.dry_run))
		app_usage("--force and --dry-run can be used with import only");
	if (!s.exporting && (s.output != NULL || s.compress != NULL ||
			     s.redundancy || s.split > 0))
		app_usage("--output, --compress, --with-redundancy and --split "
			  "can be used with export only");
	if (s.split > 0 && to_stdout(&s))
		app_usage("--split needs --output FILE: the pieces are "
			  "FILE.001, FILE.002, ...");
	if (s.exporting && s.split == 0 &&
	    (s.nodes.list != NULL || s.part != NULL))
		app_usage("--nodes needs --split SIZE: nodes write pieces of "
			  "an archive");
	if (s.part == NULL &&
	    (s.exporting ? s.split > 0 && count == 2 : count > 2) &&
	    share_join(&s.nodes))
		exit(STATUS_OK);
	if (share_lacks_nodes(&s.nodes))
		app_usage("--remote and --node-timeout need --nodes");
	if (count == 1 && s.exporting)
		app_usage("no dataset given: its name or number");
	if (count == 1)
		app_usage(
			"no archive given: its file, or - for standard input");
	if (s.exporting && count > 2)
		app_usage("one archive holds one dataset");
	if (s.exporting && to_stdout(&s) && app_json())
		app_usage("--json and the archive cannot both go to standard "
			  "output: use --output FILE");
	if (s.exporting && to_stdout(&s) && isatty(STDOUT_FILENO))
		app_usage("standard output is a terminal: use --output FILE");
	app_catch_signals();
	return app_finish(
		run(&s, (const char *const *)argv + 1, (size_t)count - 1));
}
