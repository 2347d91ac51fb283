/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remotetest.h - a machine room of one script: it stands first in PATH under
 * the names of ssh, srun, flux and mpiexec, looks which node is meant, and
 * behaves like that node.  A real pdsh calls it as its ssh and srun.
 *
 *	dead*	 never answers, and ignores TERM
 *	mute*	 never answers
 *	refuse*	 is refused; late*: ssh gives up waiting; nologin*: no account
 *	chatty*	 its login prints things before the command's output
 *	broken*	 the connection breaks when the command's shell dies
 *	linger*	 the connection stays when the command has ended
 *	others	 run the command, with NODE in the environment
 */
#ifndef REMOTETEST_H
#define REMOTETEST_H

#include "hostlist.h"
#include "remote/remote.h"
#include "scratch.h"

extern char remote_root[128];

/* Put the scripts first in PATH, behind which the real programs stay. */
void remote_setup(void);

/* Is a real pdsh installed? */
bool have_pdsh(void);

/* The time since some moment, in seconds. */
double seconds(void);

/* A run of a test: nodes, what is asked of them, and what came of it. */
struct scene_run {
	struct hostlist nodes;
	struct remote_options o;
	struct remote_result *r;
	struct error err;
	double seconds;
};

/* Run a command on nodes; for run_free(). */
int run_on(struct scene_run *s, const char *nodes, const char *const *argv);

/* The same with a line for /bin/sh. */
int run_line(struct scene_run *s, const char *nodes, const char *line);
void run_free(struct scene_run *s);

/* The output of a node's command, and what it printed to stderr. */
const char *out_of(const struct remote_result *r);
const char *err_of(const struct remote_result *r);

/* Is this what became of the node, and do the words say why? */
bool came(const struct remote_result *r, enum remote_state state, int status,
	  const char *words);

#endif /* REMOTETEST_H */
