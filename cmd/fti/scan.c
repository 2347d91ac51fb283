/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.c - verb scan of scr_fti: the checkpoints below a directory.
 */
#include <inttypes.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/renew.h"
#include "ftijob/rewind.h"
#include "ftijob/set.h"
#include "json.h"
#include "report/fti.h"
#include "report/hint.h"

int
fti_run_scan(const struct app_call *call)
{
	struct fti_sets_options o = { .heads = false };
	struct fti_next n = { .geometry = &o };
	struct fti_rewind r;
	uint64_t jobs = 0;
	bool files = false;
	char next[FTI_NEXT_MAX] = "";
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_FLAG(0, "checksums", &n.checksums,
			 "read all data and compare checksums"),
		OPT_FLAG(0, "files", &files, "list the files of each rank"),
		FTI_GEOMETRY_OPTIONS(o),
		FTI_WORK_OPTIONS(&jobs),
	};
	struct work w = { APP_WORK };
	struct error err = ERROR_INIT;
	struct fti_sets s = { .count = 0 };
	struct buf out = BUF_INIT;
	int count = 0, status = STATUS_OK, rc = 0;
	char **args = fti_start(call, opts, &count);

	n.dir = fti_one_dir(args, count);

	rc = app_work_start(&w, jobs, "scr_fti", &err);
	if (rc == 0)
		rc = fti_open_sets(&s, n.dir, &o, &w, &err);
	for (size_t i = 0; rc == 0 && i < s.count; i++)
		rc = fti_set_examine(&s, &s.list[i], n.checksums, &w, &err);
	/* What is promised was tried. */
	for (size_t i = 0; rc == 0 && i < s.count && n.checksums; i++)
		rc = fti_rebuild_try(&s, &s.list[i], &w, &err);
	app_work_end(&w);
	if (rc == 0) {
		fti_next(&n, &s, next);
		/* A restart that was interrupted comes first. */
		if (fti_rewind_find(&r, s.tree.fd, s.tree.root, NULL) == 1 &&
		    r.state != FTI_REWIND_DONE) {
			app_warn("%s: %s a restart from checkpoint %" PRIu32
				 " was interrupted",
				 s.tree.root,
				 r.state == FTI_REWIND_UNDOING ? "undoing"
							       : "preparing",
				 r.id);
			report_command("scr_fti restart --undo", NULL,
				       s.tree.root, next, sizeof(next));
		}
		fti_rewind_free(&r);
	}
	if (rc == 0 && app_json()) {
		struct json *j = json_new_object();

		json_set_str(j, "root", s.tree.root);
		json_set(j, "executions", report_fti_sets_json(&s, files));
		json_set_known_str(j, "next", next);
		app_answer(j);
	} else if (rc == 0) {
		report_fti_sets(&s, &out);
		for (size_t i = 0; files && i < s.count; i++) {
			buf_printf(&out, "\n%s %s, checkpoint %u\n",
				   s.list[i].exec,
				   fti_levels[s.list[i].level].name,
				   s.list[i].id);
			report_fti_ranks(&s.list[i], &out);
		}
		app_next(next);
		status = app_print_unless_quiet(&out);
	} else {
		status = app_report(STATUS_OK, &err);
	}
	for (size_t i = 0; rc == 0 && i < s.count; i++) {
		const struct fti_set *set = &s.list[i];

		status = error_worse_status(
			status, error_status(fti_set_states[set->state].error));
		if (set->no_topology != NULL)
			status = error_worse_status(status, STATUS_DAMAGED);
	}
	fti_sets_free(&s);
	return status;
}
