/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_protect.c - redundancy for a dataset that has none.
 *
 * The plan gets new sets in which all data are present and every redundancy
 * file is missing; the rebuild then writes these files.  Set g of G has the
 * ranks g, g + G, g + 2 G ...: ranks that share a container or a node are in
 * different sets.
 */
#include <inttypes.h>

#include "arena.h"
#include "error.h"
#include "rescue/plan_impl.h"
#include "str.h"

#define SET_SIZE_DEFAULT 8
#define FAILURES_DEFAULT 2

struct protection {
	struct planner *w;
	enum redset_type type;
	uint32_t nsets, failures;
};

static uint32_t
members_of(const struct protection *t, uint32_t set)
{
	uint32_t n = (uint32_t)t->w->p.nranks;

	return n / t->nsets + (set < n % t->nsets);
}

/* Fail if a set would have too few ranks, or more than can be computed. */
static int
check_sizes(const struct protection *t, struct error *err)
{
	const struct plan *p = &t->w->p;
	const uint32_t nranks = (uint32_t)p->nranks;
	const uint32_t code = scheme_of(t->type)->most;
	const uint32_t most = code == 0 ? PLAN_SET_MAX : code - t->failures;
	const uint32_t least = members_of(t, t->nsets - 1);

	if (least < 2 || least <= t->failures)
		return error_set(err, ERROR_USAGE,
				 "dataset %" PRId64 ": sets of %" PRIu32
				 " ranks cannot tolerate %" PRIu32 " failures",
				 p->id, least, t->failures);
	if (members_of(t, 0) <= most)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "dataset %" PRId64 ": a set of %" PRIu32
			 " ranks is too large for %s with %" PRIu32
			 " %s (at most %" PRIu32 "): set sizes up to %" PRIu32
			 " are possible",
			 p->id, members_of(t, 0), redset_type_name(t->type),
			 str_count(t->failures, "failure"), most,
			 nranks / (1 + (nranks - 1) / most));
}

/* Fail unless all filemaps and data files are present. */
static int
check_data(const struct plan *p, struct error *err)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known || p->ranks[i].map.fate != FATE_KEEP)
			return error_set(err, ERROR_DAMAGED,
					 "dataset %" PRId64
					 ": the filemap of rank %" PRId64
					 " is missing: build it first",
					 p->id, i);
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state != FILE_PRESENT)
			return error_set(
				err,
				p->files[i].fate == FATE_LOST ? ERROR_LOST
							      : ERROR_DAMAGED,
				"%s (rank %" PRIu32
				"): %s: only a whole dataset can be "
				"protected",
				str_shown(p->files[i].path), p->files[i].rank,
				file_state_name(p->files[i].state));
	return 0;
}

/* Fail if the dataset has other sets than those that this run would make.
 * Equal sets come from an interrupted run. */
static int
check_sets(const struct protection *t, struct error *err)
{
	const struct plan *p = &t->w->p;

	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		bool same = s->type == t->type && s->sets == t->nsets &&
			    (s->n == 0 || s->n == members_of(t, s->number - 1));

		for (uint32_t m = 0; m < s->n && same; m++)
			same = s->members[m].rank == PLAN_NONE ||
			       s->members[m].rank ==
				       s->number - 1 + m * t->nsets;
		if (!same)
			return error_set(err, ERROR_USAGE,
					 "dataset %" PRId64
					 ": has redundancy already (%s)",
					 p->id, redset_type_name(s->type));
	}
	return 0;
}

/* --- Sets --- */

static int
make_set(const struct protection *t, uint32_t number, bool map,
	 struct error *err)
{
	struct planner *w = t->w;
	struct plan_set *s = plan_push_set(w, err);
	uint32_t *ranks = NULL;
	int rc = 0;

	if (s == NULL)
		return -1;
	s->map = map;
	s->type = t->type;
	s->number = number + 1;
	s->sets = t->nsets;
	s->failures = t->failures;
	s->n = members_of(t, number);
	s->ranks = ranks = arena_alloc(w->p.arena, s->n, sizeof(*ranks));
	if (ranks == NULL)
		return error_no_memory(err);
	if (plan_add_members(w, s, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		ranks[i] = s->members[i].rank = number + i * t->nsets;
	rc = plan_renew_set(w, (uint32_t)(w->p.nsets - 1), err);
	return rc > 0 ? error_set(err, ERROR_DAMAGED,
				  "dataset %" PRId64 ": set %" PRIu32
				  " of %" PRIu32 " cannot be made",
				  w->p.id, number + 1, t->nsets)
		      : rc;
}

int
plan_protect(struct plan *p, enum redset_type type, uint32_t size,
	     uint32_t failures, struct error *err)
{
	struct protection t = {
		.w = (struct planner *)p,
		.type = type,
		.failures = failures == 0 ? FAILURES_DEFAULT : failures,
	};
	bool whole = true;

	if (scheme_of(type)->chunk == NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: scrkit does not make this redundancy",
				 redset_type_name(type));
	if (redset_format(type)->key == NULL)
		t.failures = redset_format(type)->failures;
	size = size == 0 ? SET_SIZE_DEFAULT : size;
	if (p->nranks <= 0)
		return error_set(err, ERROR_USAGE,
				 "dataset %" PRId64 ": has no ranks", p->id);
	/* No set is smaller than requested, unless there are too few ranks. */
	t.nsets = (uint32_t)p->nranks / size;
	t.nsets = t.nsets == 0 ? 1 : t.nsets;
	if (check_sizes(&t, err) < 0 || check_data(p, err) < 0 ||
	    check_sets(&t, err) < 0)
		return -1;
	for (size_t i = 0; i < p->nsets; i++)
		whole = whole && p->sets[i].n > 0 && !p->sets[i].foreign;
	if (whole && p->verdict == SET_WHOLE && p->nsets == 2 * (size_t)t.nsets)
		return 0; /* all of this redundancy is present */
	for (size_t i = 0; i < p->nsets; i++)
		plan_forget_solution(&p->sets[i]);
	p->nsets = 0;
	for (int64_t i = 0; i < p->nranks; i++)
		p->ranks[i].data_set = p->ranks[i].map_set = PLAN_NONE;
	for (int map = 1; map >= 0; map--)
		for (uint32_t g = 0; g < t.nsets; g++)
			if (make_set(&t, g, map, err) < 0)
				return -1;
	plan_finish(t.w);
	return 0;
}
