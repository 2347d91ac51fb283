/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_impl.h - shared by the sources of remote: a run, its nodes, and the
 * processes that serve them, one for each attempt to reach a node.  Each file
 * calls only those below it:
 *
 *	remote   sets up a run, starts processes and watches limits
 *	command  makes the command lines        proc  starts, reads, ends one
 *	node     handles a node's output, and the end of an attempt
 *	ways     which way to a node, and the next one if it is not reached
 */
#ifndef REMOTE_REMOTE_IMPL_H
#define REMOTE_REMOTE_IMPL_H

#include <sys/types.h>

#include "error.h"
#include "hostlist.h"
#include "remote/remote.h"

struct arena;
struct map;

#define REMOTE_TOKEN 32	  /* bytes of the marker, with its NUL */
#define REMOTE_WAYS 2	  /* most ways to a node */
#define REMOTE_TRIES 2	  /* attempts by each way */
#define REMOTE_PAUSE 1.0  /* s before the next attempt */
#define REMOTE_GRACE 1.0  /* s for a process to end after its nodes */
#define REMOTE_POLITE 2.0 /* s between TERM and KILL */
#define REMOTE_FINAL 1.0  /* s for a killed process to end */

enum remote_phase {
	REMOTE_WAITING,
	REMOTE_STARTING, /* its process runs, without output yet */
	REMOTE_RUNNING,	 /* the command has begun */
	REMOTE_ENDED,
};

/* A way to nodes.  Only a run uses what follows `module`. */
struct remote_way {
	enum remote_kind kind;
	const char *module;
	bool usable;	  /* its programs were found */
	const char *line; /* the command as one line for a login shell */
	char **env;	  /* of its process; NULL: our own */
};

struct remote_ways {
	struct remote_way list[REMOTE_WAYS]; /* preferred first */
	size_t count;
	unsigned tries;	     /* attempts by each */
	bool old_srun;	     /* it does not know --overlap */
	struct arena *arena; /* names in `reached` and `groups` */
	struct map *reached; /* nodes that another way than the first reached:
				its index; NULL: there is only one */
	struct map *groups;  /* SLURM, nodes of a heterogeneous job: their
				component; or NULL */
};

struct remote_node {
	const char *name;
	struct remote_result *result;
	enum remote_phase phase;
	size_t way, first; /* index of its way; the one that was tried first */
	unsigned tries;	   /* attempts by this way that failed */
	struct buf before; /* why the ways before this one failed */
	enum remote_state sofar;  /* of the failed attempts */
	struct buf sign;	  /* what the attempt said that this is from */
	struct remote_node *next; /* WAITING: in run->queue */
	double due;		  /* WAITING: not before */
	double start, last;	  /* times: start of its process, last output */
	size_t bytes;		  /* that this attempt printed, on both */
	bool heard;		  /* one of them came from the node */
	struct buf words;	  /* last line that may explain a failure */
	bool complained; /* `words` is from stderr, not output of a login */
	struct remote_proc *proc; /* of the present attempt */
};

/* One pipe from a process. */
struct remote_stream {
	int fd;
	struct buf part; /* an incomplete line */
	bool cut;	 /* the rest of that line is dropped */
};

struct remote_proc {
	struct remote_proc *next;
	/* Its node; node->proc is another one if this attempt is over. */
	struct remote_node *node;
	const struct remote_way *way;
	pid_t pid;
	struct remote_stream out, err;
	double look; /* when it is asked next whether it has ended */
	bool exited;
	int status;	/* of waitpid() */
	bool overdue;	/* its node timed out */
	int pushed;	/* 0; 1:  TERM sent; 2, 3:  KILL; 4: survived KILL */
	double push_at; /* time of the next signal; 0: never */
};

