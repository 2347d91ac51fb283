/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.c - the table of the schemes, and helpers with which all of them turn
 * losses into jobs.
 */
#include "scheme/solve.h"

#include <stdio.h>

#include "arena.h"
#include "encode/code.h"
#include "error.h"
#include "mem.h"
#include "scheme/scheme.h"
#include "scheme/scheme_impl.h"

#define ENTRY(NAME, word, ...) &scheme_##word
#define ENTRY_NAME(NAME, word, ...) scheme_##word
extern const struct scheme REDSET_TYPES_ALL(ENTRY_NAME);

const struct scheme *
scheme_of(enum redset_type type)
{
	static const struct scheme *const table[] = { REDSET_TYPES_ALL(ENTRY) };

	return table[type];
}

char *
scheme_made_words(char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (int t = 0; t < REDSET_TYPES && len < size; t++)
		if (scheme_of(t)->chunk != NULL)
			len += (size_t)snprintf(to + len, size - len, "%s%s",
						len > 0 ? "|" : "",
						redset_format(t)->word);
	return to;
}

struct solve_job *
solve_add_job(struct solving *w, uint32_t nin, uint32_t nout, struct error *err)
{
	struct solution *s = w->out;
	struct solve_ref *refs = NULL;
	struct solve_job *j = NULL;

	if (MEM_ROOM(s->jobs, s->njobs, w->jobs_cap))
		refs = arena_alloc(s->arena, (size_t)nin + nout, sizeof(*refs));
	if (refs == NULL)
		return error_no_memory_null(err);
	j = &s->jobs[s->njobs++];
	*j = (struct solve_job){
		.nin = nin,
		.nout = nout,
		.in = refs,
		.out = refs + nin,
	};
	return j;
}

int
solve_add_lost(struct solving *w, const struct solve_ref *at, uint64_t len,
	       struct error *err)
{
	struct solution *s = w->out;

	if (s->nlost > 0) { /* the range may continue the last one */
		struct solve_lost *last = s->lost + s->nlost - 1;

		if (last->member == at->member && last->body == at->body &&
		    last->range.to == at->off) {
			last->range.to += len;
			return 0;
		}
	}
	if (!MEM_ROOM(s->lost, s->nlost, w->lost_cap))
		return error_no_memory(err);
	s->lost[s->nlost++] = (struct solve_lost){
		.member = at->member,
		.body = at->body,
		.range = { .from = at->off, .to = at->off + len },
	};
	return 0;
}

int
solve_keep_recipe(struct solving *w, struct recipe *r, struct error *err)
{
	struct solution *s = w->out;

	if (r == NULL)
		return -1;
	if (!MEM_ROOM(s->recipes, s->nrecipes, w->recipes_cap)) {
		recipe_free(r);
		return error_no_memory(err);
	}
	s->recipes[s->nrecipes++] = r;
	return 0;
}

static int
run(struct solving *w, struct error *err)
{
	*w->out = (struct solution){ .njobs = 0 };
	w->out->arena = arena_new();
	if (scheme_of(w->set->type)->solve(w, err) == 0)
		return 0;
	solution_free(w->out);
	return -1;
}

int
solve(const struct solve_set *set, struct solution *out, struct error *err)
{
	return run(&(struct solving){ .set = set, .out = out }, err);
}

int
solve_check(const struct solve_set *set, enum solve_check where,
	    struct solution *out, struct error *err)
{
	return run(&(struct solving){ .set = set,
				      .out = out,
				      .check = true,
				      .all = where == SOLVE_ALL },
		   err);
}

void
solution_free(struct solution *s)
{
	for (size_t i = 0; i < s->nrecipes; i++)
		recipe_free(s->recipes[i]);
	mem_free(s->recipes);
	mem_free(s->lost);
	mem_free(s->jobs);
	arena_free(s->arena);
	*s = (struct solution){ .njobs = 0 };
}
