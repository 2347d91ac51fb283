/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_impl.h - the table that describes a resource manager, and the
 * functions with which the managers query their commands.
 *
 * A new manager is a table `resmgr_NAME` in a file resmgr_*.c, and its name in
 * RESMGR_MANAGERS (resmgr.h).
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

/* Most words of a command line that signals steps, ids included. */
#define RESMGR_WORDS 256

/* Are we in a job of this manager?  The manager with the highest answer is
 * used. */
enum resmgr_around {
	RESMGR_OUTSIDE,
	RESMGR_UNUSABLE, /* in a job, but its command is missing */
	RESMGR_INSIDE,
	RESMGR_INNERMOST, /* in a job, inside one of another manager */
};

/*
 * The command that lists all jobs that have not ended.  A query about a single
 * job does not do: most managers fail in the same way if the job has ended and
 * if the manager does not answer.  In each line some words are ids, and one may
 * be a state.
 */
struct resmgr_listing {
	const char *argv[8];
	size_t ids; /* words at the start of a line that are ids */
	/* Words, each between blanks: a job in such a state has ended. */
	const char *ended;
	size_t state; /* index of the word that is the state */
	bool number;  /* compare ids only up to the first '.' */
};

/* A manager.  Every member except the name may be left out; the answer is then
 * "unknown". */
struct resmgr_ops {
	const char *name;

	/* The job we run in.  Environment variables that hold its id, the
	 * preferred first.  If none is set, around() is called to find out
	 * whether we are in a job.  Then find_id() queries the id (r->id). */
	const char *id_variables[2];
	enum resmgr_around (*around)(void);
	int (*find_id)(struct resmgr *r, struct error *err);

	/* Add the nodes to `out`.  -1: unknown, *err says why. */
	int (*nodes)(struct resmgr *r, struct hostlist *out, struct error *err);
	/* Add the nodes that the job began with, if the manager takes nodes
	 * from a job. */
	int (*began)(struct resmgr *r, struct hostlist *out, struct error *err);
	/* Add those of `nodes` that are down to `out`.  Other nodes may be
	 * added, too. */
	int (*down)(struct resmgr *r, const struct hostlist *nodes,
		    struct hostlist *out, struct error *err);
	/* *epoch is unchanged if the end is unknown. */
	int (*end_time)(struct resmgr *r, int64_t *epoch, struct error *err);
	struct resmgr_listing jobs;

	/* Steps, see resmgr.h. check() may be left out. */
	const char *step_command; /* lists the steps */
	int (*check)(const struct resmgr_job *job, struct error *err);
	int (*steps)(struct resmgr *r, const struct resmgr_job *job,
		     struct hostlist *out, struct error *err);
	/* Those that a launcher with `mark` in its environment started; left
	 * out: unknown. */
	int (*own)(struct resmgr *r, const struct resmgr_job *job,
		   const char *mark, struct hostlist *out, struct error *err);
	const char *(*step_name)(struct resmgr *r);
	/* The commands that send SIGTERM and SIGKILL to the steps whose ids
	 * follow.  proxy() may be left out; it writes the words that reach the
	 * job from here to `words`, and returns their number. */
	const char *signal[2][5];
	size_t (*proxy)(const struct resmgr_job *job, const char **words);

	enum remote_kind launcher; /* REMOTE_AUTO: none in remote.h */
};

struct resmgr {
	const struct resmgr_ops *ops;
	bool named; /* not found by its variables */
	struct arena *arena;
	const char *id;	    /* in the arena or the environment; or NULL */
	double seconds;	    /* time limit of a command */
	bool (*stop)(void); /* true: end the command; may be NULL */
	struct buf notice;
	struct buf out;	   /* of the last command */
	char *rest;	   /* lines that resmgr_line() has not returned */
	bool asked;	   /* SLURM: scontrol was queried for the job */
	const char *job;   /* its answer, or NULL */
	const char *nodes; /* ... on the nodes of all components, or NULL */
};

/* --- For the managers --- */

/* The value of the variable.  NULL: unset or empty. */
const char *resmgr_env(const char *name);

/* Has the variable this value? */
bool resmgr_env_is(const char *name, const char *value);

/*
 * Run argv[0] from PATH, without a shell and without input, in the C locale;
 * resmgr_line() then returns its output.  -1: ERROR_ABSENT (not in PATH),
 * ERROR_SYSTEM (it failed, printed too much or timed out), ERROR_NOMEM.
 */
int resmgr_run(struct resmgr *r, const char *const *argv, struct error *err);

/* The same, for a caller that can do without the answer: returns 1 if the
 * command is missing or fails.  A failure is added to the notice, a missing
 * command is not.  -1: ERROR_NOMEM. */
int resmgr_ask(struct resmgr *r, const char *const *argv, struct error *err);

/* The next line of the output of the last command, which may be modified until
 * the next one is run.  NULL: no more lines, or the command failed. */
char *resmgr_line(struct resmgr *r);

/* Add a line to the notice. */
void resmgr_note(struct resmgr *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Read the file of host names that a variable names: the first word of each
 * line.  Its size is bounded. */
int resmgr_read_hosts(const struct resmgr *r, const char *variable,
		      struct hostlist *out, struct error *err);

/* Add the nodes of the node list `text` to `out`.  An invalid list is added to
 * the notice.  -1: ERROR_NOMEM. */
int resmgr_add(struct resmgr *r, const char *text, struct hostlist *out,
	       struct error *err);

/* The next word of *line, ended with NUL in place.  NULL: no more words. */
char *resmgr_word(char **line);

/* Does `s` consist of one or more digits? */
bool resmgr_is_number(const char *s);

/* Parse "[[D:]H:]M:S" into seconds.  False: another format. */
bool resmgr_span(const char *text, uint64_t *seconds);

#endif /* SITE_RESMGR_IMPL_H */
