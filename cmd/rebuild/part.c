/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part.c - the part of a rebuild that runs on another node.
 */
#include "part.h"

#include <limits.h>

#include "app.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "find/subject.h"
#include "json.h"
#include "lock.h"
#include "rescue/deep.h"
#include "rescue/part.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "str.h"

struct plan *
part_share(const struct part *w, const struct subject *t, struct catalogue *c,
	   int64_t replaced, struct share *out, struct error *err)
{
	const bool sums = w->checksums || replaced > 0;
	const bool shared = w->nodes.list != NULL && !w->look->work.dry_run &&
			    replaced == 0;
	const bool looks = w->checksums || w->look->deep;
	struct plan *p = subject_plan(t, c, sums && !shared, w->look, err);
	char program[PATH_MAX], reader[PATH_MAX];
	int rc = 0;

	if (p == NULL || !shared)
		return p;
	rc = share_open(out, &w->nodes, t->prefix, err);
	out->program = app_beside(program, sizeof(program), "scr_rebuild");
	out->reading.program = app_beside(reader, PATH_MAX, "scr_container");
	out->jobs = out->reading.jobs = w->jobs;
	out->checksums = w->checksums;
	out->deep = w->look->deep;
	if (rc == 0)
		rc = share_out(out, c, t->id, w->look, &p, err);
	if (rc == 0 && out->complete && sums)
		rc = plan_check_kept(p, &w->look->work, err);
	/* Else as if there were no others, but that they read. */
	if (rc < 0 || (looks && (!out->complete || p->verdict == SET_LOST ||
				 p->flaw != NULL))) {
		plan_free(p);
		out->sets = 0;
		w->look->work.help = &out->reading.help;
		p = rc == 0 ? subject_plan(t, c, sums, w->look, err) : NULL;
		w->look->work.help = NULL;
	}
	share_close(out);
	return p;
}

/* Look at the part.  What is found and cannot be decided here is an error: who
 * shares the work out looks again. */
static int
look(const struct part *w, struct catalogue *c, struct plan *p, size_t *sets,
     struct error *err)
{
	const struct work *work = &w->look->work;
	const bool deep =
		w->look->deep || (w->look->compare && !plan_provable(p));
	struct deep_result found = { .nfindings = 0 };
	int rc = 0;

	if (w->checksums)
		rc = plan_check_kept(p, work, err);
	if (rc == 0 && w->checksums)
		rc = catalogue_doubt_record(c, p, w->look, err);
	if (rc == 0)
		rc = rebuild_search(p, deep, w->checksums && work->dry_run,
				    work, &found, err);
	for (size_t i = 0; rc == 0 && i < found.nfindings; i++) {
		const struct deep_finding *f = &found.findings[i];
		struct error why = ERROR_INIT;

		deep_error(p, f, &why);
		if (work->dry_run || deep_is_open(p, f))
			rc = error_pass(err, &why);
		else
			work_say(work, "%s", why.text);
		if (rc == 0 && w->build && f->file != PLAN_NONE)
			plan_sums_forget(p, f->file);
	}
	*sets = found.sets_checked;
	deep_free(&found);
	return rc == 0 && p->flaw != NULL ? plan_error(p, err) : rc;
}

/* Do these sets look as they should?  `what`: what it means that they do
 * not. */
static int
compare(const struct plan *p, const struct crew_part *is, const char *what,
	struct error *err)
{
	char digest[PLAN_DIGEST];

	if (plan_digest(p, is->from, is->to, digest, err) < 0)
		return -1;
	return str_eq(digest, is->digest)
		       ? 0
		       : error_set(err, ERROR_DAMAGED, "%s", what);
}

int
part_run(struct part *w, const struct subject *t, struct catalogue *c,
	 struct error *err)
{
	struct work *work = &w->look->work;
	struct rebuild_result r = { .files = 0 };
	struct crew_part is;
	struct json *answer = NULL;
	struct plan *p = NULL;
	size_t sets = 0;
	int lock = -2, rc = -1;

	app_part_start(work, "scr_rebuild");
	if (!crew_part(w->part, &is) || t->kind != SUBJECT_PREFIX)
		error_set(err, ERROR_USAGE,
			  "--part: not FROM-TO:DIGEST, of a dataset on a "
			  "prefix");
	else
		p = share_plan(c, t->id, w->build, w->look, err);
	if (p != NULL)
		rc = compare(p, &is,
			     "the dataset looks different here, or has changed "
			     "since the work was shared out",
			     err);
	if (rc == 0)
		plan_keep(p, is.from, is.to);
	if (rc == 0 && !work->dry_run) {
		lock = plan_lock_sets(p, app_stop, err);
		rc = lock == -1 ? -1 : 0;
	}
	if (rc == 0)
		rc = look(w, c, p, &sets, err);
	if (rc == 0)
		rc = work->dry_run ? compare(p, &is, "damage was found", err)
				   : share_rebuild(c, p, w->look, &r, err);
	if (p != NULL)
		lock_shares_close(p->places[0].meta_fd, lock);
	if (rc == 0) {
		answer = rebuild_json(&r);
		json_set_u64(answer, "set_count", sets);
	}
	app_part_end(work, answer);
	plan_free(p);
	return rc == 0 ? STATUS_OK : error_status(err->kind);
}
