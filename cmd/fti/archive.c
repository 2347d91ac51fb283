/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * archive.c - verb archive of scr_fti: keep checkpoints of level 4.
 */
#include "ftijob/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/set.h"
#include "json.h"
#include "num.h"
#include "output.h"
#include "path.h"
#include "report/fti.h"
#include "str.h"

struct archive {
	struct fti_verb v;
	uint64_t id, keep;
	const char *exec, *to;
	bool list, copy;
	/* State. */
	struct fti_archive a;
	struct buf name; /* of the archive */
	/* With dry_run: a line for each that would be archived. */
	struct buf fresh;
};

static bool
is_chosen(const struct archive *c, const struct fti_set *set)
{
	return (c->exec == NULL || str_eq(c->exec, set->exec)) &&
	       set->exec[0] != '\0';
}

/* Answer with what is done, or would be: begin a line, and add to the JSON. */
static void
add_set(struct archive *c, const struct fti_set *set, const char *action)
{
	char path[4096];

	buf_printf(&c->v.out, "checkpoint %" PRIu32 " of %s: ", set->id,
		   set->exec);
	snprintf(path, sizeof(path), "%s/%s/" FTI_ARCHIVED "%" PRIu32,
		 c->name.data, set->exec, set->id);
	if (action != NULL)
		fti_answer_file(&c->v.answer,
				&(struct fti_done){
					.path = path,
					.action = action,
					.rank = -1,
					.size = (int64_t)set->bytes,
				});
}

/* --- Keeping --- */

/* Keep what is at level 4.  A checkpoint that is not whole does not stop the
 * others. */
static int
keep_all(struct archive *c, struct error *err)
{
	struct fti_sets in = { .count = 0 };
	int rc = fti_open_sets(&in, c->v.dir, &c->v.o, &c->v.work, err),
	    kept = 0;
	size_t found = 0;

	for (size_t i = 0; rc == 0 && i < in.count; i++) {
		struct fti_set *set = &in.list[i];
		struct error why = ERROR_INIT;

		if (set->level != FTI_L4 || !is_chosen(c, set) ||
		    (c->id != 0 && set->id != c->id))
			continue;
		found++;
		rc = work_go_on(&c->v.work, err);
		if (rc < 0)
			break;
		kept = fti_set_examine(&in, set, true, &c->v.work, &why);
		if (kept == 0 && set->state != FTI_SET_WHOLE)
			kept = fti_refuse(&c->v.at, &in, set, c->v.next, &why);
		if (kept == 0 && !c->v.work.dry_run)
			kept = fti_archive_clean(&c->a, set->exec, &why);
		if (kept == 0)
			kept = fti_archive_keep(&c->a, &in.tree, set,
						&c->v.work, &why);
		if (kept < 0) {
			c->v.status = app_report(c->v.status, &why);
			continue;
		}
		add_set(c, set, kept == 0 ? "keep" : "archive");
		c->v.answer.bytes_written += c->a.bytes;
		if (kept == 0)
			buf_add_str(&c->v.out, "archived already\n");
		else if (c->v.work.dry_run) {
			buf_printf(&c->fresh, "%s\n", set->exec);
			buf_printf(&c->v.out, "would archive %zu %s, %s\n",
				   str_count(c->a.files, "file"),
				   str_size(set->bytes));
		} else
			buf_printf(&c->v.out,
				   "archived: %zu %s linked, %zu copied\n",
				   str_count(c->a.linked, "file"), c->a.copied);
	}
	if (rc == 0 && found == 0)
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no checkpoint%s%s at level 4", c->v.dir,
			       c->id != 0 ? " " : "",
			       c->id != 0 ? num_str(c->id) : "");
	fti_sets_free(&in);
	return rc;
}

/* --- The archive itself --- */

/* Returns 1; 0: there is none yet. */
static int
open_archive(struct archive *c, struct fti_sets *in, struct error *err)
{
	struct error why = ERROR_INIT;

	if (fti_open_sets(in, c->name.data, &c->v.o, &c->v.work, &why) == 0)
		return 1;
	return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
}

static int
list_all(struct archive *c, struct error *err)
{
	struct fti_sets in = { .count = 0 };
	int rc = open_archive(c, &in, err);

	for (size_t i = 0; rc == 1 && i < in.count; i++)
		if (fti_set_examine(&in, &in.list[i], false, &c->v.work, err) <
		    0)
			rc = -1;
	if (rc == 1 && app_json()) {
		struct json *more = json_new_object();

		json_set_str(more, "root", c->name.data);
		json_set(more, "executions", report_fti_sets_json(&in, false));
		c->v.answer.more = more;
	}
	if (rc == 1)
		report_fti_sets(&in, &c->v.out);
	if (rc == 0)
		buf_printf(&c->v.out, "%s: no archived checkpoint\n",
			   c->name.data);
	fti_sets_free(&in);
	return rc < 0 ? -1 : 0;
}

