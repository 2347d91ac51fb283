/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep_impl.h - what deep.c (the work) and deep_find.c (whose fault is it)
 * share.  Private to them.
 */
#ifndef RESCUE_DEEP_IMPL_H
#define RESCUE_DEEP_IMPL_H

#include <pthread.h>

#include "encode/code.h"
#include "rescue/deep.h"
#include "rescue/rescue_impl.h"
#include "transfer/stripe.h"

/* A stretch of one stripe, or of one member's data and its copies. */
struct deep_item {
	uint32_t set;
	uint32_t stripe; /* PARTNER: member */
	uint64_t off, len;
};

struct deep_set {
	struct stripe *data, *body;
	struct recipe **checks; /* XOR, RS: by stripe */
};

struct deep_worker {
	unsigned char *memory;
	size_t bytes;
	struct stripe_cache *cache;
	struct recipe **suspects; /* for one stripe: without member i */
	uint32_t set, stripe;	  /* whose suspects these are */
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

/* The code of an XOR or RS set. */
struct code deep_code(const struct plan_set *s);

/* Take down a finding: one for each culprit of a set, with the place of its
 * first wrong byte.  Any thread. */
int deep_found(struct deep *d, const struct deep_finding *f, struct error *err);

/* The byte f->first of stripe f->stripe is wrong at `member`. */
void deep_blame(const struct deep *d, struct deep_finding *f, uint32_t member);

/* The file that holds byte `off` of f->member's data. */
void deep_place(const struct plan *p, struct deep_finding *f, uint64_t off);

/* Once everything is read: recorded checksums may tell what redundancy could
 * not. */
void deep_decide(const struct deep *d, struct deep_finding *f);

#endif /* RESCUE_DEEP_IMPL_H */
