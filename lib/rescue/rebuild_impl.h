/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild_impl.h - types and functions shared by rebuild.c (computing) and
 * rebuild_sums.c (verifying checksums).  Private to them.
 */
#ifndef RESCUE_REBUILD_IMPL_H
#define RESCUE_REBUILD_IMPL_H

#include <pthread.h>

#include "rescue/rebuild.h"
#include "rescue/rescue_impl.h"
#include "scheme/compute.h"
#include "transfer/put.h"

/* An input that could not be read while it was used; or that was supposed to be
 * wrong, and is, if `active`. */
struct rebuild_input {
	uint32_t set; /* in plan.sets */
	struct solve_ref at;
	bool active;
};

struct rebuild_run {
	struct plan *p;
	struct rebuild_options o;
	const struct work *work;
	struct rebuild_result *result;
	struct arena *arena; /* of a round: owns sets, of, unread, sums, look */
	struct put *put;
	struct compute_set *sets;
	uint32_t *of; /* by set of `sets`: its index in plan.sets */
	size_t nsets;
	pthread_mutex_t lock;	      /* protects the next two members */
	struct rebuild_input *unread; /* room for one of each of `sets` */
	size_t nunread;
	struct rebuild_result in_place; /* what is written into containers */
	bool trial; /* compute, compare checksums, and write nothing */
	/* what was computed has another checksum: a look does not see that */
	bool contradicted;
	bool recorded; /* and rank2file has that: it may be an older one */
	struct stripe_sum *sums, *new_sums; /* by file; NULL: no checksums are
					       recorded */
	struct rebuild_input *guesses;	    /* of all rounds */
	size_t nguesses, guesses_cap;
	bool *look; /* by file: read it again; NULL like sums */
};

/* The rebuild failed: was it because recorded checksums contradict the result?
 */
void rebuild_doubt(struct rebuild_run *r, struct error *err);

/* Is the set to be rebuilt in this run? */
bool rebuild_wants(const struct rebuild_run *r, const struct plan_set *s);

/* Compare the checksums of files read and files computed with the recorded
 * ones.  Returns the number of files that are damaged and were marked; -1 on
 * error. */
long rebuild_check_sums(struct rebuild_run *r, struct error *err);

/*
 * Where something is lost, more may be left than is needed: compare it first.
 * Returns 1 if files turned out to be damaged: the plan has changed.
 */
int rebuild_compare_rest(struct rebuild_run *r, struct error *err);

#endif /* RESCUE_REBUILD_IMPL_H */
