/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers_text.c - containers as a line, a table and pictures: for the
 * terminal, and as SVG.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "container/segmap.h"
#include "mem.h"
#include "path.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/svg.h"
#include "report/table.h"
#include "str.h"
#include "style.h"

/* Rows shown of the table of damaged containers. */
#define DAMAGED_SHOWN 40

/* With more than ALONE_MAX containers, similar neighbours share a row.  At most
 * ROWS_MAX rows are drawn. */
#define ALONE_MAX 40
#define ROWS_MAX 200

#define LABEL 18      /* columns of "  ctr.1000-1999   " */
#define STATE 16      /* of "  wrong checksum" */
#define WIDTH 80      /* if unknown */
#define CELLS_MIN 8   /* if narrower, states are left out */
#define CELLS_MAX 400 /* wider is not clearer */

/* --- What pictures have in common --- */

static int
by_place(const void *a, const void *b)
{
	const struct container_span *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->len < y->len ? -1 : x->len > y->len;
}

/* List the segments of one map behind the `n` spans.  A segment that reaches
 * beyond the end of its container is split into the part found and the part
 * missing.  Returns the number of spans. */
static size_t
collect(struct container_picture *p, const struct containers_part *part,
	size_t n)
{
	const struct segmap *m = part->map;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		uint64_t at = 0;

		for (size_t s = f->first; s < f->first + f->nsegs; s++) {
			const struct segment *seg = &m->segs[s];
			size_t pos = part->pos[seg->container];
			uint64_t have = p->k->list[pos].have;
			bool cut =
				have > seg->off && have < seg->off + seg->len;
			struct container_span span = {
				.file = f,
				.container = pos,
				.off = seg->off,
				.len = cut ? have - seg->off : seg->len,
				.at = at,
				.bad = seg->gone || have <= seg->off,
			};

			at += seg->len;
			p->spans[n++] = span;
			if (!cut)
				continue;
			span.off += span.len;
			span.at += span.len;
			span.len = seg->len - span.len;
			span.bad = true;
			p->spans[n++] = span;
		}
	}
	return n;
}

void
container_picture(const struct containers *k, size_t alone, size_t rows,
		  struct container_picture *out)
{
	const size_t segs = k->parts[0].map->nsegs + k->parts[1].map->nsegs;
	size_t n = 0;

	*out = (struct container_picture){ .k = k, .room = 1 };
	out->rows = mem_calloc(rows, sizeof(*out->rows));
	for (size_t i = 0; i < k->count; i++) {
		const struct container *c = &k->list[i];
		struct container_row *row = &out->rows[out->shown];

		out->room = c->size > out->room ? c->size : out->room;
		/* Neighbours that look the same share a row. */
		if (out->more == 0 && k->count > alone && i > 0 &&
		    c[-1].redundancy == c->redundancy &&
		    c[-1].size == c->size && c[-1].state == c->state &&
		    (c->state == CONTAINER_WHOLE ||
		     c->state == CONTAINER_MISSING))
			row[-1].last = i;
		else if (out->shown == rows)
			out->more++;
		else
			out->rows[out->shown++] = (struct container_row){
				i,
				i,
				c->redundancy && (i == 0 || !c[-1].redundancy),
			};
	}
	out->first = mem_calloc(k->count + 2, sizeof(*out->first));
	out->spans = mem_calloc(2 * segs + 1, sizeof(*out->spans));
	for (int i = 0; i < 2; i++)
		n = collect(out, &k->parts[i], n);
	qsort(out->spans, n, sizeof(*out->spans), by_place);
	for (size_t i = 0, s = 0; i < k->count; i++) {
		while (s < n && out->spans[s].container == i)
			s++;
		out->first[i + 1] = s;
	}
}

void
container_picture_free(struct container_picture *p)
{
	mem_free(p->spans);
	mem_free(p->first);
	mem_free(p->rows);
}

/* --- Rows of pictures --- */

