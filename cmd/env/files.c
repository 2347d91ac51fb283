/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - verbs of scr_env: files of a prefix, and checksums.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buf.h"
#include "catalogue/word.h"
#include "clock.h"
#include "crc.h"
#include "env.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "meta/dataset.h"
#include "meta/flush.h"
#include "meta/log.h"
#include "num.h"
#include "site/eventlog.h"
#include "site/interval.h"
#include "site/jobfiles.h"
#include "str.h"
#include "when.h"

/* The percentage that scripts expect if it cannot be computed. */
#define PERCENT_OTHERWISE "10.0"

#define CRC_BLOCK 65536

/* --- Flush file --- */

enum flush_verb {
	FLUSH_NOTHING, /* with --json: all entries */
	FLUSH_LIST_OUTPUT,
	FLUSH_LIST_CKPT,
	FLUSH_NEED,
	FLUSH_LATEST,
	FLUSH_LOCATION,
	FLUSH_NAME,
};

/* What is asked, of which dataset. */
struct flush_request {
	int verb;
	bool llnl;
	const char *name; /* of the dataset; NULL: `id` is given */
	int64_t id;	  /* 0: none */
	int64_t before;
};

/* Append the answer.  Returns the exit status, 1 for "no" or "none". */
static int
flush_answer(const struct jobfiles_flush *f, const struct flush_request *r,
	     struct buf *out)
{
	const struct flush_entry *e =
		r->verb == FLUSH_LATEST
			? (f->count > 0 ? &f->all[f->count - 1] : NULL)
			: jobfiles_flush_find(f, r->id);
	const bool outputs = r->verb == FLUSH_LIST_OUTPUT;
	bool yes = e != NULL;

	switch (r->verb) {
	case FLUSH_LIST_OUTPUT:
	case FLUSH_LIST_CKPT:
		/* Output datasets from the oldest on, checkpoints from the
		 * newest. */
		for (size_t i = 0; i < f->count; i++) {
			e = &f->all[outputs ? i : f->count - 1 - i];
			if ((outputs ? e->is_output : e->is_ckpt) &&
			    (r->before <= 0 || e->id < r->before))
				buf_printf(out, "%s%" PRId64,
					   out->len > 0 ? " " : "", e->id);
		}
		/* LLNL's scripts expect status 1 for an empty list. */
		yes = out->len > 0 || !r->llnl;
		if (out->len > 0)
			buf_add_char(out, '\n');
		break;
	case FLUSH_NEED:
		yes = yes && flush_needed(e);
		break;
	case FLUSH_LATEST:
		if (yes)
			buf_printf(out, "%" PRId64 "\n", e->id);
		break;
	case FLUSH_LOCATION:
		jobfiles_location(e, r->llnl, out);
		buf_add_char(out, '\n');
		break;
	default: /* FLUSH_NAME */
		yes = yes && e->name != NULL;
		if (yes)
			buf_printf(out, "%s\n", e->name);
	}
	return yes ? STATUS_OK : STATUS_FAILED;
}

/* Parse the number of a dataset; if `name` is not NULL, also name:NAME.  NULL:
 * not given. */
static void
take_id(const char *what, const char *text, int64_t *id, const char **name)
{
	struct error err = ERROR_INIT;
	struct word w;

	if (text == NULL)
		return;
	if (word_parse_id(text, &w, &err) < 0)
		app_usage("%s: %s", what, err.text);
	if (w.name != NULL && name == NULL)
		app_usage("%s: a number is expected, not \"%s\"", what, text);
	if (w.name != NULL)
		*name = w.name;
	else
		*id = w.id;
}

