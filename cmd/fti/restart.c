/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restart.c - verb restart of scr_fti: make an older checkpoint the one that
 * FTI restarts from, and undo that.
 */
#include <inttypes.h>

#include "fti.h"
#include "ftijob/rewind.h"
#include "report/hint.h"
#include "str.h"

/* Steps that are printed without -v. */
#define SHOWN 20

struct restart {
	struct fti_verb v;
	uint64_t select, level;
	const char *exec, *from;
	bool undo;
	/* State. */
	struct fti_sets here, there; /* there: of --from */
	struct fti_rewind r;
};

/* --- Texts --- */

/* An undo comes next. */
static void
set_next(struct restart *c)
{
	report_command("scr_fti restart --undo", NULL, c->v.dir, c->v.next,
		       sizeof(c->v.next));
}

static void
print_steps(struct restart *c)
{
	const size_t most = app_verbosity() > 0 ? SIZE_MAX : SHOWN;
	size_t n = 0;

	for (size_t i = 0; i < c->r.count; i++) {
		const struct fti_step *s = &c->r.steps[i];
		const bool put = s->kind == FTI_STEP_PUT;
		const char *path = put ? s->to : s->from;

		if (s->kind == FTI_STEP_MAKE)
			continue;
		fti_answer_file(&c->v.answer,
				&(struct fti_done){
					.path = path,
					.action = put ? "put" : "hide",
					.from = put ? s->from : NULL,
					.rank = -1,
					.size = put ? (int64_t)s->size : -1,
				});
		if (n++ < most)
			buf_printf(&c->v.out, "  %s %s\n",
				   put ? "put " : "hide", str_shown(path));
	}
	if (n > most)
		buf_printf(&c->v.out, "  and %zu more\n", n - most);
}

static void
print_config(struct restart *c)
{
	if (c->r.config == NULL || fti_rewind_config_ready(&c->r, NULL) == 1)
		return;
	fti_answer_file(&c->v.answer, &(struct fti_done){
					      .path = c->r.config,
					      .action = "change",
					      .rank = -1,
					      .size = -1,
				      });
	buf_printf(&c->v.out, "  set  %s: failure = 1, exec_id = %s\n",
		   str_shown(c->r.config), c->r.exec);
}

/* --- Which checkpoint --- */

/* Examine the candidates, and take the first that is whole, else the first. */
static int
look_in(struct restart *c, struct fti_sets *in, bool outside,
	struct fti_set **best, struct error *err)
{
	for (size_t i = 0; i < in->count; i++) {
		struct fti_set *set = &in->list[i];
		const enum fti_level at =
			set->level == FTI_ARCHIVE ? FTI_L4 : set->level;

		if (set->id != c->select || at > FTI_L4 ||
		    (outside && at != FTI_L4) ||
		    (c->level != 0 && c->level != (uint64_t)at) ||
		    (c->exec != NULL && !str_eq(c->exec, set->exec)))
			continue;
		if (*best != NULL && !str_eq((*best)->exec, set->exec))
			return error_set(err, ERROR_USAGE,
					 "%s: checkpoint %" PRIu32
					 " is of several executions: choose "
					 "with --exec %s or --exec %s",
					 c->v.dir, set->id, (*best)->exec,
					 set->exec);
		if (*best != NULL && (*best)->state == FTI_SET_WHOLE)
			continue;
		if (fti_set_examine(in, set, true, &c->v.work, err) < 0)
			return -1;
		if (*best == NULL || set->state == FTI_SET_WHOLE)
			*best = set;
	}
	return 0;
}

static void
add_ids(const struct restart *c, const struct fti_sets *in, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < in->count && n < SHOWN; i++)
		if (in->list[i].level <= FTI_ARCHIVE &&
		    in->list[i].level != FTI_DCP &&
		    (c->exec == NULL || str_eq(c->exec, in->list[i].exec)))
			buf_printf(out, "%s%" PRIu32 " (%s)",
				   n++ == 0 ? "; there are " : ", ",
				   in->list[i].id,
				   fti_levels[in->list[i].level].name);
}

