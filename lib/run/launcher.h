/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launcher.h - tell the site's launcher which nodes to use.
 *
 * The user's words are passed on unchanged as long as every node can be used.
 * Else srun, jsrun, lrun and "flux run" get an option that excludes nodes, in
 * each section between colons, joined with that of the user; aprun and mpiexec
 * get the list of nodes to use.  Host files and lists of hosts that the user
 * gives to mpiexec are replaced by what is left of them.  Any other launcher
 * gets its words unchanged, and finds the nodes in the environment:
 * SCR_RUN_NODES, with commas.
 *
 * The words of the launcher end at the first one that is neither an option nor
 * the value of one.  Which options have no value, or two, is known for each
 * launcher; another one has one value, unless what follows it is the path of a
 * program.
 *
 * A run with fewer ranks than the user's words say gets their number in the
 * place of the user's, and srun, lrun and flux the number of nodes, too.
 */
#ifndef RUN_LAUNCHER_H
#define RUN_LAUNCHER_H

#include <stdint.h>

struct arena;
struct error;
struct hostlist;

/* The host file for mpiexec, in PREFIX/.scr. */
#define RUN_HOSTS "run.hosts"

struct run_nodes {
	const struct hostlist *all; /* of the job; empty: unknown */
	const struct hostlist *use; /* those to run on */
	const char *hosts;	    /* path of RUN_HOSTS */
	int scr;		    /* its directory; -1: a dry run */
	uint64_t ranks;		    /* fewer than the words say; 0: as many */
};

/* The number of ranks that the words of a known launcher say; 0: they do not,
 * or there are several programs. */
uint64_t run_launcher_ranks(const char *const *words);

/* Add the hosts that the user gives to mpiexec, as a list or in a file, without
 * repetitions.  Errors: as below. */
int run_launcher_hosts(const char *const *words, struct hostlist *out,
		       struct error *err);

/*
 * The words to execute, ended by NULL, in `a`: `words` (ended by NULL, the
 * first is the launcher), with the nodes of `n`.  Writes RUN_HOSTS if it is
 * needed.  NULL: ERROR_SYSTEM (the user's host file), ERROR_ABSENT (it is
 * not there, or the user's nodes cannot be replaced or are all gone).
 */
const char **run_launcher_argv(const char *const *words,
			       const struct run_nodes *n, struct arena *a,
			       struct error *err);

#endif /* RUN_LAUNCHER_H */
