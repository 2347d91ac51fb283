/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_reason.c - why a set is lost, in one clause.
 */
#include "arena.h"
#include "rescue/plan_impl.h"

const char *
plan_or_brief(const char *text, const char *brief)
{
	return text != NULL ? text : brief;
}

const char *
plan_explain(const struct plan_set *s, const struct solve_member *losses,
	     const bool *any, struct arena *arena)
{
	static const char brief[] = "too many members are missing";
	uint32_t ranks[PLAN_SET_MAX];
	const char *names = NULL, *text = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if ((any[i] || losses[i].body_lost) &&
		    s->members[i].rank != PLAN_NONE)
			ranks[n++] = s->members[i].rank;
	names = plan_ranks_in(arena, ranks, n);
	if (names == NULL)
		return brief;
	text = scheme_of(s->type)->explain(
		arena,
		&(struct scheme_loss){ names, n, s->n, s->failures, s->type });
	return plan_or_brief(text, brief);
}

const char *
plan_unknown_lists(const struct plan_set *s, const bool *any,
		   struct arena *arena)
{
	uint32_t ranks[PLAN_SET_MAX], all[PLAN_SET_MAX];
	const char *names = NULL, *all_names = NULL, *text = NULL;
	size_t n = 0, nall = 0, nameless = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		bool unknown = !m->list.known &&
			       (any[i] || redset_is_redundant(s->type));

		if (unknown && m->rank == PLAN_NONE)
			nameless++;
		else if (unknown)
			ranks[n++] = m->rank;
		if ((unknown || any[i]) && m->rank != PLAN_NONE)
			all[nall++] = m->rank;
	}
	if (n + nameless == 0)
		return NULL;
	names = plan_ranks_in(arena, ranks, n);
	all_names = plan_ranks_in(arena, all, nall);
	if (names == NULL || all_names == NULL)
		text = NULL;
	else if (nameless > 0)
		text = arena_printf(
			arena,
			"%s%s%s%zu of its %u members are missing, and the "
			"only lists of their files with them",
			nall > 0 ? "ranks " : "", all_names,
			nall > 0 ? " and another " : "", nameless, s->n);
	else if (n == nall)
		text = arena_printf(
			arena,
			"%s %s and the neighbours that hold their lists of "
			"files are missing",
			n == 1 ? "rank" : "ranks", names);
	else
		text = arena_printf(
			arena,
			"ranks %s are missing, and with them the only lists of "
			"files of %s %s",
			all_names, n == 1 ? "rank" : "ranks", names);
	return plan_or_brief(text, "lists of files are lost");
}
