/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.h - the processes of the wrapper: the launcher, which gets everything
 * the wrapper has (descriptors, terminal, environment), and the toolkit's own
 * commands.  Each gets SIGTERM if the wrapper dies, however it dies.
 *
 * Signals are read, not handled: run_signals_open() blocks them.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "buf.h"

struct error;

struct run_signals {
	int fd;		 /* a signalfd; -1: not open */
	sigset_t before; /* the mask that children get */
};

/* A signal that arrived. */
struct run_signal {
	int number;
	bool terminal; /* the terminal sent it to all in the foreground */
};

int run_signals_open(struct run_signals *s, struct error *err);
void run_signals_close(struct run_signals *s);

/* What the descriptors of a child are. */
enum run_child_kind {
	RUN_CHILD_PROGRAM, /* those of the wrapper */
	RUN_CHILD_TOOL,	   /* no input; its output goes to our stderr */
	RUN_CHILD_ASK,	   /* no input; stdout is collected, stderr dropped */
};

struct run_child {
	pid_t pid; /* 0: none */
	int out;   /* ASK: the pipe; -1 */
	struct buf said;
	bool ended;
	int status; /* exit status, or 128 + signal */
};
#define RUN_CHILD_INIT \
	{ \
		.pid = 0, .out = -1, .said = BUF_INIT \
	}

/* Start argv (ended by NULL, looked up in PATH).  -1: it cannot be executed;
 * ERROR_ABSENT: there is no such program. */
int run_child_start(struct run_child *c, const char *const *argv,
		    enum run_child_kind kind, const struct run_signals *s,
		    struct error *err);

/* Has it ended?  Reads what it has printed, and sets c->ended. */
bool run_child_poll(struct run_child *c);

/* Wait until `seconds` have passed, a signal arrives (true, *got), or a child
 * may have ended, or `c` (NULL: none) may have said something. */
bool run_child_wait(const struct run_signals *s, const struct run_child *c,
		    double seconds, struct run_signal *got);

void run_child_kill(const struct run_child *c, int signal);
void run_child_free(struct run_child *c);

#endif /* RUN_CHILD_H */
