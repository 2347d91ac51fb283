/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme_single.c - SINGLE has no redundancy: sets have one member, and
 * redundancy files have no body (formats.md 5.4).
 */
#include "arena.h"
#include "scheme/scheme_impl.h"

static int
solve_single(struct solving *w, struct error *err)
{
	for (uint32_t i = 0; i < w->set->n; i++) {
		const struct solve_member *m = &w->set->member[i];

		for (size_t r = 0; r < m->nlost; r++)
			if (solve_add_lost(w,
					   &(struct solve_ref){
						   i, false, m->lost[r].from },
					   m->lost[r].to - m->lost[r].from,
					   err) < 0)
				return -1;
	}
	return 0;
}

static uint32_t
spare(const struct solve_set *set)
{
	(void)set;
	return 0;
}

static const char *
explain(struct arena *a, const struct scheme_loss *l)
{
	return arena_printf(a, "%s %s missing; SINGLE keeps no redundancy",
			    l->count == 1 ? "rank" : "ranks", l->ranks);
}

const struct scheme scheme_single = {
	.solve = solve_single,
	.spare = spare,
	.explain = explain,
};
