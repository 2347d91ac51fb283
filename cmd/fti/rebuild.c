/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - verb rebuild of scr_fti: missing and damaged files of L2 and L3.
 */
#include <stdio.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/renew.h"
#include "ftijob/set.h"
#include "output.h"
#include "report/fti.h"
#include "str.h"
#include "style.h"

struct settings {
	struct fti_sets_options o;
	struct fti_select select;
	struct work work;
	uint64_t jobs;
	bool checksums;
	struct fti_answer answer;
	struct fti_next next;
	size_t written; /* files, and sums in metadata */
	char line[FTI_NEXT_MAX];
};

static int
print_plan(const struct settings *s, const struct fti_rebuild *r)
{
	const struct style style = style_of(STDOUT_FILENO);
	const bool dry = s->work.dry_run;
	struct buf out = BUF_INIT;

	if (r->count > 0)
		report_fti_plan(r, !dry, &out);
	if (r->sums > 0) {
		report_fti_name(r->set, &out);
		buf_printf(&out, ": %zu damaged %s %s the metadata%s\n",
			   str_count(r->sums, "checksum"),
			   dry ? "in" : "corrected in",
			   dry ? " to correct" : "");
	}
	if (r->count + r->sums == 0) {
		report_fti_name(r->set, &out);
		buf_add_str(&out, ": nothing to rebuild\n");
	}
	if (r->count > 0 && (dry || app_verbosity() > 0))
		report_fti_plan_files(r->files, r->count, true, &out);
	(void)style_dress(&style, &out);
	return app_print_unless_quiet(&out);
}

/* Put the name of the checkpoint before an error. */
static int
report(int status, const struct fti_set *set, struct error *err)
{
	struct buf name = BUF_INIT;

	report_fti_name(set, &name);
	(void)error_wrap(err, "%s", name.data);
	buf_free(&name);
	return app_report(status, err);
}

/* Rebuild one checkpoint.  Returns an exit status. */
static int
rebuild(struct settings *s, struct fti_sets *sets, struct fti_set *set)
{
	struct error err = ERROR_INIT;
	struct fti_rebuild r = { .count = 0 };
	int status = STATUS_OK;

	if (fti_set_examine(sets, set, s->checksums, &s->work, &err) < 0 ||
	    fti_rebuild_plan(&r, sets, set, &s->work, &err) < 0 ||
	    fti_rebuild_run(&r, &s->work, &err) < 0) {
		/* A damaged file has been used: checksums tell which. */
		if (err.kind == ERROR_CORRUPT && !s->checksums) {
			struct fti_next n = s->next;

			n.checksums = true;
			fti_next_rebuild(&n, sets, set, s->line);
		}
		status = report(STATUS_OK, set, &err);
	} else {
		fti_answer_plan(&s->answer, "rebuild", r.files, r.count);
		s->answer.bytes_read += r.bytes_read;
		s->answer.bytes_written += r.bytes_written;
		status = print_plan(s, &r);
		if (r.unread > 0) {
			error_set(&err, ERROR_SYSTEM,
				  "%zu %s could not be read, and stay: %s",
				  str_count(r.unread, "file"), r.why);
			status = report(status, set, &err);
		}
		if (s->work.dry_run && r.count + r.sums > 0)
			status = error_worse_status(status, STATUS_DAMAGED);
		if (s->work.dry_run && r.count + r.sums > 0 &&
		    s->line[0] == '\0')
			fti_next_rebuild(&s->next, sets, set, s->line);
	}
	/* What FTI still refuses is no success. */
	if (status == STATUS_OK && r.count + r.sums == 0 &&
	    set->state != FTI_SET_WHOLE) {
		fti_refuse(&s->next, sets, set, s->line, &err);
		status = app_report(status, &err);
	}
	s->written += s->work.dry_run ? 0 : r.count + r.sums;
	fti_rebuild_fini(&r);
	return status;
}

/* Look at all checkpoints again that were rebuilt. */
static int
confirm(struct settings *s, struct error *err)
{
	struct fti_sets sets = { .count = 0 };
	int status = STATUS_OK;
	int rc = fti_open_sets(&sets, s->next.dir, &s->o, &s->work, err);

	for (size_t i = 0; rc == 0 && i < sets.count; i++) {
		struct fti_set *set = &sets.list[i];
		struct error why = ERROR_INIT;

		if (!fti_selects(&s->select, set) ||
		    (set->level != FTI_L2 && set->level != FTI_L3))
			continue;
		rc = fti_set_examine(&sets, set, s->checksums, &s->work, err);
		if (rc == 0 && set->state != FTI_SET_WHOLE) {
			fti_refuse(&s->next, &sets, set, s->line, &why);
			status = app_report(status, &why);
		}
	}
	fti_sets_free(&sets);
	return rc < 0 ? app_report(status, err) : status;
}

static int
run(struct settings *s, struct error *err)
{
	struct fti_sets sets = { .count = 0 };
	int status = STATUS_OK, rc = 0;
	size_t found = 0;

	rc = fti_open_sets(&sets, s->next.dir, &s->o, &s->work, err);
	for (size_t i = 0; rc == 0 && i < sets.count; i++) {
		struct fti_set *set = &sets.list[i];

		if (!fti_selects(&s->select, set) ||
		    (set->level != FTI_L2 && set->level != FTI_L3))
			continue;
		found++;
		status = error_worse_status(status, rebuild(s, &sets, set));
	}
	if (rc == 0 && found == 0)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no such checkpoint of level 2 or 3",
			       s->next.dir);
	if (rc == 0 && status == STATUS_OK && s->written > 0)
		status = confirm(s, err);
	if (rc == 0 && !app_json() && s->line[0] != '\0') {
		if (status == STATUS_DAMAGED && s->work.dry_run)
			printf("next: %s\n", s->line);
		else
			app_error("next: %s", s->line);
	}
	s->answer.next = s->line[0] != '\0' ? s->line : NULL;
	fti_answer_end(&s->answer);
	fti_sets_free(&sets);
	return rc < 0 ? app_report(status, err) : status;
}

int
fti_run_rebuild(const struct fti_call *call)
{
	struct settings s = { .work = { APP_WORK } };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		FTI_SELECT_OPTIONS(s.select, 2, 3),
		OPT_FLAG(0, "checksums", &s.checksums,
			 "read all data first, to find damage in them"),
		OPT_FLAG('n', "dry-run", &s.work.dry_run,
			 "list the files that would be written"),
		FTI_GEOMETRY_OPTIONS(s.o),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&s.jobs),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **args = fti_start(call, opts, &count);

	s.next = (struct fti_next){ .dir = fti_one_dir(args, count),
				    .geometry = &s.o,
				    .checksums = s.checksums };
	s.answer.dry_run = s.work.dry_run;
	status = app_work_start(&s.work, s.jobs, "scr_fti", &err) < 0
			 ? app_report(STATUS_OK, &err)
			 : run(&s, &err);
	app_work_end(&s.work);
	return status;
}
