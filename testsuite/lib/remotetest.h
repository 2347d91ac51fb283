/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remotetest.h - pretend nodes, all played by one script.  It is first in PATH
 * under the names of ssh, srun, flux and mpiexec, and behaves according to the
 * name of the node.  A real pdsh calls it as its ssh and srun.
 *
 *	dead*	 never answers, and ignores TERM
 *	mute*	 never answers
 *	refuse*	 refuses; late*: ssh times out; nologin*: no account
 *	chatty*	 the login prints lines before the command's output
 *	broken*	 the connection breaks when the command's shell dies
 *	linger*	 the connection outlives the command
 *	nosrun*	 srun refuses; mix*: ssh refuses, and srun hangs
 *	shy*	 refuses the first time
 *	others	 run the command, with NODE in the environment
 */
#ifndef REMOTETEST_H
#define REMOTETEST_H

#include "hostlist.h"
#include "remote/remote.h"
#include "scratch.h"

extern char remote_root[128];

/* Put the scripts first in PATH. */
void remote_setup(void);

/* Let this script play program `name`, or the one of remote_setup() again. */
void remote_play(const char *name, const char *script);
void remote_play_no_more(const char *name);

/* Is a real pdsh installed? */
bool have_pdsh(void);

/* One run: nodes, options and results. */
struct scene_run {
	struct hostlist nodes;
	struct remote_options o;
	struct remote_result *r;
	struct error err;
	double seconds;
};

/* Run a command on nodes.  The results stay. */
int run_on(struct scene_run *s, const char *nodes, const char *const *argv);

/* Run a line of /bin/sh on nodes. */
int run_line(struct scene_run *s, const char *nodes, const char *line);

/* The stdout and the stderr of a node's command. */
const char *out_of(const struct remote_result *r);
const char *err_of(const struct remote_result *r);

/* Does the result have this state and status, with these words as reason? */
bool came(const struct remote_result *r, enum remote_state state, int status,
	  const char *words);

#endif /* REMOTETEST_H */
