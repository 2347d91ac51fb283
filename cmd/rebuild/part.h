/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part.h - scr_rebuild with other nodes: what is run there, and what runs
 * there.
 */
#ifndef CMD_REBUILD_PART_H
#define CMD_REBUILD_PART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
	/* The processes that were launched together with this one, if any, and
	 * where they meet. */
	struct peers *peers;
	int dirfd;
	pid_t helper; /* a child that is one of them */
	uint64_t jobs;
	bool checksums, deep;
	bool build, compare; /* the part of a build, which compares */
	struct catalogue_options *look;
};

/*
 * Meet the other processes of this launch (peers.h).  PART_NONE: there are
 * none, or this is the one that has the work; PART_SOME: this does a part;
 * PART_OVER: there is no more work, and *status is the exit status.
 */
enum part_role { PART_NONE, PART_SOME, PART_OVER };
enum part_role part_meet(struct part *w, const struct subject *t, int *status,
			 struct error *err);
/* At the end of the one that has the work. */
void part_dismiss(struct part *w, int status);

/* Make the plan of the dataset, with checksums compared if `sums`.  If there
 * are other nodes, that of what they have left; out->any, if there is one. */
struct plan *part_share(const struct part *w, const struct subject *t,
			struct catalogue *c, bool sums, struct share *out,
			struct error *err);

/* Carry out a part of the dataset's plan (share.h), and print what was done.
 * Returns an exit status. */
int part_run(struct part *w, const struct subject *t, struct catalogue *c,
	     struct error *err);

#endif /* CMD_REBUILD_PART_H */
