/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.c - the ranks of a dataset drawn for the terminal: a row for each set,
 * a cell for each member, so that a lost node shows as a column of holes.
 */
#include "buf.h"
#include "meta/redset.h"
#include "num.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "str.h"
#include "style.h"

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
	bool data;	 /* rows are the sets over files; else over filemaps */
	unsigned digits; /* of the highest rank */
	unsigned per_line; /* cells in a line */
	unsigned cell;	   /* cells already on this line */
	bool seen[STATES];
};

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

static enum report_cell_state
state_of_member(const struct plan *p, const struct plan_set *s, uint32_t m)
{
	const uint32_t rank = s->members[m].rank;
	const enum report_cell_state is = report_member(p, s, m);

	return rank < p->nranks ? worse(is, state_of(p, rank)) : is;
}

/* Has the set a row, and are all of its ranks whole? */
static bool
is_whole(const struct map *m, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (state_of_member(m->p, s, i) != REPORT_WHOLE)
			return false;
	return s->map != m->data && redset_is_redundant(s->type) &&
	       !report_unused(s) && s->verdict == SET_WHOLE && s->n > 0;
}

static void
put_symbol(struct map *m, enum report_cell_state s)
{
	const char *text = m->style->utf8 ? looks[s].utf8 : looks[s].ascii;

	m->seen[s] = true;
	if (m->style->color)
		buf_printf(m->out, "\033[%sm%s\033[0m", looks[s].color, text);
	else
		buf_add_str(m->out, text);
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
		buf_add_char(m->out, '\n');
		put_label(m, "");
	}
	buf_printf(m->out, "%s%*s ", m->cell++ > 0 ? "  " : "", (int)m->digits,
		   rank != PLAN_NONE ? num_str(rank) : "?");
	put_symbol(m, s);
}

/* A row for each set, but one for a long run of whole ones. */
static void
put_sets(struct map *m)
{
	const struct plan *p = m->p;

	for (size_t i = 0, last; i < p->nsets; i = last + 1) {
		const struct plan_set *s = &p->sets[i];

		for (last = i; is_whole(m, s) && last + 1 < p->nsets &&
			       is_whole(m, &p->sets[last + 1]);)
			last++;
		if (s->map == m->data || report_unused(s) ||
		    !redset_is_redundant(s->type))
			continue;
		if (last - i >= RUN_MAX) {
			put_label(m, str_printed(48, "  sets %u-%u", s->number,
						 p->sets[last].number));
			put_symbol(m, REPORT_WHOLE);
			buf_add_str(m->out, " all of them\n");
			continue;
		}
		for (; s <= &p->sets[last]; s++) {
			put_label(m, str_printed(48, "  set %u", s->number));
			for (uint32_t k = 0; k < s->n; k++)
				put_cell(m, state_of_member(p, s, k),
					 s->members[k].rank);
			buf_add_str(m->out,
				    s->n == 0 ? "none of its files is left\n"
					      : "\n");
		}
	}
}

/* A row for the ranks that nothing protects: each is a set by itself, or in
 * `none`. */
static void
put_alone(struct map *m, bool none)
{
	const struct plan *p = m->p;
	bool any = false;

	for (uint32_t r = 0; r < p->nranks; r++) {
		const struct plan_rank *pr = &p->ranks[r];
		const uint32_t set = m->data ? pr->data_set : pr->map_set;

		if ((set == PLAN_NONE) != none ||
		    (!none && redset_is_redundant(p->sets[set].type)))
			continue;
		if (!any)
			put_label(m, none ? "  in no set" : "  each by itself");
		any = true;
		put_cell(m, state_of(p, r), r);
	}
	if (any)
		buf_add_char(m->out, '\n');
}

void
report_map(const struct plan *p, const struct style *style, struct buf *out)
{
	const unsigned width = style->width > 0 ? style->width : 1000;
	struct map m = {
		.out = out,
		.p = p,
		.style = style,
		.data = report_has_data_sets(p),
		.digits = 1,
	};
	bool first = true;

	for (int64_t r = p->nranks - 1; r >= 10; r /= 10)
		m.digits++;
	m.per_line = width > LABEL ? (width - LABEL) / (m.digits + 4) : 0;
	m.per_line = m.per_line > 0 ? m.per_line : 1;
	buf_printf(out, "  ranks by set (%s)\n", report_scheme(p));
	put_sets(&m);
	put_alone(&m, false);
	put_alone(&m, true);
	put_label(&m, "");
	for (int s = 0; s < STATES; s++) {
		if (!m.seen[s])
			continue;
		buf_add_str(out, first ? "" : "   ");
		first = false;
		put_symbol(&m, (enum report_cell_state)s);
		buf_printf(out, " %s",
			   s == REPORT_LOST ? report_loss(p)
					    : looks[s].meaning);
	}
	buf_add_char(out, '\n');
}
