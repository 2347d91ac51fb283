/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_copy - copy one node's part of a scavenge.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/word.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "json.h"
#include "meta/dataset.h"
#include "opt.h"
#include "progress.h"
#include "scavenge/copy.h"
#include "scavenge/nodecache.h"
#include "work.h"

/* Bad files reported without -v. */
#define BAD_SHOWN 20

#define HEARTBEAT_MAX 86400

struct settings {
	const char *cntl, *prefix, *ranks, *assign, *sees;
	struct opt_list cachedirs;
	const char *dataset; /* as given */
	struct word word;    /* what it means */
	uint64_t buf, jobs, heartbeat, clean;
	bool list, crc;
	struct copy_options o;
	struct copy_ranks given;
	struct work work;
	char host[HOST_NAME_MAX + 1];
	unsigned nbad;
};

static const struct app_info info = {
	.name = "scr_copy",
	.raw = true,
	.summary = "copy the files of a dataset from this node's cache",
	.usage = "--cntldir DIR --id ID [OPTION]...\n"
		 "       scr_copy --list --cntldir DIR [--cachedir DIR]...\n"
		 "       scr_copy --clean CREATED --id ID --cntldir DIR "
		 "--cachedir DIR...",
	.notes = "Run on each node, by scr_postrun(1) or by hand.  An "
		 "interrupted copy resumes\n"
		 "when it is run again.\n"
		 "Exit status: 0 done; 1 failed; 2 usage; 3 a file is "
		 "missing, damaged or not\n"
		 "replaced, and all others are copied.",
};

/* --- Verbs --- */

static int
list(const struct nodecache_where *w)
{
	struct nodecache n;
	struct buf line = BUF_INIT;

	nodecache_read(&n, w);
	nodecache_json(&n, &line);
	printf("%s\n", line.data);
	buf_free(&line);
	nodecache_free(&n);
	return STATUS_OK;
}

/* Print a line of JSON. */
static void
print_line(struct json *j)
{
	struct buf line = BUF_INIT;

	(void)json_line(j, &line, NULL);
	printf("%s\n", line.data);
	buf_free(&line);
}

/* Remove the dataset from the cache, and print the bytes as JSON. */
static int
clean(struct settings *s, const struct nodecache_where *w)
{
	struct error err = ERROR_INIT;
	uint64_t bytes = 0;
	const int rc = nodecache_clean(w, s->word.id, s->clean, &bytes, &err);

	/* Another node may have removed it from a shared cache. */
	if (rc > 0)
		app_warn("dataset %" PRId64
			 ": nothing removed: not in the cache index of this "
			 "node",
			 s->word.id);
	if (rc >= 0) {
		struct json *j = json_new_object();

		json_set_str(j, "host", s->host);
		json_set_u64(j, "cleaned", bytes);
		print_line(j);
	}
	return app_report(STATUS_OK, &err);
}

/* Calls are serialized by the library. */
static void
report_bad(void *arg, const char *line)
{
	struct settings *s = arg;

	if (s->nbad < BAD_SHOWN || app_verbosity() > 0)
		app_error("%s", line);
	else if (s->nbad == BAD_SHOWN)
		app_error("... (-v shows all)");
	s->nbad++;
}

/* A line of JSON for a file that was not replaced. */
static void
print_taken(const char *rel)
{
	struct json *j = json_new_object();

	json_set_str(j, "taken", rel);
	print_line(j);
}

static void
beat(void *arg, uint64_t done, uint64_t total)
{
	const struct settings *s = arg;

	printf("scr_copy: %s: progress %" PRIu64 " %" PRIu64 "\n", s->host,
	       done, total);
	fflush(stdout);
}

static int
copy(struct settings *s, const struct nodecache_where *w, struct error *err)
{
	struct copy_result r = { .files = 0 };
	const struct progress_beat heart = { (unsigned)s->heartbeat, beat, s };
	const double start = clock_seconds();
	struct json *j = NULL;
	int rc = -1;

	/* A terminal shows the more detailed progress line instead. */
	s->work.progress =
		progress_start("scr_copy", app_verbosity() < 0,
			       s->heartbeat > 0 && app_verbosity() >= 0 &&
					       !isatty(STDOUT_FILENO)
				       ? &heart
				       : NULL);
	rc = copy_run(w, &s->o, &r, err);
	progress_end(s->work.progress);
	/* Print the result also if the copy failed half-way. */
	j = json_new_object();
	json_set_str(j, "host", s->host);
	json_set_i64(j, "id", s->o.id);
	json_set_u64(j, "files", r.files);
	json_set_u64(j, "copied", r.copied);
	json_set_u64(j, "adopted", r.adopted);
	json_set_u64(j, "skipped", r.skipped);
	json_set_u64(j, "taken", r.taken);
	json_set_u64(j, "bytes", r.bytes);
	json_set_u64(j, "bad", r.bad);
	json_set_u64(j, "unread", r.unread);
	json_set_real(j, "seconds", clock_seconds() - start);
	print_line(j);
	if (rc < 0)
		return error_status(err->kind);
	return r.bad + r.taken > 0 ? STATUS_DAMAGED : STATUS_OK;
}

