/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - assign ranks to redundancy sets (formats.md 6).
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "gen/gen.h"

/* Add a set of `count` ranks. */
static void
add_set(struct gen *g, const uint32_t *ranks, uint32_t count)
{
	struct gen_set *set = &g->sets[g->nsets++];

	set->n = count;
	set->ranks = gen_alloc(g->arena, count, sizeof(*ranks));
	memcpy(set->ranks, ranks, count * sizeof(*ranks));
}

static int
by_first_rank(const void *a, const void *b)
{
	const struct gen_set *x = a, *y = b;

	return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

/* Make all sets, unordered: ranks that have the same number on their nodes are
 * split, in order, into sets of set_size or slightly more. */
static void
make_sets(struct gen *g)
{
	uint32_t *on_node = gen_alloc(g->arena, g->nnodes, sizeof(*on_node));
	uint32_t *local = gen_alloc(g->arena, g->nranks, sizeof(*local));
	uint32_t *across = gen_alloc(g->arena, g->nranks, sizeof(*across));
	uint32_t count = 1;

	for (uint32_t r = 0; r < g->nranks; r++)
		local[r] = on_node[g->ranks[r].node]++;
	for (uint32_t l = 0; count > 0; l++) {
		uint32_t size = g->set_size, base = 0, larger = 0, n = 0;

		count = 0;
		for (uint32_t r = 0; r < g->nranks; r++)
			if (local[r] == l)
				across[count++] = r;
		base = count < size ? count : count / (count / size);
		larger = count > 0 ? count % base : 0;
		for (uint32_t at = 0; at < count; at += n) {
			n = base + (larger > 0);
			larger -= larger > 0;
			add_set(g, across + at, n);
		}
	}
}

int
sets_assign(struct gen *g, struct error *err)
{
	uint32_t least = g->none || g->type == REDSET_SINGLE ? 1
			 : g->type == REDSET_RS		     ? g->failures + 1
							     : 2;

	for (uint32_t r = 0; r < g->nranks; r++)
		g->ranks[r].node = g->cyclic
					   ? r % g->nnodes
					   : (uint32_t)((uint64_t)r *
							g->nnodes / g->nranks);
	g->sets = gen_alloc(g->arena, g->nranks, sizeof(*g->sets));
	if (g->type == REDSET_SINGLE || g->none)
		for (uint32_t r = 0; r < g->nranks; r++)
			add_set(g, &r, 1);
	else
		make_sets(g);
	qsort(g->sets, g->nsets, sizeof(*g->sets), by_first_rank);
	for (uint32_t s = 0; s < g->nsets; s++) {
		const struct gen_set *set = &g->sets[s];

		if (set->n < least)
			return error_set(err, ERROR_USAGE,
					 "a set of %u is too small for %s",
					 set->n, redset_type_name(g->type));
		if (g->type == REDSET_RS && set->n + g->failures > 256)
			return error_set(err, ERROR_USAGE,
					 "a set of %u is too large", set->n);
		for (uint32_t m = 0; m < set->n; m++) {
			g->ranks[set->ranks[m]].set = s;
			g->ranks[set->ranks[m]].member = m;
		}
	}
	return 0;
}

void
sets_desc(const struct gen *g, uint32_t set, uint32_t member,
	  struct redset_desc *out)
{
	*out = (struct redset_desc){
		.type = g->type,
		.enabled = true,
		.set = set,
		.sets = g->nsets,
		.member = member,
		.members = g->sets[set].n,
		.rank = g->sets[set].ranks[member],
		.ranks = g->nranks,
		.failures = g->failures,
	};
}
