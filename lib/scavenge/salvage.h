/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage.h - what the caches of a job's nodes hold together, what of it
 * can be saved, and who copies what.  Pure: it is told what each node has
 * (nodecache.h), reads no file and starts no program.
 *
 * A rank's files lie on the node it ran on; where a cache is shared several
 * nodes have them, and one of these is to copy them.  What is missing may come
 * back from redundancy (formats.md 5): whether it will, a set's members tell.
 */
#ifndef SCAVENGE_SALVAGE_H
#define SCAVENGE_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scavenge/nodecache.h"

struct arena;
struct buf;
struct error;

#define SALVAGE_NONE UINT32_MAX
/* No job has more ranks: a survey that claims so is wrong. */
#define SALVAGE_MAX_RANKS ((uint32_t)1 << 24)

struct salvage_holder {
	struct nodecache_rank found; /* its problem is not kept: NULL */
	uint32_t node;
	struct salvage_holder *next;
};

struct salvage_rank {
	struct salvage_holder *holders;	   /* nodes that have something of it */
	const struct salvage_holder *best; /* which copies it; NULL: none */
};

enum salvage_state {
	SALVAGE_COMPLETE,    /* all there */
	SALVAGE_RECOVERABLE, /* the rest comes back from redundancy */
	SALVAGE_LOST,
};

const char *salvage_state_name(enum salvage_state s);

struct salvage_dataset {
	int64_t id;
	const char *name; /* NULL: unknown */
	bool ckpt, output, bypass;
	bool done;	 /* on the prefix already: for the caller to set */
	int64_t world;	 /* ranks of the job; -1: unknown */
	uint32_t nranks; /* entries of ranks[]: all that anybody has */
	struct salvage_rank *ranks;
	/* Set by salvage_settle(): */
	enum salvage_state state;
	const char *why;  /* SALVAGE_LOST: one clause */
	uint32_t missing; /* ranks of which something is missing */
	uint64_t files;	  /* to be copied */
	uint64_t bytes;	  /* of these, and of their redundancy */
};

struct salvage {
	struct arena *arena;
	size_t count, cap;
	struct salvage_dataset *datasets; /* ids ascending, once settled */
	uint32_t nnodes;		  /* in the list of nodes */
	bool *gone;			  /* by node: it does not take part */
};

/* For salvage_free(); `nnodes`: nodes are numbered below it. */
int salvage_init(struct salvage *p, uint32_t nnodes, struct error *err);
void salvage_free(struct salvage *p);

/*
 * Dataset `id`, made if it is new; what `like` says of name, kind and number
 * of ranks is taken over where it is not known yet.  Borrowed until the next
 * call.  ERROR_CORRUPT: nodes that contradict each other on the ranks; then
 * what was said first stays.
 */
struct salvage_dataset *salvage_dataset(struct salvage *p,
					const struct salvage_dataset *like,
					struct error *err);

/* `node` has this of a rank.  ERROR_CORRUPT: numbers that cannot be. */
int salvage_found(struct salvage *p, struct salvage_dataset *d, uint32_t node,
		  const struct nodecache_rank *f, struct error *err);

/* The dataset, or NULL. */
struct salvage_dataset *salvage_find(const struct salvage *p, int64_t id);

/* A node has died, or does not answer: what only it has is missing.  The plan
 * is to be settled again. */
void salvage_lose(struct salvage *p, uint32_t node);

/*
 * Choose who copies what, such that of what several nodes have each copies
 * about the same; and tell what becomes of each dataset.
 */
int salvage_settle(struct salvage *p, struct error *err);

/* Nodes that have to copy something of `d`, ascending; in the plan's arena. */
int salvage_nodes(const struct salvage *p, const struct salvage_dataset *d,
		  uint32_t **nodes, size_t *count, struct error *err);

/* The ranks that `node` copies, as "0-3,7", appended to `out`. */
int salvage_ranks(const struct salvage_dataset *d, uint32_t node,
		  struct buf *out, struct error *err);

#endif /* SCAVENGE_SALVAGE_H */
