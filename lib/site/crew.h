/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew.h - other nodes that carry out parts of a plan.
 *
 * A plan is a list of pieces that do not depend on each other, each with the
 * bytes to be moved for it.  For each node a run of adjacent pieces is cut,
 * with about equal bytes, and the same command is started there, with
 * "--part=FROM-TO:DIGEST" behind its arguments: the numbers of its first and
 * last piece, and what the caller sees there; and if task->work has a rate,
 * with an equal share of it as "--limit-rate".  It makes a plan of its own,
 * refuses if the digest differs, and prints
 *
 *	progress DONE TOTAL	every second, so that it also notices that
 *				nobody listens any more
 *	{...}			at its end: what it did, as JSON
 *
 * What W workers cost for P pieces in F files of R ranks:
 *
 *	here	a process, two descriptors and 4 KiB for each worker, at most
 *		REMOTE_FANOUT_MAX at a time; one digest of each piece; 9 bytes
 *		for each piece, a line of 20 bytes a second from each worker,
 *		and its answer of some hundred: linear in W and P
 *	there	each worker makes the whole plan: 1.6 F + 9 R calls to the file
 *		system, so that W of them make W (1.6 F + 9 R), whatever their
 *		parts.  Few workers with much to do are better than many with
 *		little: `least`.
 *
 * What the pieces are, and what follows when they are done, is up to the
 * caller, who alone changes what all parts share.  Pieces whose node was lost
 * go to the others: the caller makes its plan again, and calls crew_work()
 * again.
 *
 * Only for commands: without memory they end.
 */
#ifndef SITE_CREW_H
#define SITE_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlist.h"
#include "remote/remote.h"

struct arena;
struct error;
struct json_value;
struct work;

/* The option of the command that names the pieces. */
#define CREW_PART "part"

struct crew {
	struct hostlist nodes; /* that can still be given work */
	struct remote_options remote;
	const char *name; /* of a module of pdsh, which `remote` borrows */
	bool borrowed;	  /* the ways are another's */
};

/*
 * Take the nodes that the list names, without repetitions.  `remote`: how to
 * reach them; NULL: SCR_REMOTE of the configuration that the prefix has.
 * ERROR_USAGE: not a list of nodes, or no way of this name; ERROR_ABSENT: none
 * is installed.  Call crew_close() also on failure.
 */
int crew_open(struct crew *c, const char *nodes, const char *remote,
	      const char *prefix, struct error *err);
void crew_close(struct crew *c);

/* Use the way to nodes that others have found, and these nodes of them:
 * c->nodes is the caller's to fill. */
void crew_take(struct crew *c, const struct remote_options *o);

struct crew_task {
	const char *const *argv; /* the command, without its part */
	/* Of the progress: "rebuilding".  NULL: the phase goes on. */
	const char *what;
	const uint64_t *bytes; /* by piece; 0: there is nothing to do */
	size_t count;
	uint64_t least; /* bytes that each node should have; 0: any */
	bool wary;	/* as in remote.h */
	/* The digest of pieces, in an arena; NULL: *err.  Without it, `same` is
	 * that of all of them. */
	const char *(*digest)(void *arg, size_t from, size_t to,
			      struct arena *a, struct error *err);
	const char *same;
	bool *done;		 /* by piece: set to true; or NULL */
	const struct work *work; /* progress, and where lost nodes are said */
	/* Called for each node that has done its part, from piece `from` on.
	 * False: this is not the answer. */
	bool (*answer)(void *arg, size_t from, const struct json_value *j);
	void *arg;
};

/* Write the first and last piece of each of `n` nodes to from[] and to[]; a
 * node without work has from > to. */
void crew_cut(const struct crew_task *t, size_t n, size_t *from, size_t *to);

/*
 * Let the nodes do the pieces.  Nodes that were not reached, were cut off or
 * are silent are reported, and taken from c->nodes.  *lost is their number;
 * *failed that of the nodes on which the command failed, which is reported,
 * too. -1: ERROR_SYSTEM (stopped), or no digest.
 */
int crew_work(struct crew *c, const struct crew_task *t, size_t *lost,
	      size_t *failed, struct error *err);

/* What the option says; the digest points into its value. */
struct crew_part {
	size_t from, to;
	const char *digest;
};

/* Parse it.  False: it is none. */
bool crew_part(const char *text, struct crew_part *out);

#endif /* SITE_CREW_H */