/* Remove all but the newest checkpoints of the archive. */
static int
prune(struct archive *c, struct error *err)
{
	struct fti_sets in = { .count = 0 };
	int rc = open_archive(c, &in, err);

	/* Of each execution.  The last whole one stays, wherever it is. */
	for (size_t first = 0, end = 0; rc == 1 && first < in.count;
	     first = end) {
		const char *exec = in.list[first].exec, *at = c->fresh.data;
		size_t kept = 0, len = 0;
		bool whole = false;

		while (end < in.count && str_eq(in.list[end].exec, exec))
			end++;
		/* Those that would be archived now. */
		for (const char *line = NULL;
		     (line = str_line(&at, &len)) != NULL;)
			kept += len == strlen(exec) &&
				memcmp(line, exec, len) == 0;
		whole = kept > 0;
		for (size_t i = end; rc == 1 && i-- > first;) {
			struct fti_set *set = &in.list[i];

			if ((set->level != FTI_ARCHIVE &&
			     set->level != FTI_L4) ||
			    !is_chosen(c, set))
				continue;
			if (!whole && fti_set_examine(&in, set, true,
						      &c->v.work, err) < 0) {
				rc = -1;
				break;
			}
			if (kept < c->keep) {
				kept++;
				whole = whole || set->state == FTI_SET_WHOLE;
				continue;
			}
			if (!whole && set->state == FTI_SET_WHOLE) {
				whole = true;
				add_set(c, set, NULL);
				buf_add_str(&c->v.out,
					    "stays, as the newest that is "
					    "whole\n");
				continue;
			}
			add_set(c, set, "remove");
			buf_printf(&c->v.out, "%s\n",
				   c->v.work.dry_run ? "would be removed"
						     : "removed");
			if (!c->v.work.dry_run &&
			    fti_archive_remove(&c->a, set->exec, set->id, err) <
				    0)
				rc = -1;
		}
	}
	fti_sets_free(&in);
	return rc < 0 ? -1 : 0;
}

/* --- The verb --- */

static int
run(void *arg, struct error *err)
{
	struct archive *c = arg;
	int rc = 0;

	if (c->to != NULL)
		buf_add_str(&c->name, c->to);
	else
		path_join(&c->name, c->v.dir, FTI_ARCHIVE_DIR, NULL);
	c->a = (struct fti_archive){ .name = c->name.data, .copy = c->copy };
	rc = c->list ? list_all(c, err) : keep_all(c, err);
	/* Nothing is removed unless all that should be kept is. */
	if (rc == 0 && c->keep > 0 && c->v.status == STATUS_OK)
		rc = prune(c, err);
	return rc;
}

int
fti_run_archive(const struct app_call *call)
{
	struct archive c = { .v.work = { APP_WORK }, .v.at.checksums = true };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_U64(0, "id", &c.id, "N", 1, INT32_MAX,
			"only the checkpoint with this id"),
		OPT_STRING(0, "exec", &c.exec, "ID", OPT_ANY,
			   "only those of this execution"),
		OPT_STRING(0, "to", &c.to, "DIR", OPT_DIR,
			   "the archive (default: " FTI_ARCHIVE_DIR
			   " in the directory)"),
		OPT_FLAG(0, "copy", &c.copy, "copy files instead of linking"),
		OPT_U64(0, "keep", &c.keep, "N", 1, INT32_MAX,
			"then remove all but the N newest from the archive"),
		OPT_FLAG(0, "list", &c.list, "only list the archive"),
		OPT_FLAG('n', "dry-run", &c.v.work.dry_run,
			 "report what would be done"),
		FTI_GEOMETRY_OPTIONS(c.v.o),
		FTI_WORK_OPTIONS(&c.v.jobs),
	};

	fti_verb_start(&c.v, call, opts);
	if (c.list && (c.keep > 0 || c.id > 0 || c.copy || c.v.work.dry_run))
		app_usage("--list changes nothing, and takes only --to");
	fti_verb_run(&c.v, !c.list, run, &c);
	buf_free(&c.name);
	buf_free(&c.fresh);
	return c.v.status;
}