/* The name without directory and ".scr". */
static void
short_name(const struct container *c, char *to, size_t size)
{
	size_t len = 0;

	str_printable(to, size, path_base(c->name));
	len = strlen(to);
	if (segmap_is_container(to) && len > 4)
		to[len - 4] = '\0';
}

/* Label of a row, cut at `width` columns: "ctr.0", "ctr.3-17".  Returns
 * `to`. */
static char *
row_name(const struct containers *k, const struct container_row *r,
	 size_t width, char *to, size_t size)
{
	char last[256];
	const char *number = NULL;
	size_t len = 0;

	short_name(&k->list[r->first], to, size);
	len = strlen(to);
	if (r->last > r->first) {
		short_name(&k->list[r->last], last, sizeof(last));
		number = strrchr(last, '.');
		snprintf(to + len, size - len, "-%s",
			 number != NULL ? number + 1 : last);
		len = strlen(to);
	}
	while (str_width(to, len) > width)
		len--;
	to[len] = '\0';
	return to;
}

/* State of a row: "", "missing", "15 whole".  Returns `to`. */
static char *
row_state(const struct containers *k, const struct container_row *r, char *to,
	  size_t size)
{
	const enum container_state s = k->list[r->first].state;

	if (r->last > r->first)
		return str_print(to, size, "%zu %s", r->last - r->first + 1,
				 container_state_name(s));
	return str_print(to, size, "%s",
			 s != CONTAINER_WHOLE ? container_state_name(s) : "");
}

/* --- A line, a table --- */

/* "7 of 29.3 KiB, 189.2 KiB in 16 files; 2 damaged", no newline. */
static void
put_line(const struct containers *k, struct buf *out)
{
	const struct packed *p = &k->packed;
	size_t files = 0;

	for (size_t i = 0; i < p->map.nfiles; i++)
		files += p->map.files[i].nsegs > 0;
	buf_printf(out, "%zu", p->map.ncontainers);
	if (p->map.container_size > 0)
		buf_printf(out, " of %s", str_size(p->map.container_size));
	buf_printf(out, ", %s in %zu %s", str_size(p->map.bytes),
		   str_count(files, "file"));
	if (p->hidden.map.ncontainers > 0)
		buf_printf(out, ", redundancy in %zu more",
			   p->hidden.map.ncontainers);
	if (p->hidden.map.nfiles > 0)
		buf_printf(out, ", metadata packed too");
	if (p->map.moving)
		buf_printf(out, "; a repack was interrupted");
	if (k->damaged > 0)
		buf_printf(out, "; %zu damaged", k->damaged);
}

void
report_containers_head(const struct containers *k, struct buf *out)
{
	if (k == NULL)
		return;
	buf_printf(out, "  containers  ");
	put_line(k, out);
	buf_printf(out, "\n");
}