int
env_flush_file(const struct env_call *c)
{
	struct flush_request r = { .llnl = c->llnl };
	const char *prefix = NULL, *dir = NULL, *id = NULL, *before = NULL;
	struct jobfiles_flush f = { .count = 0 };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	int rc = 0, status = STATUS_OK;
	const struct opt opts[] = {
		OPT_GROUP("What to tell"),
		OPT_VERB('o', "list-output", &r.verb, FLUSH_LIST_OUTPUT,
			 "ids of output datasets, oldest first"),
		OPT_VERB('c', "list-ckpt", &r.verb, FLUSH_LIST_CKPT,
			 "ids of checkpoints, newest first"),
		OPT_STRING('b', "before", &before, "ID", OPT_ANY,
			   "list only those with smaller ids"),
		OPT_VERB_ARG('n', "need-flush", &r.verb, FLUSH_NEED, &id, "ID",
			     OPT_ANY,
			     "status 0 if it is in cache only, else 1"),
		OPT_VERB('l', "latest", &r.verb, FLUSH_LATEST,
			 "id of the newest dataset"),
		OPT_VERB_ARG('L', "location", &r.verb, FLUSH_LOCATION, &id,
			     "ID", OPT_ANY,
			     "where it is: SYNC_FLUSHING FLUSHING PFS CACHE"),
		OPT_VERB_ARG('s', "name", &r.verb, FLUSH_NAME, &id, "ID",
			     OPT_ANY, "its name"),
		OPT_GROUP("Where"),
		ENV_PREFIX_OR_DIR(prefix, dir),
		OPT_END,
	};

	env_start(c, opts, NULL);
	if (r.verb == FLUSH_NOTHING && !app_json())
		app_usage("no query given: --list-ckpt, --location ID ...");
	if (before != NULL && r.verb != FLUSH_LIST_OUTPUT &&
	    r.verb != FLUSH_LIST_CKPT)
		app_usage("--before needs --list-output or --list-ckpt");
	take_id("--before", before, &r.before, NULL);
	take_id("dataset", id, &r.id, &r.name);
	rc = jobfiles_flush_read(app_prefix(dir != NULL ? dir : prefix), &f,
				 &err);
	/* A name: find its id, which is 0 if there is none. */
	for (size_t i = 0; rc == 0 && r.name != NULL && i < f.count; i++) {
		if (f.all[i].name == NULL || !str_eq(f.all[i].name, r.name))
			continue;
		if (r.id > 0)
			rc = error_set(&err, ERROR_USAGE,
				       WORD_NAME
				       "%s: the name of several datasets: "
				       "use " WORD_ID_FMT " or " WORD_ID_FMT,
				       str_shown(r.name), r.id, f.all[i].id);
		r.id = f.all[i].id;
	}
	if (rc == 0 && r.verb == FLUSH_NOTHING)
		app_answer_list("datasets", jobfiles_flush_json(&f));
	else if (rc == 0)
		status = flush_answer(&f, &r, &out);
	jobfiles_flush_free(&f);
	if (rc < 0)
		return app_report(STATUS_OK, &err);
	if (status != STATUS_OK && r.id > 0 && r.verb != FLUSH_NEED)
		app_note("dataset %" PRId64 ": not in the flush file", r.id);
	else if (status != STATUS_OK && r.name != NULL)
		app_note("%s: not in the flush file", r.name);
	return error_worse_status(app_print(&out), status);
}

/* --- Nodes file --- */

int
env_nodes_file(const struct env_call *c)
{
	const char *prefix = NULL, *dir = NULL;
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	int64_t n = 0;
	int rc = 0;
	const struct opt opts[] = {
		ENV_PREFIX_OR_DIR(prefix, dir),
		OPT_END,
	};

	env_start(c, opts, NULL);
	rc = jobfiles_nodes(app_prefix(dir != NULL ? dir : prefix), &n, &err);
	buf_printf(&out, "%" PRId64 "\n", n);
	rc = env_finish(rc, &out, &err);
	/* Print 0, with status 1, if the file does not give the number. */
	return rc == STATUS_OK && n == 0 ? STATUS_FAILED : rc;
}

/* --- Log --- */

