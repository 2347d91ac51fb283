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
	struct share share;
	const char *part;
	struct import_seen *seen;
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

/* The command by which a node writes some of the pieces, in `a`. */
static const char *const *
worker(const struct settings *s, const struct packed *p, const char *what,
       struct arena *a)
{
	const char **argv = arena_alloc(a, 12, sizeof(*argv));
	struct buf path = BUF_INIT;
	size_t n = 0;

	argv[n++] = app_beside(arena_alloc(a, PATH_MAX, 1), PATH_MAX,
			       "scr_archive");
	argv[n++] = "export";
	(void)path_real(app_prefix(s->prefix), &path, NULL);
	argv[n++] = arena_printf(a, "--prefix=%s", path.data);
	(void)path_absolute(s->output, &path, NULL);
	argv[n++] = arena_printf(a, "--output=%s", path.data);
	argv[n++] = arena_printf(a, "--split=%" PRIu64, s->split);
	if (s->compress != NULL)
		argv[n++] = arena_printf(a, "--compress=%s", s->compress);
	if (s->redundancy)
		argv[n++] = "--with-redundancy";
	if (s->jobs > 0)
		argv[n++] = arena_printf(a, "--jobs=%" PRIu64, s->jobs);
	argv[n++] =
		p->layout == 3 ? arena_printf(a, "id:%" PRId64, p->id) : what;
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
		.crew = s->nodes.list != NULL ? &s->share.crew : NULL,
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
	if (eo.crew != NULL)
		eo.argv = worker(s, &p, what, a);
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

/* Print what was imported of `name`, which `text` describes. */
static void
say_imported(const struct settings *s, const struct export_result *r,
	     const char *name, const char *text)
{
	if (app_json()) {
		struct json *j = report_archive_json(r);

		json_set_str(j, "name", r->name[0] != '\0' ? r->name : NULL);
		json_set_u64(j, "files_unchanged", r->same);
		json_set_bool(j, "dry_run", s->look.work.dry_run);
		if (r->pieces > 0)
			json_set_u64(j, "piece_count", r->pieces);
		if (r->piece > 0)
			json_set_u64(j, "piece", r->piece);
		json_push(s->list, j);
	} else if (app_verbosity() >= 0 && r->piece > 0) {
		printf("%s: piece %" PRIu64 " of %" PRIu64
		       " of dataset %" PRId64 ", %zu %s (%s)%s\n",
		       name, r->piece, r->pieces, r->id,
		       str_count(r->files, "file"), str_size(r->bytes), text);
	} else if (app_verbosity() >= 0) {
		printf("%s: dataset %" PRId64 ", %zu %s (%s)%s\n", name, r->id,
		       str_count(r->files, "file"), str_size(r->bytes), text);
	}
}

/* Import one archive, or a piece of one; "-" is standard input. */
static int
import_one(struct settings *s, struct catalogue *c, const char *file,
	   struct export_result *r)
{
	const struct import_options io = { &s->look, s->seen };
	struct error err = ERROR_INIT;
	const bool pipe = str_eq(file, "-"), dry_run = s->look.work.dry_run;
	const char *name = pipe ? "standard input" : file;
	const int fd = pipe ? STDIN_FILENO : stream_open(file, &err);
	int rc = -1;