static int
choose(struct restart *c, const struct fti_set **set,
       const struct fti_tree **from, struct error *err)
{
	struct fti_set *best = NULL;
	struct fti_sets *in = &c->here;
	struct fti_next n = { .geometry = &c->v.o, .checksums = true };
	const bool hidden = c->r.number > 1;
	struct buf ids = BUF_INIT;

	if (look_in(c, &c->here, false, &best, err) < 0)
		return -1;
	if (c->from != NULL && (best == NULL || best->state != FTI_SET_WHOLE)) {
		struct fti_set *other = NULL;

		if (look_in(c, &c->there, true, &other, err) < 0)
			return -1;
		if (other != NULL &&
		    (best == NULL || other->state == FTI_SET_WHOLE)) {
			best = other;
			in = &c->there;
		}
	}
	/* No such checkpoint: say which there are. */
	if (best == NULL) {
		if (hidden)
			set_next(c);
		add_ids(c, &c->here, &ids);
		if (c->from != NULL)
			add_ids(c, &c->there, &ids);
		error_set(err, ERROR_ABSENT,
			  "%s: no checkpoint %" PRIu64 "%s%s", c->v.dir,
			  c->select, ids.data != NULL ? ids.data : "",
			  hidden ? "; an earlier restart has hidden some" : "");
		buf_free(&ids);
		return -1;
	}
	*set = best;
	*from = &in->tree;
	for (size_t i = 0; i < c->here.count; i++) {
		const struct fti_set *h = &c->here.list[i];

		if (best->state != FTI_SET_WHOLE || h->no_topology == NULL ||
		    !str_eq(h->exec, best->exec))
			continue;
		n.dir = c->v.dir;
		(void)fti_next_topology(&n, h, c->v.next);
		return error_set(err, ERROR_DAMAGED,
				 "%s/%s: missing, and FTI stops without it; an "
				 "empty file is enough",
				 c->v.dir, h->no_topology);
	}
	n.dir = in->tree.root;
	return best->state == FTI_SET_WHOLE
		       ? 0
		       : fti_refuse(&n, in, best, c->v.next, err);
}

/* --- Whether it is what FTI takes --- */

/* Would FTI restart from it?  1, 0, -1. */
static int
is_choice(struct restart *c, struct fti_sets *in, struct error *err)
{
	const struct fti_set *best = NULL;
	size_t beside = 0;

	for (size_t i = 0; i < in->count; i++) {
		struct fti_set *set = &in->list[i];

		if (!str_eq(set->exec, c->r.exec) ||
		    (set->level > c->r.level && set->level != FTI_DCP))
			continue;
		beside += set->level == c->r.level;
		if (fti_set_examine(in, set, false, &c->v.work, err) < 0)
			return -1;
	}
	best = fti_sets_choice(in, c->r.exec);
	return best != NULL && best->level == c->r.level &&
	       best->id == c->r.id && beside == 1;
}

/* --- The verb --- */

static int
apply(struct restart *c, struct error *err)
{
	const int fromfd = c->from != NULL ? c->there.tree.fd : -1;
	struct fti_sets now;
	int rc = 0;

	if (fti_rewind_apply(&c->r, fromfd, &c->v.work, err) < 0) {
		set_next(c);
		return -1;
	}
	/* Look again what FTI would take now. */
	rc = fti_open_sets(&now, c->v.dir, &c->v.o, &c->v.work, err);
	if (rc == 0)
		rc = is_choice(c, &now, err);
	fti_sets_free(&now);
	if (rc == 0) {
		set_next(c);
		return error_set(err, ERROR_SYSTEM,
				 "%s: FTI would still not restart from "
				 "checkpoint %" PRIu32,
				 c->v.dir, c->r.id);
	}
	if (rc == 1)
		buf_printf(&c->v.out,
			   "FTI restarts from %s, checkpoint %" PRIu32 "\n",
			   fti_levels[c->r.level].name, c->r.id);
	return rc < 0 ? -1 : 0;
}

static int
select_new(struct restart *c, struct error *err)
{
	const struct fti_set *set = NULL;
	const struct fti_tree *from = NULL;
	const unsigned number = c->r.number + (c->r.state == FTI_REWIND_DONE);
	int ready = 0;
	struct error why = ERROR_INIT;
	struct buf expected = BUF_INIT;
	const char *path = NULL;

	c->r.number = number;
	if (fti_open_sets(&c->here, c->v.dir, &c->v.o, &c->v.work, err) < 0 ||
	    (c->from != NULL &&
	     fti_open_sets(&c->there, c->from, &c->v.o, &c->v.work, err) < 0) ||
	    choose(c, &set, &from, err) < 0)
		return -1;
	fti_rewind_free(&c->r);
	if (fti_rewind_plan(&c->r, number, &c->here.tree, set, from, err) < 0)
		return -1;
	buf_printf(&c->v.out,
		   "checkpoint %" PRIu32 " of %s%s: whole, %zu ranks, %s\n",
		   set->id, fti_levels[c->r.level].name,
		   set->level == FTI_ARCHIVE ? " (archived)" : "", set->nranks,
		   str_size(set->bytes));
	if (set->level <= FTI_L4 && from == &c->here.tree)
		ready = is_choice(c, &c->here, err);
	if (ready == 1)
		ready = fti_rewind_config_ready(&c->r, err);
	if (ready < 0)
		return -1;
	if (ready == 1 && c->r.count == 0) {
		buf_add_str(&c->v.out, "FTI restarts from it already\n");
		return 0;
	}
	print_steps(c);
	print_config(c);
	for (size_t i = 0; path == NULL && i < c->r.count; i++)
		if (c->r.steps[i].kind == FTI_STEP_PUT)
			path = c->r.steps[i].to;
	if (path == NULL && set->ranks[0].parts[FTI_OWN].entry != NULL)
		path = set->ranks[0].parts[FTI_OWN].entry->path;
	if (c->r.config == NULL)
		app_warn("no config.fti below %s: set failure = 1 and "
			 "exec_id = %s in that of the job",
			 c->v.dir, c->r.exec);
	else if (path != NULL &&
		 fti_rewind_looks(&c->r, path, &expected, &why) == 0)
		app_warn("FTI may look elsewhere: %s",
			 expected.data != NULL ? expected.data : "");
	buf_free(&expected);
	return c->v.work.dry_run ? 0 : apply(c, err);
}

