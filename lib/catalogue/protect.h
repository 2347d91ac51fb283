/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * protect.h - add redundancy to a dataset on the prefix that has none.
 */
#ifndef CATALOGUE_PROTECT_H
#define CATALOGUE_PROTECT_H

#include <stdint.h>

#include "catalogue/catalogue.h"
#include "meta/redset.h"

struct protect_options {
	/* See plan_protect(). */
	enum redset_type type;
	uint32_t set_size, failures;
	const struct catalogue_options *o;
};

/*
 * Add redundancy to dataset `id`.  A flushed dataset has no filemaps, so they
 * are first made from its rank2file.  Files may be in containers.  With
 * o->dry_run, nothing is written.  *out receives the number of sets, files and
 * bytes.  ERROR_USAGE: the dataset has another kind of redundancy, or too few
 * ranks.  ERROR_DAMAGED: the dataset is not complete.
 */
int protect(struct catalogue *c, int64_t id, const struct protect_options *po,
	    struct rebuild_result *out, struct error *err);

#endif /* CATALOGUE_PROTECT_H */
