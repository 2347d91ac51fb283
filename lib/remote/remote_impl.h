/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_impl.h - shared by the sources of remote: a run, its nodes, and the
 * processes that serve them.
 *
 * A process serves one node, or several if it is pdsh; `labels` then identifies
 * the node of a line.  Each file calls only those below it:
 *
 *	remote   sets up a run
 *	loop     starts processes and watches limits
 *	command  makes the command lines        proc  starts, reads, ends one
 *	find     finds programs                 pdsh  assigns lines to nodes
 *	                                        node  handles a node's output
 */
#ifndef REMOTE_REMOTE_IMPL_H
#define REMOTE_REMOTE_IMPL_H

#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "hostlist.h"
#include "remote/remote.h"

struct arena;
struct map;

#define REMOTE_TOKEN 32	  /* bytes of the marker, with its NUL */
#define REMOTE_GRACE 1.0  /* s for a process to end after its nodes */
#define REMOTE_POLITE 2.0 /* s between TERM and KILL */
#define REMOTE_FINAL 1.0  /* s for a killed process to end */
#define REMOTE_LABEL 256  /* bytes of a node's name in pdsh's lines */

enum remote_phase {
	REMOTE_WAITING,
	REMOTE_STARTING, /* its process runs, without output yet */
	REMOTE_RUNNING,	 /* the command has begun */
	REMOTE_ENDED,
};

struct remote_node {
	const char *name;
	struct remote_result *result;
	enum remote_phase phase;
	double start, last; /* times: start of its process, last output */
	struct buf words;   /* last line that may explain a failure */
	bool complained;    /* `words` is from stderr, not output of a login */
	struct remote_proc *proc;
};

/* One pipe from a process. */
struct remote_stream {
	int fd;
	struct buf part; /* an incomplete line */
	bool cut;	 /* the rest of that line is dropped */
};

struct remote_proc {
	struct remote_proc *next;
	pid_t pid;
	int pidfd; /* -1: none, poll with waitid() */
	struct remote_stream out, err;
	struct arena *arena; /* holds its argv and labels */
	size_t *nodes, count;
	size_t open;	    /* nodes that have not ended */
	struct map *labels; /* pdsh: label to index in run->nodes */
	struct buf words;   /* pdsh: its last line about no node */
	bool ready;	    /* epoll reported data or its end */
	bool exited;
	int status;	/* of waitpid() */
	bool overdue;	/* one of its nodes timed out */
	int pushed;	/* 0; 1:  TERM sent; 2, 3:  KILL; 4: survived KILL */
	double push_at; /* time of the next signal; 0: never */
};

struct remote_run {
	const struct remote_options *o;
	enum remote_kind kind;
	const char *const *argv;
	char token[REMOTE_TOKEN];
	struct arena *arena;	     /* holds the following */
	const char *program, *inner; /* paths; `inner`: what pdsh runs */
	const char *line;	 /* the command as one line for a login shell */
	char **env;		 /* pdsh's; NULL: our own */
	struct hostlist brokers; /* flux: names of the nodes, by rank */
	struct map *ranks;	 /* flux: node name to rank */
	unsigned fanout;
	size_t keep;
	double polite; /* as in the options, or REMOTE_POLITE */
	struct remote_node *nodes;
	size_t count, first; /* `first`: all before it are not WAITING */
	size_t waiting, active;
	struct remote_proc *procs;
	size_t nprocs;
	int epoll;
	bool ending, stopped; /* start no more; because of stop() */
	bool short_of;	      /* out of descriptors or processes: wait */
	char *buffer;	      /* 2 * REMOTE_BUFFER bytes to read into */
	bool no_pidfd;	      /* the kernel has no pidfd_open() */
	bool failed;	      /* no memory */
};

#define REMOTE_BUFFER ((size_t)64 << 10)

/* --- find.c --- */

/* The path of an executable, allocated in `a`: `given` if it contains '/', else
 * the first `given` (if NULL: `name`) in PATH.  NULL: ERROR_ABSENT,
 * ERROR_NOMEM. */
const char *remote_find(const char *given, const char *name, struct arena *a,
			struct error *err);

/* --- command.c --- */

/* Prepare the paths of programs and the command line of run->kind, in
 * run->arena. */
int remote_command_init(struct remote_run *run, struct error *err);

/* The argv of the process for p->nodes, ended by NULL, in p's arena.  NULL: no
 * memory. */
const char **remote_command_argv(const struct remote_run *run,
				 const struct remote_proc *p);

/* The reason why no process can be started for this node.  NULL: it can. */
const char *remote_command_objection(const struct remote_run *run,
				     const char *name);

/* --- proc.c --- */

/* Start argv as the process for p->nodes.  Returns 0, or an errno with `p`
 * unchanged. */
int remote_proc_start(struct remote_run *run, struct remote_proc *p,
		      const char **argv);

/* Read the available output, and check whether the process ended. */
void remote_proc_read(struct remote_run *run, struct remote_proc *p);

/* Send the signal that is due at `now` to a process that must end. */
void remote_proc_push(const struct remote_run *run, struct remote_proc *p,
		      double now);

struct remote_proc *remote_proc_new(size_t nodes);
void remote_proc_free(const struct remote_run *run, struct remote_proc *p);

/* --- node.c --- */

/* Handle a line of a node's stdout or stderr. !whole: the last line, without
 * newline. */
void remote_node_out(struct remote_run *run, struct remote_node *n, char *text,
		     size_t len, bool whole);
void remote_node_err(struct remote_run *run, struct remote_node *n,
		     const char *text, size_t len, bool whole);

/* Record the result of a node.  `fmt` gives the clause `why`; NULL: none. */
void remote_node_end(struct remote_run *run, struct remote_node *n,
		     enum remote_state state, int status, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The process of a node has ended, with this status of waitpid(), or pdsh
 * reports that it has (-1).  `words`: the explanation; may be NULL. */
void remote_node_lost(struct remote_run *run, struct remote_node *n, int status,
		      const char *words);

/* --- pdsh.c --- */

/* Add the label of node `name` to p's labels.  1: added, 0: another node has
 * the same label, -1: no memory. */
int remote_pdsh_label(struct remote_proc *p, const char *name, size_t at);

void remote_pdsh_out(struct remote_run *run, struct remote_proc *p, char *text,
		     size_t len, bool whole);
/* Returns the node that has ended, with pdsh's explanation in *words.  NULL: no
 * node has ended. */
struct remote_node *remote_pdsh_err(struct remote_run *run,
				    struct remote_proc *p, char *text,
				    size_t len, bool whole, const char **words);

/* --- loop.c --- */

/* Serve all nodes. */
int remote_loop(struct remote_run *run, struct error *err);

#endif /* REMOTE_REMOTE_IMPL_H */
