/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme_impl.h - for schemes: adding to a solution (solve.c).
 */
#ifndef SCHEME_SCHEME_IMPL_H
#define SCHEME_SCHEME_IMPL_H

#include "scheme/scheme.h"
#include "scheme/solve.h"

struct recipe;

/* A solution under construction. */
struct solving {
	const struct solve_set *set;
	struct solution *out;
	bool check; /* of solve_check() */
	bool all;   /* SOLVE_ALL */
	size_t jobs_cap, lost_cap, recipes_cap;
};

/* Append a job that the caller fills in; its out[] follows its in[] in memory.
 * NULL: ERROR_NOMEM. */
struct solve_job *solve_add_job(struct solving *w, uint32_t nin, uint32_t nout,
				struct error *err);

/* Record that `len` bytes from `at` on are lost. */
int solve_add_lost(struct solving *w, const struct solve_ref *at, uint64_t len,
		   struct error *err);

/* Give `r`, which jobs will use, to the solution, which frees it.  Returns -1
 * if `r` is NULL (its error is set already) or on ERROR_NOMEM. */
int solve_keep_recipe(struct solving *w, struct recipe *r, struct error *err);

#endif /* SCHEME_SCHEME_IMPL_H */
