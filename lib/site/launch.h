/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.h - was this process started beside others like it by one launcher,
 * which of them is it, and on which nodes do they run?
 *
 * Process 0 then does the work for all, and the others do nothing.  As doing
 * nothing looks like success, a process takes itself for one of these only if
 * it is certain that process 0 is the same command.  Variables alone prove
 * nothing: the children of an application's ranks have them, too.
 *
 *	srun		SLURM_TASK_PID is this process, and SLURM names its step
 *			after this program: a wrapper or several programs have
 *			another name
 *	mpiexec of	The parent is the launcher's, and the processes compare
 *	MPICH, flux	commands, directories and prefixes by its protocol PMI-1
 *
 * Any other process is alone, as without a launcher.
 */
#ifndef SITE_LAUNCH_H
#define SITE_LAUNCH_H

#include <stdbool.h>

enum launch_role {
	LAUNCH_ALONE,
	LAUNCH_FIRST,	/* process 0 */
	LAUNCH_SURPLUS, /* another one: process 0 does all */
};

#define LAUNCH_LINE 2048 /* of PMI-1; a longer one is an error */

/* All zero: not joined. */
struct launch {
	enum launch_role role;
	char *nodes; /* FIRST: they run on these, two or more; else NULL */
	/* Private: */
	bool entered; /* PMI */
	int fd;
	char line[LAUNCH_LINE];
};

/* Find out.  In process 0 the variables of the launch are removed from the
 * environment, as children are no processes of it.  Call launch_leave() at the
 * end. */
void launch_join(struct launch *l);

/* Tell the launcher that we leave: that the first process has ended is then no
 * reason for it to end the others. */
void launch_leave(struct launch *l);

#endif /* SITE_LAUNCH_H */
