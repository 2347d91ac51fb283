/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redundancy.c - verbs protect and archive of scr_fti: copies or parity for a
 * checkpoint that has none; checkpoints of level 4 that are kept.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fti.h"
#include "ftijob/archive.h"
#include "json.h"
#include "num.h"
#include "path.h"
#include "str.h"

struct settings {
	struct fti_verb v;
	struct fti_select select;
	uint64_t level; /* to write */
};

/* --- Protect --- */

static bool
is_candidate(const struct settings *s, const struct fti_set *set)
{
	return (set->level == FTI_L1 || set->level == FTI_L4) &&
	       fti_selects(&s->select, set);
}

/* The checkpoint to protect: the only one, or of several of an execution the
 * one that FTI takes. */
static struct fti_set *
choose(const struct settings *s, struct fti_sets *sets, struct error *err)
{
	struct fti_set *found = NULL;
	bool several = false;

	for (size_t i = 0; i < sets->count; i++) {
		struct fti_set *set = &sets->list[i];

		if (!is_candidate(s, set))
			continue;
		several = several || found != NULL;
		if (found == NULL || fti_sets_choice(sets, set->exec) == set)
			found = set;
	}
	for (size_t i = 0; several && i < sets->count; i++)
		if (is_candidate(s, &sets->list[i]) &&
		    (!str_eq(sets->list[i].exec, found->exec) ||
		     fti_sets_choice(sets, found->exec) != found))
			return error_set_null(
				err, ERROR_USAGE,
				"%s: has several checkpoints of level 1 or "
				"4; choose one by --id and --exec",
				s->v.dir);
	if (found == NULL)
		error_set(err, ERROR_ABSENT,
			  "%s: no such checkpoint of level 1 or 4", s->v.dir);
	return found;
}

static int
run_protect(void *arg, struct error *err)
{
	struct settings *s = arg;
	struct fti_sets sets = { .count = 0 };
	struct fti_rebuild p = { .count = 0 };
	struct buf *out = &s->v.out;
	const struct fti_set *best = NULL;
	bool other = false;
	struct fti_set *from = NULL;
	int rc = 0;

	if (s->level == 0)
		app_usage("no level given: --level 2 makes copies, --level 3 "
			  "parity");
	rc = fti_open_sets(&sets, s->v.dir, &s->v.o, &s->v.work, err);
	for (size_t i = 0; rc == 0 && i < sets.count; i++)
		rc = fti_set_examine(&sets, &sets.list[i], false, &s->v.work,
				     err);
	if (rc == 0)
		from = choose(s, &sets, err);
	/* A dry run finds all that the run would. */
	rc = from == NULL ? -1
			  : fti_set_examine(&sets, from, true, &s->v.work, err);
	if (rc == 0 && from->state != FTI_SET_WHOLE &&
	    from->state != FTI_SET_REFUSED)
		rc = fti_refuse(&s->v.at, &sets, from, s->v.next, err);
	if (rc < 0 ||
	    fti_protect_plan(&p, &sets, from, (enum fti_level)s->level, err) <
		    0 ||
	    fti_protect_run(&p, &s->v.work, err) < 0) {
		rc = -1;
	} else {
		s->v.answer.bytes_read = p.bytes_read;
		s->v.answer.bytes_written = p.bytes_written;
		fti_answer_plan(&s->v.answer, "write", p.files, p.count);
		report_fti_protect(&p, !s->v.work.dry_run, out);
		if (p.count > 0 && (s->v.work.dry_run || app_verbosity() > 0))
			report_fti_plan_files(p.files, p.count, false, out);
		/* What FTI restarts from, when the files are there. */
		best = fti_sets_choice(p.sets, p.set->exec);
		other = best != NULL && best->level < p.level;
		buf_printf(out, "FTI restarts from %s, checkpoint %" PRIu32,
			   fti_levels[other ? best->level : p.level].name,
			   other ? best->id : p.set->id);
		if (other)
			buf_printf(
				out,
				"; if files of it are lost, from %s, checkpoint "
				"%" PRIu32,
				fti_levels[p.level].name, p.set->id);
		buf_add_char(out, '\n');
	}
	fti_rebuild_fini(&p);
	fti_sets_free(&sets);
	return rc;
}

int
fti_run_protect(const struct app_call *call)
{
	struct settings s = { .v.work = { APP_WORK } };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_U64(0, "level", &s.level, "N", 2, 3,
			"make copies (2) or parity (3)"),
		OPT_U64(0, "id", &s.select.id, "N", 1, INT32_MAX,
			"the checkpoint with this id"),
		OPT_STRING(0, "exec", &s.select.exec, "ID", OPT_ANY,
			   "one of this execution"),
		OPT_FLAG('n', "dry-run", &s.v.work.dry_run,
			 "list the files that would be written"),
		FTI_GEOMETRY_OPTIONS(s.v.o),
		FTI_WORK_OPTIONS(&s.v.jobs, &s.v.work.rate),
	};

	fti_verb_start(&s.v, call, opts);
	return fti_verb_run(&s.v, false, run_protect, &s);
}

/* --- Archive --- */

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

static int
run_archive(void *arg, struct error *err)
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
		FTI_WORK_OPTIONS(&c.v.jobs, &c.v.work.rate),
	};

	fti_verb_start(&c.v, call, opts);
	if (c.list && (c.keep > 0 || c.id > 0 || c.copy || c.v.work.dry_run))
		app_usage("--list changes nothing, and takes only --to");
	fti_verb_run(&c.v, !c.list, run_archive, &c);
	buf_free(&c.name);
	buf_free(&c.fresh);
	return c.v.status;
}
