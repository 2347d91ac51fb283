/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep_impl.h - types and functions shared by deep.c (computing and comparing)
 * and deep_find.c (finding the wrong member).  Private to them.
 */
#ifndef RESCUE_DEEP_IMPL_H
#define RESCUE_DEEP_IMPL_H

#include <pthread.h>

#include "rescue/deep.h"
#include "rescue/rescue_impl.h"
#include "scheme/compute.h"

/* A pass over the sets. */
struct deep {
	struct plan *p;
	const struct work *work;
	enum solve_check where;
	bool *look; /* by index in plan.sets: this pass compares it */
	struct arena *arena;
	/* By index in plan.sets; sets that are not compared have no jobs. */
	struct compute_set *sets;
	struct solution *solutions;
	size_t *by_file;      /* by file: its finding of this pass, plus 1 */
	size_t first;	      /* finding of this pass */
	pthread_mutex_t lock; /* protects the members below */
	struct deep_result *out;
	size_t findings_cap;
	/* Findings of the pass before without a wrong member, in sets where
	 * others were located: perhaps explained by these. */
	struct deep_finding *open;
	size_t nopen, open_cap;
};

/* Record a finding.  Findings for the same wrong file, or the same wrong member
 * of a set, are merged; the position of the first wrong byte is kept.  Can be
 * called by any thread. */
int deep_found(struct deep *d, const struct deep_finding *f, struct error *err);

/* The job of this pass that compares position `at` of the finding's stripe;
 * NULL: none. */
const struct solve_job *deep_job(const struct deep *d,
				 const struct deep_finding *f, uint64_t at);

/* Record in *f that the string `who` of the job is wrong at f->first.  Returns
 * the number of bytes from there to the end of the wrong file. */
uint64_t deep_blame(const struct deep *d, struct deep_finding *f,
		    const struct solve_job *j, const struct solve_ref *who);

/* Find wrong files from recorded checksums, where the redundancy did not
 * identify them: reads the files of these sets. */
int deep_decide(struct deep *d, struct error *err);

#endif /* RESCUE_DEEP_IMPL_H */
