/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/sets.h"

#include <stdbool.h>

#include "arena.h"
#include "error.h"

#define ALONE UINT32_MAX

/* All sets, in the order in which they are made. */
struct forming {
	const struct sets_job *j;
	uint32_t *set_of;  /* by rank; ALONE: none yet */
	uint32_t *members; /* by set: their number */
	uint32_t nsets;
	uint32_t *turn;	 /* by rank: its number within its group */
	uint32_t *order; /* ranks by turn, then by rank */
	uint32_t *start; /* by turn: where it starts in `order`; nranks + 1 */
	uint32_t turns;	 /* the largest group's ranks */
};

/* --- Columns: the n-th rank of each group --- */

static int
make_columns(struct forming *f, struct arena *a, struct error *err)
{
	const uint32_t n = f->j->nranks;
	uint32_t *size = arena_alloc(a, n, sizeof(*size));

	f->turn = arena_alloc(a, n, sizeof(*f->turn));
	f->order = arena_alloc(a, n, sizeof(*f->order));
	f->start = arena_alloc(a, (size_t)n + 1, sizeof(*f->start));
	if (size == NULL || f->turn == NULL || f->order == NULL ||
	    f->start == NULL)
		return error_no_memory(err);
	for (uint32_t r = 0; r < n; r++) {
		f->turn[r] = size[f->j->group[r]]++;
		f->start[f->turn[r] + 1]++;
		if (f->turn[r] >= f->turns)
			f->turns = f->turn[r] + 1;
	}
	for (uint32_t t = 0; t < f->turns; t++)
		f->start[t + 1] += f->start[t];
	for (uint32_t r = 0; r < n; r++)
		size[r] = 0;
	for (uint32_t r = 0; r < n; r++)
		f->order[f->start[f->turn[r]] + size[f->turn[r]]++] = r;
	return 0;
}

/* Losses that a set of any size should tolerate. */
static uint32_t
asked(const struct sets_job *j)
{
	return j->type == REDSET_RS ? j->failures : 1;
}

/* --- Remaining ranks --- */

/* `ranks` are all of one group, larger than all others.  Give each a set that
 * has no member of the group; `taken` has a flag for each set. */
static void
place_rest(struct forming *f, const uint32_t *ranks, uint32_t n, bool *taken)
{
	const uint32_t group = f->j->group[ranks[0]];
	const uint32_t limit = redset_format(f->j->type)->limit;
	uint32_t set = 0;

	for (uint32_t r = 0; r < f->j->nranks; r++)
		if (f->j->group[r] == group && f->set_of[r] != ALONE)
			taken[f->set_of[r]] = true;
	for (uint32_t i = 0; i < n; i++) {
		while (set < f->nsets &&
		       (taken[set] ||
			(limit != 0 &&
			 f->members[set] + f->j->failures >= limit)))
			set++;
		if (set == f->nsets)
			return;
		f->set_of[ranks[i]] = set;
		f->members[set++]++;
	}
}

static int
form(struct forming *f, struct arena *a, struct error *err)
{
	const uint32_t n = f->j->nranks;
	const uint32_t least =
		f->j->size > asked(f->j) ? f->j->size : asked(f->j) + 1;
	bool *taken = NULL;
	uint32_t t = 0;

	f->set_of = arena_alloc(a, n, sizeof(*f->set_of));
	f->members = arena_alloc(a, n, sizeof(*f->members));
	if (f->set_of == NULL || f->members == NULL)
		return error_no_memory(err);
	for (uint32_t r = 0; r < n; r++)
		f->set_of[r] = ALONE;
	if (!redset_is_redundant(f->j->type))
		return 0;
	if (make_columns(f, a, err) < 0)
		return -1;
	/* Cut each column into sets of consecutive ranks.  Columns get shorter;
	 * those of one rank are all of one group. */
	for (; t < f->turns && f->start[t + 1] - f->start[t] > 1; t++) {
		const uint32_t all = f->start[t + 1] - f->start[t];
		const uint32_t count = all / least > 0 ? all / least : 1;
		const uint32_t *rank = f->order + f->start[t];

		for (uint32_t i = 0; i < count; i++) {
			const uint32_t members =
				all / count + (i < all % count);

			for (uint32_t k = 0; k < members; k++)
				f->set_of[*rank++] = f->nsets;
			f->members[f->nsets++] = members;
		}
	}
	if (t == f->turns || f->nsets == 0)
		return 0;
	taken = arena_alloc(a, f->nsets, sizeof(*taken));
	if (taken == NULL)
		return error_no_memory(err);
	place_rest(f, f->order + f->start[t], n - f->start[t], taken);
	return 0;
}

/* --- The answer --- */

/* Losses that a set of `members` tolerates. */
static uint32_t
survives(const struct sets_job *j, uint32_t members)
{
	return asked(j) < members ? asked(j) : members - 1;
}

/* Number the sets by their first ranks, and count the weaker ones. */
static void
number(const struct forming *f, uint32_t rank, uint32_t *number_of,
       struct sets_mine *out)
{
	for (uint32_t i = 0; i < f->nsets; i++)
		number_of[i] = ALONE;
	for (uint32_t r = 0; r < f->j->nranks; r++) {
		const uint32_t set = f->set_of[r];

		if (set == ALONE) {
			if (r == rank)
				out->set = out->sets;
			out->sets++;
			out->alone += redset_is_redundant(f->j->type);
			continue;
		}
		if (number_of[set] == ALONE)
			number_of[set] = out->sets++;
		if (r == rank)
			out->set = number_of[set];
		out->weaker += survives(f->j, f->members[set]) < asked(f->j);
	}
}

int
sets_find(const struct sets_job *j, uint32_t rank, struct arena *a,
	  struct sets_mine *out, struct error *err)
{
	struct forming f = { .j = j };
	uint32_t *number_of = NULL, *ranks = NULL, mine = ALONE;

	*out = (struct sets_mine){ .type = REDSET_SINGLE, .members = 1 };
	if (form(&f, a, err) < 0)
		return -1;
	mine = f.set_of[rank];
	if (mine != ALONE)
		out->members = f.members[mine];
	number_of = arena_alloc(a, (size_t)f.nsets + 1, sizeof(*number_of));
	out->ranks = ranks = arena_alloc(a, out->members, sizeof(*ranks));
	if (number_of == NULL || ranks == NULL)
		return error_no_memory(err);
	number(&f, rank, number_of, out);
	ranks[0] = rank;
	if (mine == ALONE)
		return 0;
	for (uint32_t r = 0, m = 0; r < j->nranks; r++) {
		if (f.set_of[r] != mine)
			continue;
		if (r == rank)
			out->member = m;
		ranks[m++] = r;
	}
	out->failures = survives(j, out->members);
	out->type = j->type == REDSET_RS && out->failures == 1 ? REDSET_XOR
							       : j->type;
	return 0;
}