static int
undo(struct restart *c, struct error *err)
{
	print_steps(c);
	buf_clear(&c->v.out);
	if (c->v.work.dry_run) {
		buf_printf(&c->v.out,
			   "would undo the restart from checkpoint %" PRIu32
			   ": %zu steps\n",
			   c->r.id, c->r.count);
		return 0;
	}
	if (fti_rewind_undo(&c->r, &c->v.work, err) < 0)
		return -1;
	buf_printf(&c->v.out,
		   "undone: the restart from checkpoint %" PRIu32
		   "; all files are where they were\n",
		   c->r.id);
	return 0;
}

static int
run(void *arg, struct error *err)
{
	struct restart *c = arg;
	const int found = fti_rewind_find(&c->r, c->v.fd, c->v.dir, err);
	int rc = 0;

	if (found < 0) {
		rc = -1;
	} else if (c->undo && found == 0) {
		if (!c->v.work.dry_run)
			fti_rewind_forget(&c->r);
		rc = error_set(err, ERROR_ABSENT,
			       "%s: no restart was prepared here: there is "
			       "nothing to undo",
			       c->v.dir);
	} else if (c->undo) {
		rc = undo(c, err);
	} else if (c->r.state == FTI_REWIND_UNDOING) {
		set_next(c);
		rc = error_set(err, ERROR_USAGE,
			       "%s: undoing a restart was interrupted: "
			       "finish that first",
			       c->v.dir);
	} else if (c->r.state != FTI_REWIND_BEGUN) {
		rc = select_new(c, err);
	} else if (c->r.id != c->select ||
		   (c->exec != NULL && !str_eq(c->exec, c->r.exec)) ||
		   (c->level != 0 && c->level != (uint64_t)c->r.level)) {
		set_next(c);
		rc = error_set(err, ERROR_USAGE,
			       "%s: a restart from checkpoint %" PRIu32
			       " was interrupted: undo it, or select that "
			       "checkpoint again",
			       c->v.dir, c->r.id);
	} else {
		/* Continue the interrupted run. */
		if (c->from != NULL)
			rc = fti_open_sets(&c->there, c->from, &c->v.o,
					   &c->v.work, err);
		if (rc == 0) {
			print_steps(c);
			print_config(c);
		}
		if (rc == 0 && !c->v.work.dry_run)
			rc = apply(c, err);
	}
	return rc;
}

int
fti_run_restart(const struct app_call *call)
{
	struct restart c = { .v.work = { APP_WORK } };
	const struct opt opts[] = {
		OPT_GROUP("What"),
		OPT_U64(0, "select", &c.select, "ID", 1, INT32_MAX,
			"the checkpoint to restart from"),
		OPT_U64(0, "level", &c.level, "N", 1, 4,
			"its level (archived ones: 4)"),
		OPT_STRING(0, "exec", &c.exec, "ID", OPT_ANY, "its execution"),
		OPT_STRING(0, "from", &c.from, "DIR", OPT_DIR,
			   "also look in this archive or backup"),
		OPT_FLAG(0, "undo", &c.undo,
			 "put all files back as they were before"),
		OPT_FLAG('n', "dry-run", &c.v.work.dry_run,
			 "report what would be done"),
		FTI_GEOMETRY_OPTIONS(c.v.o),
		FTI_WORK_OPTIONS(&c.v.jobs, &c.v.work.rate),
	};

	fti_verb_start(&c.v, call, opts);
	if ((c.select != 0) == c.undo)
		app_usage("give --select ID or --undo");
	fti_verb_run(&c.v, true, run, &c);
	fti_rewind_free(&c.r);
	fti_sets_free(&c.here);
	fti_sets_free(&c.there);
	return c.v.status;
}
