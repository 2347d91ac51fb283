/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank_map.c - draw the ranks of a dataset: a row for each set, a cell for each
 * member, so that a lost node shows as a column of holes.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
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
	char number[16] = "?";

	if (m->cell == m->per_line) {
		buf_printf(m->out, "\n");
		put_label(m, "");
	}
	if (rank != PLAN_NONE)
		snprintf(number, sizeof(number), "%" PRIu32, rank);
	buf_printf(m->out, "%s%*s ", m->cell++ > 0 ? "  " : "", (int)m->digits,
		   number);
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

/* Put sets first ... last on lines of their own; a long run of whole sets on
 * one line. */
static void
put_run(struct map *m, size_t first, size_t last)
{
	const struct plan_set *s = &m->p->sets[first];
	char label[48];

	if (last - first >= RUN_MAX) {
		snprintf(label, sizeof(label), "  sets %u-%u", s->number,
			 m->p->sets[last].number);
		put_label(m, label);
		put_symbol(m->out, m->style, REPORT_WHOLE);
		buf_printf(m->out, " all of them\n");
		m->seen[REPORT_WHOLE] = true;
		return;
	}
	for (; first <= last; first++) {
		s = &m->p->sets[first];
		snprintf(label, sizeof(label), "  set %u", s->number);
		put_label(m, label);
		put_members(m, s);
		if (s->n == 0)
			buf_printf(m->out, "none of its files is left");
		buf_printf(m->out, "\n");
	}
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
		while (is_whole(s) && last + 1 < p->nsets &&
		       p->sets[last + 1].map == over_maps &&
		       is_whole(&p->sets[last + 1]) &&
		       !report_unused(&p->sets[last + 1]))
			last++;
		put_run(m, i, last);
	}
	if (alone)
		buf_printf(m->out, "\n");
}

/* Ranks that no set protects. */
static void
put_rest(struct map *m, bool over_maps)
{
	bool any = false;

	for (int64_t r = 0; r < m->p->nranks; r++) {
		const struct plan_rank *pr = &m->p->ranks[r];
		enum report_cell_state s = REPORT_WHOLE;

		if ((over_maps ? pr->map_set : pr->data_set) != PLAN_NONE)
			continue;
		if (pr->map.fate == FATE_LOST)
			s = REPORT_LOST;
		for (size_t f = 0; f < pr->nfiles; f++)
			if (m->p->files[pr->first_file + f].fate == FATE_LOST)
				s = REPORT_LOST;
		if (!any)
			put_label(m, "  in no set");
		any = true;
		put_cell(m, s, (uint32_t)r);
	}
	if (any)
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
	bool first = true;

	for (int64_t r = p->nranks - 1; r >= 10; r /= 10)
		m.digits++;
	m.per_line = width > LABEL ? (width - LABEL) / (m.digits + 4) : 0;
	m.per_line = m.per_line > 0 ? m.per_line : 1;
	buf_printf(out, "  ranks by set (%s)\n", report_scheme(p));
	put_sets(&m, !data);
	put_rest(&m, !data);
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
