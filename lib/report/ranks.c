/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c - the ranks of a dataset in rows, for a picture. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "meta/redset.h"
#include "num.h"
#include "report/report_impl.h"
#include "rescue/plan.h"

static enum report_cell_state
worse(enum report_cell_state a, enum report_cell_state b)
{
	return a > b ? a : b;
}

/* The state of a rank: its files, its filemap and their redundancy. */
static enum report_cell_state
state_of(const struct plan *p, uint32_t rank)
{
	const struct plan_rank *r = &p->ranks[rank];
	enum report_cell_state s = r->map.fate == FATE_LOST ? REPORT_LOST
				   : r->map.fate == FATE_REBUILD
					   ? REPORT_REBUILD
					   : REPORT_WHOLE;

	if (r->data_set != PLAN_NONE)
		s = worse(s, report_member(p, &p->sets[r->data_set],
					   r->data_member));
	if (r->map_set != PLAN_NONE)
		s = worse(s, report_member(p, &p->sets[r->map_set],
					   r->map_member));
	for (size_t f = 0; f < r->nfiles; f++)
		if (p->files[r->first_file + f].fate == FATE_LOST)
			s = REPORT_LOST;
	return s;
}

/* Has each set one member on each of `nodes` nodes? */
static bool
sets_span_nodes(const struct plan *p, bool data, int64_t nodes)
{
	uint64_t members = 0;

	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->map == data || report_unused(s))
			continue;
		if (s->n < 2 || (int64_t)s->n != nodes)
			return false;
		members += s->n;
	}
	return members > 0 && members == (uint64_t)p->nranks;
}

/* The row of a rank, numbers growing; ranks in no set come last. */
static uint32_t
row_of(const struct ranks *r, bool data, uint32_t rank)
{
	const struct plan *p = r->p;
	const struct plan_rank *pr = &p->ranks[rank];
	const uint32_t set = data ? pr->data_set : pr->map_set;

	if (!r->nodes)
		return set != PLAN_NONE &&
				       redset_is_redundant(p->sets[set].type)
			       ? set
			       : RANKS_ALONE;
	return p->places[0].cache ? pr->map.place
	       : data		  ? pr->data_member
				  : pr->map_member;
}

/* Can the sets do without what this row has and is not missing yet?  `taken`
 * has an element for each set, all 0. */
static bool
is_vital(const struct ranks *r, const struct ranks_row *row, uint32_t *taken)
{
	const struct ranks_cell *cells = &r->cells[row->first];
	bool vital = false;

	for (size_t i = 0; i < row->count; i++) {
		const struct plan_set *s = cells[i].set != PLAN_NONE
						   ? &r->p->sets[cells[i].set]
						   : NULL;

		if (s == NULL || !redset_is_redundant(s->type))
			vital = true;
		else if (cells[i].state < REPORT_REBUILD)
			vital |= ++taken[cells[i].set] > s->spare;
	}
	for (size_t i = 0; i < row->count; i++)
		if (cells[i].set != PLAN_NONE)
			taken[cells[i].set] = 0;
	return vital;
}

static void
fill(struct ranks *r, bool data, const uint64_t *order, uint32_t *taken)
{
	const struct plan *p = r->p;

	for (size_t i = 0; i < r->ncells; i++) {
		const uint32_t rank = (uint32_t)order[i];
		const uint32_t at = (uint32_t)(order[i] >> 32);
		struct ranks_row *row = &r->rows[r->nrows];

		r->cells[i] = (struct ranks_cell){
			.rank = rank,
			/* the one that counts: over its data, else over its
			 * filemap */
			.set = data ? p->ranks[rank].data_set
				    : p->ranks[rank].map_set,
			.state = state_of(p, rank),
		};
		r->states[r->cells[i].state]++;
		if (i == 0 || at != order[i - 1] >> 32) {
			row->first = i;
			row->number = at;
			row->whole = true;
			if (!r->nodes && at != RANKS_ALONE)
				row->number = p->sets[at].number;
			if (r->nodes && p->places[0].cache && at < p->nplaces)
				row->name = p->places[at].root;
		}
		row->count++;
		row->whole &= r->cells[i].state == REPORT_WHOLE;
		if (i + 1 == r->ncells || at != order[i + 1] >> 32) {
			row->vital = is_vital(r, row, taken);
			r->vital_rows += row->vital;
			r->nrows++;
		}
	}
}

int
ranks_init(struct ranks *r, const struct plan *p, int64_t nodes,
	   struct error *err)
{
	const bool data = report_has_data_sets(p);
	const size_t n = p->nranks > 0 ? (size_t)p->nranks : 0;
	uint64_t *order = mem_calloc(n + 1, sizeof(*order));
	uint32_t *taken = mem_calloc(p->nsets + 1, sizeof(*taken));
	int rc = -1;

	*r = (struct ranks){ .p = p, .ncells = n };
	r->nodes = p->nplaces > 0 &&
		   (p->places[0].cache || sets_span_nodes(p, data, nodes));
	r->cells = mem_calloc(n + 1, sizeof(*r->cells));
	r->rows = mem_calloc(n + 1, sizeof(*r->rows));
	if (order == NULL || taken == NULL || r->cells == NULL ||
	    r->rows == NULL) {
		error_no_memory(err);
	} else {
		for (uint32_t i = 0; i < n; i++)
			order[i] = (uint64_t)row_of(r, data, i) << 32 | i;
		qsort(order, n, sizeof(*order), num_by_u64);
		fill(r, data, order, taken);
		rc = 0;
	}
	mem_free(order);
	mem_free(taken);
	return rc;
}

void
ranks_free(struct ranks *r)
{
	mem_free(r->cells);
	mem_free(r->rows);
	memset(r, 0, sizeof(*r));
}

size_t
ranks_run(const struct ranks *r, size_t first)
{
	const struct ranks_row *a = &r->rows[first];
	size_t last = first;

	while (a->whole && last + 1 < r->nrows && r->rows[last + 1].whole &&
	       r->rows[last + 1].vital == a->vital)
		last++;
	return last;
}

const char *
ranks_state_name(const struct plan *p, enum report_cell_state s)
{
	return s == REPORT_WHOLE	? "whole"
	       : s == REPORT_REDUNDANCY ? "redundancy to be rebuilt"
	       : s == REPORT_REBUILD	? "to be rebuilt"
					: report_loss(p);
}
