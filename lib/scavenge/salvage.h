/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage.h - the datasets that the caches of a job's nodes hold together,
 * which of them can be saved, and which node copies which ranks.  Pure: the
 * caller passes in each node's cache (nodecache.h); no file is read and no
 * program started.
 *
 * The files of a rank lie on the node where it ran.  In a shared cache several
 * nodes see them, and one of these nodes is chosen to copy them.  Missing files
 * may be rebuilt from redundancy (scr-redset(5)), if enough members of the set
 * are left.
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

/* No job has more ranks; a survey that claims more is wrong. */
#define SALVAGE_MAX_RANKS ((uint32_t)1 << 24)

struct salvage_holder {
	struct nodecache_rank found; /* `problem` is not kept: NULL */
	uint32_t node;
	struct salvage_holder *next;
};

struct salvage_rank {
	struct salvage_holder *holders; /* nodes that have files of this rank */
	const struct salvage_holder *best; /* the one that copies; NULL: none */
};

struct salvage_here {
	bool whole; /* all of its files, and its filemap */
	struct nodecache_red red, mapred;
};

enum salvage_state {
	SALVAGE_COMPLETE,    /* no rank misses anything */
	SALVAGE_RECOVERABLE, /* the rest can be rebuilt */
	SALVAGE_LOST,
};

const char *salvage_state_name(enum salvage_state s);

/* Why a dataset is left in the caches, though it could be saved. */
enum salvage_taken {
	SALVAGE_FREE,
	SALVAGE_TAKEN_OLDER, /* by an older dataset with its number */
	SALVAGE_TAKEN_NEWER, /* by a newer one with its number, or files of the
				same names */
};

struct salvage_dataset {
	int64_t id;	  /* num_by_id() */
	const char *name; /* NULL: unknown */
	bool ckpt, output, bypass;
	uint64_t created; /* microseconds since the epoch; 0: unknown */
	bool unread; /* an I/O error or a lack of permission hides parts of it:
			it may not be lost */
	/* a cache has files of it that no metadata name */
	bool nameless;
	/* Lost are only filemaps, or files are left without a name: the data
	 * may be whole, but their paths on the prefix are unknown; of
	 * salvage_plan() */
	bool unplaced;
	/* a node that could not be asked may have parts of it: it may not be
	 * lost; of salvage_plan() */
	bool hidden;
	/* Set by the caller: its build failed, and not because data are lost:
	 * the next run may save it. */
	bool unbuilt;
	/* Set by the caller: its build found files that contradict each other,
	 * and nobody knows which are right: it may not be lost. */
	bool undecided;
	/* Set by the caller: files that a job with bypass wrote to the prefix
	 * are not there, or damaged. */
	bool astray;
	bool done; /* verified on the prefix; set by the caller */
	/* Set by the caller: by rank, what the prefix has already. */
	const struct salvage_here *here;
	uint32_t nhere;
	/* Set by the caller: in a cache; listed in flush.scr, so the job
	 * completed it; or never completed by the job, and so no loss. */
	bool cached, listed, unfinished;
	bool flushing; /* set by the caller: its flush has not ended */
	bool stray;    /* set by the caller: of a prefix that is not there */
	/* Set by the caller: flush.scr lists it as one of this job, which is
	 * thus the last that ran on the prefix. */
	bool ours;
	/* Set by the caller, of a dataset that is in the index: */
	bool claimed, looked; /* the entry is valid; the dataset was verified */
	int found;	      /* its status (struct fetchable) */
	const char *flaw;     /* why it is not done; NULL */
	/* Set by the caller: a dataset of the index is in the way, and stays;
	 * `flaw` names it. */
	enum salvage_taken taken;
	int64_t world; /* ranks of the job; -1: unknown */
	/* entries of ranks[]; later ranks were reported by no node */
	uint32_t nranks;
	struct salvage_rank *ranks;
	/* Set by salvage_plan(): */
	enum salvage_state state;
	const char *why;  /* SALVAGE_LOST: one clause */
	uint32_t missing; /* ranks with missing files */
	uint64_t files;	  /* files to copy */
	uint64_t bytes;	  /* bytes to copy, with redundancy files */
};

struct salvage {
	struct arena *arena;
	size_t count, cap;
	/* ids ascending after salvage_plan() */
	struct salvage_dataset *datasets;
	uint32_t nnodes; /* number of nodes in the job */
	bool *gone;	 /* by node: failed or skipped */
	bool hidden;	 /* one of these may live: its cache is unknown */
};

/* Nodes are numbered from 0 to nnodes - 1. */
void salvage_init(struct salvage *p, uint32_t nnodes);
void salvage_free(struct salvage *p);

/*
 * Find or add dataset like->id, and fill in its name, kind and number of ranks
 * as far as they are still unknown.  Borrowed until the next call.
 *
 * NULL: ERROR_CORRUPT, nodes do not agree on the number of ranks: the first
 * number stays.
 */
struct salvage_dataset *salvage_dataset(struct salvage *p,
					const struct nodecache_dataset *like,
					struct error *err);

/* Record that `node` has the files `f` of a rank.  The strings of `f` are not
 * kept.  ERROR_CORRUPT: an impossible rank, node or place in a set. */
int salvage_found(struct salvage *p, struct salvage_dataset *d, uint32_t node,
		  const struct nodecache_rank *f, struct error *err);

/* The dataset, or NULL. */
struct salvage_dataset *salvage_find(const struct salvage *p, int64_t id);

/* Mark a node failed: files that only this node has are missing.  Call
 * salvage_plan() again afterwards. */
void salvage_lose(struct salvage *p, uint32_t node);

/* Do not copy `d`: its files in the caches count as missing.  Call
 * salvage_plan() again afterwards. */
void salvage_leave(struct salvage_dataset *d);

/*
 * Choose which node copies which rank, so that nodes with a shared cache copy
 * about the same number of bytes each; and judge each dataset.
 */
void salvage_plan(struct salvage *p);

/* Do several living nodes have files of the same rank?  Then each node needs
 * the list of ranks that it copies. */
bool salvage_is_shared(const struct salvage *p,
		       const struct salvage_dataset *d);

/* Numbers of the nodes that copy ranks of `d`, ascending; in the plan's arena.
 * Returns how many. */
size_t salvage_nodes(const struct salvage *p, const struct salvage_dataset *d,
		     uint32_t **nodes);

/* Append the ranks that `node` copies to `out`, as "0-3,7". */
void salvage_ranks(const struct salvage_dataset *d, uint32_t node,
		   struct buf *out);

#endif /* SCAVENGE_SALVAGE_H */
