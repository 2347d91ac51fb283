/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_impl.h - shared by the sources of the loop: run_job.c (the job) calls
 * run_once.c (a run of the program), and both call run_tools.c (commands of the
 * toolkit, signals, nodes).
 */
#ifndef RUN_RUN_IMPL_H
#define RUN_RUN_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "hostlist.h"
#include "run/child.h"
#include "run/decide.h"
#include "run/run_job.h"
#include "run/runfile.h"

struct arena;
struct error;
struct job;

/* Seconds between two looks at a running program. */
#define RUN_TICK 1.0

struct run {
	const struct run_options *o;
	struct job *job;
	struct run_signals signals;
	struct run_facts facts;
	struct run_record record;
	/* Nodes of this run; those that did not answer at the last look, and at
	 * this one. */
	struct hostlist use, silent, now_silent;
	uint64_t ranks; /* of this run, fewer than asked for; 0: as many */
	/* Steps that ran before the program, if only that tells them apart. */
	struct hostlist before;
	bool blind; /* and they are not known */
	struct arena *arena, *looks;
	const char *hosts; /* path of RUN_HOSTS */
	int scr, lock;
	int64_t began, end; /* seconds since 1970; the end: or RESMGR_END_* */
	uint64_t saving;    /* run_saving_time(), of the second `saving_at` */
	int64_t saving_at;
	/* The newest dataset seen in the caches; -1: not asked yet. */
	int64_t cached;
	bool late, hung; /* why the run is being ended */
	bool untold;	 /* the record could not be written */
	int status;	 /* of the last run */
	/* Taken over while it was saving: the status that it was to end with;
	 * else -1. */
	int ends_with;
	double beaten; /* when this wrapper last showed that it lives */
};

/* --- run_tools.c --- */

/* A warning. */
void run_say(const struct run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Record the state.  A prefix that is full or read-only does not stop the
 * job. */
void run_note(struct run *r, enum run_state state);

/* The record on disk, without lists, in r->looks; ENDED: there is none. */
struct run_record run_look(struct run *r);

/* Wait as run_child_wait(), and follow a signal: `program` (NULL: none runs)
 * gets it, too.  Without locks: show that this wrapper lives. */
void run_listen(struct run *r, const struct run_child *program,
		const struct run_child *asked, double seconds);

/* Wait for a command of the toolkit, at most `seconds` (< 0: without end). */
void run_finish(struct run *r, struct run_child *c, double seconds);

/* Wait; a signal that asks to stop ends it. */
void run_pause(struct run *r, double seconds);

/* Run a command of the toolkit, its words in `text`, on the prefix.  `stops`: a
 * signal ends it.  Returns its exit status. */
int run_tool(struct run *r, const char *text, bool stops);

/* Before the program is launched: note the steps of others, if need be. */
void run_steps_before(struct run *r);

/* Add the running steps of the program to the record, if the resource manager
 * lists steps. */
void run_find_steps(struct run *r);

/* End the steps in the record that still run. */
void run_end_steps(struct run *r, double grace);

/* Start a verb of scr_env that asks `nodes`; its first options follow it, up to
 * NULL. */
int run_ask(struct run *r, const struct hostlist *nodes,
	    const char *const *verb, struct run_child *c, struct error *err);

/* Write the stacks of the ranks to RUN_TRACES. */
void run_traces(struct run *r);

/* End the ranks of the wrapper whose record is on disk, on all nodes. */
void run_end_ranks(struct run *r);

/* Take the answer of down-nodes: call fn() for each node that cannot be used.
 * -1: it is no answer. */
int run_answers(struct run *r, const struct run_child *c,
		void (*fn)(struct run *r, const char *name, const char *why),
		struct error *err);

/* A node that is not used any more. */
void run_give_up(struct run *r, const char *name, const char *why);

/* Before a run: which nodes can be used?  If the nodes cannot be asked, those
 * that are known to be down stay so, and the run is tried. */
int run_choose_nodes(struct run *r, struct error *err);

/* --- run_once.c --- */

/* Seconds that saving the caches may take: twice what the newest dataset takes
 * at the speed of the last scavenge or flush. */
uint64_t run_saving_time(struct run *r);

/* Is the rest of the time needed for that? */
bool run_is_late(struct run *r);

/* The words of the next run, in r->arena. */
const char **run_words(struct run *r, struct error *err);

/* Launch the program, and watch it until it has ended: r->facts, r->status.
 * -1: it cannot be launched. */
int run_once(struct run *r, struct error *err);

#endif /* RUN_RUN_IMPL_H */
