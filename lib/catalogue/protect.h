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
	/* See plan_protect(). */
	enum redset_type type;
	uint32_t set_size, failures;
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
