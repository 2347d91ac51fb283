/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge.h - save the datasets that a dead job left in the caches of its
 * nodes: list the caches of all nodes, plan, let the nodes copy, rebuild and
 * index.
 *
 * A scavenge can be stopped at any moment and started again.  Files that are
 * whole on the prefix are not copied twice, and an unfinished dataset is never
 * indexed as complete.
 */
#ifndef SCAVENGE_SCAVENGE_H
#define SCAVENGE_SCAVENGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "hostlist.h"
#include "remote/complaints.h"
#include "remote/remote.h"
#include "scavenge/salvage.h"
#include "token.h"

struct error;
struct job;

struct scavenge_options {
	struct remote_options remote;
	const char *copy; /* path of scr_copy on the nodes */
	/* of scr_rebuild there: the nodes that are left share its work, if so
	 * many bytes or more are to be moved; NULL: this one does all */
	const char *rebuild;
	uint64_t rebuild_least;
	const struct hostlist *down; /* nodes to skip */
	/* id of the only dataset to save, even if it seems lost; 0: all */
	int64_t only;
	bool containers;      /* pack what is saved, except the restart point */
	bool pack_current;    /* pack the restart point, too */
	bool pack_redundancy; /* pack redundancy files, too */
	bool clean; /* remove what is whole on the prefix from the caches */
	uint64_t container_size; /* bytes; 0: pack() chooses */
	uint64_t keep;		 /* checkpoints to keep on the prefix; 0: all */
	/* bytes of a node's read buffer; 0: the node chooses */
	uint64_t buffer;
	uint64_t wait; /* seconds for the end of another scavenge (turn.h) */
	double rate;   /* expected bytes per second; 0: unknown */
	const struct catalogue_options *catalogue; /* log, progress, stop, .. */
};

enum scavenge_node_state {
	SCAVENGE_NODE_SKIPPED, /* listed in `down` */
	SCAVENGE_NODE_ALIVE,
	SCAVENGE_NODE_DEAD,    /* see scavenge_unreached() */
	SCAVENGE_NODE_INVALID, /* answered, but no survey could be read */
	/* it, or something before it, refused; or it was cut off */
	SCAVENGE_NODE_UNREACHABLE,
};

struct scavenge_node {
	const char *name; /* as in the list of nodes */
	const char *host; /* its own host name; NULL: unknown */
	enum scavenge_node_state state;
	const char *why; /* why it is not alive or did not finish; NULL */
	bool hides;	 /* it may have what nobody has seen */
	bool down;	 /* for the resource manager, when it was asked last */
};

enum scavenge_phase {
	SCAVENGE_ASK,
	SCAVENGE_COPY,
	SCAVENGE_BUILD,
	SCAVENGE_PACK,
	SCAVENGE_PHASES
};

/* A dataset of another prefix in the caches. */
struct scavenge_other {
	int64_t id;
	uint64_t created;
	struct scavenge_other *next;
};

struct scavenge {
	struct job *job;
	const struct scavenge_options *o;
	const struct work *work; /* of o->catalogue */
	struct catalogue *prefix;
	struct catalogue_entries known; /* the index before this run */
	struct salvage plan;
	struct scavenge_node *nodes; /* one for each of job->nodes */
	size_t alive, dead;
	/* Nodes that have the control directory, and each cache directory of
	 * the job: 1 + job->ncaches counts. */
	size_t *there;
	size_t hiding;	    /* nodes that may have what nobody has seen */
	size_t unasked;	    /* nodes of the job that nobody has named */
	bool manager_asked; /* since the last call */
	struct complaints complaints; /* not reported yet */
	struct scavenge_other *others;
	struct arena *arena;
	int lock;
	struct token token;   /* in PREFIX/.scr */
	const char *sees;     /* its path; NULL: it cannot be made */
	bool flush_known;     /* flush.scr could be read */
	bool flush_ours;      /* ... and is of this job, or has no dataset */
	size_t others_listed; /* datasets of other jobs that flush.scr lists */
	const struct scavenge_node *blocked; /* alive, but could not copy */
	/* The checkpoint of the index from which the next job restarts, if that
	 * is not the one that is saved; else NULL. */
	const char *restart;
	/* Results. */
	size_t saved_now; /* datasets saved by this run */
	uint64_t copied;  /* bytes, by this run */
	double seconds[SCAVENGE_PHASES];
	bool stopped;
};

/*
 * List the caches of the job's nodes (after job_nodes()) and plan.  Nodes that
 * do not answer are reported to the log.  `job` and `o` are borrowed until
 * scavenge_close(), which must be called also on failure.
 *
 * ERROR_SYSTEM: no node answered, and flush.scr does not show that every
 * dataset is on the prefix; or another scavenge is still at work after o->wait
 * seconds.
 */
int scavenge_open(struct scavenge *s, struct job *job,
		  const struct scavenge_options *o, struct error *err);
void scavenge_close(struct scavenge *s);

/*
 * Save the output datasets, oldest first, until one cannot be saved.  Then save
 * the newest checkpoint that can be saved and is older than that output
 * dataset.  With o->only, save that dataset alone.
 *
 * A dataset that cannot be saved is reported to the log and does not fail the
 * call.  ERROR_ABSENT: no node has o->only.  ERROR_SYSTEM: the scavenge could
 * not act, or was stopped.
 */
int scavenge_run(struct scavenge *s, struct error *err);

/* Instead of a run: find out how many bytes each dataset that a run would save
 * has to copy. */
int scavenge_forecast(struct scavenge *s, struct error *err);

/* The result after a run.  Before it, the forecast: all datasets that are not
 * known to be lost are expected to be saved. */
struct scavenge_outlook {
	/* ids of checkpoints that the job completed; 0: none */
	int64_t newest, saved;
	int64_t unfinished; /* the newest that it did not complete; 0: none */
	/* the dataset before `unfinished`, which is neither in a cache nor in
	 * the index, and newer than `saved`; 0: there is none */
	int64_t gone;
	int64_t newer; /* may be a checkpoint newer than `newest`; 0: none */
	size_t outputs, outputs_lost, outputs_unknown;
	/*
	 * Datasets of unknown kind, or that could not be read, so that they may
	 * be neither lost nor saved: outputs; checkpoints that the index claims
	 * and that are newer than `saved`; if none is saved, checkpoints in the
	 * caches, too.
	 */
	size_t unknown;
};

struct scavenge_outlook scavenge_outlook(const struct scavenge *s);

/* Could the dataset not be read, so that it is not known to be lost?  Not if it
 * is unfinished. */
bool scavenge_is_unknown(const struct salvage_dataset *d);

/*
 * STATUS_OK: the newest checkpoint that the job completed and all output are
 * saved.  STATUS_DAMAGED: an older checkpoint is saved.  STATUS_LOST: output,
 * or all completed checkpoints, are lost.  STATUS_FAILED: stopped, or a dataset
 * could not be read, or nodes that may have what is missing could not be asked.
 * With o->only, OK, LOST or FAILED, for that dataset alone.  Before a run: the
 * expected status.
 */
int scavenge_status(const struct scavenge *s);

#endif /* SCAVENGE_SCAVENGE_H */