int
env_log_add(const struct env_call *c)
{
	const bool transfer = c->tool->which != 0;
	struct log_line l = { LOG_LINE_NONE };
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct job j;
	const char *type = NULL, *start = NULL, *secs = NULL, *unused = NULL;
	const int64_t now = clock_now();
	char *rest = NULL;
	uint64_t id = UINT64_MAX, bytes = UINT64_MAX, files = UINT64_MAX;
	struct opt opts[] = {
		OPT_STRING('T', "type", &type, "TYPE", OPT_ANY,
			   "what happened, as RUN_START or FLUSH_SYNC"),
		OPT_STRING('N', "note", &l.note, "TEXT", OPT_ANY, "note"),
		OPT_U64('D', "dset", &id, "ID", 0, DATASET_ID_MAX, "dataset"),
		OPT_STRING('n', "name", &l.name, "NAME", OPT_ANY, "its name"),
		OPT_STRING('S', "start", &start, "TIME", OPT_ANY,
			   "when it began (default now)"),
		OPT_STRING('L', "secs", &secs, "SECONDS", OPT_ANY,
			   "how long it took"),
		OPT_GROUP("Which job"),
		APP_OPT_PREFIX(&w.prefix),
		OPT_STRING('i', "jobid", &w.job_id, "ID", OPT_ANY,
			   "job (default SCR_JOB_ID, then this allocation's)"),
		OPT_STRING('u', "user", &unused, "NAME", OPT_ANY, NULL),
		OPT_STRING('j', "jobname", &unused, "NAME", OPT_ANY, NULL),
		OPT_STRING('s', "jobstart", &unused, "TIME", OPT_ANY, NULL),
		OPT_GROUP("Transfers"),
		OPT_STRING('X', "from", &l.from, "DIR", OPT_ANY, "from where"),
		OPT_STRING('Y', "to", &l.to, "DIR", OPT_ANY, "to where"),
		OPT_BYTES('B', "bytes", &bytes, "SIZE", 0, UINT64_MAX - 1,
			  "how many bytes"),
		OPT_U64('F', "files", &files, "N", 0, INT64_MAX,
			"how many files"),
		OPT_END,
	};

	if (!transfer)
		opts[sizeof(opts) / sizeof(opts[0]) - 6] = (struct opt)OPT_END;
	env_start(c, opts, NULL);
	if (type == NULL)
		app_usage("no event given: --type TYPE");
	*(transfer ? &l.xfer : &l.event) = type;
	/* Seconds since 1970, or a date and time. */
	l.time = now;
	if (start != NULL && num_i64(start, 0, WHEN_MAX, &l.time, NULL) < 0 &&
	    when_parse(start, now, &l.time, &err) < 0)
		app_usage("--start: %s", err.text);
	if (secs != NULL) {
		l.secs = strtod(secs, &rest);
		if (rest == secs || *rest != '\0' || !isfinite(l.secs) ||
		    l.secs < 0)
			app_usage("--secs: %s: not a number of seconds", secs);
	}
	if (id != UINT64_MAX)
		l.dataset = (int64_t)id;
	if (files != UINT64_MAX)
		l.files = (int64_t)files;
	if (bytes != UINT64_MAX)
		l.bytes = (double)bytes;
	if (env_open_job(&j, &w, &err) < 0)
		return app_report(STATUS_OK, &err);
	l.user = j.user;
	l.job_id = j.id;
	(void)eventlog_add(j.prefix, j.conf, &l, &err);
	job_close(&j);
	return app_report(STATUS_OK, &err);
}

/* --- Checkpoint interval --- */

/* Print the statistics, and the interval if it can be computed.  With --json it
 * is no error if it cannot.  Returns the exit status. */
