/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_impl.h - what the parts of remote.h share: a run, its nodes, and the
 * processes that serve them.
 *
 * A process serves one node, or, as pdsh, several: `labels` then tells their
 * lines apart.  Each file calls only those below it:
 *
 *	remote   sets up a run
 *	loop     starts processes and watches limits
 *	command  makes the command lines        proc  starts, reads, ends one
 *	find     finds programs                 pdsh  tells nodes' lines apart
 *	                                        node  takes in what a node says
 */
#ifndef REMOTE_REMOTE_IMPL_H
#define REMOTE_REMOTE_IMPL_H

#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "remote/remote.h"

struct arena;
struct map;

#define REMOTE_TOKEN 32	  /* bytes of the marker, with its NUL */
#define REMOTE_GRACE 1.0  /* s a process has to end when its nodes have */
#define REMOTE_POLITE 2.0 /* s between TERM and KILL */
#define REMOTE_FINAL 1.0  /* s a killed process has to go */
#define REMOTE_LABEL 256  /* bytes of a node's name in pdsh's lines */

enum remote_phase {
	REMOTE_WAITING,
	REMOTE_STARTING, /* its process runs, nothing was heard of it */
	REMOTE_RUNNING,	 /* the command has begun */
	REMOTE_ENDED,
};

struct remote_node {
	const char *name;
	struct remote_result *result;
	enum remote_phase phase;
	double start, last; /* of its process; the last sign of life */
	struct buf words;   /* the last line that may say why */
	bool complained;    /* it is of stderr, not of a login's noise */
	struct remote_proc *proc;
};

/* One pipe from a process. */
struct remote_stream {
	int fd;
	struct buf part; /* a line that is not yet whole */
	bool cut;	 /* of which the rest is dropped */
};

struct remote_proc {
	struct remote_proc *next;
	pid_t pid;
	int pidfd; /* -1: has to be asked */
	struct remote_stream out, err;
	struct arena *arena; /* of what it was started with */
	size_t *nodes, count;
	size_t open;	    /* nodes that have not ended */
	struct map *labels; /* of pdsh: to indices of `nodes` */
	struct buf words;   /* of pdsh: its last line about no node */
	bool ready;	    /* something is to be read */
	bool exited;
	int status;	/* of waitpid() */
	bool overdue;	/* one of its nodes was given up */
	int pushed;	/* 0; 1: TERM sent; 2, 3: KILL; 4: left alone */
	double push_at; /* when to do the next of these; 0: not at all */
};

struct remote_run {
	const struct remote_options *o;
	enum remote_kind kind;
	const char *const *argv;
	char token[REMOTE_TOKEN];
	struct arena *arena;	     /* of what follows */
	const char *program, *inner; /* paths; `inner`: what pdsh runs */
	const char *line;  /* the command as one line for a login shell */
	char **env;	   /* of pdsh; NULL: our own */
	struct map *ranks; /* of flux */
	unsigned fanout;
	size_t keep;
	double polite; /* as in the options, or REMOTE_POLITE */
	struct remote_node *nodes;
	size_t count, first; /* `first`: all before it are not WAITING */
	size_t waiting, active;
	struct remote_proc *procs;
	size_t nprocs;
	int epoll;
	bool ending, stopped; /* nothing is started any more; by stop() */
	bool short_of;	      /* descriptors or processes: wait for some */
	char *buffer;	      /* 2 * REMOTE_BUFFER bytes to read into */
	bool no_pidfd;	      /* the kernel has none */
	bool failed;	      /* no memory */
};

#define REMOTE_BUFFER ((size_t)64 << 10)

/* --- find.c --- */

/* The path of the executable: `given` if it holds '/', else the first `given`
 * (NULL: `name`) in PATH; from `a`.  NULL: ERROR_ABSENT, ERROR_NOMEM. */
const char *remote_find(const char *given, const char *name, struct arena *a,
			struct error *err);

/* --- command.c --- */

/* Prepare for the kind, in run->arena: paths of programs, the command line. */
int remote_command_init(struct remote_run *run, struct error *err);

/* The argv that serves p->nodes, ended by NULL, in p's arena; NULL: no
 * memory. */
const char **remote_command_argv(const struct remote_run *run,
				 const struct remote_proc *p);

/* Why no process can be started for this node; NULL: it can. */
const char *remote_command_objection(const struct remote_run *run,
				     const char *name);

/* --- proc.c --- */

/* Start argv as the process for p->nodes: 0, or an errno.  `p` is unchanged
 * then. */
int remote_proc_start(struct remote_run *run, struct remote_proc *p,
		      const char **argv);

/* Read what there is, and look whether it ended. */
void remote_proc_read(struct remote_run *run, struct remote_proc *p);

/* Send what is due at `now` to one that is to end. */
void remote_proc_push(const struct remote_run *run, struct remote_proc *p,
		      double now);

struct remote_proc *remote_proc_new(size_t nodes);
void remote_proc_free(const struct remote_run *run, struct remote_proc *p);

/* --- node.c --- */

/* A line (or the end, without newline: !whole) of a node's stdout, stderr. */
void remote_node_out(struct remote_run *run, struct remote_node *n, char *text,
		     size_t len, bool whole);
void remote_node_err(struct remote_run *run, struct remote_node *n,
		     const char *text, size_t len, bool whole);

/* The node is through.  `fmt` makes the clause, NULL: none. */
void remote_node_end(struct remote_run *run, struct remote_node *n,
		     enum remote_state state, int status, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Its process is gone, or says that it is, with this status of waitpid() and
 * in these words (NULL: none). */
void remote_node_lost(struct remote_run *run, struct remote_node *n, int status,
		      const char *words);

/* The run itself fails: no memory. */
void remote_node_no_memory(struct remote_run *run);

/* --- pdsh.c --- */

/* Give the node a place among p's labels: 1, 0: another has its label, -1: no
 * memory. */
int remote_pdsh_label(struct remote_proc *p, const char *name, size_t at);

void remote_pdsh_out(struct remote_run *run, struct remote_proc *p, char *text,
		     size_t len, bool whole);
/* Returns the node that has ended, as pdsh says in *words; NULL: none has. */
struct remote_node *remote_pdsh_err(struct remote_run *run,
				    struct remote_proc *p, char *text,
				    size_t len, bool whole, const char **words);

/* --- loop.c --- */

/* Serve all nodes. */
int remote_loop(struct remote_run *run, struct error *err);

#endif /* REMOTE_REMOTE_IMPL_H */