static int
run(struct settings *s, const struct nodecache_where *w)
{
	struct error err = ERROR_INIT;
	struct arena *a = arena_new();
	int dir = -1, rc = 0, status = STATUS_OK;

	s->o.prefix = app_prefix(s->prefix);
	s->o.block = (size_t)s->buf;
	s->o.id = s->word.name == NULL ? s->word.id
				       : nodecache_named(w, s->word.name, &err);
	/* The ranks to copy; NULL: all. */
	if (s->ranks != NULL || s->assign != NULL)
		s->o.ranks = &s->given;
	if (s->o.id >= 0 && s->ranks != NULL)
		rc = copy_ranks_parse(s->ranks, a, &s->given, &err);
	else if (s->o.id >= 0 && s->assign != NULL) {
		/* --assign names a file relative to the prefix. */
		dir = open(s->o.prefix, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rc = dir < 0 ? error_sys(&err, "%s: cannot open", s->o.prefix)
			     : copy_ranks_assigned(dir, s->assign, s->host, a,
						   &s->given, &err);
		if (dir >= 0)
			close(dir);
	}
	if (rc == 0 && s->o.id >= 0 &&
	    work_start(&s->work, (unsigned)s->jobs, &err) == 0)
		status = copy(s, w, &err);
	work_end(&s->work);
	arena_free(a);
	status = app_report(status, &err);
	printf("scr_copy: %s: Return code: %d\n", s->host, status);
	return status;
}

int
main(int argc, char **argv)
{
	struct settings s = {
		.heartbeat = 1,
		.o = { .taken = print_taken, .work = &s.work },
		.work = { .stop = app_stop, .log = report_bad, .log_arg = &s },
	};
	const struct opt opts[] = {
		OPT_GROUP("What to copy"),
		OPT_STRING('c', "cntldir", &s.cntl, "DIR", OPT_DIR,
			   "control directory of the job on this node"),
		OPT_LIST(0, "cachedir", &s.cachedirs, "DIR", OPT_DIR,
			 "also look for datasets here"),
		OPT_STRING('i', "id", &s.dataset, "ID", OPT_ANY,
			   "number of the dataset, or name:NAME"),
		OPT_STRING(0, "ranks", &s.ranks, "LIST", OPT_ANY,
			   "only these ranks: \"0-3,7\""),
		OPT_STRING(0, "assign", &s.assign, "FILE", OPT_FILE,
			   "only the ranks that this file on the prefix "
			   "assigns to this host"),
		OPT_GROUP("How"),
		OPT_STRING('d', "prefix", &s.prefix, "DIR", OPT_DIR,
			   "the prefix directory (default: $SCR_PREFIX, then "
			   "the working directory)"),
		OPT_STRING(0, "moved-from", &s.o.moved_from, "DIR", OPT_DIR,
			   "path of the prefix when the job wrote it"),
		OPT_STRING(0, "sees", &s.sees, "FILE", OPT_FILE,
			   "fail if this node does not see FILE: the prefix is "
			   "another directory here"),
		OPT_FLAG(0, "replace", &s.o.replace,
			 "replace files with other contents: first drop the "
			 "dataset that has them from the index"),
		OPT_FLAG(0, "containers", &s.o.containers,
			 "write to the places in containers that "
			 "scr_postrun(1) has laid out"),
		OPT_BYTES('b', "buf", &s.buf, "SIZE", 4096, 1 << 30,
			  "bytes to read and write at a time"),
		OPT_FLAG('r', "crc", &s.crc,
			 "accepted for LLNL's scripts: checksums are always "
			 "computed"),
		OPT_U64('j', "jobs", &s.jobs, "N", 1, 1024,
			"threads (default: one for each processor)"),
		OPT_FLAG('n', "dry-run", &s.work.dry_run,
			 "only report what would be copied"),
		OPT_U64(0, "heartbeat", &s.heartbeat, "SECONDS", 0,
			HEARTBEAT_MAX,
			"interval of progress lines (default 1; 0: none)"),
		OPT_GROUP("Instead of copying"),
		OPT_FLAG('l', "list", &s.list,
			 "print the datasets in the cache of this node, as "
			 "JSON"),
		OPT_U64(0, "clean", &s.clean, "CREATED", 1, INT64_MAX,
			"remove dataset ID from the --cachedir, if it was "
			"created at CREATED"),
		OPT_END,
	};
	struct nodecache_where w = { .cntl = NULL };
	struct error err = ERROR_INIT;
	int status = STATUS_OK;

	app_start(&info, argc, argv, opts, NULL);
	app_catch_signals();
	if (s.cntl == NULL && s.cachedirs.count == 0)
		app_usage("no cache given: --cntldir or --cachedir DIR");
	if (!s.list && s.dataset == NULL)
		app_usage("no dataset given: --id ID");
	if (s.dataset != NULL && word_parse_id(s.dataset, &s.word, &err) < 0)
		app_usage("--id: %s", err.text);
	if (s.ranks != NULL && s.assign != NULL)
		app_usage("--ranks and --assign cannot be used together");
	if (s.o.containers && (s.work.dry_run || s.o.replace))
		app_usage("--containers cannot be used with --dry-run or "
			  "--replace");
	if (s.clean > 0 && (s.list || s.word.id == 0 || s.cntl == NULL ||
			    s.cachedirs.count == 0))
		app_usage("--clean needs --cntldir, --cachedir and the number "
			  "of a dataset");
	gethostname(s.host, sizeof(s.host) - 1);
	w.cntl = s.cntl;
	w.cachedirs = s.cachedirs.items;
	w.ncachedirs = s.cachedirs.count;
	if (s.sees != NULL && dir_access(AT_FDCWD, s.sees, F_OK) < 0) {
		error_sys(&err,
			  "%s: not seen on this node: another directory "
			  "than where scr_postrun runs: mount the file "
			  "system of the prefix here",
			  s.sees);
		status = app_report(STATUS_FAILED, &err);
	} else {
		status = s.list	       ? list(&w)
			 : s.clean > 0 ? clean(&s, &w)
				       : run(&s, &w);
	}
	opt_list_free(&s.cachedirs);
	return app_finish(status);
}
