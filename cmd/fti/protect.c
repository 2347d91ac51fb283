/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * protect.c - verb protect of scr_fti: copies or parity for a checkpoint that
 * has none.
 */
#include <inttypes.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "ftijob/cover.h"
#include "ftijob/set.h"
#include "output.h"
#include "report/fti.h"
#include "str.h"
#include "style.h"

struct settings {
	struct fti_sets_options o;
	struct fti_select select;
	struct work work;
	uint64_t jobs, level;
	const char *dir;
};

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
		     fti_sets_choice(sets, found->exec) != found)) {
			error_set(err, ERROR_USAGE,
				  "%s: has several checkpoints of level 1 or "
				  "4; choose one by --id and --exec",
				  s->dir);
			return NULL;
		}
	if (found == NULL)
		error_set(err, ERROR_ABSENT,
			  "%s: no such checkpoint of level 1 or 4", s->dir);
	return found;
}

static int
print(const struct settings *s, const struct fti_protect *p)
{
	const struct style style = style_of(STDOUT_FILENO);
	struct buf out = BUF_INIT;
	const struct fti_set *best = NULL;
	bool other = false;

	report_fti_protect(p, !s->work.dry_run, &out);
	if (p->count > 0 && (s->work.dry_run || app_verbosity() > 0))
		report_fti_plan_files(p->files, p->count, false, &out);
	/* What FTI restarts from, when the files are there. */
	best = fti_sets_choice(p->sets, p->from->exec);
	other = best != NULL && best->level < p->level;
	buf_printf(&out, "FTI restarts from %s, checkpoint %" PRIu32,
		   fti_level_name(other ? best->level : p->level),
		   other ? best->id : p->from->id);
	if (other)
		buf_printf(&out,
			   "; if files of it are lost, from %s, checkpoint "
			   "%" PRIu32,
			   fti_level_name(p->level), p->from->id);
	buf_add_char(&out, '\n');
	(void)style_dress(&style, &out);
	return app_print_unless_quiet(&out);
}

static int
run(struct settings *s, struct error *err)
{
	struct fti_sets sets = { .count = 0 };
	struct fti_protect p = { .count = 0 };
	struct fti_set *from = NULL;
	int status = STATUS_OK;
	int rc = fti_open_sets(&sets, s->dir, &s->o, &s->work, err);

	for (size_t i = 0; rc == 0 && i < sets.count; i++)
		rc = fti_set_examine(&sets, &sets.list[i], false, &s->work,
				     err);
	if (rc == 0)
		from = choose(s, &sets, err);
	if (from == NULL)
		rc = -1;
	if (rc == 0)
		rc = fti_protect_plan(&p, &sets, from, (enum fti_level)s->level,
				      err);
	if (rc == 0)
		rc = fti_protect_run(&p, &s->work, err);
	if (rc == 0) {
		struct fti_answer a = { .dry_run = s->work.dry_run,
					.bytes_read = p.bytes_read,
					.bytes_written = p.bytes_written };

		fti_answer_plan(&a, "write", p.files, p.count);
		fti_answer_end(&a);
		status = print(s, &p);
	} else {
		status = app_report(STATUS_OK, err);
	}
	fti_protect_fini(&p);
	fti_sets_free(&sets);
	return status;
}

int
fti_run_protect(const struct fti_call *call)
{
	struct settings s = { .work = { APP_WORK } };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_U64(0, "level", &s.level, "N", 2, 3,
			"make copies (2) or parity (3)"),
		OPT_U64(0, "id", &s.select.id, "N", 1, INT32_MAX,
			"the checkpoint with this id"),
		OPT_STRING(0, "exec", &s.select.exec, "ID", OPT_ANY,
			   "one of this execution"),
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

	if (s.level == 0)
		app_usage("no level given: --level 2 makes copies, --level 3 "
			  "parity");
	s.dir = fti_one_dir(args, count);
	if (app_work_start(&s.work, s.jobs, "scr_fti", &err) < 0)
		status = app_report(STATUS_OK, &err);
	else
		status = run(&s, &err);
	app_work_end(&s.work);
	return status;
}
