/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.h - the ranks of a dataset in rows for a picture: a row for each node,
 * or if it is not known which ranks shared one, for each redundancy set.
 */
#ifndef REPORT_RANKS_H
#define REPORT_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report_impl.h"

struct error;
struct plan;

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
 * Call ranks_free() also on failure: ERROR_NOMEM.
 */
int ranks_init(struct ranks *r, const struct plan *p, int64_t nodes,
	       struct error *err);
void ranks_free(struct ranks *r);

/* The last of the rows from `first` on that look the same and can share a line:
 * all whole, and all vital or none. */
size_t ranks_run(const struct ranks *r, size_t first);

/* "whole", "lost" ... */
const char *ranks_state_name(const struct plan *p, enum report_cell_state s);

#endif /* REPORT_RANKS_H */
