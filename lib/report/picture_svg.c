/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_svg.c - the ranks of a dataset as an SVG picture. */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "catalogue/overview.h"
#include "error.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/picture.h"
#include "report/ranks.h"
#include "report/xml.h"
#include "rescue/plan.h"

/* Pixels, cells in a line, and lines. */
#define LEFT 140
#define TOP 84
#define CELL 13
#define PITCH 15
#define PER_LINE 64
#define LINES_MAX 2000

static const char *const fills[] = {
	[REPORT_WHOLE] = "#2e9e4f",
	[REPORT_REDUNDANCY] = "#e0b400",
	[REPORT_REBUILD] = "#e8772e",
	[REPORT_LOST] = "#c8102e",
};

static size_t
lines_of(const struct ranks_row *row)
{
	return (row->count + PER_LINE - 1) / PER_LINE;
}

/* Style, ground, title and legend. */
static void
put_head(const struct condition *h, const struct ranks *r, struct buf *out)
{
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	int x = 8;

	buf_printf(out,
		   "<style>text{font:12px sans-serif}"
		   ".head{font-size:18px}rect{width:%dpx;height:%dpx}",
		   CELL, CELL);
	for (int s = 0; s <= REPORT_LOST; s++)
		buf_printf(out, ".s%d{fill:%s}", s, fills[s]);
	buf_printf(out, "</style>\n<rect style=\"width:100%%;height:100%%\" "
			"fill=\"#fff\"/>\n");
	buf_printf(out,
		   "<text class=\"head\" x=\"8\" y=\"24\">dataset "
		   "%" PRId64 "  ",
		   h->id);
	xml_text(out, name != NULL ? name : "");
	buf_printf(out, "  %s</text>\n", condition_state(h));
	for (int s = 0; s <= REPORT_LOST; s++) {
		if (r->states[s] == 0)
			continue;
		buf_printf(out,
			   "<rect class=\"s%d\" x=\"%d\" y=\"44\"/><text "
			   "x=\"%d\" y=\"55\">%zu %s</text>\n",
			   s, x, x + PITCH + 2, r->states[s],
			   ranks_state_name(r->p, (enum report_cell_state)s));
		x += 240;
	}
}

static void
put_row(const struct ranks *r, const struct ranks_row *row, size_t line,
	struct buf *out)
{
	buf_printf(out, "<text x=\"8\" y=\"%zu\">", TOP + line * PITCH + 11);
	if (row->number == RANKS_ALONE)
		buf_add_str(out, r->nodes ? "unknown" : "each by itself");
	else
		buf_printf(out, "%s %" PRIu64, r->nodes ? "node" : "set",
			   row->number);
	buf_add_str(out, "</text>\n");
	for (size_t i = 0; i < row->count; i++) {
		const struct ranks_cell *c = &r->cells[row->first + i];

		buf_printf(
			out,
			"<rect class=\"s%d\" x=\"%zu\" y=\"%zu\"><title>rank "
			"%" PRIu32 ": %s</title></rect>\n",
			(int)c->state, LEFT + i % PER_LINE * PITCH,
			TOP + (line + i / PER_LINE) * PITCH, c->rank,
			ranks_state_name(r->p, c->state));
	}
}

int
picture_svg(const struct condition *h, const struct overview *s,
	    struct buf *out, struct error *err)
{
	struct ranks r;
	size_t lines = 0, shown = 0, line = 0;

	if (h->containers != NULL || h->plan == NULL || h->plan->nranks <= 0)
		return report_svg(h, out, err);
	if (ranks_init(&r, h->plan, s != NULL ? s->nodes : -1, err) < 0) {
		ranks_free(&r);
		return -1;
	}
	while (shown < r.nrows && lines < LINES_MAX)
		lines += lines_of(&r.rows[shown++]);
	xml_svg(out, LEFT + PER_LINE * PITCH + 8, TOP + lines * PITCH + 24,
		"ranks of a dataset");
	put_head(h, &r, out);
	for (size_t i = 0; i < shown; i++) {
		put_row(&r, &r.rows[i], line, out);
		line += lines_of(&r.rows[i]);
	}
	if (shown < r.nrows)
		buf_printf(out, "<text x=\"8\" y=\"%zu\">and %zu more</text>\n",
			   TOP + line * PITCH + 14, r.nrows - shown);
	buf_add_str(out, "</svg>\n");
	ranks_free(&r);
	return buf_check(out, err);
}
