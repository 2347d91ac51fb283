/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * protect.h - redundancy for a dataset on the prefix that has none, so that it
 * survives lost or damaged files from now on.
 */
#ifndef CATALOGUE_PROTECT_H
#define CATALOGUE_PROTECT_H

#include <stdint.h>

#include "catalogue/catalogue.h"
#include "meta/redset.h"

struct protect_options {
	enum redset_type type; /* REDSET_XOR or REDSET_RS */
	uint32_t set_size;     /* ranks of a set; 0: 8 */
	uint32_t failures;     /* RS: losses to survive; 0: 2 */
	const struct catalogue_options *o;
};

/*
 * Protect dataset `id`.  One that was flushed has no filemaps: they are made
 * from its rank2file first.  Files may lie in containers.  With o->dry_run
 * nothing is written.  Sets, files and bytes of redundancy come back in *out.
 * ERROR_USAGE: it has redundancy of another kind, or too few ranks;
 * ERROR_DAMAGED: not all of it is there.
 */
int protect(struct catalogue *c, int64_t id, const struct protect_options *po,
	    struct rebuild_result *out, struct error *err);

#endif /* CATALOGUE_PROTECT_H */
