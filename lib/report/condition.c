/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition.c - check one dataset, on a prefix or in caches, and find the
 * command to run next.
 */
#include "report/condition.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "dir.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "report/containers.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "stop.h"
#include "str.h"

static void
add_problem(void *arg, const char *what)
{
	struct condition *h = arg;

	if (h->problems.len > 0)
		buf_add_char(&h->problems, '\n');
	buf_add_str(&h->problems, what);
}

/* The reason is an error: also say who can do something about it. */
static void
set_reason(struct condition *h, const struct error *why)
{
	struct error said = *why;

	(void)stop_say(&said, h->prefix != NULL ? h->prefix : h->group->dirs[0],
		       h->plan != NULL && h->plan->barred > 0);
	snprintf(h->why, sizeof(h->why), "%s", said.text);
}

/* Append the first problem to the reason. */
static void
first_problem(struct condition *h)
{
	const char *text = h->problems.data != NULL ? h->problems.data : "";
	const int len = (int)strcspn(text, "\n");
	const size_t at = strlen(h->why);

	snprintf(h->why + at, sizeof(h->why) - at, "%s%.*s%s",
		 at > 0 ? "; " : "", len > 900 ? 900 : len, text,
		 text[len] == '\n' ? " (and more)" : "");
}

/*
 * The check failed.  Damage of the dataset becomes its status; if it could not
 * be read (no permission, an I/O error), the status is unknown.  Lack of
 * memory, or a stop, fails the call.
 */
static int
could_not(struct condition *h, const struct catalogue_options *o,
	  const struct error *why, struct error *err)
{
	if (why->kind == ERROR_NOMEM || work_stopped(&o->work))
		return error_pass(err, why);
	h->status = error_status(why->kind);
	if (h->status == STATUS_USAGE) /* "give --moved-from" */
		h->status = STATUS_FAILED;
	set_reason(h, why);
	return 0;
}

/* The index entry of a dataset; only its id if there is none. */
static struct index_entry
entry_of(const struct overview *s, int64_t id)
{
	struct index_entry e;

	if (s->index == NULL || index_find_id(s->index, id, &e, NULL) < 0)
		e = (struct index_entry){ .id = id, .complete = -1 };
	return e;
}

static void
judge_plan(struct condition *h)
{
	const enum error_remedy mend = catalogue_plan_mend(h->plan);
	struct error why = ERROR_INIT;

	h->status = plan_data_status(h->plan);
	h->mend = h->plan->unproved != NULL		     ? REMEDY_PARTIAL
		  : h->group == NULL || mend == REMEDY_INDEX ? mend
							     : REMEDY_NONE;
	if (plan_status(h->plan) == STATUS_DAMAGED && h->plan->flaw == NULL)
		snprintf(h->why, sizeof(h->why),
			 "%s missing or damaged, can be rebuilt",
			 report_lacks(h->plan));
	else if (plan_error(h->plan, &why) < 0)
		set_reason(h, &why);
}

static int
look_closer(struct condition *h, const struct catalogue_options *o,
	    struct error *err)
{
	struct error why = ERROR_INIT;

	if (h->plan == NULL || !(o->deep || o->checksums))
		return 0;
	if (rebuild_search(h->plan, o->deep, o->checksums, &o->work, &h->deep,
			   err) < 0)
		return -1;
	h->deep_done = o->deep;
	if (h->deep.nfindings > 0 && h->plan->unproved == NULL)
		h->mend = REMEDY_INDEX;
	for (size_t i = 0; i < h->deep.nfindings; i++) {
		deep_error(h->plan, &h->deep.findings[i], &why);
		if (h->status == STATUS_OK)
			snprintf(h->why, sizeof(h->why), "%s", why.text);
		h->status =
			error_worse_status(h->status, error_status(why.kind));
		if (deep_is_open(h->plan, &h->deep.findings[i]))
			h->mend = REMEDY_NONE;
	}
	/* With what it found, more may be lost. */
	h->status = error_worse_status(h->status, plan_data_status(h->plan));
	return 0;
}

static unsigned
plan_flags(const struct catalogue_options *o)
{
	return (o->deep ? PLAN_HEADERS : PLAN_SCHEMES) |
	       (o->checksums ? PLAN_CHECKSUMS : 0u);
}

/* --- The command to run next --- */

