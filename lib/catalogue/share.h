/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h - share the sets of a plan out to other nodes (crew.h), which look for
 * damage and rebuild.
 *
 * Each of them writes only files of its own sets over files, for which it holds
 * a lock (plan_lock_sets()); the sets do not depend on each other.  Filemaps,
 * whatever is left or in doubt, and the index are for the process that shares.
 */
#ifndef CATALOGUE_SHARE_H
#define CATALOGUE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/rebuild.h"

struct catalogue;
struct catalogue_options;
struct crew;
struct error;
struct plan;

struct share {
	struct crew *crew;
	/* What a worker runs, ended by NULL; its part is added (crew.h). */
	const char *const *argv;
	bool checksums, deep; /* compare before */
	/* Results: what the other nodes have done. */
	bool any;
	struct rebuild_result rebuilt;
	size_t sets; /* whose redundancy was compared with the data */
	/* Private: */
	const struct plan *plan;
	bool *done; /* by set */
};

/*
 * Let the nodes carry out what they can of *plan, made with PLAN_* `flags` of
 * dataset `id`.  Then *plan is a new one: what the nodes have done is away in it,
 * and what is left, with its looks, is up to the caller; or NULL, if it could not
 * be made.  A node that fails only leaves more to do.
 */
int share_out(struct share *s, struct catalogue *c, int64_t id, unsigned flags,
	      const struct catalogue_options *o, struct plan **plan,
	      struct error *err);

#endif /* CATALOGUE_SHARE_H */
