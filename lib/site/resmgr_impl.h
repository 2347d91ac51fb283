/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_impl.h - what the resource managers share: the table of what each can
 * do, and commands that are asked with a time limit.
 */
#ifndef SITE_RESMGR_IMPL_H
#define SITE_RESMGR_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "site/resmgr.h"

struct arena;
struct error;
struct hostlist;

/* Bytes a command may print: 100,000 nodes with their states are some 5 MB. */
#define RESMGR_OUTPUT_MAX ((size_t)64 << 20)

/*
 * One kind of manager.  nodes() adds to `out` (empty) and returns 0, or -1
 * with why not; down() adds those of `nodes` that are down, perhaps others
 * too; both may be NULL: nothing is known.  end_time() leaves *epoch alone
 * where it is unknown.
 */
struct resmgr_kind {
	const char *name;
	int (*open)(struct resmgr *r, struct error *err);
	int (*nodes)(struct resmgr *r, struct hostlist *out, struct error *err);
	int (*down)(struct resmgr *r, const struct hostlist *nodes,
		    struct hostlist *out, struct error *err);
	int (*end_time)(struct resmgr *r, int64_t *epoch, struct error *err);
};

extern const struct resmgr_kind resmgr_slurm, resmgr_lsf, resmgr_flux,
	resmgr_pbs;

struct resmgr {
	const struct resmgr_kind *kind;
	struct arena *arena;
	const char *id;	  /* borrowed from the arena or the environment; NULL */
	uint64_t seconds; /* that a command may take */
	struct buf notice;
	bool asked;	/* SLURM: scontrol, Flux: timeleft, PBS: qstat */
	struct buf job; /* what it said, empty: nothing */
};

/* The variable's value, or NULL; an empty one is none. */
const char *resmgr_env(const char *name);

/* Is there such a command in PATH? */
bool resmgr_has(const char *command);

/*
 * Run argv[0] of PATH, without a shell and without input, in the C locale;
 * put what it prints into `out` (replaced).  0: it ended with status 0 in
 * time.  1: it is not there, failed, printed too much or took too long, and
 * `out` is empty; a line about it is in the notice, unless it is not there.
 * -1: ERROR_NOMEM.
 */
int resmgr_ask(struct resmgr *r, const char *const *argv, struct buf *out,
	       struct error *err);

/* Add a line to the notice. */
void resmgr_note(struct resmgr *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Read the file of host names, one a line, bounded. */
int resmgr_read_hosts(const char *path, struct hostlist *out,
		      struct error *err);

/* Add the nodes that `text` stands for; what is no node list is told in the
 * notice.  -1: ERROR_NOMEM. */
int resmgr_add(struct resmgr *r, struct hostlist *out, const char *text,
	       struct error *err);

/* The next line of *p, ended with NUL in place; NULL: there is none. */
char *resmgr_line(char **p);

/* "[[D:]H:]M:S" in seconds; false: something else. */
bool resmgr_span(const char *text, uint64_t *seconds);

#endif /* SITE_RESMGR_IMPL_H */
