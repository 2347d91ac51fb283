/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - run one command on many nodes, whatever the site has for it.
 *
 *	pdsh     one process for up to `fanout` nodes; through ssh, or through
 *	         srun with pdsh's own module exec
 *	ssh srun flux mpiexec    a process a node
 *	local    on this machine, once a node, without a shell
 *
 * A node that is dead, hangs or refuses costs no more than its own limits, and
 * the others nothing.  Each argument arrives as it is given, blanks, quotes and
 * dollars too (a newline only where the login shell there is none of csh's
 * family).  On the node /bin/sh says when it begins and with which status the
 * command ended, so what a login prints is not taken for the command's output,
 * and a lost connection not for its status.  The command finds nothing on its
 * stdin.  What is given up is ended here; there a command learns of it when it
 * writes, so one that works long should print a line now and then.
 *
 * Threads: none; children are waited for one by one, and SIGCHLD is left alone
 * (but where it is ignored, for the duration of the call).
 */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

struct error;
struct hostlist;

#define REMOTE_FANOUT 64 /* nodes at a time, if not given */
#define REMOTE_FANOUT_MAX 1024
#define REMOTE_KEEP ((size_t)1 << 20) /* bytes of output, if not given */

enum remote_kind {
	REMOTE_AUTO, /* what remote_settle() finds */
	REMOTE_PDSH,
	REMOTE_SSH,
	REMOTE_SRUN,
	REMOTE_FLUX,
	REMOTE_MPIEXEC,
	REMOTE_LOCAL,
	REMOTE_KINDS, /* how many there are */
};

/* All zero is good. */
struct remote_options {
	enum remote_kind kind;
	const char *module; /* pdsh's: "ssh" (NULL), "exec" (with srun), ... */
	enum remote_kind around; /* what the resource manager of the job around
				    us has for it; REMOTE_AUTO: nothing */
	/* What to call instead of what is found in PATH; NULL: the latter. */
	const char *programs[REMOTE_KINDS]; /* pdsh looks for ssh itself */
	const char *job_id; /* srun's --jobid; NULL: around us */
	unsigned fanout;    /* 0: REMOTE_FANOUT */
	/* Seconds; 0: no limit.  From the start of a node's process to the
	 * command's beginning (ssh and pdsh have up to 1 more to say why);
	 * between two signs of life of the command; in all. */
	double connect, idle, limit;
	double polite; /* seconds between TERM and KILL; 0: 2 */
	size_t keep;   /* bytes of each output, and of a line; 0: REMOTE_KEEP */
	/* Asked now and then, several times a second: true ends all. */
	bool (*stop)(void);
	/* Every line of stdout, when it comes; `text` is good for the call. */
	void (*line)(void *arg, size_t node, const char *text);
	void *arg;
};

enum remote_state {
	REMOTE_DONE,	    /* the command ended; status says how */
	REMOTE_REFUSED,	    /* it could not be begun: no way to the node */
	REMOTE_TIMEOUT,	    /* a limit was passed, or ssh gave up waiting */
	REMOTE_KILLED,	    /* it was cut off: by a signal, a lost connection,
			   or because stop() said so */
	REMOTE_NOT_STARTED, /* nothing was tried for this node */
};

struct remote_result {
	enum remote_state state;
	int status;	     /* DONE: exit status, 128 + signal; else -1 */
	struct buf out, err; /* the first `keep` bytes of each */
	bool cut;	     /* there was more, or too long a line */
	double seconds;	     /* from start to end */
	const char *why;     /* not DONE: a clause for people; else NULL.  Of
			    `text`, or static */
	struct buf text;
};

/* Free what *r holds, and empty it.  One that is all zero is fine. */
void remote_result_free(struct remote_result *r);
void remote_results_free(struct remote_result *r, size_t count);

/*
 * Set o->kind (and o->module) by name: NULL, "" or "auto"; "pdsh", "pdsh:ssh",
 * "pdsh:exec", "pdsh:MODULE"; "ssh", "srun", "flux", "mpiexec" or "mpirun",
 * "local".  LLNL's other launchers, "aprun", "jsrun" and "lrun", start nothing
 * on a node by its name: they mean "auto".  The module's name is borrowed from
 * `name`.  ERROR_USAGE: another word.
 */
int remote_choose(const char *name, struct remote_options *o,
		  struct error *err);

/*
 * Make o->kind definite for these nodes: local where the only one is this
 * machine, else the first that is installed of pdsh with ssh, o->around, ssh,
 * mpiexec.  Adds to `said` (may be NULL) what is taken and why, one line
 * without its end.  ERROR_ABSENT: what was
 * asked for is not installed, or nothing is there.
 */
int remote_settle(const struct hostlist *nodes, struct remote_options *o,
		  struct buf *said, struct error *err);

/*
 * Run argv on each of the nodes (one named twice: twice) and wait for all.
 * results[0 .. nodes->count - 1] are overwritten, and the caller's to free
 * afterwards, also on error.  0: all were tried, and results say what came of
 * it.  -1: ERROR_ABSENT as above; ERROR_USAGE; ERROR_NOMEM; ERROR_SYSTEM, with
 * errnum EINTR after stop(): then those under way are KILLED, the others
 * NOT_STARTED.  No child is left, but for one that not even SIGKILL ends.
 */
int remote_run(const struct hostlist *nodes, const char *const *argv,
	       const struct remote_options *o, struct remote_result *results,
	       struct error *err);

/* "pdsh", "ssh" ...; "done", "refused" ... */
const char *remote_kind_name(enum remote_kind kind);
const char *remote_state_name(enum remote_state state);

/* Is there such a program in PATH, or at a path with '/'? */
bool remote_installed(const char *program);

/* Is this the name, long or short, of the machine this runs on? */
bool remote_is_here(const char *name);

#endif /* REMOTE_REMOTE_H */
