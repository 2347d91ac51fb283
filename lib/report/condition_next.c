/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_next.c - the command to run next for a dataset that was checked.
 */
#include "report/condition_next.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/condition.h"
#include "report/containers.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "rescue/plan.h"
#include "str.h"

/* Is the dataset in the caches of a job, and a newer one in the index? */
static bool
is_superseded(const struct overview *s, const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	return h->absent && e->in_cache && !e->flushing &&
	       s->newest[0] > h->id && e->desc.is_ckpt && !e->desc.is_output;
}

/* Does a scavenge look for the files? */
static bool
is_elsewhere(const struct overview *s, const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	return !s->searched && h->absent && (e->in_cache || e->flushing);
}

/* Note whether the step is for other datasets, too. */
static void
note_scavenge(struct condition *h)
{
	char all[sizeof(h->next)];

	report_scavenge(h->prefix, NULL, all, sizeof(all));
	h->next_for_all = str_eq(h->next, all);
}

void
condition_next(const struct overview *s, struct condition *h)
{
	/* NULL: more is wrong than the plan has. */
	const struct plan *plan =
		h->problems.len == 0 && h->deep.nfindings == 0 ? h->plan : NULL;
	char obstacle[RENAMED_MAX] = "";
	const struct next_case n = {
		.status = h->status,
		.absent = h->absent,
		/* A rebuild does not write a damaged index. */
		.rebuild = plan != NULL && !s->remade &&
					   plan_status(plan) == STATUS_DAMAGED
				   ? report_check(REPORT_CHECK_REBUILD,
						  h->deep_done, h->checksums)
				   : NULL,
		.kept = h->status == STATUS_DAMAGED && h->deep.nfindings == 0 &&
			(h->plan != NULL
				 ? plan_data_status(h->plan) != STATUS_LOST
				 : h->containers != NULL),
		.packed = h->packed || h->containers != NULL,
		/* A rebuild does not decide which witness is right. */
		.mend = h->plan != NULL && h->plan->flaw != NULL ? NULL
								 : h->mend,
		.undecided = deep_undecided(&h->deep),
		.searched = s->searched,
		.inspected = true,
		.nameless = h->plan != NULL ? h->plan->maps_lost > 0
					    : h->verify.nameless,
		.was = h->verify.was,
		.is = h->verify.is,
		.obstacle = h->plan != NULL ? obstacle : h->verify.obstacle,
		.newest = { s->newest[0], s->newest[1] },
	};

	h->next[0] = '\0';
	if (h->plan != NULL)
		plan_obstacle(h->plan, obstacle, sizeof(obstacle));
	if (h->status == STATUS_OK)
		h->namesake = catalogue_namesake(s->catalogue, s->index, h->id);
	if (h->namesake > 0)
		snprintf(h->why, sizeof(h->why),
			 "not in the index: dataset %" PRId64 " has its name",
			 h->namesake);
	if (h->status == STATUS_FAILED && h->plan != NULL &&
	    report_chmod(h->plan, h->next, sizeof(h->next))[0] != '\0')
		return;
	/* Of an index that cannot be read, the dataset may have an entry. */
	if ((h->status == STATUS_OK && s->unread) || is_superseded(s, h))
		return;
	if (is_elsewhere(s, h))
		report_scavenge(h->prefix, NULL, h->next, sizeof(h->next));
	else
		report_next_step(s->catalogue, s->index, h->id, &n, h->next,
				 sizeof(h->next));
	note_scavenge(h);
}

void
condition_next_group(struct condition *h, const struct catalogue_options *o)
{
	const char *command = NULL;
	char obstacle[RENAMED_MAX] = "";
	const struct next_dirs at = {
		.dirs = h->group->dirs,
		.ndirs = h->group->ndirs,
		.prefix = h->prefix,
		.obstacle = obstacle,
	};

	h->next[0] = '\0';
	if (h->status == STATUS_OK ||
	    (h->status == STATUS_FAILED && h->plan != NULL &&
	     report_chmod(h->plan, h->next, sizeof(h->next))[0] != '\0'))
		return;
	if (h->plan != NULL)
		plan_obstacle(h->plan, obstacle, sizeof(obstacle));
	if (h->status == STATUS_FAILED)
		command = report_check(REPORT_CHECK_INSPECT, o->deep,
				       o->checksums);
	else if (h->mend != NULL)
		command = report_check(REPORT_CHECK_REBUILD, o->deep,
				       o->checksums);
	report_next_dirs(command, &at, h->next, sizeof(h->next));
	note_scavenge(h);
}

void
condition_next_remade(const struct overview *s, int64_t whole,
		      struct condition *h)
{
	if (s->remade && whole > 0 && h->next[0] == '\0')
		report_next(report_check(REPORT_CHECK_BUILD, false, false),
			    s->catalogue, whole, h->next, sizeof(h->next));
}
