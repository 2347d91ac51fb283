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

struct deep {
	struct plan *p;
	struct arena *arena;
	/* By index in plan.sets; sets that are not checked have no jobs. */
	struct compute_set *sets;
	struct solution *solutions; /* compute all bodies of the set */
	uint32_t *bad_red; /* a member whose redundancy file has a wrong
			      checksum, plus 1; 0: none */
	struct stripe_sum *sums;
	pthread_mutex_t lock; /* protects the members below */
	struct deep_result *out;
	size_t findings_cap;
};

/* Record a finding.  Findings for the same wrong member of a set are merged;
 * the position of the first wrong byte is kept.  Can be called by any
 * thread. */
int deep_found(struct deep *d, const struct deep_finding *f, struct error *err);

/* Record that a file of the set could not be read. -1:  *why is no read error,
 * or no memory. */
int deep_unread(struct deep *d, uint32_t set, const struct error *why,
		struct error *err);

/* Record in *f that the string `who` of the job is wrong, f->first bytes after
 * its start. */
void deep_blame(const struct deep *d, struct deep_finding *f,
		const struct solve_ref *who);

/* For par_for(): compare the recorded checksums of the redundancy files of a
 * set, even if other files of it are missing. */
int deep_check_reds(void *arg, size_t set, unsigned worker, struct error *err);

/* Find the wrong file from recorded checksums, if the redundancy did not
 * identify it.  Call this after all files have been read. */
void deep_decide(const struct deep *d, struct deep_finding *f);

#endif /* RESCUE_DEEP_IMPL_H */
