/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep_impl.h - what deep.c (the work) and deep_find.c (whose fault is it)
 * share.  Private to them.
 */
#ifndef RESCUE_DEEP_IMPL_H
#define RESCUE_DEEP_IMPL_H

#include <pthread.h>

#include "rescue/deep.h"
#include "rescue/rescue_impl.h"
#include "transfer/stripe.h"

/* A stretch of the strings of a job. */
struct deep_item {
	uint32_t set, job;
	uint64_t off, len;
};

struct deep_set {
	struct plan_strings strings;
	struct solution solution; /* that would make all bodies anew */
};

struct deep_worker {
	unsigned char *memory;
	size_t bytes;
	struct stripe_cache *cache;
};

struct deep {
	struct plan *p;
	const struct work *work;
	struct arena *arena;
	struct deep_set *sets; /* by plan.sets */
	struct deep_item *items;
	size_t nitems, items_cap;
	struct deep_worker *workers;
	unsigned nworkers;
	struct stripe_sum *sums;
	pthread_mutex_t lock; /* of what follows */
	struct deep_result *out;
	size_t findings_cap;
};

/* Take down a finding: one for each culprit of a set, with the place of its
 * first wrong byte.  Any thread. */
int deep_found(struct deep *d, const struct deep_finding *f, struct error *err);

/* The string `who` of the job is wrong, f->first bytes behind its start. */
void deep_blame(const struct deep *d, struct deep_finding *f,
		const struct solve_ref *who);

/* Once everything is read: recorded checksums may tell what redundancy could
 * not. */
void deep_decide(const struct deep *d, struct deep_finding *f);

#endif /* RESCUE_DEEP_IMPL_H */
