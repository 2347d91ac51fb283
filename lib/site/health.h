/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * health.h - which nodes are of use, and for what.
 *
 * Two questions are asked.  May a new run use the node: it answers, its
 * storage is there, large enough, and can be written.  And can a scavenge read
 * what the node holds: then a full, small or read-only cache is no harm, and
 * nodes that are excluded from runs or reported down are tried all the same,
 * since trying costs no more than the time limit.
 *
 * All nodes are asked at the same time; each has a time limit.
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

/* From good to bad as far as the storage goes. */
enum health_state {
	HEALTH_OK,
	HEALTH_FULL,	    /* no room in a directory now */
	HEALTH_SMALL,	    /* a file system smaller than it has to be */
	HEALTH_UNWRITABLE,  /* read-only, or no permission */
	HEALTH_MISSING,	    /* a directory is not there, nor can be made */
	HEALTH_UNREACHABLE, /* no answer, or none that makes sense */
	HEALTH_REPORTED,    /* down, says the resource manager */
	HEALTH_EXCLUDED,    /* SCR_EXCLUDE_NODES */
	HEALTH_SPECIFIED,   /* down, says the user */
};
#define HEALTH_STATES (HEALTH_SPECIFIED + 1)

enum health_use { HEALTH_RUN, HEALTH_READ };

/* May a node in this state be used so? */
bool health_good(enum health_state state, enum health_use use);

/* "unreachable": one word, for scripts. */
const char *health_word(enum health_state state);

/* --- On the node --- */

/* The answer of a node on stdout, as LLNL's tool has it: this line, or the
 * other with "WORD: DIRECTORY: reason" behind it for each directory. */
#define HEALTH_PASS "scr_check_node: PASS"
#define HEALTH_FAIL "scr_check_node: FAIL: "

struct health_dir {
	const char *path;
	uint64_t bytes; /* the file system has to have; 0: no matter */
	bool is_cntl;	/* control directory, not cache */
};

struct health_test {
	const struct health_dir *dirs;
	size_t count;
	bool free; /* so many bytes have to be free, not only there */
	enum health_use use;
};

/*
 * Look at the directories of this node: make those that are missing (mode
 * 0700), write and remove a small file.  For HEALTH_READ nothing is made or
 * written; a directory only has to be readable.  Adds to `out` a line "WORD:
 * DIRECTORY: reason" for each one that will not do.  Returns the worst state,
 * or -1: ERROR_NOMEM.
 */
int health_test_dirs(const struct health_test *t, struct buf *out,
		     struct error *err);

/* --- Of many nodes --- */

struct health_node {
	enum health_state state;
	const char *why; /* a clause for people; "" if all is well */
};

struct health {
	struct health_node *nodes; /* in the order of the list asked about */
	size_t count;
	struct arena *arena; /* holds them */
};

struct health_options {
	enum health_use use;
	const struct hostlist *down; /* known to be down; NULL: none */
	const struct health_dir *dirs;
	size_t ndirs;
	bool reach_only;    /* look at no directories */
	bool free;	    /* see health_test */
	const char *helper; /* program on the nodes that runs
			       health_test_dirs(): its verb check-node */
	const struct remote_options *remote;
};

/*
 * Ask about `nodes` of job `j`.  What is wrong with a node is in the result;
 * -1 only if the question could not be asked at all: no way to reach nodes, or
 * a stop was asked for (ERROR_SYSTEM, EINTR).
 */
int health_check(struct job *j, const struct hostlist *nodes,
		 const struct health_options *o, struct health *out,
		 struct error *err);
void health_free(struct health *h);

/* The directories of a job that have to be looked at: control base and the
 * base of each cache, with their sizes, in `arena`; NULL: ERROR_NOMEM. */
struct health_dir *health_job_dirs(const struct job *j, struct arena *arena,
				   size_t *count, struct error *err);

/* Lists of the nodes that are not fit for `use`: names, or lines "NODE:
 * reason"; and an array of objects, all nodes. */
int health_bad_nodes(const struct health *h, const struct hostlist *nodes,
		     enum health_use use, struct hostlist *out,
		     struct error *err);
int health_reasons(const struct health *h, const struct hostlist *nodes,
		   enum health_use use, struct buf *out, struct error *err);
struct json *health_json(const struct health *h, const struct hostlist *nodes,
			 enum health_use use);

#endif /* SITE_HEALTH_H */
