/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - run one command on many nodes, with the launchers of the site.
 *
 *	kind                      what runs here
 *	pdsh, ssh, srun, flux,    a process for each node
 *	mpiexec
 *	local                     the command, once for each node, without a
 *	                          shell
 *
 * Two ways may lead to a node: remote_resolve() lists them.  A node whose
 * command did not begin is asked once more by the same way after a pause, then
 * by the next way, and the way that reached it is remembered.  A command that
 * began is never started a second time.
 *
 * A node that is dead, hangs or refuses does not delay the others.  All nodes
 * are served side by side, so that dead ones delay a run by two connection
 * time-outs for each way, however many they are (if more than `fanout`: for
 * each fanout of them).  Each argument arrives unchanged, including blanks,
 * quotes and dollars (a newline only if the login shell of the node is not of
 * csh's family).
 *
 * On the node a /bin/sh prints a marker when the command begins, and another
 * with its exit status.  So text printed by a login is not mistaken for the
 * command's output, nor a lost connection for its status.  The command's stdin
 * is empty.
 *
 * If a node is given up, the local process is ended.  The remote command
 * notices this only when it writes, so a long-running command should print a
 * line now and then.
 *
 * Threads: none.  Children are waited for one by one.  SIGCHLD is not changed,
 * except that if it is ignored, it is set to its default during the call.
 */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct arena;
struct error;
struct hostlist;
struct remote_ways; /* opaque */

#define REMOTE_FANOUT 64 /* default: nodes at a time */
#define REMOTE_FANOUT_MAX 16384
#define REMOTE_KEEP ((size_t)1 << 20) /* default: bytes of output */

enum remote_kind {
	REMOTE_AUTO, /* chosen by remote_resolve() */
	REMOTE_PDSH,
	REMOTE_SSH,
	REMOTE_SRUN,
	REMOTE_FLUX,
	REMOTE_MPIEXEC,
	REMOTE_LOCAL,
	REMOTE_KINDS, /* number of kinds */
};

/* All zero means defaults. */
struct remote_options {
	enum remote_kind kind;
	const char *module; /* pdsh's: "ssh", ...; else NULL */
	/* of remote_resolve(); NULL: `kind` is the only way, and is tried
	 * once */
	struct remote_ways *ways;
	/* The kind of the resource manager whose job we run in; REMOTE_AUTO:
	 * none. */
	enum remote_kind around;
	const char *job_id; /* srun's --jobid; NULL: our job */
	char **env;	    /* of a local command; NULL: our own */
	/* By node: an argument behind those of the command; NULL: none. */
	const char *const *more;
	/* Never start a command again that may have begun: after a time-out,
	 * for instance. */
	bool wary;
	unsigned fanout; /* 0: REMOTE_FANOUT */
	/*
	 * Limits in seconds; 0: no limit.  `connect`: from the start of the
	 * process to the start of the command (ssh and pdsh get up to 1 second
	 * more, to report why).  `idle`: between two outputs of the command.
	 * `limit`: from the start of the process to its end.
	 */
	double connect, idle, limit;
	double polite; /* seconds from TERM to KILL; 0: 2 */
	size_t keep;   /* bytes of each output, and of a line; 0: REMOTE_KEEP */
	size_t talk;   /* bytes after which a node is ended; 0: 4 * keep */
	/* Polled several times a second; true ends the run.  May be NULL. */
	bool (*stop)(void);
	/* Called for each line of stdout as it arrives; `text` is valid during
	 * the call.  May be NULL. */
	void (*line)(void *arg, size_t node, const char *text);
	void *arg;
};

/* Of several attempts that did not begin the command the first in this list
 * counts: a sign of life outweighs all others, silence proves nothing. */
enum remote_state {
	REMOTE_DONE, /* the command ended; `status` is set */
	/* The node, or something before it, refused; or it took the connection,
	 * or printed a byte, and came to no command. */
	REMOTE_REFUSED,
	REMOTE_DEAD,	/* nobody took the connection */
	REMOTE_TIMEOUT, /* a limit was exceeded: it is not known why */
	/* It was ended by a signal, a lost connection, stop(), or because it
	 * printed without end. */
	REMOTE_KILLED,
	REMOTE_NOT_STARTED, /* this node was not tried, or could not be */
};

struct remote_result {
	enum remote_state state;
	int status;	     /* DONE: exit status, 128 + signal; else -1 */
	struct buf out, err; /* the first `keep` bytes of each */
	bool cut;	     /* output was dropped, or a line was too long */
	bool begun;	     /* the command began */
	double seconds;	     /* from start to end, of the last attempt */
	/* Not DONE: a clause for messages, in `text` or static; else NULL. */
	const char *why;
	struct buf text;
};

/* Free what *r holds, and empty it.  A struct that is all zero is allowed. */
void remote_result_free(struct remote_result *r);
void remote_results_free(struct remote_result *r, size_t count);

/* The names of --help and of completions. */
#define REMOTE_NAMES "auto|pdsh|ssh|srun|flux|mpiexec|local"

/*
 * Set o->kind (and o->module) by name: NULL, "" or "auto"; "pdsh" (with its
 * module ssh), "pdsh:MODULE"; "ssh", "srun" (also "pdsh:exec"), "flux",
 * "mpiexec" or "mpirun", "local".  LLNL's other launchers, "aprun", "jsrun" and
 * "lrun", cannot start a process on a node given by name: they mean "auto".
 * The name of the module is borrowed from `name`.  ERROR_USAGE: any other name.
 */
int remote_choose(const char *name, struct remote_options *o,
		  struct error *err);

/*
 * Choose the ways to these nodes, once for a program: o->ways, to be freed by
 * remote_forget(), and the first of them as o->kind.  A kind that is given is
 * the only way.  REMOTE_AUTO: local if the only node is this machine; else
 * those of o->around and ssh that are installed.  mpiexec is chosen only where
 * none of them is: it reaches nodes by one of them itself.  Appends
 * the ways and the reason to `said` (may be NULL), as one line without newline.
 * ERROR_ABSENT: none is installed.
 */
int remote_resolve(const struct hostlist *nodes, struct remote_options *o,
		   struct buf *said, struct error *err);
void remote_forget(struct remote_options *o);

/*
 * Run argv on each of the nodes (twice on a node named twice) and wait for all.
 * What o->ways learns of the nodes is for later calls.
 * results[0 .. nodes->count - 1] are overwritten; the caller frees them, also
 * after an error.  0: all nodes were tried, see their results.  -1:
 * ERROR_ABSENT (the program is not installed), ERROR_USAGE, ERROR_NOMEM,
 * ERROR_SYSTEM. errnum EINTR means stop(): running commands are KILLED, the
 * others NOT_STARTED.  No child is left, except one that survives SIGKILL.
 */
int remote_run(const struct hostlist *nodes, const char *const *argv,
	       const struct remote_options *o, struct remote_result *results,
	       struct error *err);

/* Our environment, but for the variables that begin with a word of `without`,
 * which ends with NULL, and with `more`, "NAME=VALUE".  It is in `a` and
 * borrows `more`.  NULL: no memory, or `more` is NULL. */
char **remote_environment(struct arena *a, const char *const *without,
			  char *more);

/* "pdsh", "ssh" ... */
const char *remote_kind_name(enum remote_kind kind);

/* Look up `program` in PATH, unless it contains '/', and write its path to
 * `to`, of PATH_MAX bytes.  False: not found. */
bool remote_look_up(const char *program, char *to);

/* Is `program` in PATH, or if it contains '/' at that path? */
bool remote_installed(const char *program);

/* Is `name` the long or short name of this machine? */
bool remote_is_here(const char *name);

#endif /* REMOTE_REMOTE_H */
