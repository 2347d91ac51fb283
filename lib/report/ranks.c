/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.c - the ranks of a dataset in rows, for a picture; and drawn for the
 * terminal: a row for each set, a cell for each member, so that a lost node
 * shows as a column of holes.
 */
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "mem.h"
#include "meta/redset.h"
#include "num.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "str.h"
#include "style.h"

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

void
ranks_init(struct ranks *r, const struct plan *p, int64_t nodes)
{
	const bool data = report_has_data_sets(p);
	const size_t n = p->nranks > 0 ? (size_t)p->nranks : 0;
	uint64_t *order = mem_calloc(n + 1, sizeof(*order));
	uint32_t *taken = mem_calloc(p->nsets + 1, sizeof(*taken));

	*r = (struct ranks){ .p = p, .ncells = n };
	r->nodes = p->nplaces > 0 &&
		   (p->places[0].cache || sets_span_nodes(p, data, nodes));
	r->cells = mem_calloc(n + 1, sizeof(*r->cells));
	r->rows = mem_calloc(n + 1, sizeof(*r->rows));
	for (uint32_t i = 0; i < n; i++)
		order[i] = (uint64_t)row_of(r, data, i) << 32 | i;
	qsort(order, n, sizeof(*order), num_by_u64);
	for (size_t i = 0; i < n; i++) {
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
		if (i + 1 == n || at != order[i + 1] >> 32) {
			row->vital = is_vital(r, row, taken);
			r->vital_rows += row->vital;
			r->nrows++;
		}
	}
	mem_free(order);
	mem_free(taken);
}

void
ranks_free(struct ranks *r)
{
	mem_free(r->cells);
	mem_free(r->rows);
	memset(r, 0, sizeof(*r));
}

const char *
ranks_state_name(const struct plan *p, enum report_cell_state s)
{
	return s == REPORT_WHOLE	? "whole"
	       : s == REPORT_REDUNDANCY ? "redundancy to be rebuilt"
	       : s == REPORT_REBUILD	? "to be rebuilt"
					: report_loss(p);
}

/* --- The map for the terminal --- */

#define STATES 4
#define LABEL 18 /* columns of "  sets 1000-1999  " */

/* Longer runs of whole sets share a line. */
#define RUN_MAX 12

static const struct {
	const char *utf8, *ascii, *color, *meaning;
} looks[STATES] = {
	[REPORT_WHOLE] = { "\u25cf", "#", "32", "whole" },
	[REPORT_REDUNDANCY] = { "\u25d0", "+", "33",
				"only its redundancy is to be rebuilt" },
	[REPORT_REBUILD] = { "\u25cb", "o", "33", "to be rebuilt" },
	[REPORT_LOST] = { "\u00d7", "X", "31", NULL },
};

struct map {
	struct buf *out;
	const struct plan *p;
	const struct style *style;
	unsigned digits;   /* of the highest rank */
	unsigned per_line; /* cells in a line */
	unsigned cell;	   /* cells already on this line */
	bool seen[STATES];
};

static void
put_symbol(struct buf *out, const struct style *style, enum report_cell_state s)
{
	const char *text = style->utf8 ? looks[s].utf8 : looks[s].ascii;

	if (style->color)
		buf_printf(out, "\033[%sm%s\033[0m", looks[s].color, text);
	else
		buf_printf(out, "%s", text);
}

static void
put_label(struct map *m, const char *label)
{
	buf_printf(m->out, "%-*s", LABEL, label);
	m->cell = 0;
}

static void
put_cell(struct map *m, enum report_cell_state s, uint32_t rank)
{
	if (m->cell == m->per_line) {
		buf_printf(m->out, "\n");
		put_label(m, "");
	}
	buf_printf(m->out, "%s%*s ", m->cell++ > 0 ? "  " : "", (int)m->digits,
		   rank != PLAN_NONE ? num_str(rank) : "?");
	put_symbol(m->out, m->style, s);
	m->seen[s] = true;
}

static void
put_members(struct map *m, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		put_cell(m, report_member(m->p, s, i), s->members[i].rank);
}

static bool
is_whole(const struct plan_set *s)
{
	return s->verdict == SET_WHOLE && s->n > 0;
}

