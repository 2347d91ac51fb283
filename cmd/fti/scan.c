/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.c - verb scan of scr_fti: the checkpoints below a directory.
 */
#include <inttypes.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/renew.h"
#include "ftijob/rewind.h"
#include "ftijob/set.h"
#include "json.h"
#include "report/fti.h"
#include "report/hint.h"
#include "style.h"

struct scan {
	struct fti_sets_options o;
	uint64_t jobs;
	bool checksums, files;
	char next[FTI_NEXT_MAX];
};

/* A restart that was interrupted comes first. */
static void
look_for_restart(struct scan *c, const struct fti_tree *t)
{
	struct fti_rewind r;

	if (fti_rewind_find(&r, t->fd, t->root, NULL) == 1 &&
	    r.state != FTI_REWIND_DONE) {
		app_warn("%s: %s a restart from checkpoint %" PRIu32
			 " was interrupted",
			 t->root,
			 r.state == FTI_REWIND_UNDOING ? "undoing"
						       : "preparing",
			 r.id);
		report_command("scr_fti restart --undo", NULL, t->root, c->next,
			       sizeof(c->next));
	}
	fti_rewind_free(&r);
}

int
fti_run_scan(const struct fti_call *call)
{
	struct scan c = { .jobs = 0 };
	struct fti_next n = { .geometry = &c.o };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_FLAG(0, "checksums", &c.checksums,
			 "read all data and compare checksums"),
		OPT_FLAG(0, "files", &c.files, "list the files of each rank"),
		FTI_GEOMETRY_OPTIONS(c.o),
		FTI_WORK_OPTIONS(&c.jobs),
	};
	struct work w = { APP_WORK };
	struct error err = ERROR_INIT;
	struct fti_sets s = { .count = 0 };
	const struct style style = style_of(STDOUT_FILENO);
	struct buf out = BUF_INIT;
	int count = 0, status = STATUS_OK, rc = 0;
	char **args = fti_start(call, opts, &count);

	n.dir = fti_one_dir(args, count);
	n.checksums = c.checksums;
	rc = app_work_start(&w, c.jobs, "scr_fti", &err);
	if (rc == 0)
		rc = fti_open_sets(&s, n.dir, &c.o, &w, &err);
	for (size_t i = 0; rc == 0 && i < s.count; i++)
		rc = fti_set_examine(&s, &s.list[i], c.checksums, &w, &err);
	/* What is promised was tried. */
	for (size_t i = 0; rc == 0 && i < s.count && c.checksums; i++)
		rc = fti_rebuild_try(&s, &s.list[i], &w, &err);
	app_work_end(&w);
	if (rc == 0) {
		fti_next(&n, &s, c.next);
		look_for_restart(&c, &s.tree);
	}
	if (rc == 0 && app_json()) {
		struct json *j = json_new_object();

		json_set_str(j, "root", s.tree.root);
		json_set(j, "executions", report_fti_sets_json(&s, c.files));
		json_set_known_str(j, "next", c.next);
		app_answer(j);
	} else if (rc == 0) {
		report_fti_sets(&s, &out);
		for (size_t i = 0; c.files && i < s.count; i++) {
			buf_printf(&out, "\n%s %s, checkpoint %u\n",
				   s.list[i].exec,
				   fti_level_name(s.list[i].level),
				   s.list[i].id);
			report_fti_ranks(&s.list[i], &out);
		}
		app_next(c.next);
		(void)style_dress(&style, &out);
		status = app_print_unless_quiet(&out);
	} else {
		status = app_report(STATUS_OK, &err);
	}
	for (size_t i = 0; rc == 0 && i < s.count; i++) {
		const struct fti_set *set = &s.list[i];

		status = error_worse_status(
			status, error_status(fti_set_error(set->state)));
		if (set->no_topology != NULL)
			status = error_worse_status(status, STATUS_DAMAGED);
	}
	fti_sets_free(&s);
	return status;
}
