/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part.h - scr_rebuild with other nodes: what is run there, and what runs
 * there.
 */
#ifndef CMD_REBUILD_PART_H
#define CMD_REBUILD_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "catalogue/share.h"

struct catalogue;
struct catalogue_options;
struct error;
struct plan;
struct subject;

struct part {
	/* Of the command line: the nodes that share the work; the part that
	 * such a node does (NULL: this is none). */
	struct share_nodes nodes;
	const char *part;
	uint64_t jobs;
	bool checksums;
	bool build; /* the part of a build */
	struct catalogue_options *look;
};

/* Make the plan of the dataset; with checksums, too, if another dataset has
 * `replaced` files of it.  If there are other nodes, that of what they have
 * left, and what they have done. */
struct plan *part_share(const struct part *w, const struct subject *t,
			struct catalogue *c, int64_t replaced,
			struct share *out, struct error *err);

/* Carry out a part of the dataset's plan (share.h), and print what was done.
 * Returns an exit status. */
int part_run(struct part *w, const struct subject *t, struct catalogue *c,
	     struct error *err);

#endif /* CMD_REBUILD_PART_H */