void
report_containers_table(const struct containers *k, bool all, struct buf *out)
{
	struct table t;
	size_t rows = 0, most = all ? SIZE_MAX : DAMAGED_SHOWN;

	table_start(&t, "CONTAINER|>SIZE|>FILL|>FILES|STATE");
	for (size_t i = 0; i < k->count; i++) {
		const struct container *c = &k->list[i];
		const char *state = container_state_name(c->state);
		uint64_t full = k->packed.map.container_size;

		if ((!all && c->state == CONTAINER_WHOLE) || rows++ >= most)
			continue;
		full = full < c->size ? c->size : full;
		table_name(&t, c->name);
		table_cells(&t, "%s\t%.1f %%\t%zu", str_size(c->size),
			    full > 0 ? 100.0 * (double)c->used / (double)full
				     : 0.0,
			    c->files);
		if (c->state == CONTAINER_SHORT || c->state == CONTAINER_LONG)
			table_cell(&t, "%s: %" PRIu64 " B, not %" PRIu64, state,
				   c->have, c->size);
		else
			table_cell(&t, "%s", state);
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
	if (rows > most)
		buf_printf(out, "  ... and %zu more (-v: all)\n", rows - most);
}

/* --- The picture for the terminal --- */

enum look { LOOK_ODD, LOOK_EVEN, LOOK_MANY, LOOK_NONE, LOOK_BAD, LOOKS };

static const struct {
	const char *utf8, *ascii, *color, *meaning;
} looks[LOOKS] = {
	[LOOK_ODD] = { "\u2588", "#", "32", NULL },
	[LOOK_EVEN] = { "\u2592", "=", "36", "one file, the next" },
	[LOOK_MANY] = { "\u2591", "%", "34", "several small ones" },
	[LOOK_NONE] = { "\u00b7", ".", "2", "of no file" },
	[LOOK_BAD] = { "\u00d7", "X", "31", "missing or wrong" },
};

struct canvas {
	struct buf *out;
	const struct style *style;
	struct container_picture p;
	unsigned cells;			/* cells of the largest container */
	bool states;			/* states are shown */
	const struct segmap_file *last; /* file of the last cell drawn */
	enum look shade;		/* its shade */
	bool seen[LOOKS];
};

static void
put_look(struct canvas *d, enum look l, unsigned count)
{
	const char *text = d->style->utf8 ? looks[l].utf8 : looks[l].ascii;

	if (count == 0)
		return;
	d->seen[l] = true;
	if (d->style->color)
		buf_printf(d->out, "\033[%sm", looks[l].color);
	for (; count > 0; count--)
		buf_printf(d->out, "%s", text);
	if (d->style->color)
		buf_printf(d->out, "\033[0m");
}

/* First byte of cell `i` of `n` in `size` bytes. */
static uint64_t
cell_start(uint64_t size, unsigned i, unsigned n)
{
	return size / n * i + size % n * i / n;
}

/* Choose the symbol for the bytes from `lo` to `hi`.  *at is the first span
 * that may reach them, and is advanced; `end` is the end of the container's
 * spans. */
static enum look
look_of(struct canvas *d, size_t *at, size_t end, uint64_t lo, uint64_t hi)
{
	const struct container_span *s = d->p.spans;
	const struct segmap_file *most = NULL, *last = NULL;
	uint64_t best = 0;
	unsigned files = 0;

	while (*at < end && s[*at].off + s[*at].len <= lo)
		++*at;
	for (size_t i = *at; i < end && s[i].off < hi; i++) {
		uint64_t from = s[i].off > lo ? s[i].off : lo;
		uint64_t to = s[i].off + s[i].len;

		to = to < hi ? to : hi;
		if (to <= from)
			continue;
		if (s[i].bad)
			return LOOK_BAD;
		files += s[i].file != last;
		last = s[i].file;
		if (to - from > best) {
			best = to - from;
			most = s[i].file;
		}
	}
	if (most == NULL)
		return LOOK_NONE;
	if (files > 2)
		return LOOK_MANY;
	if (d->last != most)
		d->shade = d->shade == LOOK_ODD ? LOOK_EVEN : LOOK_ODD;
	d->last = most;
	return d->shade;
}

static unsigned
cells_of(const struct canvas *d, const struct container *c)
{
	double part = (double)c->size / (double)d->p.room;
	unsigned n = (unsigned)(part * d->cells + 0.999);

	if (c->size == 0)
		return 0;
	return n < 1 ? 1 : n > d->cells ? d->cells : n;
}

static void
put_bar(struct canvas *d, const struct container_row *r)
{
	const struct container *c = &d->p.k->list[r->first];
	unsigned n = cells_of(d, c), run = 0;
	size_t at = d->p.first[r->first];
	enum look before = LOOK_NONE;

	if (c->state == CONTAINER_MISSING || c->state == CONTAINER_TYPE ||
	    r->last > r->first) {
		put_look(d, c->state == CONTAINER_WHOLE ? LOOK_MANY : LOOK_BAD,
			 n);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t lo = cell_start(c->size, i, n);
		uint64_t hi = cell_start(c->size, i + 1, n);
		enum look l = look_of(d, &at, d->p.first[r->first + 1], lo,
				      hi > lo ? hi : lo + 1);

		if (l != before) {
			put_look(d, before, run);
			run = 0;
		}
		before = l;
		run++;
	}
	put_look(d, before, run);
}

static void
put_legend(struct canvas *d)
{
	unsigned width = d->style->width > 0 ? d->style->width : WIDTH;
	unsigned column = LABEL;

	/* The two shades are explained together. */
	d->seen[LOOK_EVEN] |= d->seen[LOOK_ODD];
	buf_printf(d->out, "%-*s", LABEL, "");
	for (int l = LOOK_EVEN; l < LOOKS; l++) {
		unsigned len = (unsigned)strlen(looks[l].meaning) + 2;

		len += l == LOOK_EVEN ? 2 : 0;
		if (!d->seen[l])
			continue;
		if (column > LABEL && column + 3 + len > width) {
			buf_printf(d->out, "\n%-*s", LABEL, "");
			column = LABEL;
		}
		if (column > LABEL)
			buf_printf(d->out, "   ");
		column += len + (column > LABEL ? 3 : 0);
		if (l == LOOK_EVEN) {
			put_look(d, LOOK_ODD, 1);
			buf_printf(d->out, " ");
		}
		put_look(d, (enum look)l, 1);
		buf_printf(d->out, " %s", looks[l].meaning);
	}
	buf_printf(d->out, "\n");
}

void
report_containers_map(const struct containers *k, const struct style *style,
		      struct buf *out)
{
	struct canvas d = { .out = out, .style = style };
	unsigned width = style->width > 0 ? style->width : WIDTH;
	char name[256], state[64];

	container_picture(k, ALONE_MAX, ROWS_MAX, &d.p);
	d.cells = width > LABEL ? width - LABEL : 1;
	for (size_t i = 0; i < d.p.shown; i++)
		d.states |= row_state(k, &d.p.rows[i], state,
				      sizeof(state))[0] != '\0';
	if (d.cells < CELLS_MIN + STATE)
		d.states = false;
	if (d.states)
		d.cells -= STATE;
	if (d.cells > CELLS_MAX)
		d.cells = CELLS_MAX;
	buf_printf(out, "  bytes by container (a full row: %s)\n",
		   str_size(d.p.room));
	for (size_t i = 0; i < d.p.shown; i++) {
		const struct container_row *r = &d.p.rows[i];

		if (i > 0 && r->section)
			buf_printf(out, "  and of the redundancy\n");
		row_name(k, r, LABEL - 4, name, sizeof(name));
		row_state(k, r, state, sizeof(state));
		buf_printf(out, "  %s%*s", name,
			   LABEL - 2 - (int)str_width(name, strlen(name)), "");
		put_bar(&d, r);
		if (d.states && state[0] != '\0')
			buf_printf(out, "%*s  %s",
				   (int)(d.cells -
					 cells_of(&d, &k->list[r->first])),
				   "", state);
		buf_printf(out, "\n");
	}
	if (d.p.more > 0)
		buf_printf(out, "  ... and %zu more\n", d.p.more);
	put_legend(&d);
	container_picture_free(&d.p);
}

/* --- The picture as SVG: a box for each range of a file --- */

/* Limits: boxes (approximate), rows, containers with a row each. */
#define SVG_BOXES 20000
#define SVG_ROWS 1000
#define SVG_ALONE 200

#define SVG_LABEL 18 /* characters left of a row */

static void
put_tip(const void *arg, const struct svg_item *item, struct buf *out)
{
	const struct container_picture *p = arg;
	const struct container_span *s = item->of;

	buf_printf(out,
		   "%s\nrank %" PRIu32 ", %" PRIu64 " bytes from byte %" PRIu64
		   " of %" PRIu64 " at offset %" PRIu64 " of %s%s",
		   svg_path(s->file->path), s->file->rank, s->len, s->at,
		   s->file->size, s->off,
		   svg_path(p->k->list[s->container].name),
		   s->bad ? "\nmissing or wrong" : "");
}

static void
put_container(struct svg *d, const struct container_row *r,
	      const struct svg_item *items)
{
	const struct container_picture *p = d->arg;
	const struct container *c = &p->k->list[r->first];
	const bool shared = r->last > r->first;
	char name[256], state[64];
	struct buf tip = BUF_INIT;
	size_t files = 0;
	struct svg_row row = {
		.label = row_name(p->k, r, SVG_LABEL, name, sizeof(name)),
		.state = row_state(p->k, r, state, sizeof(state)),
		.alarm = c->state != CONTAINER_WHOLE,
		/* Files are drawn over the container, so what stays visible
		 * belongs to no file. */
		.ground = !shared			? "none"
			  : c->state == CONTAINER_WHOLE ? "many"
							: "bad",
		.size = c->size,
		.room = p->room,
		.items = &items[p->first[r->first]],
		.count = shared ? 0
				: p->first[r->first + 1] - p->first[r->first],
	};

	for (size_t i = r->first; i <= r->last; i++)
		files += p->k->list[i].files;
	buf_add_str(&tip, svg_path(c->name));
	if (shared)
		buf_printf(&tip, " to %s", svg_path(p->k->list[r->last].name));
	buf_printf(&tip, "\n%s%" PRIu64 " bytes, parts of %zu %s\n%s",
		   shared ? "each " : "", c->size, str_count(files, "file"),
		   container_state_name(c->state));
	row.tip = tip.data;
	svg_row(d, &row);
	buf_free(&tip);
}

void
report_svg(const struct condition *h, bool alone, struct buf *out)
{
	static const struct svg_key keys[] = {
		{ "h0", "files, one colour for a rank" },
		{ "many", "small files, or containers" },
		{ "none", "of no file" },
		{ "bad", "missing or wrong" },
	};
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	const char *title = str_printed(512, "dataset %" PRId64 "  %s", h->id,
					name != NULL ? name : "");
	struct container_picture p;
	struct svg d = {
		.width = 1200,
		.left = 12.5,
		.wide = 71.5,
		.bar = 18,
		.mixed = "many",
		.shades = true,
		.tip = put_tip,
		.arg = &p,
		.items = "parts of files",
		.wrong = "missing or wrong",
	};
	struct svg_item *items = NULL;
	struct buf line = BUF_INIT;
	size_t n = 0;

	container_picture(h->containers, SVG_ALONE, SVG_ROWS, &p);
	n = p.first[p.k->count];
	items = mem_calloc(n + 1, sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[i] = (struct svg_item){
			.of = &p.spans[i],
			.off = p.spans[i].off,
			.len = p.spans[i].len,
			.style = svg_hue(p.spans[i].file->rank),
			.bad = p.spans[i].bad,
		};
	/* As few share a box as the number of boxes allows. */
	while (svg_boxes(&d, items, n, p.room) > SVG_BOXES)
		d.thin = d.thin > 0 ? 2 * d.thin : 0.25;
	put_line(p.k, &line);
	if (alone)
		svg_text(&d, "head", "%s", str_shown(title));
	svg_text(&d, "", "containers: %s; a full row: %s", line.data,
		 str_size(p.room));
	buf_free(&line);
	svg_keys(&d, keys, sizeof(keys) / sizeof(keys[0]));
	for (size_t i = 0; i < p.shown; i++) {
		if (p.rows[i].section)
			svg_text(&d, "", "redundancy");
		put_container(&d, &p.rows[i], items);
	}
	if (p.more > 0)
		svg_text(&d, "", "... and %zu more containers", p.more);
	svg_end(&d, alone ? title : NULL, out);
	mem_free(items);
	container_picture_free(&p);
}