	*r = (struct export_result){ .id = -1 };
	if (fd >= 0)
		rc = import_dataset(c, fd, name, &io, r, &err);
	if (!pipe)
		io_close(fd);
	if (rc < 0)
		r->pieces = 0;
	else
		say_imported(s, r, dry_run || r->pieces > 0 ? name : r->name,
			     dry_run	     ? ": can be imported"
			     : r->pieces > 0 ? " imported"
					     : " imported, in the index");
	return app_report(STATUS_OK, &err);
}

/* After all pieces: is the dataset complete? */
static int
finish_one(struct settings *s, struct catalogue *c, struct export_result *r)
{
	const struct import_options io = { &s->look, s->seen };
	struct error err = ERROR_INIT;
	struct buf missing = BUF_INIT;
	const int rc = import_finish(c, &io, r, &missing, &err);

	r->piece = 0;
	if (rc > 0) {
		say_imported(s, r, r->name, " imported, in the index");
	} else if (rc == 0 && app_json()) {
		struct json *j = report_dataset_new(r->id, NULL);

		json_set_bool(j, "complete", false);
		json_set_u64(j, "piece_count", r->pieces);
		json_set_str(j, "pieces_missing", missing.data);
		json_push(s->list, j);
	} else if (rc == 0 && app_verbosity() >= 0) {
		printf("dataset %" PRId64 ": not complete, not in the index: "
		       "pieces %s of %" PRIu64 " are missing: import them\n",
		       r->id, missing.data, r->pieces);
	}
	buf_free(&missing);
	return app_report(STATUS_OK, &err);
}

static int
import_all(struct settings *s, struct catalogue *c, const char *const *args,
	   size_t count)
{
	struct export_result *r = mem_calloc(count, sizeof(*r));
	int status = STATUS_OK;

	s->seen = import_seen_new();
	for (size_t i = 0; i < count; i++)
		status = error_worse_status(status,
					    import_one(s, c, args[i], &r[i]));
	for (size_t i = 0; i < count && !s->look.work.dry_run; i++) {
		size_t last = i;

		for (size_t k = i + 1; k < count; k++)
			if (r[k].pieces > 0 && r[k].id == r[i].id)
				last = k;
		if (r[i].pieces > 0 && last == i)
			status = error_worse_status(status,
						    finish_one(s, c, &r[i]));
	}
	import_seen_free(s->seen);
	mem_free(r);
	return status;
}

static int
run(struct settings *s, const char *const *args, size_t count)
{
	struct error err = ERROR_INIT;
	struct catalogue *c = catalogue_open(app_prefix(s->prefix), &err);
	struct work *work = &s->look.work;
	int status = STATUS_OK;

	if (c == NULL ||
	    app_work_start(work, s->jobs,
			   s->part != NULL ? NULL
			   : s->exporting  ? "export"
					   : "import",
			   &err) < 0 ||
	    (s->nodes.list != NULL &&
	     share_open(&s->share, &s->nodes, app_prefix(s->prefix), &err) <
		     0)) {
		share_close(&s->share);
		launch_leave(&s->nodes.launch);
		app_work_end(work);
		catalogue_close(c);
		return app_report(STATUS_OK, &err);
	}
	if (s->part != NULL)
		app_part_start(work, "export");
	catalogue_stop_on(c, app_stop);
	s->list = app_json() ? json_new_array() : NULL;
	status = s->exporting ? export_one(s, c, args[0])
			      : import_all(s, c, args, count);
	if (s->part != NULL)
		app_part_end(work,
			     status == STATUS_OK ? json_new_object() : NULL);
	app_work_end(work);
	share_close(&s->share);
	launch_leave(&s->nodes.launch);
	app_warn_lines(catalogue_notice(c));
	if (catalogue_notice(c) != NULL)
		app_warn("--build and --current are options of scr_index");
	if (app_json())
		app_answer_list("datasets", s->list);
	catalogue_close(c);
	return status;
}

/* --- The command line --- */

int
main(int argc, char **argv)
{
	struct settings s = { .look = { .work = { APP_WORK } } };
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
		OPT_GROUP("Other nodes, for export --split"),
		SHARE_OPTIONS(s.nodes),
		OPT_STRING(0, CREW_PART, &s.part, "PART", OPT_ANY, NULL),
		OPT_GROUP("Where and how"),
		APP_OPT_PREFIX(&s.prefix),
		APP_OPT_JOBS(&s.jobs),
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
	if (s.split == 0 && (s.nodes.list != NULL || s.part != NULL))
		app_usage("--nodes needs --split SIZE: nodes write pieces of "
			  "an archive");
	if (s.split > 0 && s.part == NULL && count == 2 &&
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