static void
put_sets(struct map *m, bool over_maps)
{
	const struct plan *p = m->p;
	bool alone = false;

	for (size_t i = 0, last; i < p->nsets; i = last + 1) {
		const struct plan_set *s = &p->sets[i];

		last = i;
		if (s->map != over_maps || report_unused(s))
			continue;
		/* Sets of one member each have a common row. */
		if (alone || !redset_is_redundant(s->type)) {
			if (!alone)
				put_label(m, "  each by itself");
			alone = true;
			put_members(m, s);
			continue;
		}
		/* A long run of whole sets is put on one line. */
		while (is_whole(s) && last + 1 < p->nsets &&
		       p->sets[last + 1].map == over_maps &&
		       is_whole(&p->sets[last + 1]) &&
		       !report_unused(&p->sets[last + 1]))
			last++;
		if (last - i >= RUN_MAX) {
			put_label(m, str_printed(48, "  sets %u-%u", s->number,
						 p->sets[last].number));
			put_symbol(m->out, m->style, REPORT_WHOLE);
			buf_printf(m->out, " all of them\n");
			m->seen[REPORT_WHOLE] = true;
			continue;
		}
		/* The others on lines of their own. */
		for (; s <= &p->sets[last]; s++) {
			put_label(m, str_printed(48, "  set %u", s->number));
			put_members(m, s);
			if (s->n == 0)
				buf_printf(m->out, "none of its files is left");
			buf_printf(m->out, "\n");
		}
	}
	if (alone)
		buf_printf(m->out, "\n");
}

/* Is a filemap in a worse state than the data of its rank?  Otherwise a second
 * picture would add nothing. */
static bool
maps_differ(const struct plan *p)
{
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		for (uint32_t m = 0; s->map && m < s->n; m++) {
			uint32_t rank = s->members[m].rank;
			const struct plan_rank *r = NULL;

			if (rank >= p->nranks || report_unused(s))
				continue;
			r = &p->ranks[rank];
			if (r->data_set == PLAN_NONE ||
			    report_member(p, s, m) >
				    report_member(p, &p->sets[r->data_set],
						  r->data_member))
				return true;
		}
	}
	return false;
}

void
report_map(const struct plan *p, const struct style *style, struct buf *out)
{
	struct map m = { .out = out, .p = p, .style = style, .digits = 1 };
	bool data = report_has_data_sets(p);
	unsigned width = style->width > 0 ? style->width : 1000;
	bool first = true, any = false;

	for (int64_t r = p->nranks - 1; r >= 10; r /= 10)
		m.digits++;
	m.per_line = width > LABEL ? (width - LABEL) / (m.digits + 4) : 0;
	m.per_line = m.per_line > 0 ? m.per_line : 1;
	buf_printf(out, "  ranks by set (%s)\n", report_scheme(p));
	put_sets(&m, !data);
	/* Ranks that no set protects. */
	for (int64_t r = 0; r < p->nranks; r++) {
		const struct plan_rank *pr = &p->ranks[r];
		enum report_cell_state s = REPORT_WHOLE;

		if ((data ? pr->data_set : pr->map_set) != PLAN_NONE)
			continue;
		if (pr->map.fate == FATE_LOST)
			s = REPORT_LOST;
		for (size_t f = 0; f < pr->nfiles; f++)
			if (p->files[pr->first_file + f].fate == FATE_LOST)
				s = REPORT_LOST;
		if (!any)
			put_label(&m, "  in no set");
		any = true;
		put_cell(&m, s, (uint32_t)r);
	}
	if (any)
		buf_printf(out, "\n");
	if (data && maps_differ(p)) {
		buf_printf(out, "  and their filemaps\n");
		put_sets(&m, true);
	}
	buf_printf(m.out, "%-*s", LABEL, "");
	for (int s = 0; s < STATES; s++) {
		if (!m.seen[s])
			continue;
		if (!first)
			buf_printf(m.out, "   ");
		first = false;
		put_symbol(m.out, m.style, (enum report_cell_state)s);
		buf_printf(m.out, " %s",
			   s == REPORT_LOST ? report_loss(m.p)
					    : looks[s].meaning);
	}
	buf_printf(m.out, "\n");
}
