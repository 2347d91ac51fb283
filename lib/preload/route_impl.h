/* SPDX-License-Identifier: BSD-3-Clause */
/* route_impl.h - the state of route: route_names.c knows the names and where
 * the files are, route.c the datasets and descriptors. */
#ifndef PRELOAD_ROUTE_IMPL_H
#define PRELOAD_ROUTE_IMPL_H

#include <pthread.h>
#include <regex.h>

#include "buf.h"
#include "preload/route.h"

/* What a descriptor is for: the lowest bits of an entry of route_fds; above
 * them is the number of its file. */
enum {
	READS = ROUTE_READS,
	LATER = ROUTE_LATER,
	WRITES = ROUTE_WRITES,
	KIND = 3
};

#define ROUTE_LITERAL 32

/* An extended regular expression, and a test that most names fail at once. */
struct pattern {
	regex_t re;
	const char *text; /* for messages; NULL: none */
	/* Part of every name that matches; "": nothing is known. */
	char literal[ROUTE_LITERAL];
};

/* A name that was opened, or looked for. */
struct route_file {
	const char *key;   /* absolute, below the prefix */
	const char *place; /* where libscr has it, or NULL */
	unsigned set;	   /* the checkpoint that wrote it; 0: it was read */
	size_t pattern;
	ino_t ino; /* of the file that was opened LATER */
	bool lost; /* what it had, before it was opened LATER */
	bool ours; /* one of this rank's in the restart */
};

/* PAST: a checkpoint whose dataset could not be begun. */
enum route_stage { IDLE, RESTART, OUTPUT, PAST };

/* A process has one MPI_COMM_WORLD, and one libscr. */
struct route_state {
	pthread_mutex_t lock;
	pthread_t first;
	pid_t pid;
	struct route_scr scr;
	struct route_rank is;
	struct pattern *patterns; /* of this rank */
	size_t npatterns, patterns_cap;
	struct pattern dir, temporary;
	struct buf prefix, real; /* the latter without links */
	enum route_stage stage;
	bool *had; /* for each pattern: a file of this checkpoint */
	unsigned set;
	int writers; /* descriptors of this checkpoint */
	bool failed; /* to write a file of it */
	bool due;    /* it is to be completed by the first thread */
	bool cached; /* the restart is not from the prefix */
	struct map *names;
	struct route_file *files;
	size_t count, cap;
	bool said_outside, said_thread, said_more, said_prefix;
	bool said_lost, said_unread;
};
extern struct route_state route_state;

/* Is this the rank, not a child of it, and a call of the program?  Then until
 * route_exit() no other thread is inside, and calls of this one are those of
 * libscr, or of ours. */
bool route_enter(void);
void route_exit(void);
extern _Thread_local bool route_inside;

/* Write the path of a name that matches one of the patterns to `key`.  Returns
 * the number of the pattern: of several one that has no file in this
 * checkpoint.  -1: none; OUTSIDE: it is not below the prefix. */
#define OUTSIDE (-2)
int route_match(const struct pattern *all, size_t count, int dir,
		const char *path, char key[static ROUTE_PATH]);

/* The entry of `key`, added if there is none; NULL: no memory. */
struct route_file *route_entry(const char *key);
void route_put(struct route_file *f, const char *place);

/* The entry of a file that libscr has, or NULL. */
struct route_file *route_seek(const char *key);

/* Is what libscr had of this file gone, as of a checkpoint that made room for
 * this one? */
bool route_gone(const char *key);

/* Say that a file of the restart cannot be read, for errno `error`. */
void route_unread(const char *key, int error);

/* Complete what another thread has left to this one. */
void route_due(void);

/* Say it once. */
#define SAY_ONCE(said, ...) \
	((said) ? (void)0 : ((said) = true, route_say(__VA_ARGS__)))

#endif /* PRELOAD_ROUTE_IMPL_H */