static int
print_interval(const struct interval_stats *s, bool stats, bool percent,
	       const char *model, struct error *err)
{
	struct json *j = app_json() ? interval_json(s) : NULL;
	struct buf out = BUF_INIT;
	struct interval i = { .cost = 0 };
	const bool known =
		interval_compute(s,
				 str_eq(model, "young") ? INTERVAL_YOUNG
							: INTERVAL_DALY,
				 &i, j == NULL ? err : NULL) == 0;
	const double seconds = i.seconds < 1 ? 1 : i.seconds;

	if (j != NULL) {
		json_set_str(j, "model", model);
		if (known) {
			json_set_u64(j, "cost_milliseconds",
				     (uint64_t)(i.cost * 1000));
			json_set_u64(j, "seconds_between_interrupts",
				     (uint64_t)i.mtbi);
			json_set_u64(j, "interval_seconds", (uint64_t)seconds);
			json_set_u64(j, "overhead_percent",
				     (uint64_t)i.percent);
		} else {
			json_set_null(j, "interval_seconds");
		}
		app_answer(j);
		return known ? STATUS_OK : STATUS_FAILED;
	}
	if (stats)
		interval_text(s, &out);
	if (out.len > 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
	if (!known)
		return STATUS_FAILED;
	app_note("a checkpoint takes %.1f s, one interrupt every %.0f s",
		 i.cost, i.mtbi);
	printf(percent ? "%.1f\n" : "%.0f\n", percent ? i.percent : seconds);
	return STATUS_OK;
}

int
env_interval(const struct env_call *c)
{
	const char *prefix = NULL, *file = NULL, *model = "daly";
	bool stats = false, percent = false;
	struct error err = ERROR_INIT;
	struct interval_stats s;
	int status = STATUS_OK;
	const struct opt opts[] = {
		OPT_FLAG(0, "stats", &stats, "what the log tells, too"),
		OPT_STRING(0, "model", &model, "daly|young", OPT_WORDS,
			   "by which formula (default daly)"),
		OPT_FLAG(0, "percent", &percent,
			 "not the seconds between checkpoints, but the part "
			 "of the time these then take"),
		APP_OPT_PREFIX(&prefix),
		OPT_STRING(0, "logfile", &file, "FILE", OPT_FILE,
			   "log (default PREFIX/.scr/log)"),
		OPT_END,
	};

	env_start(c, opts, NULL);
	if (!str_eq(model, "daly") && !str_eq(model, "young"))
		app_usage("--model: %s is neither daly nor young", model);
	if ((file != NULL
		     ? interval_read(AT_FDCWD, file, &s, &err)
		     : interval_read_prefix(app_prefix(prefix), &s, &err)) == 0)
		status = print_interval(&s, stats, percent, model, &err);
	if (err.kind == ERROR_NONE)
		return status;
	/* Scripts assign the output of LLNL's program to
	 * SCR_CHECKPOINT_OVERHEAD, so print a number in any case. */
	if (c->llnl && percent && !app_json()) {
		app_warn("%s; " PERCENT_OTHERWISE " is assumed", err.text);
		printf(PERCENT_OTHERWISE "\n");
		return STATUS_OK;
	}
	return app_report(STATUS_OK, &err);
}

/* --- Checksums --- */

int
env_crc32(const struct env_call *c)
{
	const struct opt opts[] = { OPT_END };
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **args = env_start(c, opts, &count);
	struct json *list = app_json() ? json_new_array() : NULL, *j = NULL;
	char text[16], block[CRC_BLOCK];
	uint32_t crc = 0;
	ssize_t n = 0;
	int fd = -1;

	if (count == 0)
		app_usage("no file given");
	for (; *args != NULL; args++) {
		fd = open(*args, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			error_sys(&err, "%s", *args);
		crc = 0;
		do {
			n = fd < 0 ? 0 : read(fd, block, sizeof(block));
			if (n > 0)
				crc = crc_update(crc, block, (size_t)n);
		} while (n > 0 || (n < 0 && errno == EINTR));
		if (n < 0)
			error_sys(&err, "%s: cannot read", *args);
		io_close(fd);
		if (err.kind != ERROR_NONE) {
			status = app_report(status, &err);
		} else if (list != NULL) {
			j = json_new_object();
			snprintf(text, sizeof(text), "0x%08" PRIx32, crc);
			json_set_str(j, "path", *args);
			json_set_str(j, "crc32", text);
			json_push(list, j);
		} else if (count == 1) {
			printf("%" PRIx32 "\n", crc);
		} else {
			printf("%08" PRIx32 "  %s\n", crc, *args);
		}
	}
	if (list != NULL)
		app_answer_list("files", list);
	return status;
}
