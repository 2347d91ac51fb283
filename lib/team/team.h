/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * team.h - teams of ranks, each with a communicator of its own: agreement and
 * messages.
 *
 * All functions are collective over the team, if nothing else is said.  Every
 * step in which ranks take part ends with team_agree(), so that all ranks
 * return the same from it, and no rank waits for one that has left.  An error
 * of MPI itself ends the job, as MPI does by default.  Threads: only the one
 * that called MPI_Init().
 */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct kvtree;

struct team {
	MPI_Comm comm;
	uint32_t rank, size;
	const uint32_t *ranks; /* by member: its rank in the job; NULL: the team
				  of all */
};

#define TEAM_INIT \
	{ \
		.comm = MPI_COMM_NULL \
	}

/* All ranks of the job. */
void team_world(struct team *out);
/* Any team; a copy is not freed.  All its members call this, for their teams in
 * the same order. */
void team_free(struct team *t);

/* A team of `size` ranks of the job, in ascending order, which are borrowed.
 * All ranks of the job make their teams in the same order. */
void team_part(const struct team *world, const uint32_t *ranks, uint32_t size,
	       struct team *out);

/* The member that is this rank of the job; the size of the team: none is.
 * O(log size).  Local. */
uint32_t team_member(const struct team *t, uint32_t rank);

/* For MPI. */
enum {
	TAG_NOTE, /* the first ones belong to team.c */
	TAG_TURN,
	TAG_PART,
	TAG_MOVE,   /* regain_move.c */
	TAG_SLICES, /* flow.c, and those that follow */
};

/*
 * Did all ranks succeed?  `rc` is the result of this rank, and *err its error.
 * Returns 0, or -1 with the error of the lowest rank that failed.  Costs one
 * reduction if no rank failed.
 */
int team_agree(const struct team *t, int rc, struct error *err);

/* team_agree(), then replace `b` on all ranks by that of rank `root`.  -1, on
 * all: the error of a rank, or ERROR_NOMEM. */
int team_share(const struct team *t, uint32_t root, int rc, struct buf *b,
	       struct error *err);

/* Replace `b` on all members by the bytes of all, in the order of members;
 * member 0 collects them.  `rc` and *err are as for team_agree(). */
int team_join(const struct team *t, int rc, struct buf *b, struct error *err);

/* Is the string the same on all ranks, by its hash?  NULL equals only NULL. */
bool team_same(const struct team *t, const char *text);

/*
 * Is the open directory `dirfd` that of rank 0?  *made: rank 0 could make the
 * file that shows it, with `use` in its name (token.h); *seen: this rank sees
 * it there.  A rank with -1 sees nothing.  -1, on all: ERROR_NOMEM.
 */
int team_sees(const struct team *world, int dirfd, const char *use, bool *made,
	      bool *seen, struct error *err);

/* The sums over all ranks, in place. */
void team_sum(const struct team *t, uint64_t *values, int count);
/* The same over the ranks before this one, any number of values; 0 on rank 0.
 */
void team_before(const struct team *t, uint64_t *values, int count);
uint64_t team_most(const struct team *t, uint64_t value);
uint64_t team_least(const struct team *t, uint64_t value);
bool team_any(const struct team *t, bool yes);

/* Send `len` bytes at `data` from rank `root` to all. */
void team_bytes(const struct team *t, uint32_t root, void *data, size_t len);

/* Get one number from each rank, by rank; `all` has room for them. */
void team_gather64(const struct team *t, uint64_t mine, uint64_t *all);

/* Let only `width` ranks at a time be between team_turn() and team_turn_done();
 * 0: all.  One message per rank. */
void team_turn(const struct team *t, uint32_t width);
void team_turn_done(const struct team *t, uint32_t width);

/* --- Waiting --- */

/*
 * Polling.  After some microseconds a waiting rank yields its core between
 * polls.  After a millisecond it sleeps between them, for a thirty-second of
 * its waiting time, at most a millisecond.  So ranks that share a core answer
 * each other at once, and ranks that wait longer leave their cores to working
 * ranks, for instance while one of them writes to a slow disk.
 */
struct team_rest {
	unsigned polls; /* without progress */
	double since;	/* time of the first of these polls, clock_seconds() */
};

/* Call after each poll; `moved`: there was progress.  Local. */
void team_rest(struct team_rest *r, bool moved);

/* Wait for all requests.  Local. */
void team_wait(MPI_Request *requests, int count);

/* --- Notes: bytes from any rank to any other --- */

struct team_note {
	uint32_t rank; /* the receiver, or the sender; num_by_u32() */
	const void *data;
	size_t len; /* in bytes, below 2 GiB */
};

struct team_mail {
	size_t count;
	struct team_note *notes;
};

/*
 * Send the notes in `out`, at most one to each rank, and receive those of
 * others into *in, sorted by rank and allocated in `a`; a rank may send one to
 * itself.  Apart from a barrier, the cost does not grow with the size of the
 * team.  `rc` and *err are as for team_agree(), which ends the exchange: a rank
 * that has failed sends nothing. -1, on all ranks: the error of a rank, or
 * ERROR_NOMEM.
 */
int team_notes(const struct team *t, int rc, const struct team_mail *out,
	       struct arena *a, struct team_mail *in, struct error *err);

/*
 * Send the tree of each member, unless it is empty, to the member `to`.  *tree
 * is freed, and becomes the merged trees that this member received; NULL: an
 * error.  `rc` and *err are as for team_notes(), but the result is that of this
 * rank.
 */
int team_trees(const struct team *t, uint32_t to, int rc, struct kvtree **tree,
	       struct error *err);

/* A path on its way to its home: the rank that is responsible for it, the same
 * whoever sends it. */
struct team_path {
	const char *path;
	/* Set: the rank, and the place in the list. */
	uint32_t home;
	size_t number;
};

/* Send each path to its home; the list is sorted by that, and by number.  *in:
 * for each rank that has sent any, those with their home here, each with its
 * NUL.  `npaths` below 0: this rank has failed; *err is as for team_notes(). */
int team_homes(const struct team *t, struct team_path *list, int64_t npaths,
	       struct arena *a, struct team_mail *in, struct error *err);

/* The analyser looks at one source file at a time: tell it that these fail if
 * this rank has failed. */
#if defined(__clang_analyzer__) && !defined(TEAM_C)
static inline int
team_agree_seen(const struct team *t, int rc, struct error *err)
{
	return team_agree(t, rc, err) < 0 || rc != 0 ? -1 : 0;
}

static inline int
team_share_seen(const struct team *t, uint32_t root, int rc, struct buf *b,
		struct error *err)
{
	return team_share(t, root, rc, b, err) < 0 || rc != 0 ? -1 : 0;
}

static inline int
team_notes_seen(const struct team *t, int rc, const struct team_mail *out,
		struct arena *a, struct team_mail *in, struct error *err)
{
	return team_notes(t, rc, out, a, in, err) < 0 || rc != 0 ? -1 : 0;
}

#define team_agree team_agree_seen
#define team_share team_share_seen
#define team_notes team_notes_seen
#endif

#endif /* TEAM_TEAM_H */
