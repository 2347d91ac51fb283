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

#include "opt.h"
#include "rescue/rebuild.h"
#include "site/crew.h"

struct catalogue;
struct catalogue_options;
struct error;
struct plan;

/* The nodes, by the command line. */
struct share_nodes {
	const char *list, *remote; /* list NULL: no others */
	uint64_t timeout;	   /* of a silent one, in seconds; 0: default */
};

#define SHARE_OPTIONS(n) \
	OPT_STRING('w', "nodes", &(n).list, "LIST", OPT_ANY, \
		   "nodes that share the work, for example node[1-4]"), \
		OPT_STRING('r', "remote", &(n).remote, REMOTE_NAMES, \
			   OPT_WORDS, \
			   "how to reach them (default SCR_REMOTE)"), \
		OPT_U64(0, "node-timeout", &(n).timeout, "SECONDS", 2, 86400, \
			"time-out for a node that is silent (default 30)")

struct share {
	struct crew crew;
	const char *program; /* scr_rebuild, on the nodes */
	uint64_t jobs;	     /* threads of each; 0: its default */
	uint64_t least;	     /* bytes below which nobody else is asked */
	/* What they do: as far as possible; compare checksums, redundancy with
	 * data, before; or what catalogue_build() does. */
	bool partial, checksums, deep, build;
	/* Results: what the other nodes have done. */
	bool any;
	struct rebuild_result rebuilt;
	size_t sets; /* whose redundancy was compared with the data */
	/* Private: */
	const struct plan *plan;
	bool *done; /* by set */
};

/* The options of a worker that its users do not see. */
#define SHARE_BUILD "for-build"
#define SHARE_COMPARE "compare"

/* Take the nodes; see crew_open().  The rest of *s is all zero.  Call
 * share_close() also on failure. */
int share_open(struct share *s, const struct share_nodes *n, const char *prefix,
	       struct error *err);
void share_close(struct share *s);

/* Make the plan that is shared out, of which both sides make the same: that of a
 * rebuild, or of a build, with what was recorded when files were copied. */
struct plan *share_plan(struct catalogue *c, int64_t id, bool build,
			const struct catalogue_options *o, struct error *err);

/*
 * Let the nodes carry out what they can of *plan, made by share_plan().  Then
 * *plan is a new one: what the nodes have done is away in it, and what is left,
 * with its looks, is up to the caller; or NULL, if it could not be made.  A node
 * that fails only leaves more to do.
 */
int share_out(struct share *s, struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, struct plan **plan,
	      struct error *err);

/* For catalogue_options.help; the helper is a struct share. */
int share_build(void *share, struct catalogue *c, int64_t id,
		const struct catalogue_options *o, struct plan **plan,
		struct error *err);

#endif /* CATALOGUE_SHARE_H */