/* Set h->next of a dataset on a prefix; "": there is nothing to do. */
static void
find_next(const struct overview *s, const struct catalogue_options *o,
	  struct condition *h)
{
	const struct overview_entry *e = h->entry;
	/* NULL: more is wrong than the plan has. */
	const struct plan *plan =
		h->problems.len == 0 && h->deep.nfindings == 0 ? h->plan : NULL;
	struct next_case n = {
		.status = h->status,
		.absent = h->absent,
		.deep = o->deep || h->deep.nfindings > 0,
		.checksums = o->checksums,
		/* A rebuild does not write a damaged index. */
		.rebuild = plan != NULL && !s->remade &&
			   plan_status(plan) == STATUS_DAMAGED,
		.kept = h->status == STATUS_DAMAGED && h->deep.nfindings == 0 &&
			(h->plan != NULL
				 ? plan_data_status(h->plan) != STATUS_LOST
				 : h->containers != NULL),
		.packed = h->packed || h->containers != NULL,
		/* A rebuild does not decide which witness is right. */
		.remedy = h->plan != NULL && h->plan->flaw != NULL ? REMEDY_NONE
								   : h->mend,
		.undecided = h->plan != NULL && deep_stuck(h->plan, &h->deep),
		.searched = s->searched,
		.nameless = h->plan != NULL ? h->plan->maps_lost > 0 ||
						      h->plan->unfinished
					    : h->verify.nameless,
		.way = h->verify.way,
	};

	h->next[0] = '\0';
	if (h->plan != NULL)
		plan_find_way(h->plan, &n.way);
	if (h->status == STATUS_OK)
		h->namesake = catalogue_namesake(s->catalogue, s->index, h->id);
	if (h->namesake > 0)
		snprintf(h->why, sizeof(h->why),
			 "not in the index: dataset %" PRId64 " has its name",
			 h->namesake);
	if (h->status == STATUS_FAILED && h->plan != NULL &&
	    report_chmod(h->plan, h->next)[0] != '\0')
		return;
	/* Of an index that cannot be read, the dataset may have an entry.  Of a
	 * dataset in the caches of a job there may be a newer one. */
	if ((h->status == STATUS_OK && s->unread) ||
	    (h->absent && e->in_cache && !e->flushing && s->newest[0] > h->id &&
	     e->desc.is_ckpt && !e->desc.is_output))
		return;
	/* A scavenge looks for the files. */
	if (!s->searched && h->absent && (e->in_cache || e->flushing))
		report_scavenge(h->prefix, NULL, h->next);
	else
		report_next_step(s->catalogue, s->index, h->id, &n, h->next);
}

bool
condition_buildable(const struct condition *h)
{
	return h->status == STATUS_OK && !h->absent && h->namesake == 0;
}

void
condition_next_remade(const struct overview *s, int64_t whole,
		      struct condition *h)
{
	if (s->remade && whole > 0 && h->next[0] == '\0')
		report_next(REMEDY_INDEX, s->catalogue, whole, h->next);
}

/* --- Containers --- */

int
condition_check_containers(struct overview *s,
			   const struct catalogue_options *o,
			   struct condition *h, struct error *err)
{
	const int scr = catalogue_scr_fd(s->catalogue);
	struct error why = ERROR_INIT;
	struct stat st;

