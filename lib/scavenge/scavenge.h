/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge.h - save what a dead job left on its nodes: ask all nodes what
 * their caches hold, plan, have them copy it, rebuild, index.
 *
 * Everything can be stopped at any moment and run again: what is right on the
 * prefix is not copied twice, and what is not whole is never taken for it.
 */
#ifndef SCAVENGE_SCAVENGE_H
#define SCAVENGE_SCAVENGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "remote/remote.h"
#include "scavenge/salvage.h"

struct error;
struct hostlist;
struct job;
struct json;

struct scavenge_options {
	struct remote_options remote;
	const char *copy;	     /* scr_copy, as the nodes find it */
	const struct hostlist *down; /* not to be asked; or NULL */
	int64_t only;	 /* dataset to be copied whatever can be had of it; 0 */
	bool containers; /* pack what was saved */
	uint64_t container_size; /* bytes, 0: as pack() likes */
	uint64_t keep;		 /* checkpoints to keep on the prefix; 0: all */
	uint64_t buffer; /* bytes a node reads at a time; 0: its own choice */
	double rate;	 /* bytes per second to be expected; 0: not known */
	const struct catalogue_options *catalogue; /* log, progress, stop, .. */
};

enum scavenge_node_state {
	SCAVENGE_NODE_SKIPPED, /* was said to be down */
	SCAVENGE_NODE_ALIVE,
	SCAVENGE_NODE_DEAD, /* no answer */
	SCAVENGE_NODE_ODD,  /* an answer that is none */
};

struct scavenge_node {
	const char *name; /* as in the list of nodes */
	const char *host; /* as it calls itself; NULL: not known */
	enum scavenge_node_state state;
	const char *why; /* not alive, or did not finish; NULL */
};

enum scavenge_phase {
	SCAVENGE_ASK,
	SCAVENGE_COPY,
	SCAVENGE_BUILD,
	SCAVENGE_PACK,
	SCAVENGE_PHASES
};

struct scavenge {
	struct job *job;
	const struct scavenge_options *o;
	struct catalogue *prefix;
	struct salvage plan;
	struct scavenge_node *nodes; /* of job->nodes */
	size_t alive, dead, skipped;
	struct arena *arena;
	int lock;
	bool flush_known;		     /* flush.scr could be read */
	const struct scavenge_node *blocked; /* lives, and could not copy */
	/* What came of it. */
	int64_t newest; /* checkpoint in the caches; 0: none */
	int64_t saved;	/* newest checkpoint that is on the prefix now; 0 */
	size_t outputs_saved, outputs_lost;
	size_t saved_now; /* datasets saved by this run */
	uint64_t copied;  /* bytes, by this run */
	double seconds[SCAVENGE_PHASES];
	bool stopped;
};

/*
 * Ask the job's nodes (job_nodes() was called), and plan.  Nodes that do not
 * answer are told to the log.  For scavenge_close(), also on failure.
 * ERROR_SYSTEM: no node answered, and flush.scr does not say that nothing is
 * left to save.
 */
int scavenge_open(struct scavenge *s, struct job *job,
		  const struct scavenge_options *o, struct error *err);
void scavenge_close(struct scavenge *s);

/*
 * Save: output datasets, oldest first, until one cannot be; then the newest
 * checkpoint that is older than that one and can be.  A dataset that cannot be
 * saved is told to the log, and is no error of the call.  ERROR_SYSTEM: could
 * not act, or was stopped.
 */
int scavenge_run(struct scavenge *s, struct error *err);

/* What is saved, or, before a run, would be: whatever is not lost now. */
struct scavenge_outlook {
	int64_t newest, saved; /* checkpoints; 0: none */
	size_t outputs, outputs_lost;
};

struct scavenge_outlook scavenge_outlook(const struct scavenge *s);

/* 0 the newest checkpoint is saved, and all output; 3 an older one is; 4
 * something is lost.  Before a run: what is to be expected. */
int scavenge_status(const struct scavenge *s);

#endif /* SCAVENGE_SCAVENGE_H */
