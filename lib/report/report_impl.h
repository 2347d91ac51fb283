/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_impl.h - shared by the texts, tables and pictures of a plan, and the
 * parts of the picture of a dataset.
 */
#ifndef REPORT_REPORT_IMPL_H
#define REPORT_REPORT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/plan.h"

struct buf;
struct error;
struct joblog;
struct table;

/* State of a set member, its data and its redundancy file together.  In a set
 * over filemaps the data is the filemap. */
enum report_cell_state {
	REPORT_WHOLE,
	REPORT_REDUNDANCY, /* only its redundancy file must be rebuilt */
	REPORT_REBUILD,
	REPORT_LOST,
};

enum report_cell_state report_member(const struct plan *p,
				     const struct plan_set *s, uint32_t m);

/* Does the set consist of files of an older attempt, which the plan ignores? */
bool report_unused(const struct plan_set *s);

/* Are there sets over the data files?  In bypass mode only the filemaps are
 * protected. */
bool report_has_data_sets(const struct plan *p);

/* "lost"; "unknown" if seemingly lost data may exist. */
const char *report_loss(const struct plan *p);

/* "whole", "damaged", or the loss.  A set without members has lost its
 * redundancy, but perhaps no data. */
const char *report_set_state(const struct plan *p, const struct plan_set *s);

/* --- Ranks in rows (ranks.c) --- */

/* A row for each node, or if it is not known which ranks shared one, for each
 * redundancy set. */

struct ranks_cell {
	uint32_t rank; /* PLAN_NONE: unknown */
	uint32_t set;  /* index in plan.sets, or PLAN_NONE */
	enum report_cell_state state;
};

/* The row of ranks that no other rank protects. */
#define RANKS_ALONE UINT32_MAX

struct ranks_row {
	size_t first, count; /* in ranks.cells */
	uint64_t number;     /* of the node or set, or RANKS_ALONE */
	const char *name;    /* of the node; or NULL */
	bool whole;	     /* all of its ranks are */
	bool vital;	     /* without it the dataset would be lost */
};

struct ranks {
	const struct plan *p;
	bool nodes; /* rows are nodes; false: sets */
	struct ranks_row *rows;
	size_t nrows, vital_rows;
	struct ranks_cell *cells;
	size_t ncells;
	size_t states[REPORT_LOST + 1]; /* how many cells have this state */
};

/*
 * Put the ranks of `p` into rows.  `nodes` is the number of nodes of the job;
 * negative: unknown.  Of caches each directory is a node.  On a prefix the n-th
 * members of all sets shared a node if each set has one member on each node.
 */
void ranks_init(struct ranks *r, const struct plan *p, int64_t nodes);
void ranks_free(struct ranks *r);

/* "whole", "lost" ... */
const char *ranks_state_name(const struct plan *p, enum report_cell_state s);

/* --- What the log of a prefix says happened (timeline.c) --- */

/*
 * Append the timeline of the log in directory `scr`; of a long log its last 4
 * MiB are read.  Events of dataset `id` are marked.  Nothing is appended if
 * there is no log.  -1: it cannot be read.
 */
int timeline_html(int scr, int64_t id, struct buf *out, struct error *err);

/* Append the runs of job `id`, or of all (NULL). */
void timeline_runs(struct joblog *g, const char *job, int64_t id,
		   struct buf *out);

/* Append a table that can be opened to a page, unless it is empty, and free
 * it. */
void picture_table(struct buf *out, const char *summary, bool open,
		   struct table *t);

#endif /* REPORT_REPORT_IMPL_H */