	if (h->entry == NULL || !h->entry->has_dir)
		return 0;
	/* An unreadable map is not reported here: the check of the dataset's
	 * files reports it. */
	if (h->containers == NULL && scr >= 0 &&
	    dir_stat(scr,
		     str_printed(96, DATASET_DIR_FMT "/" SEGMAP_DIR, h->id),
		     &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		h->containers = containers_open(s->catalogue,
						word_id_str(h->id), o, &why);
	if (why.kind == ERROR_NOMEM || why.kind == ERROR_SYSTEM)
		return error_pass(err, &why);
	if (h->containers == NULL)
		return 0;
	if (!h->containers->looked &&
	    containers_look(h->containers, h->plan, o, NULL, err) < 0)
		return -1;
	if (h->containers->damaged > 0 && h->status == STATUS_OK) {
		h->status = STATUS_DAMAGED;
		snprintf(h->why, sizeof(h->why),
			 "%zu of %zu containers damaged, but no file in them "
			 "is known to be damaged",
			 h->containers->damaged, h->containers->count);
		find_next(s, o, h);
	}
	return 0;
}

/* --- On a prefix --- */

/* Verify the dataset: it may be less, or more, than its plan shows. */
static int
check_files(struct overview *s, const struct catalogue_options *o,
	    struct condition *h, struct error *err)
{
	const struct verify_listener problems = { add_problem, h };
	const struct index_entry e = entry_of(s, h->id);
	struct error why = ERROR_INIT;

	buf_clear(&h->problems);
	h->why[0] = '\0';
	if (catalogue_verify(s->catalogue, &e, o, &problems, &h->verify, &why) <
	    0)
		return could_not(h, o, &why, err);
	h->status = h->verify.status;
	h->mend = h->verify.mend;
	h->packed = h->verify.fetch.packed;
	first_problem(h);
	return 0;
}

/* The files are there, or can be rebuilt.  If the index claims that the dataset
 * is complete, a job must be able to restart from it, too. */
static int
check_metadata(struct overview *s, const struct overview_entry *e,
	       struct condition *h, struct error *err)
{
	const struct verify_listener problems = { add_problem, h };
	const struct catalogue_options quiet = { .index = s->index };
	const struct index_entry k = entry_of(s, h->id);
	struct verify_result r = { .status = STATUS_OK };
	char flaw[ERROR_TEXT_MAX];
	int64_t replaced = 0;

	if (!e->indexed || !e->finished) {
		if (catalogue_replaced(s->catalogue, h->id, &quiet, &replaced,
				       err) < 0)
			return -1;
	}
	if ((e->indexed && e->finished) || replaced > 0 || k.replaced > 0) {
		if (catalogue_verify_plan(s->catalogue, &k, h->plan, &problems,
					  &r, err) < 0)
			return -1;
		h->packed = r.fetch.packed;
	} else {
		/* Only the containers have to be right. */
		r.mend = catalogue_map_flaw(h->plan, flaw, sizeof(flaw));
		if (r.mend == REMEDY_NONE)
			return 0;
		r.status = STATUS_DAMAGED;
		add_problem(h, flaw);
	}
	if (r.status != STATUS_OK) {
		first_problem(h);
		/* Files are rebuilt before the map is written again. */
		if (plan_status(h->plan) == STATUS_DAMAGED &&
		    r.mend != REMEDY_NONE)
			r.mend = REMEDY_INDEX;
		h->mend = r.mend;
	}
	h->status = error_worse_status(h->status, r.status);
	return 0;
}

static int
check_dir(struct overview *s, const struct overview_entry *e,
	  const struct catalogue_options *o, struct condition *h,
	  struct error *err)
{
	struct catalogue_options quiet = *o;
	struct error why = ERROR_INIT;

	quiet.work.log = NULL; /* the plan has reported already */
	h->plan = catalogue_plan(s->catalogue, e->id, plan_flags(o), o, &why);
	if (h->plan == NULL && why.kind == ERROR_ABSENT) {
		h->absent = e->indexed && !e->finished;
		return h->absent ? 0 : check_files(s, &quiet, h, err);
	}
	if (h->plan == NULL)
		return could_not(h, o, &why, err);
	judge_plan(h);
	if (h->status == STATUS_OK || h->status == STATUS_DAMAGED)
		return check_metadata(s, e, h, err) < 0
			       ? -1
			       : look_closer(h, o, err);
	/* A directory may have been renamed: check before reporting a loss. */
	if (check_files(s, &quiet, h, err) < 0)
		return -1;
	if (h->status != plan_data_status(h->plan)) {
		plan_free(h->plan);
		h->plan = NULL;
		return 0;
	}
	judge_plan(h);
	return look_closer(h, o, err);
}

int
condition_check(struct overview *s, const struct overview_entry *e,
		const struct catalogue_options *o, struct condition *out,
		struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	*out = (struct condition){
		.id = e->id,
		.entry = e,
		.prefix = catalogue_path(s->catalogue),
	};
	if (e->has_dir) {
		rc = check_dir(s, e, o, out, &why);
		if (rc == 0 && o->checksums)
			rc = condition_check_containers(s, o, out, &why);
	} else if (!e->indexed || !e->valid) {
		/* Never flushed, or given up by the job: no files are
		 * expected. */
		out->absent = true;
	} else if (e->name == NULL ||
		   !packed_is_old(catalogue_prefix_fd(s->catalogue), e->name)) {
		rc = check_files(s, o, out, &why);
	} else {
		rc = condition_check_old(s, word_id_str(e->id), o, out, &why);
		if (rc == 0) {
			out->id = e->id;
			out->entry = e;
		}
	}
	if (rc < 0 && could_not(out, o, &why, err) < 0)
		return -1;
	find_next(s, o, out);
	return 0;
}

int
condition_check_old(struct overview *s, const char *word,
		    const struct catalogue_options *o, struct condition *out,
		    struct error *err)
{
	const struct verify_listener flaws = { add_problem, out };
	struct error why = ERROR_INIT;
	struct containers *k = containers_open(s->catalogue, word, o, &why);
	const struct containers_part *data = NULL;
	struct overview_entry *e = NULL;

	*out = (struct condition){ .containers = k };
	if (k == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (k == NULL || k->packed.layout != 1)
		return overview_find(s, word, err) == NULL
			       ? -1
			       : error_set(err, ERROR_ABSENT,
					   "%s: not of SCR 1.1", word);
	e = arena_alloc(k->packed.arena, 1, sizeof(*e));
	out->id = k->packed.id;
	out->prefix = catalogue_path(s->catalogue);
	*e = (struct overview_entry){
		.id = out->id,
		.name = k->packed.name,
		.reason = "",
		.has_dir = true,
	};
	out->entry = e;
	if (containers_look(k, NULL, o, &flaws, err) < 0)
		return -1;
	out->verify = (struct verify_result){
		.files = k->health.files,
		.bad_files = k->health.files_bad,
		.bytes = k->health.bytes,
	};
	data = &k->parts[0];
	/* Without redundancy, damaged bytes of a file are lost.  Damage outside
	 * of all files is not a loss. */
	if (k->health.files_bad > 0)
		out->status = STATUS_LOST;
	for (size_t i = 0; out->problems.len > 0 && i < data->map->nsegs; i++)
		if (data->map->segs[i].gone)
			out->status = STATUS_LOST;
	if (out->problems.len > 0)
		out->status = error_worse_status(out->status, STATUS_DAMAGED);
	if (k->health.unread > 0)
		out->status = error_worse_status(out->status, STATUS_FAILED);
	out->verify.status = out->status;
	first_problem(out);
	return 0;
}

/* --- In caches --- */

int
condition_check_group(const struct locate_group *g, const char *prefix,
		      const struct catalogue_options *o, struct condition *out,
		      struct error *err)
{
	const struct plan_options po = {
		.flags = plan_flags(o),
		.moved_from = o->moved_from,
		.work = &o->work,
	};
	struct next_case n = { .deep = o->deep, .checksums = o->checksums };
	struct error why = ERROR_INIT;
	int rc = 0;

	*out = (struct condition){ .id = g->id, .group = g, .prefix = prefix };
	out->plan = plan_caches(g->dirs, g->ndirs, &po, &why);
	if (out->plan == NULL) {
		rc = could_not(out, o, &why, err);
	} else {
		judge_plan(out);
		rc = look_closer(out, o, err);
	}
	/* The next step.  Without a plan, the reason says what stands in the
	 * way. */
	if (out->status == STATUS_OK ||
	    (out->status == STATUS_FAILED &&
	     (out->plan == NULL ||
	      report_chmod(out->plan, out->next)[0] != '\0')))
		return rc;
	if (out->plan != NULL)
		plan_find_way(out->plan, &n.way);
	if (out->status == STATUS_FAILED)
		n.remedy = REMEDY_LOOK;
	else if (out->mend != REMEDY_NONE)
		n.remedy = REMEDY_REBUILD;
	report_next_dirs(&n, g->dirs, g->ndirs, prefix, out->next);
	return rc;
}

void
condition_fini(struct condition *h)
{
	if (h->deep_done)
		deep_free(&h->deep);
	plan_free(h->plan);
	buf_free(&h->problems);
	containers_free(h->containers);
	h->plan = NULL;
	h->containers = NULL;
	h->deep_done = false;
}

const char *
condition_state(const struct condition *h)
{
	if (h->absent && h->entry != NULL && h->entry->in_cache)
		return "in cache";
	return h->absent ? "unfinished" : report_state(h->status);
}
