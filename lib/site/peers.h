/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.h - the processes that a launcher started together, as
 * "srun -N4 COMMAND" and "mpiexec -n 4 COMMAND" do.  They share the work of one
 * command, without MPI.
 *
 * They meet in a directory that all of them see, the board.  Process 0 has the
 * work; process N is there with the file N.here, finds its part in N.part, says
 * what it has to say in N.out and N.err, and how it ended in N.end.  The file
 * `end` is for all: there is no more work, and this is the exit status.
 *
 * Only for commands: without memory they end.
 */
#ifndef SITE_PEERS_H
#define SITE_PEERS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct hostlist;
struct remote_options;
struct remote_result;

#define PEERS_BOARD ".scrkit.peers"
#define PEERS_PART 128 /* bytes of a part, with NUL */

struct peers {
	unsigned rank, size;
	int board;   /* -1: not open */
	int dirfd;   /* where it is; borrowed */
	double beat; /* when process 0 last said that it lives */
	/* Set by the caller: true ends each wait; and seconds after which a
	 * silent process 0 is gone. */
	bool (*stop)(void);
	double patience;
};

/* Were we started by a launcher, with others?  That is told by the parent
 * process: a command that such a process runs has the same environment. */
bool peers_find(struct peers *p);

/*
 * Wait for parts, as process `number`.  1: this is a child process, and `part`
 * is what it shall do: it prints to stdout and stderr as ever, and exits.  0:
 * there is no more work; *status is the exit status of all.  -1: process 0 has
 * not come, or is gone.
 */
int peers_serve(struct peers *p, unsigned number, int dirfd,
		char part[static PEERS_PART], int *status, struct error *err);

/* Process 0: open the board, and wait a while for the others.  The names of
 * those that came are added to `here`. */
int peers_gather(struct peers *p, int dirfd, struct hostlist *here,
		 struct error *err);

/* remote_run() for these peers, with o->more, of which what follows '=' is the
 * part. */
int peers_run(struct peers *p, const struct hostlist *nodes,
	      const struct remote_options *o, struct remote_result *results,
	      struct error *err);

/* Process 0: there is no more work.  The board is removed. */
void peers_dismiss(struct peers *p, int dirfd, int status);

#endif /* SITE_PEERS_H */
