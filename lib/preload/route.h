/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route.h - the checkpoints of a program that knows nothing of libscr: which
 * files they have, where these are, when a dataset begins and ends.  It wraps
 * no function; preload asks it, and mpi begins and ends it.
 *
 * A dataset begins when the program opens a file to write whose name matches a
 * pattern, and is complete when each pattern of this rank has had a file, and
 * all of them are closed.  Both are collective, so all ranks write their files
 * for the same checkpoint.  All that concerns reading is local.
 *
 * Any thread may call the functions; errno is preserved.
 */
#ifndef PRELOAD_ROUTE_H
#define PRELOAD_ROUTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

#define ROUTE_PATH 1024 /* SCR_MAX_FILENAME */

/* The functions of libscr, as in scr.h. */
#define ROUTE_SCR(X) \
	X(int, Init, (void)) \
	X(int, Finalize, (void)) \
	X(const char *, Config, (const char *)) \
	X(int, Route_file, (const char *, char *)) \
	X(int, Have_restart, (int *, char *)) \
	X(int, Start_restart, (char *)) \
	X(int, Restart_files, (int, int *, char *)) \
	X(int, Complete_restart, (int)) \
	X(int, Start_output, (const char *, int)) \
	X(int, Complete_output, (int))
struct route_scr {
#define ROUTE_MEMBER(type, name, args) type(*name) args;
	ROUTE_SCR(ROUTE_MEMBER)
};

/* What MPI says of this process. */
struct route_rank {
	int rank, ranks;
	bool threads; /* any thread may call MPI */
};

/* Read the parameters, before SCR_Init(): they are wrong on all ranks, or on
 * none.  ERROR_USAGE, ERROR_NOMEM.  Collective. */
int route_begin(const struct route_scr *scr, struct route_rank is,
		struct error *err);

/* After SCR_Init(): begin to restart, if there is something, and to route.
 * Collective. */
void route_start(void);

/* Before MPI_Finalize(): complete what is open, and finalize libscr.
 * Collective. */
void route_end(void);

/* A line on stderr: of rank 0 if what it says is the same on all ranks. */
void route_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- Names --- */

/* Files are routed; and could this name be one of them?  If not, the functions
 * below have nothing to do.  Each name that a program opens is asked about: few
 * have the first character of what a pattern asks for. */
extern _Atomic bool route_on;
extern uint32_t route_first[8]; /* a bit for each character */
bool route_matches(const char *path);
static inline bool
route_seems(const char *path)
{
	/* Headers say that it is never NULL: the compiler would believe it. */
	__asm__("" : "+r"(path));
	for (; path != NULL && *path != '\0'; path++) {
		const unsigned char c = (unsigned char)*path;

		if ((route_first[c / 32] >> c % 32 & 1) != 0)
			return route_matches(path);
	}
	return false;
}

/* A file that is to be opened; `path` is where. */
enum { ROUTE_READS = 1, ROUTE_LATER, ROUTE_WRITES };
struct route_open {
	char path[ROUTE_PATH];
	size_t file;
	int kind;   /* LATER: to read and write, and not written so far */
	bool fresh; /* it is new in this checkpoint */
};

/* Get where to open a file.  `stream`: by fopen().  False: where the program
 * says.  Then call route_opened() with the descriptor, which is -1 if that
 * failed: the caller opens the file where the program says. */
bool route_open(struct route_open *to, int dir, const char *path, int flags,
		bool stream);
void route_opened(const struct route_open *to, int fd);

/* Is this error one of the program, not of the place of its file? */
bool route_own_error(int error);

/*
 * What is known of a name: it is one of a checkpoint file (NAMED); libscr has
 * that file, at `place` (HAD), in the checkpoint that is being written (NOW);
 * or it is one of a directory that is not made, for which the prefix stands
 * (DIR); libscr had that file, but it is gone (GONE).  0: nothing.
 */
enum {
	ROUTE_NAMED = 1,
	ROUTE_HAD = 2,
	ROUTE_NOW = 4,
	ROUTE_DIR = 8,
	ROUTE_GONE = 16
};
struct route_look {
	char key[ROUTE_PATH]; /* the same for all names of a file */
	char place[ROUTE_PATH];
};
int route_look(struct route_look *is, int dir, const char *path);

/* The file is to get another name, and what it had is gone (GONE): then this
 * checkpoint lacks it, if that name is `needed`. */
void route_lost(const char *key, bool needed);

/* The file has this name no more; libscr removes it in its time. */
void route_forget(const char *key);

/* --- Descriptors --- */

#define ROUTE_FDS (1 << 16)
extern _Atomic int route_fds[ROUTE_FDS]; /* 0: not routed */
extern _Atomic int route_count;		 /* how many are */

static inline bool
route_has(int fd)
{
	return atomic_load_explicit(&route_count, memory_order_relaxed) != 0 &&
	       (unsigned)fd < ROUTE_FDS &&
	       atomic_load_explicit(&route_fds[fd], memory_order_relaxed) != 0;
}

/* Before a write to a routed descriptor, or whatever changes its file. */
void route_writing(int fd);

/* A write, or another call, failed. */
void route_failed(int fd);

/* `to` is a duplicate of the routed `fd`. */
void route_duped(int fd, int to);

/* Before a routed descriptor is closed, and after it: with what the first call
 * returned, and whether bytes may be missing. */
int route_closing(int fd);
void route_closed(int was, bool failed);

#endif /* PRELOAD_ROUTE_H */
