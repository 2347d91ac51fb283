/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage.h - what the caches of a job's nodes hold together, what of it
 * can be saved, and who copies what.  Pure: it is told what each node has
 * (survey.h), reads no file and starts no program.
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
struct json;

#define SCAVENGE_NONE UINT32_MAX
/* No job has more ranks: a survey that claims so is wrong. */
#define SCAVENGE_MAX_RANKS ((uint32_t)1 << 24)

struct scavenge_holder {
	struct survey_rank found; /* its problem is not kept: NULL */
	uint32_t node;
	struct scavenge_holder *next;
};

struct scavenge_rank {
	struct scavenge_holder *holders; /* nodes that have something of it */
	const struct scavenge_holder *best; /* which copies it; NULL: none */
};

enum scavenge_state {
	SCAVENGE_COMPLETE,    /* all there */
	SCAVENGE_RECOVERABLE, /* the rest comes back from redundancy */
	SCAVENGE_LOST,
};

const char *scavenge_state_name(enum scavenge_state s);

struct scavenge_dataset {
	int64_t id;
	const char *name; /* NULL: unknown */
	bool ckpt, output, bypass;
	bool done;	 /* on the prefix already: for the caller to set */
	int64_t world;	 /* ranks of the job; -1: unknown */
	uint32_t nranks; /* entries of ranks[]: all that anybody has */
	struct scavenge_rank *ranks;
	/* Set by scavenge_plan_settle(): */
	enum scavenge_state state;
	const char *why;  /* SCAVENGE_LOST: one clause */
	uint32_t missing; /* ranks of which something is missing */
	uint64_t files;	  /* to be copied */
	uint64_t bytes;	  /* of these, and of their redundancy */
};

struct scavenge_plan {
	struct arena *arena;
	size_t count, cap;
	struct scavenge_dataset *datasets; /* ids ascending, once settled */
	uint32_t nnodes;		   /* in the list of nodes */
	bool *gone;			   /* by node: it does not take part */
};

/* For scavenge_plan_free(); `nnodes`: nodes are numbered below it. */
int scavenge_plan_init(struct scavenge_plan *p, uint32_t nnodes,
		       struct error *err);
void scavenge_plan_free(struct scavenge_plan *p);

/*
 * Dataset `id`, made if it is new; what `like` says of name, kind and number
 * of ranks is taken over where it is not known yet.  Borrowed until the next
 * call.  ERROR_CORRUPT: nodes that contradict each other on the ranks; then
 * what was said first stays.
 */
struct scavenge_dataset *
scavenge_plan_dataset(struct scavenge_plan *p,
		      const struct scavenge_dataset *like, struct error *err);

/* `node` has this of a rank.  ERROR_CORRUPT: numbers that cannot be. */
int scavenge_plan_found(struct scavenge_plan *p, struct scavenge_dataset *d,
			uint32_t node, const struct survey_rank *f,
			struct error *err);

/* The dataset, or NULL. */
struct scavenge_dataset *scavenge_plan_find(const struct scavenge_plan *p,
					    int64_t id);

/* A node has died, or does not answer: what only it has is missing.  The plan
 * is to be settled again. */
void scavenge_plan_lose(struct scavenge_plan *p, uint32_t node);

/*
 * Choose who copies what, such that of what several nodes have each copies
 * about the same; and tell what becomes of each dataset.
 */
int scavenge_plan_settle(struct scavenge_plan *p, struct error *err);

/* Nodes that have to copy something of `d`, ascending; in the plan's arena. */
int scavenge_plan_nodes(const struct scavenge_plan *p,
			const struct scavenge_dataset *d, uint32_t **nodes,
			size_t *count, struct error *err);

/* The ranks that `node` copies, as "0-3,7", appended to `out`. */
int scavenge_plan_ranks(const struct scavenge_dataset *d, uint32_t node,
			struct buf *out, struct error *err);

/*
 * For people: a heading and a line for each dataset, newest first.  `rate`:
 * bytes a second that copying is expected to reach, 0: unknown.
 */
int scavenge_plan_text(const struct scavenge_plan *p, double rate,
		       struct buf *out, struct error *err);
/* An array of objects, see scr_postrun(1); NULL: no memory. */
struct json *scavenge_plan_json(const struct scavenge_plan *p, double rate);

#endif /* SCAVENGE_SALVAGE_H */
