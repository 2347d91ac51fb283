/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild_impl.h - what rebuild.c (the work) and rebuild_sums.c (is it right)
 * share.  Private to them.
 */
#ifndef RESCUE_REBUILD_IMPL_H
#define RESCUE_REBUILD_IMPL_H

#include "rescue/compute.h"
#include "rescue/rebuild.h"
#include "rescue/rescue_impl.h"
#include "transfer/put.h"

struct rebuild_run {
	struct plan *p;
	bool partial;
	const struct work *work;
	struct rebuild_result *result;
	struct arena *arena; /* of one round */
	struct put *put;
	struct compute_set *sets;
	size_t nsets;
	size_t in_place; /* files that are written into containers */
	struct stripe_sum *sums, *new_sums; /* by file; NULL: none recorded */
	bool *look; /* by file, with them: to be read again */
};

/* Is the set one to be carried out? */
bool rebuild_wants(const struct rebuild_run *r, const struct plan_set *s);

/* --- rebuild_sums.c --- */

/* Make sums, new_sums and look, if a checksum is recorded at all. */
int rebuild_make_sums(struct rebuild_run *r, struct error *err);

/* Is what was read and computed what was recorded?  Returns how many files
 * turned out damaged, and were marked; -1 on failure. */
long rebuild_check_sums(struct rebuild_run *r, struct error *err);

#endif /* RESCUE_REBUILD_IMPL_H */
