/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/sets.h"

#include <stdbool.h>

#include "arena.h"
#include "error.h"

#define ALONE UINT32_MAX

/* Losses that a set of any size should tolerate. */
static uint32_t
asked(const struct sets_job *j)
{
	return j->type == REDSET_RS ? j->failures : 1;
}

/* Losses that a set of `members` tolerates. */
static uint32_t
survives(const struct sets_job *j, uint32_t members)
{
	return asked(j) < members ? asked(j) : members - 1;
}

/* Make the sets: set_of[r] is that of rank r, or stays ALONE; members[s] is the
 * number of members of set s.  *nsets of them. */
static int
form(const struct sets_job *j, struct arena *a, uint32_t *set_of,
     uint32_t *members, uint32_t *nsets, struct error *err)
{
	const uint32_t n = j->nranks;
	const uint32_t limit = redset_format(j->type)->limit;
	const uint32_t least = j->size > asked(j) ? j->size : asked(j) + 1;
	/* The column of turn t has the t-th rank of each group: by rank its
	 * turn, the ranks by turn, and where each turn starts there. */
	uint32_t *turn = arena_alloc(a, n, sizeof(*turn));
	uint32_t *order = arena_alloc(a, n, sizeof(*order));
	uint32_t *start = arena_alloc(a, (size_t)n + 1, sizeof(*start));
	uint32_t *size = arena_alloc(a, n, sizeof(*size));
	bool *taken = arena_alloc(a, n, sizeof(*taken)); /* by set */
	uint32_t turns = 0, t = 0, group = 0, set = 0;

	if (turn == NULL || order == NULL || start == NULL || size == NULL ||
	    taken == NULL)
		return error_no_memory(err);
	for (uint32_t r = 0; r < n; r++) {
		turn[r] = size[j->group[r]]++;
		start[turn[r] + 1]++;
		if (turn[r] >= turns)
			turns = turn[r] + 1;
	}
	for (t = 0; t < turns; t++)
		start[t + 1] += start[t];
	for (uint32_t r = 0; r < n; r++)
		size[r] = 0;
	for (uint32_t r = 0; r < n; r++)
		order[start[turn[r]] + size[turn[r]]++] = r;
	/* Cut each column into sets of consecutive ranks.  Columns get shorter;
	 * those of one rank are all of one group. */
	for (t = 0; t < turns && start[t + 1] - start[t] > 1; t++) {
		const uint32_t all = start[t + 1] - start[t];
		const uint32_t count = all / least > 0 ? all / least : 1;
		const uint32_t *rank = order + start[t];

		for (uint32_t i = 0; i < count; i++) {
			members[*nsets] = all / count + (i < all % count);
			for (uint32_t k = 0; k < members[*nsets]; k++)
				set_of[*rank++] = *nsets;
			++*nsets;
		}
	}
	if (t == turns)
		return 0;
	/* The remaining ranks are of one group, larger than all others: each
	 * joins a set that has no member of the group. */
	group = j->group[order[start[t]]];
	for (uint32_t r = 0; r < n; r++)
		if (j->group[r] == group && set_of[r] != ALONE)
			taken[set_of[r]] = true;
	for (uint32_t i = start[t]; i < n; i++) {
		while (set < *nsets &&
		       (taken[set] ||
			(limit != 0 && members[set] + j->failures >= limit)))
			set++;
		if (set == *nsets)
			break;
		set_of[order[i]] = set;
		members[set++]++;
	}
	return 0;
}

int
sets_find(const struct sets_job *j, uint32_t rank, struct arena *a,
	  struct sets_mine *out, struct error *err)
{
	const uint32_t n = j->nranks;
	const bool redundant = redset_is_redundant(j->type);
	uint32_t *set_of = arena_alloc(a, n, sizeof(*set_of));
	uint32_t *members = arena_alloc(a, n, sizeof(*members));
	uint32_t *number = arena_alloc(a, n, sizeof(*number)); /* by set */
	uint32_t *ranks = NULL, nsets = 0, mine = ALONE;

	*out = (struct sets_mine){ .type = REDSET_SINGLE, .members = 1 };
	if (set_of == NULL || members == NULL || number == NULL)
		return error_no_memory(err);
	for (uint32_t r = 0; r < n; r++)
		set_of[r] = number[r] = ALONE;
	if (redundant && form(j, a, set_of, members, &nsets, err) < 0)
		return -1;
	/* Number the sets by their first ranks, and count the weaker ones. */
	for (uint32_t r = 0; r < n; r++) {
		const uint32_t set = set_of[r];
		const bool first = set == ALONE || number[set] == ALONE;

		if (set == ALONE)
			out->alone += redundant;
		else
			out->weaker += survives(j, members[set]) < asked(j);
		if (set != ALONE && first)
			number[set] = out->sets;
		if (r == rank)
			out->set = first ? out->sets : number[set];
		out->sets += first;
	}
	mine = set_of[rank];
	if (mine != ALONE)
		out->members = members[mine];
	out->ranks = ranks = arena_alloc(a, out->members, sizeof(*ranks));
	if (ranks == NULL)
		return error_no_memory(err);
	ranks[0] = rank;
	if (mine == ALONE)
		return 0;
	for (uint32_t r = 0, m = 0; r < n; r++) {
		if (set_of[r] != mine)
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