struct remote_run {
	const struct remote_options *o;
	const char *const *argv;
	char token[REMOTE_TOKEN];
	struct arena *arena;	   /* holds what the ways point at */
	struct remote_ways *known; /* of the options, or `once` */
	struct remote_ways once;
	struct remote_way ways[REMOTE_WAYS];
	struct hostlist brokers; /* flux: names of the nodes, by rank */
	struct map *ranks;	 /* flux: node name to rank */
	unsigned fanout;
	size_t keep, talk;
	double polite; /* as in the options, or REMOTE_POLITE */
	struct remote_node *nodes;
	size_t count;
	/* Nodes that are WAITING, by the time when they are due. */
	struct remote_node *queue, **tail;
	size_t waiting, active;
	struct remote_proc *procs;
	size_t nprocs;	       /* at most 2 * fanout */
	int events;	       /* of their streams: epoll(7) */
	double look;	       /* when all of them are looked at next */
	struct arena *scratch; /* of a command line */
	bool ending, stopped;  /* start no more; because of stop() */
	bool short_of;	       /* out of descriptors or processes: wait */
	char *buffer;	       /* REMOTE_BUFFER bytes to read into */
	bool failed;	       /* no memory */
};

#define REMOTE_BUFFER ((size_t)64 << 10)

/* --- command.c --- */

/* Prepare the paths of programs and the command line of a way, in
 * run->arena. */
int remote_command_init(struct remote_run *run, struct remote_way *w,
			struct error *err);

/* The argv of the process that reaches a node by way `w`, ended by NULL, in
 * run->scratch.  NULL: no memory. */
const char **remote_command_argv(const struct remote_run *run,
				 const struct remote_way *w,
				 const struct remote_node *n);

/* The reason why this way cannot lead to this node.  NULL: it can. */
const char *remote_command_objection(const struct remote_run *run,
				     const struct remote_way *w,
				     const char *name);

/* --- proc.c --- */

/* Start a process for the node, by its way, and add it to run->procs.  Returns
 * 0, or an errno. */
int remote_proc_start(struct remote_run *run, struct remote_node *n);

/* Wait for output until run->look, and read it. */
void remote_proc_wait(struct remote_run *run);

/* At run->look: notice which processes have ended.  False: it is not yet
 * time. */
bool remote_proc_look(struct remote_run *run, double now);

/* Send the signal that is due at `now` to a process that must end. */
void remote_proc_push(const struct remote_run *run, struct remote_proc *p,
		      double now);

void remote_proc_free(const struct remote_run *run, struct remote_proc *p);

/* --- node.c --- */

/* Handle a line of a node's stdout or stderr. !whole: the last line, without
 * newline. */
void remote_node_out(struct remote_run *run, struct remote_node *n, char *text,
		     size_t len, bool whole);
void remote_node_err(struct remote_run *run, struct remote_node *n,
		     const char *text, size_t len, bool whole);

/* An attempt has ended: put the node into the queue again if it was not reached
 * and there is another one, else record its result.  `fmt` gives the clause
 * `why`; NULL: none. */
void remote_node_end(struct remote_run *run, struct remote_node *n,
		     enum remote_state state, int status, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The process of a node has ended, with this status of waitpid(); -1:
 * unknown. */
void remote_node_lost(struct remote_run *run, struct remote_node *n,
		      int status);

/* --- ways.c --- */

/* The way by which a node is asked first. */
size_t remote_way_first(const struct remote_run *run, const char *name);

/* Choose the way of the next attempt, after one that ended in `state` because
 * of `why`.  False: there is none. */
bool remote_way_next(struct remote_run *run, struct remote_node *n,
		     enum remote_state state, const char *why);

/* The node was reached by its way: remember that. */
void remote_way_reached(struct remote_run *run, const struct remote_node *n);

/* What the words of a launcher that did not start the command tell of the
 * node. */
enum remote_state remote_way_told(const char *words);

/* --- remote.c --- */

/* Let a node wait until n->due, behind those that wait already. */
void remote_queue(struct remote_run *run, struct remote_node *n);

#endif /* REMOTE_REMOTE_IMPL_H */
