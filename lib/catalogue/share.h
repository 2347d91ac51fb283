/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h - share the sets of a plan out to other nodes (crew.h), which look
 * for damage and rebuild.
 *
 * Each of them writes only files of its own sets over files, which do not
 * depend on each other, and for which it holds a lock (plan_lock_sets()).  What
 * is not plain is for the process that shares, which then looks at all of it,
 * as if there were no others: a part that fails, files that other datasets own,
 * too, whatever contradicts itself.  So are the filemaps and the index.
 */
#ifndef CATALOGUE_SHARE_H
#define CATALOGUE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opt.h"
#include "rescue/rebuild.h"
#include "site/crew.h"
#include "site/crew_transfer.h"
#include "site/launch.h"

struct catalogue;
struct catalogue_options;
struct error;
struct plan;

/* The nodes, by the command line or by the launch. */
struct share_nodes {
	const char *list, *remote; /* list NULL: no others */
	uint64_t timeout;	   /* of a silent one, in seconds; 0: default */
	struct launch launch;
};

/* Is an option given that needs a list of them, and none is? */
static inline bool
share_lacks_nodes(const struct share_nodes *n)
{
	return n->list == NULL && n->launch.role != LAUNCH_FIRST &&
	       (n->remote != NULL || n->timeout > 0);
}

/*
 * If one launcher has started this command several times (launch.h), process 0
 * takes the nodes of the launch, unless others are given.  Call launch_leave()
 * when the work is done.  True, in the other processes: process 0 has done it,
 * or does; end with STATUS_OK and without a word.
 */
bool share_join(struct share_nodes *n);

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
	/* For work.help: what is read of datasets whose plan cannot be shared
	 * out, as they are in containers.  Its program is the caller's. */
	struct crew_transfer reading;
	const char *program; /* scr_rebuild, on the nodes */
	uint64_t jobs;	     /* threads of each; 0: its default */
	/* Bytes to be moved below which nobody else is asked, and that each
	 * should have. */
	uint64_t least, least_each;
	/* What they do: rebuild; compare checksums, redundancy with data,
	 * before; or what catalogue_build() does; or only look, and find
	 * nothing. */
	bool checksums, deep, build, look;
	/* Results: all that was to be looked at was looked at, and is right or
	 * was rebuilt; others may have written files, and which; sets whose
	 * redundancy was compared with the data. */
	bool complete, written;
	struct rebuild_result rebuilt;
	size_t sets;
	const struct plan *plan; /* private */
};

/* The options of a worker that its users do not see. */
#define SHARE_BUILD "for-build"
#define SHARE_COMPARE "compare"

/* Take the nodes; see crew_open(). */
int share_crew(struct crew *c, const struct share_nodes *n, const char *prefix,
	       struct error *err);

/* The same, for what follows.  The rest of *s is all zero.  Call
 * share_close() also on failure. */
int share_open(struct share *s, const struct share_nodes *n, const char *prefix,
	       struct error *err);
void share_close(struct share *s);

/* After checksums were compared: set p->flaw if rank2file may be wrong.
 * catalogue_plan() does that with PLAN_CHECKSUMS. */
int catalogue_doubt_record(struct catalogue *c, struct plan *p,
			   const struct catalogue_options *o,
			   struct error *err);

/* The plan of a build, with what was recorded when files were copied. */
struct plan *catalogue_build_plan(struct catalogue *c, int64_t id,
				  const struct catalogue_options *o,
				  struct error *err);

/* Make the plan that is shared out, of which both sides make the same: that of
 * a rebuild, or of a build, with what was recorded when files were copied. */
struct plan *share_plan(struct catalogue *c, int64_t id, bool build,
			const struct catalogue_options *o, struct error *err);

/*
 * Let the nodes carry out what they can of *plan, made by share_plan().  If
 * files may have been written, *plan is then a new one; NULL: it could not be
 * made. If s->complete, the sets over files are away in it, as there is nothing
 * to look for any more; else the caller does all that a process does alone.
 */
int share_out(struct share *s, struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, struct plan **plan,
	      struct error *err);

/* Carry out the part `p` of the plan: in a worker, after its looks.
 * ERROR_DAMAGED: it is not plain. */
int share_rebuild(struct catalogue *c, struct plan *p,
		  const struct catalogue_options *o, struct rebuild_result *r,
		  struct error *err);

/* For catalogue_options.help; the helper is a struct share.  share_build()
 * returns 1 if files may have been written; share_verify() 1 and the number of
 * sets that were compared, if all were looked at; 0: all is left to the
 * caller. */
int share_verify(void *share, struct catalogue *c, int64_t id,
		 const struct catalogue_options *o, struct plan **plan,
		 struct error *err);
int share_build(void *share, struct catalogue *c, int64_t id,
		const struct catalogue_options *o, struct plan **plan,
		struct error *err);

#endif /* CATALOGUE_SHARE_H */
