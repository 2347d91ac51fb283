/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - assign ranks to redundancy sets (formats.md 6).
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "gen/gen.h"

/* Add a set of `count` ranks. */
static int
add_set(struct gen *g, const uint32_t *ranks, uint32_t count)
{
	struct gen_set *set = &g->sets[g->nsets];

	set->n = count;
	set->ranks = arena_alloc(g->arena, count, sizeof(*ranks));
	if (set->ranks == NULL)
		return -1;
	memcpy(set->ranks, ranks, count * sizeof(*ranks));
	g->nsets++;
	return 0;
}

/* Split ranks that have the same number on their nodes into sets of set_size or
 * slightly more, in order. */
static int
split_across(struct gen *g, const uint32_t *across, uint32_t count)
{
	uint32_t size = g->set_size, groups = count / size, base = count;
	uint32_t larger = 0, at = 0, n = 0;

	if (count == 0)
		return 0;
	if (groups > 0)
		base = size + (count - groups * size) / groups;
	larger = count % base;
	for (; at < count; at += n) {
		n = base + (larger > 0);
		larger -= larger > 0;
		if (add_set(g, across + at, n) < 0)
			return -1;
	}
	return 0;
}

static int
by_first_rank(const void *a, const void *b)
{
	const struct gen_set *x = a, *y = b;

	return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

static void
place_ranks(struct gen *g)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		g->ranks[r].node = g->cyclic
					   ? r % g->nnodes
					   : (uint32_t)((uint64_t)r *
							g->nnodes / g->nranks);
}

/* Make all sets, unordered.  `across` and `local` have room for all ranks. */
static int
make_sets(struct gen *g, uint32_t *across, uint32_t *local)
{
	uint32_t *on_node = NULL, count = 0, most = 0, r = 0, l = 0;

	on_node = arena_alloc(g->arena, g->nnodes, sizeof(*on_node));
	if (on_node == NULL)
		return -1;
	for (r = 0; r < g->nranks; r++) {
		local[r] = on_node[g->ranks[r].node]++;
		most = local[r] >= most ? local[r] + 1 : most;
	}
	for (l = 0; l < most; l++) {
		count = 0;
		for (r = 0; r < g->nranks; r++)
			if (local[r] == l)
				across[count++] = r;
		if (split_across(g, across, count) < 0)
			return -1;
	}
	return 0;
}

static int
check_size(const struct gen *g, const struct gen_set *s, struct error *err)
{
	uint32_t least = g->type == REDSET_SINGLE ? 1
			 : g->type == REDSET_RS	  ? g->failures + 1
						  : 2;

	if (!g->none && s->n < least)
		return error_set(err, ERROR_USAGE,
				 "a set of %u is too small for %s", s->n,
				 redset_type_name(g->type));
	if (g->type == REDSET_RS && s->n + g->failures > 256)
		return error_set(err, ERROR_USAGE, "a set of %u is too large",
				 s->n);
	return 0;
}

int
sets_assign(struct gen *g, struct error *err)
{
	uint32_t *scratch = NULL, r = 0, s = 0, m = 0;

	place_ranks(g);
	g->sets = arena_alloc(g->arena, g->nranks, sizeof(*g->sets));
	scratch =
		arena_alloc(g->arena, 2 * (size_t)g->nranks, sizeof(*scratch));
	if (g->sets == NULL || scratch == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	if (g->type == REDSET_SINGLE || g->none) {
		for (r = 0; r < g->nranks; r++)
			if (add_set(g, &r, 1) < 0)
				return error_set(err, ERROR_NOMEM,
						 "out of memory");
	} else if (make_sets(g, scratch, scratch + g->nranks) < 0) {
		return error_set(err, ERROR_NOMEM, "out of memory");
	}
	qsort(g->sets, g->nsets, sizeof(*g->sets), by_first_rank);
	for (s = 0; s < g->nsets; s++) {
		if (check_size(g, &g->sets[s], err) < 0)
			return -1;
		for (m = 0; m < g->sets[s].n; m++) {
			g->ranks[g->sets[s].ranks[m]].set = s;
			g->ranks[g->sets[s].ranks[m]].member = m;
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
