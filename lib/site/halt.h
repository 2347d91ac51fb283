/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halt.h - the halt file of a prefix directory, PREFIX/.scr/halt.scr: read it,
 * change it under its lock, evaluate its conditions.  Its contents:
 * meta/haltfile.h.
 *
 * A running job reads and rewrites the same file.  So the file itself is
 * locked, and rewritten in place; see io_open_locked().
 *
 * A file of 0 bytes is one whose writer was interrupted after creating it: it
 * has no condition.  A file that cannot be parsed counts as damaged.  As it may
 * have held any condition, the job must stop.
 */
#ifndef SITE_HALT_H
#define SITE_HALT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "error.h"
#include "meta/haltfile.h"

struct conf;
struct hostlist;
struct job;
struct json;
struct kvtree;

/* Seconds that a change waits for the lock. */
#define HALT_WAIT 10

/* The reason to write if none is given. */
#define HALT_DEFAULT_REASON "JOB_HALTED"

/* The reasons that the library writes: the application ended by itself, or a
 * condition was met. */
#define HALT_FINISHED "SCR_FINALIZE_CALLED"
#define HALT_TIME_LIMIT "TIME_LIMIT"
#define HALT_NO_CHECKPOINTS "NO_CHECKPOINTS_LEFT"
#define HALT_EXIT_BEFORE "EXIT_BEFORE_TIME"
#define HALT_EXIT_AFTER "EXIT_AFTER_TIME"
#define HALT_DAMAGED "DAMAGED" /* never written: the halt file is not changed */

/* The start of a line for a condition that is met. */
#define HALT_LINE "HALT RUN: "

struct halt_state {
	struct buf path; /* PREFIX/.scr/halt.scr */
	bool exists;
	bool created; /* by halt_update() */
	/* changed without a lock, as the file system has none */
	bool unlocked;
	bool damaged; /* `why` has the reason; `tree` and `is` are empty */
	struct kvtree *tree; /* the contents; empty if there is no file */
	struct halt is;	     /* its conditions; borrowed from the tree */
	struct error why;
};

/* Free what *s holds.  A struct that is all zero is allowed. */
void halt_state_free(struct halt_state *s);

/*
 * Read the halt file.  A missing or damaged file is not an error: see *out.  If
 * the lock is held for long, or the file is read-only, it is read without the
 * lock.  -1, with *out empty: ERROR_ABSENT (no such prefix), ERROR_SYSTEM,
 * ERROR_UNSAFE (symbolic link), ERROR_NOMEM.
 */
int halt_load(const char *prefix, struct halt_state *out, struct error *err);

enum {
	HALT_CREATE = 1, /* make PREFIX/.scr and the file if they are missing,
			     else there is nothing to change */
	HALT_FORCE = 2,	 /* put a damaged file aside as halt.scr.bak */
	/* change nothing:  *out is the state that would result */
	HALT_DRY_RUN = 4,
};

/*
 * Change the halt file by fn(tree, arg), under its lock.  *out is the state
 * afterwards.  -1, with the file unchanged: ERROR_CORRUPT (damaged, and no
 * HALT_FORCE), ERROR_SYSTEM (errnum EWOULDBLOCK: locked for longer than
 * HALT_WAIT), an error of fn(), or one of halt_load().
 */
int halt_update(const char *prefix, unsigned flags,
		int (*fn)(struct kvtree *t, void *arg, struct error *err),
		void *arg, struct halt_state *out, struct error *err);

/*
 * Prepare the halt file for a new job: remove the reason SCR_FINALIZE_CALLED,
 * with which the previous job recorded that it had finished by itself.  Other
 * conditions stay.  *was: that reason was set.  `dry_run` changes nothing.  A
 * damaged file is left alone; halt_check() reports it.
 */
int halt_begin(const char *prefix, bool dry_run, bool *was, struct error *err);

/* Remove the halt file, damaged or not.  *was: the file existed.  With
 * `dry_run` only *was is set. */
int halt_remove(const char *prefix, bool dry_run, bool *was, struct error *err);

/*
 * Which conditions are met at `now` (seconds since the epoch)?  `remaining`:
 * seconds until the allocation ends, -1: unknown.  `halt_seconds`: the default
 * if the file does not set it.  A line "HALT RUN: ..." for each condition met
 * is appended to `why`.  Returns their number.  For commands: memory is not
 * checked.
 */
int halt_due(const struct halt *h, int64_t now, int64_t remaining,
	     uint64_t halt_seconds, struct buf *why);

/* A running job that checks whether it must stop. */
struct halt_job {
	int64_t now;
	uint64_t halt_seconds; /* SCR_HALT_SECONDS */
	/* End of the allocation, as from job_end_time(); called only if the
	 * answer depends on it. */
	int64_t (*end)(void *arg);
	void *arg;
};

/*
 * 1: the job must stop; *reason is the reason to record, borrowed from *s, and
 * `why` has lines as from halt_due(). 0: it need not.  The reason of another
 * job that finished by itself does not stop this one; a damaged file does. -1:
 * ERROR_NOMEM.
 */
int halt_running(const struct halt_state *s, const struct halt_job *j,
		 const char **reason, struct buf *why, struct error *err);

/*
 * Must the loop that relaunches a job stop?  Sets *stop, and appends lines
 * "HALT RUN: ..." or "CONTINUE RUN: ..." to `lines`.  SCR_HALT_SECONDS and
 * SCR_END_TIME are taken from `c`, which may be NULL.  *stop is false if there
 * is no halt file, and true if the file is damaged or cannot be read.  -1, with
 * *stop true: ERROR_USAGE (a parameter is not a number).
 */
int halt_check(const char *prefix, const struct conf *c, int64_t now,
	       bool *stop, struct buf *lines, struct error *err);

/* The nodes that a run of the job needs: `given` unless that is 0, else
 * SCR_MIN_NODES, else as many as the last run had, else all (of job_nodes()).
 * ERROR_USAGE (the parameter), ERROR_CORRUPT (nodes file). */
int halt_nodes_needed(struct job *j, uint64_t given, size_t *needed,
		      struct error *err);

/* A loop that restarts a job. */
struct halt_loop {
	const struct hostlist *down; /* unusable nodes; NULL: not checked */
	uint64_t min_nodes;	     /* as `given` of halt_nodes_needed() */
	int64_t runs;		     /* runs left; -1: no limit */
	int64_t now;		     /* seconds since the epoch */
};

/*
 * May it start the job once more?  *stop: no, a halt condition is met, there
 * are not enough nodes, or no runs are left.  Each reason appends a line to
 * `lines`. -1: unknown, and the loop must not start the job: ERROR_ABSENT (the
 * nodes are unknown), ERROR_CORRUPT (nodes file), ERROR_USAGE (a parameter),
 * and errors of halt_check().
 */
int halt_relaunch(struct job *j, const struct halt_loop *r, bool *stop,
		  struct buf *lines, struct error *err);

/* The settings as LLNL's scr_halt lists them, and as a JSON object.  The latter
 * also lists the conditions met at `now`. */
void halt_text(const struct halt_state *s, struct buf *out);
struct json *halt_json(const char *prefix, const struct halt_state *s,
		       int64_t now);

#endif /* SITE_HALT_H */
