/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part.c - the part of a rebuild that runs on another node.
 */
#include "part.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "find/subject.h"
#include "json.h"
#include "lock.h"
#include "progress.h"
#include "rescue/deep.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "str.h"

struct plan *
part_share(const struct part *w, const struct subject *t, struct catalogue *c,
	   bool sums, struct share *out, struct error *err)
{
	const bool shared = w->nodes.list != NULL && !w->look->work.dry_run;
	struct plan *p = subject_plan(t, c, sums && !shared, w->look, err);
	char program[PATH_MAX];
	int rc = 0;

	if (p == NULL || !shared)
		return p;
	rc = share_open(out, &w->nodes, t->prefix, err);
	out->program = app_beside(program, sizeof(program), "scr_rebuild");
	out->jobs = w->jobs;
	out->partial = w->partial;
	out->checksums = w->checksums;
	out->deep = w->deep;
	if (rc == 0)
		rc = share_out(out, c, t->id, w->look, &p, err);
	if (rc == 0 && sums)
		rc = plan_check_kept(p, &w->look->work, err);
	share_close(out);
	if (rc == 0)
		return p;
	plan_free(p);
	return NULL;
}

/* Who shares the work out has ended, or has given us up: nobody listens. */
static void
beat(void *unused, uint64_t done, uint64_t total)
{
	(void)unused;
	if (printf("progress %" PRIu64 " %" PRIu64 "\n", done, total) < 0 ||
	    fflush(stdout) != 0)
		(void)kill(getpid(), SIGTERM);
}

/* Look at the part, and carry it out.  What is found and cannot be decided here
 * is an error: who shares the work out looks again, at all of it. */
static int
look_and_rebuild(const struct part *w, struct plan *p, const struct work *work,
		 struct json **answer, struct error *err)
{
	const struct rebuild_options o = {
		.work = work,
		.extent = w->partial ? REBUILD_UNPROVED : REBUILD_ALL,
	};
	struct deep_result found = { .nfindings = 0 };
	const bool deep =
		w->deep || (w->compare && !plan_provable(p));
	struct rebuild_result r = { .files = 0 };
	int rc = 0;

	if (w->checksums)
		rc = plan_check_kept(p, work, err);
	if (rc == 0)
		rc = rebuild_search(p, deep, false, work, &found, err);
	for (size_t i = 0; rc == 0 && i < found.nfindings; i++) {
		struct error why = ERROR_INIT;

		deep_error(p, &found.findings[i], &why);
		if (deep_is_open(p, &found.findings[i]))
			rc = error_pass(err, &why);
		else
			work_say(work, "%s", why.text);
		if (rc == 0 && w->build && found.findings[i].file != PLAN_NONE)
			plan_sums_forget(p, found.findings[i].file);
	}
	if (rc == 0)
		rc = rebuild(p, &o, &r, err);
	if (rc == 0 && p->undecided)
		rc = error_set(err, ERROR_DAMAGED,
			       "data and redundancy differ, and it is not clear "
			       "which is wrong");
	if (rc == 0) {
		*answer = rebuild_json(&r);
		json_set_u64(*answer, "set_count", found.sets_checked);
	}
	deep_free(&found);
	return rc;
}

int
part_run(const struct part *w, const struct subject *t, struct catalogue *c,
	 struct error *err)
{
	const struct progress_beat heart = { 1, beat, NULL };
	struct work work = w->look->work;
	const char *expected = NULL;
	char digest[PLAN_DIGEST];
	struct buf line = BUF_INIT;
	struct json *answer = NULL;
	struct plan *p = NULL;
	size_t from = 0, to = 0;
	int lock = -1, rc = -1;

	work.progress = progress_start("scr_rebuild", true, &heart);
	work.detail = work.log;
	if (crew_part(w->part, &from, &to, &expected))
		p = share_plan(c, t->id, w->build, w->look, err);
	else
		error_set(err, ERROR_USAGE, "--part: not FROM-TO:DIGEST");
	if (p != NULL)
		rc = plan_digest(p, from, to, digest, err);
	if (rc == 0 && !str_eq(digest, expected))
		rc = error_set(err, ERROR_DAMAGED,
			       "the dataset looks different here, or has "
			       "changed since the work was shared out");
	if (rc == 0)
		lock = plan_lock_sets(p, from, to, app_stop, err);
	if (rc == 0 && lock != -1) {
		plan_keep(p, from, to);
		rc = look_and_rebuild(w, p, &work, &answer, err);
		lock_shares_close(p->places[0].meta_fd, lock);
	} else {
		rc = -1;
	}
	progress_end(work.progress);
	if (rc == 0) {
		(void)json_line(answer, &line, NULL);
		printf("%s\n", line.data);
		buf_free(&line);
	}
	plan_free(p);
	return rc == 0 ? STATUS_OK : error_status(err->kind);
}
