/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runfile.h - what the wrapper of a job does, on disk: PREFIX/.scr/run.json.
 *
 * The file is for people, for other commands, and for a wrapper that takes over
 * from one that was killed: the command, the runs that are left, and the nodes
 * that are not used any more.  A lock on PREFIX/.scr/run.lock, held as long as
 * the wrapper lives, tells whether it does.  If the file system has no locks,
 * the wrapper writes the file again every RUN_BEAT seconds: one that has not
 * changed for RUN_LEASE seconds is of a wrapper that died.  No decision of a
 * rescue depends on this file.
 */
#ifndef RUN_RUNFILE_H
#define RUN_RUNFILE_H

#include <stdint.h>
#include <sys/types.h>

#include "hostlist.h"

struct arena;
struct buf;
struct error;
struct json;

#define RUN_RECORD "run.json"
#define RUN_LOCK "run.lock"

/* NFS shows a change to other nodes after up to 60 seconds. */
#define RUN_BEAT 5
#define RUN_LEASE 90

/* The launcher has this variable in its environment, and so have the steps that
 * it starts: they are told from those of others in the same allocation. */
#define RUN_MARK "SCRKIT_RUN"

enum run_state {
	RUN_STARTING, /* preparing the prefix, asking the nodes */
	RUN_RUNNING,
	RUN_PAUSING, /* before the next run */
	RUN_SAVING,  /* scr_postrun */
	RUN_ENDED,
};

struct run_record {
	enum run_state state;
	const char *job, *host;
	int64_t pid;
	int64_t since; /* of this state, seconds since 1970 */
	int64_t runs;  /* that were started */
	int64_t left;  /* runs; -1: no limit */
	/* The wrapper's own command line, ended by NULL, and its directory; the
	 * nodes of the job; these may be NULL. */
	const char *const *argv;
	const char *dir, *nodes;
	int64_t written; /* set by run_record_write() */
	/* Nodes that are not used any more, and why. */
	struct hostlist bad;
	const char **reasons; /* of each; may be NULL */
	/* Steps of the resource manager that run the program; and what marks
	 * them in their environment, see RUN_MARK. */
	struct hostlist steps;
	const char *mark;
	const char *why; /* the last decision; NULL */
	int64_t dataset; /* the newest completed; 0: none */
	/* The same, plus 1, when a run whose wrapper was killed was given back;
	 * 0: none was. */
	int64_t given_back;
	/* ENDED: exit status; SAVING at the end: that if all is saved; else
	 * -1. */
	int status;
};

/* Replace the file in directory `scr`. */
int run_record_write(int scr, const struct run_record *r, struct error *err);

/* Read it; all strings are in `a`, r->bad and r->steps are for hostlist_free(),
 * also after a failure.  ERROR_ABSENT: there is none; ERROR_CORRUPT. */
int run_record_read(int scr, struct run_record *r, struct arena *a,
		    struct error *err);

/* ERROR_UNSAFE: others can write the record, so nothing in it is obeyed. */
int run_record_is_mine(int scr, struct error *err);

/* Append what the wrapper of `prefix` does, or did, and the nodes that it does
 * not use, as lines that begin with `indent`; nothing without a record.  The
 * same as members for scrkit-json(5) to `j`, an object or NULL.  -1: the record
 * cannot be read. */
int run_record_show(const char *prefix, const char *indent, struct buf *out,
		    struct json *j, struct error *err);

/*
 * Take the lock.  Returns a descriptor to close; -2: this file system has no
 * locks; -1: ERROR_SYSTEM with errnum EWOULDBLOCK, another wrapper holds it.
 */
int run_record_lock(int scr, struct error *err);

#endif /* RUN_RUNFILE_H */
