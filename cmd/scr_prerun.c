/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_prerun - prepare a prefix at the start of a batch script.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "conf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "report/hint.h"
#include "room.h"
#include "scavenge/turn.h"
#include "site/halt.h"
#include "site/job_options.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"
#include "work.h"

static const struct app_info info = {
	.name = "scr_prerun",
	.summary = "prepare a prefix directory for a job",
	.usage = "[OPTION]...",
	.notes = "Creates PREFIX/.scr, and renames or removes the flush "
		 "and nodes files of\n"
		 "earlier jobs.  Does nothing if SCR_ENABLE is 0.\n"
		 "Exit status: 0 done; 1 failed; 2 usage.",
};

struct settings {
	bool force, dry_run;
	uint64_t wait; /* seconds */
};

static int
runs(void *arg, const char *id)
{
	return resmgr_runs(arg, id);
}

/* Report the decision on the files of earlier jobs; a dry run prints it. */
static void
report_prepared(const struct job *j, const struct jobfiles_prepared *p,
		bool dry_run)
{
	const char *owner = p->owner[0] != '\0' ? p->owner : "(unknown)";
	const char *is = dry_run ? "would be" : "is";
	const bool warn =
		p->left == JOBFILES_ASIDE || p->left == JOBFILES_RUNNING;
	struct buf line = BUF_INIT;

	buf_printf(&line, "%s: ", j->prefix);
	switch (p->left) {
	case JOBFILES_NONE:
		buf_add_str(&line, "nothing left by an earlier job");
		break;
	case JOBFILES_REMOVED:
		buf_printf(&line, "the flush file of job %s %s removed", owner,
			   is);
		break;
	case JOBFILES_ASIDE:
		if (p->unsaved > 0)
			buf_printf(&line,
				   "dataset %" PRId64
				   " of job %s was never saved: its flush file "
				   "%s renamed to flush.scr.bak",
				   p->unsaved, owner, is);
		else
			buf_printf(&line,
				   "the flush file of an earlier job cannot be "
				   "read: it %s renamed to flush.scr.bak",
				   is);
		break;
	case JOBFILES_OURS:
		buf_printf(&line, "the flush file of this job %s kept", is);
		break;
	case JOBFILES_RUNNING:
		if (!p->may_run)
			buf_printf(&line,
				   "job %s runs with this prefix: its flush "
				   "file %s kept",
				   p->owner, is);
		else
			buf_printf(&line,
				   "the flush file is of job %s, which may "
				   "still run: it %s kept (--force renames it "
				   "to flush.scr.bak)",
				   p->owner, is);
	}
	if (dry_run && !app_json())
		printf("%s\n", line.data);
	else if (warn)
		app_warn("%s", line.data);
	else
		app_note("%s", line.data);
	buf_free(&line);
}

/* Warn of a halt file that stops the job as soon as it starts. */
static int
warn_of_halt(const struct job *j, struct error *err)
{
	struct buf lines = BUF_INIT;
	bool stop = false;
	const char *text = NULL, *rest = NULL;
	size_t len = 0;
	int rc = halt_check(j->prefix, NULL, (int64_t)time(NULL), &stop, &lines,
			    err);

	rest = lines.data;
	if (rc == 0 && stop && (text = str_line(&rest, &len)) != NULL) {
		if (str_starts(text, HALT_LINE))
			text += strlen(HALT_LINE), len -= strlen(HALT_LINE);
		app_warn("%s: the halt file stops this job at once (%.*s); to "
			 "let it run: %s",
			 j->prefix, (int)len, text,
			 report_command_str("scr_halt -r", NULL, j->prefix));
	}
	buf_free(&lines);
	return rc;
}

static int
prepare(struct job *j, const struct settings *s, struct error *err)
{
	const struct jobfiles_job job = {
		j->id, runs, j->rm, s->force, s->dry_run,
	};
	struct jobfiles_prepared p;
	bool finished = false;

	if (jobfiles_prepare(j->prefix, &job, &p, err) < 0)
		return -1;
	report_prepared(j, &p, s->dry_run);
	if (s->dry_run && access(j->prefix, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (halt_begin(j->prefix, s->dry_run, &finished, err) < 0)
		return -1;
	if (!finished)
		return warn_of_halt(j, err);
	if (s->dry_run && !app_json())
		printf("%s: the previous job finished: its halt reason would "
		       "be removed\n",
		       j->prefix);
	else
		app_note("the previous job finished: its halt reason is "
			 "removed");
	/* Other conditions may be left. */
	return s->dry_run ? 0 : warn_of_halt(j, err);
}

/* Prepare the prefix while no scavenge is at work there. */
static int
run(struct job *j, const struct settings *s, struct error *err)
{
	const struct work work = { APP_WORK };
	const struct turn turn = {
		.prefix = j->prefix,
		.seconds = s->wait,
		.work = &work,
	};
	struct buf text = BUF_INIT;
	int scr = -1, top = -1, lock = -1, rc = -1;

	if (s->dry_run)
		return prepare(j, s, err);
	scr = jobfiles_open(j->prefix, true, err);
	if (scr < 0)
		return -1;
	/* Can the job write its files? */
	top = dir_open(scr, "..");
	rc = top < 0 ? error_sys(err, "cannot open") : room_try(top, err);
	if (rc == 0)
		rc = room_try(scr, err);
	io_close(top);
	if (rc < 0) {
		room_explain(scr, 0, err);
		error_wrap(err, "%s", j->prefix);
	} else {
		lock = turn_take(scr, &turn, err);
		rc = -1;
	}
	if (lock != -1)
		rc = prepare(j, s, err);
	turn_end(lock);
	close(scr);
	if (rc == 0) {
		job_notice(j, false, &text);
		job_old_caches(j, &text);
		app_warn_lines(text.data);
	}
	buf_free(&text);
	return rc;
}

int
main(int argc, char **argv)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct settings s = { .wait = TURN_SECONDS };
	bool enabled = true;
	const struct opt opts[] = {
		APP_OPT_PREFIX(&w.prefix),
		OPT_FLAG('f', "force", &s.force,
			 "rename or remove the files of another job, even if "
			 "it may still run"),
		OPT_FLAG('n', "dry-run", &s.dry_run,
			 "only report what would be done"),
		OPT_U64(0, "wait", &s.wait, "SECONDS", 0, UINT32_MAX,
			"wait for a scavenge of this prefix (default 600)"),
		JOB_ID_OPTION(0, w),
		JOB_MANAGER_OPTIONS(w),
		OPT_END,
	};
	struct job j;

	app_start(&info, argc, argv, opts, NULL);
	app_catch_signals();
	if (job_open(&j, &w, &err) < 0)
		return app_finish(app_report(STATUS_OK, &err));
	if (conf_bool(j.conf, "SCR_ENABLE", true, &enabled, &err) == 0 &&
	    enabled)
		(void)run(&j, &s, &err);
	if (!enabled)
		app_note("SCR_ENABLE is 0: nothing is done");
	if (app_json()) {
		struct json *facts = json_new_object();

		json_set_str(facts, "prefix", j.prefix);
		json_set_str(facts, "job_id", j.id);
		json_set_bool(facts, "enabled", enabled);
		app_answer(facts);
	}
	job_close(&j);
	return app_finish(app_report(STATUS_OK, &err));
}
