/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * health.h - which nodes are usable, and for what.
 *
 * A node is usable for a new run if it answers and its storage exists, is large
 * enough and writable.  It is usable for a scavenge if its cache can be read: a
 * full, small or read-only cache does not matter then.  Nodes that are excluded
 * from runs or reported down are probed for a scavenge, too, since a probe
 * costs at most the time limit.
 *
 * All nodes are probed concurrently, each with a time limit.
 */
#ifndef SITE_HEALTH_H
#define SITE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct hostlist;
struct job;
struct json;
struct remote_options;

/* In ascending order of badness; the states of the storage come first. */
enum health_state {
	HEALTH_OK,
	HEALTH_FULL,	    /* a directory has too little free space */
	HEALTH_SMALL,	    /* a file system is smaller than required */
	HEALTH_UNWRITABLE,  /* read-only, or no permission */
	HEALTH_MISSING,	    /* a directory is missing and cannot be created */
	HEALTH_UNREACHABLE, /* no answer, or not a valid one */
	HEALTH_REPORTED,    /* down according to the resource manager */
	HEALTH_EXCLUDED,    /* SCR_EXCLUDE_NODES */
	HEALTH_SPECIFIED,   /* down according to the user */
};
#define HEALTH_STATES (HEALTH_SPECIFIED + 1)

enum health_use { HEALTH_RUN, HEALTH_READ };

/* --- On the node --- */

/* The answer of a node on stdout, as of LLNL's tool: HEALTH_PASS, or
 * HEALTH_FAIL followed by "WORD: DIRECTORY: reason" for each directory that
 * fails. */
#define HEALTH_PASS "scr_check_node: PASS"
#define HEALTH_FAIL "scr_check_node: FAIL: "
/* Before it, the newest dataset of a job's caches, if that was asked. */
#define HEALTH_NEWEST "scr_check_node: NEWEST: "

/*
 * Check a directory of this node: create it if it is missing (mode 0700), write
 * and remove a small file.  The file system must have `bytes`, and with `spare`
 * as much free space; 0: any.  For HEALTH_READ nothing is created or written;
 * the directory must only be readable.  If it fails, append the line of
 * HEALTH_FAIL to `out`.
 */
enum health_state health_test_dir(const char *path, uint64_t bytes, bool spare,
				  enum health_use use, struct buf *out);

/* Raise *newest to the id of the newest dataset, finished or not, in the cache
 * directory `dir` of a job; one that cannot be read has none. */
void health_newest(const char *dir, int64_t *newest);

/* --- Many nodes --- */

struct health_node {
	const char *name;
	enum health_state state;
	bool usable;	 /* for the use that was asked for */
	int64_t newest;	 /* dataset in its caches; 0: none, or not asked */
	const char *why; /* a clause for messages; "" for HEALTH_OK */
};

struct health {
	struct health_node *nodes; /* in the order of the job's nodes */
	size_t count;
	struct arena *arena; /* holds them */
};

struct health_options {
	enum health_use use;
	const struct hostlist *down; /* known to be down; NULL: none */
	bool reach_only;	     /* do not check directories */
	bool free;		     /* see health_test_dir(): spare */
	bool newest;		     /* ask for health_node.newest */
	const char *helper;	     /* program on the nodes that runs
			       health_test_dir(): its verb check-node */
	const struct remote_options *remote;
};

/*
 * Probe the nodes of job `j`, with its control base and the base of each cache.
 * A bad node is reported in the result, not as an error.  -1 only if no probe
 * was possible: no way to reach nodes, or a stop was requested (ERROR_SYSTEM,
 * EINTR).  Free *out with health_free().
 */
int health_check(struct job *j, const struct health_options *o,
		 struct health *out, struct error *err);
void health_free(struct health *h);

/* The nodes that are not usable: their names, or lines "NODES: reason".  The
 * JSON array has an object for each node, usable or not. */
void health_bad_nodes(const struct health *h, struct hostlist *out);
void health_reasons(const struct health *h, struct buf *out);
struct json *health_json(const struct health *h);

#endif /* SITE_HEALTH_H */
