/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_impl.h - the table that a resource manager fills in, and what all of
 * them use to ask their commands.
 *
 * A new manager is one file resmgr_NAME.c with a table `resmgr_NAME`, and its
 * name in RESMGR_MANAGERS (resmgr.h).
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

/* Words of a command line that signals steps, their ids among them. */
#define RESMGR_WORDS 256

/* Are we in a job of this manager?  The highest answer wins. */
enum resmgr_around {
	RESMGR_OUTSIDE,
	RESMGR_UNUSABLE, /* yes, but its command is missing */
	RESMGR_INSIDE,
	RESMGR_INNERMOST, /* yes, and it runs inside jobs of the others */
};

/*
 * The command that lists all jobs that have not ended: asked about one only,
 * most managers fail in the same way if it is gone and if nobody answers.  In
 * each line some words are ids, and one may be a state.
 */
struct resmgr_listing {
	const char *argv[8];
	size_t ids;	   /* number of words at the start of a line: ids */
	const char *ended; /* a job in this state has ended */
	size_t state;	   /* the word that is the state, from 0 on */
	bool number; /* ids are the same if they are up to the first '.' */
};

/* What a manager can do.  All but the name may be left out: unknown. */
struct resmgr_ops {
	const char *name;
	const char *aliases[2]; /* LLNL's names for it */

	/* The job around us: the variables that hold its id, the best first.
	 * around() says whether we are in one, if they do not; find_id() asks
	 * for the id (r->id) if no variable has it. */
	const char *id_variables[2];
	enum resmgr_around (*around)(void);
	int (*find_id)(struct resmgr *r, struct error *err);

	/* Add the nodes to `out`; -1: why they are unknown. */
	int (*nodes)(struct resmgr *r, struct hostlist *out, struct error *err);
	/* Add those of `nodes` that are down, perhaps others too. */
	int (*down)(struct resmgr *r, const struct hostlist *nodes,
		    struct hostlist *out, struct error *err);
	/* *epoch stays as it is if the end is unknown. */
	int (*end_time)(struct resmgr *r, int64_t *epoch, struct error *err);
	struct resmgr_listing jobs;

	/* Steps, as resmgr.h has it: check() may be left out. */
	const char *step_command; /* that lists them */
	int (*check)(const struct resmgr_job *job, struct error *err);
	int (*steps)(struct resmgr *r, const struct resmgr_job *job,
		     struct hostlist *out, struct error *err);
	/* Put the first words of the command that signals the steps whose ids
	 * follow into `words`; returns their number. */
	size_t (*signal)(const struct resmgr_job *job, bool hard,
			 const char **words);

	enum remote_kind launcher; /* REMOTE_AUTO: none that remote.h has */
};

struct resmgr {
	const struct resmgr_ops *ops;
	struct arena *arena;
	const char *id;	    /* of the arena or the environment; NULL */
	double seconds;	    /* that a command may take */
	bool (*stop)(void); /* ends a command; NULL */
	struct buf notice;
	bool asked;	 /* SLURM: scontrol was asked about the job */
	const char *job; /* its answer, or NULL */
};

/* --- resmgr_ask.c --- */

/* The variable's value, or NULL; an empty one is none. */
const char *resmgr_env(const char *name);

/* Has the variable this value? */
bool resmgr_env_is(const char *name, const char *value);

/*
 * Run argv[0] of PATH, without a shell and without input, in the C locale, and
 * give each line that it prints to line() (may be NULL), which may cut it up.
 * -1: ERROR_ABSENT (not in PATH), ERROR_SYSTEM (it failed, printed too much or
 * took too long), ERROR_NOMEM, or what line() says.
 */
int resmgr_run(struct resmgr *r, const char *const *argv,
	       int (*line)(struct resmgr *r, char *text, void *arg,
			   struct error *err),
	       void *arg, struct error *err);

/* The same where "unknown" is an answer: 1 if it is missing or fails, which is
 * noted unless it is missing.  -1: ERROR_NOMEM. */
int resmgr_ask(struct resmgr *r, const char *const *argv,
	       int (*line)(struct resmgr *r, char *text, void *arg,
			   struct error *err),
	       void *arg, struct error *err);

/* Add a line to the notice. */
void resmgr_note(struct resmgr *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Read the file of host names, the first word of each line, bounded. */
int resmgr_read_hosts(const char *path, struct hostlist *out,
		      struct error *err);

/* Add the nodes that `text` stands for; text that is no node list is noted.
 * -1: ERROR_NOMEM. */
int resmgr_add(struct resmgr *r, struct hostlist *out, const char *text,
	       struct error *err);

/* The next word of *line, ended with NUL in place; NULL: there is none. */
char *resmgr_word(char **line);

/* Is it digits only, one at least? */
bool resmgr_is_number(const char *s);

/* Are these ids the same up to the first '.'? */
bool resmgr_same_number(const char *a, const char *b);

/* "[[D:]H:]M:S" in seconds; false: something else. */
bool resmgr_span(const char *text, uint64_t *seconds);

#endif /* SITE_RESMGR_IMPL_H */
