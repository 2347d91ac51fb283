/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers_svg.c - the containers of a dataset as an SVG picture: a row for
 * each container, a rectangle for each range of a file, with a tooltip that
 * names the file.
 */
#include <inttypes.h>

#include "buf.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/xml.h"
#include "str.h"

/* Pixels. */
#define LEFT 150
#define BAR 860
#define RIGHT 190
#define TOP 132 /* heading, legend, scale */
#define ROW 18
#define PITCH 22
#define SECTION 26 /* heading of the redundancy */
#define THIN 4	   /* narrower rectangles may be merged */

/* Limits: rectangles (approximate), rows, containers with a row each. */
#define BOXES_MAX 20000
#define ROWS_MAX 1000
#define ALONE_MAX 200

#define NAME_TEXT 512
#define LABEL_MAX 18 /* characters in LEFT pixels */

#define HUES 8

/* Which neighbours are merged into one rectangle. */
enum merging {
	MERGE_NONE,
	MERGE_RANK, /* thin ones of one rank, all good or all bad */
	MERGE_KIND, /* thin ones, all good or all bad */
	MERGE_ALL,  /* all thin ones; `thin` is raised as needed */
};

struct drawing {
	struct buf *out;
	struct container_picture p;
	enum merging merging;
	double thin; /* pixels */
	const struct segmap_file *last;
	bool shade;
};

/* --- Rectangles --- */

static double
width_of(const struct drawing *d, uint64_t len)
{
	double part = (double)len / (double)d->p.room;

	return part > 1 ? BAR : part * BAR;
}

/* Returns the end of the rectangle that begins with span `from`. */
static size_t
box_end(const struct drawing *d, size_t from, size_t end)
{
	const struct container_span *s = d->p.spans;
	const struct container_span *a = &s[from];
	size_t i = from + 1;

	if (d->merging == MERGE_NONE || width_of(d, a->len) >= d->thin)
		return i;
	for (; i < end; i++) {
		if (width_of(d, s[i].len) >= d->thin ||
		    width_of(d, s[i].off - a->off) >= d->thin)
			break;
		if (d->merging <= MERGE_KIND && s[i].bad != a->bad)
			break;
		if (d->merging == MERGE_RANK &&
		    s[i].file->rank != a->file->rank)
			break;
	}
	return i;
}

/* Merge as little as the number of rectangles allows. */
static void
choose_merging(struct drawing *d)
{
	d->thin = THIN;
	for (int m = MERGE_NONE; m <= MERGE_ALL; m++) {
		size_t n = 0;

		d->merging = (enum merging)m;
		for (size_t r = 0; r < d->p.shown; r++) {
			const struct container_row *row = &d->p.rows[r];
			size_t end = d->p.first[row->first + 1];

			if (row->last > row->first)
				continue;
			for (size_t i = d->p.first[row->first]; i < end;
			     i = box_end(d, i, end))
				n++;
		}
		if (n <= BOXES_MAX)
			return;
	}
	/* Two adjacent rectangles are together at least `thin` wide, so this
	 * bounds their number. */
	d->thin = 4.0 * BAR * (double)d->p.shown / BOXES_MAX;
	if (d->thin < THIN)
		d->thin = THIN;
}

/* A rectangle: spans[from] ... spans[to - 1]. */
struct box {
	size_t from, to;
	size_t files, bad; /* `bad`: damaged files among them */
	bool ranks;	   /* of more than one rank */
	uint64_t off, end;
};

static struct box
box_of(const struct drawing *d, size_t from, size_t to)
{
	const struct container_span *s = d->p.spans;
	struct box b = { .from = from, .to = to, .off = s[from].off };

	for (size_t i = from; i < to; i++) {
		bool new = i == from || s[i].file != s[i - 1].file;

		b.files += new;
		b.bad += s[i].bad && (new || !s[i - 1].bad);
		b.ranks |= s[i].file->rank != s[from].file->rank;
		if (s[i].off + s[i].len > b.end)
			b.end = s[i].off + s[i].len;
	}
	return b;
}

static void
put_tip(struct drawing *d, const struct box *b, const struct container *c)
{
	const struct container_span *s = &d->p.spans[b->from];
	const struct container_span *last = &d->p.spans[b->to - 1];

	if (b->files == 1)
		buf_printf(d->out,
			   "<title>%s\nrank %" PRIu32 ", %" PRIu64
			   " bytes from byte %" PRIu64 " of %" PRIu64,
			   xml_path(s->file->path), s->file->rank,
			   b->end - b->off, s->at, s->file->size);
	else if (b->ranks)
		buf_printf(d->out,
			   "<title>%zu files of ranks %" PRIu32 " to %" PRIu32,
			   b->files, s->file->rank, last->file->rank);
	else
		buf_printf(d->out, "<title>%zu files of rank %" PRIu32,
			   b->files, s->file->rank);
	if (b->files > 1)
		buf_printf(d->out, "\n%s ... %s\n%" PRIu64 " bytes",
			   xml_path(s->file->path), xml_path(last->file->path),
			   b->end - b->off);
	buf_printf(d->out, " at offset %" PRIu64 " of %s", b->off,
		   xml_path(c->name));
	if (b->bad > 0 && b->files > 1)
		buf_printf(d->out, "\n%zu missing or wrong", b->bad);
	else if (b->bad > 0)
		buf_printf(d->out, "\nmissing or wrong");
	buf_printf(d->out, "</title>");
}

/* Begin a rectangle of this class, which is `w` wide. */
static void
open_rect(struct drawing *d, const char *class, double x, int y, double w)
{
	buf_printf(d->out,
		   "<rect class=\"%s\" x=\"%s\" width=\"%s\" y=\"%d\" "
		   "height=\"%d\">",
		   class, xml_number(LEFT + x), xml_number(w), y, ROW);
}

/* Draw the spans of a container; the damaged ones last, on top of their
 * neighbours. */
static void
put_boxes(struct drawing *d, size_t container, int y)
{
	const struct container *c = &d->p.k->list[container];
	size_t end = d->p.first[container + 1], to = 0;

	for (int bad = 0; bad < 2; bad++) {
		for (size_t i = d->p.first[container]; i < end; i = to) {
			const unsigned rank = d->p.spans[i].file->rank;
			const char *class = NULL;
			struct box b;
			double x = 0, w = 0;

			to = box_end(d, i, end);
			b = box_of(d, i, to);
			if ((b.bad > 0) != (bad == 1))
				continue;
			if (d->last != d->p.spans[i].file)
				d->shade = !d->shade;
			d->last = d->p.spans[to - 1].file;
			x = width_of(d, b.off);
			w = width_of(d, b.end) - x;
			class = b.bad > 0 ? "bad"
				: !b.ranks
					? str_printed(8, "r%u%c", rank % HUES,
						      d->shade ? 'a' : 'b')
				: d->shade ? "ma"
					   : "mb";
			/* Damage must be visible, however small it is. */
			if (b.bad > 0 && w < 2)
				w = 2;
			open_rect(d, class, x, y, w);
			put_tip(d, &b, c);
			buf_printf(d->out, "</rect>\n");
		}
	}
}

/* --- Rows --- */

static void
put_row(struct drawing *d, const struct container_row *r, int y)
{
	const struct container *c = &d->p.k->list[r->first];
	const bool shared = r->last > r->first;
	const double w = width_of(d, c->size);
	char text[256];
	size_t files = 0;

	container_row_name(d->p.k, r, LABEL_MAX, text, sizeof(text));
	buf_printf(d->out,
		   "<text class=\"mono\" text-anchor=\"end\" x=\"%d\" "
		   "y=\"%d\">",
		   LEFT - 10, y + 13);
	xml_escaped(d->out, text);
	buf_add_str(d->out, "</text>\n");
	/* The container itself: files are drawn over it, so what stays visible
	 * belongs to no file. */
	for (size_t i = r->first; i <= r->last; i++)
		files += d->p.k->list[i].files;
	open_rect(d,
		  !shared			? "none"
		  : c->state == CONTAINER_WHOLE ? "ma"
						: "bad",
		  0, y, w < 1 ? 1 : w);
	buf_printf(d->out, "<title>%s", xml_path(c->name));
	if (shared)
		buf_printf(d->out, " to %s",
			   xml_path(d->p.k->list[r->last].name));
	buf_printf(d->out,
		   "\n%s%" PRIu64
		   " bytes, parts of %zu %s\n%s</title></rect>\n",
		   shared ? "each " : "", c->size, str_count(files, "file"),
		   container_state_name(c->state));
	if (!shared)
		put_boxes(d, r->first, y);
	container_row_state(d->p.k, r, text, sizeof(text));
	if (text[0] != '\0')
		buf_printf(d->out,
			   "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n",
			   c->state == CONTAINER_WHOLE ? "dim" : "alarm",
			   LEFT + BAR + 10, y + 13, text);
}

/* --- All parts --- */

static void
put_head(struct drawing *d, const char *name)
{
	static const char *const hues[HUES + 1][2] = {
		{ "#4e79a7", "#86a8cc" }, { "#59a14f", "#95c78d" },
		{ "#8067b0", "#b09fd3" }, { "#3a9a94", "#7cc2bd" },
		{ "#9c755f", "#c4a693" }, { "#5f6b7a", "#98a2ae" },
		{ "#9c9a3c", "#c6c47a" }, { "#b07aa1", "#d4a6c8" },
		{ "#6f6f6f", "#9a9a9a" },
	};
	static const struct {
		const char *classes[2], *meaning;
		int width;
	} keys[] = {
		{ { "r0a", "r0b" }, "files, one colour for a rank", 235 },
		{ { "ma", "mb" }, "many small files, or containers", 270 },
		{ { "none", NULL }, "of no file", 115 },
		{ { "bad", NULL }, "missing or wrong", 0 },
	};
	struct buf line = BUF_INIT;
	size_t height = TOP + d->p.shown * PITCH + 16;

	report_containers_line(d->p.k, &line);
	for (size_t i = 0; i < d->p.shown; i++)
		height += d->p.rows[i].section ? SECTION : 0;
	height += d->p.more > 0 ? PITCH : 0;
	xml_svg(d->out, LEFT + BAR + RIGHT, height, name);
	buf_printf(d->out,
		   "<style>text{font:13px sans-serif;fill:#222}"
		   ".head{font-size:18px;font-weight:bold}"
		   ".mono{font-family:monospace}.dim{fill:#666}"
		   ".alarm{fill:#b00020;font-weight:bold}"
		   ".none{fill:#f4f4f4;stroke:#bbb;stroke-width:.5}"
		   ".bad{fill:url(#hatch);stroke:#b00020;stroke-width:.5}\n");
	for (int i = 0; i < HUES; i++)
		buf_printf(d->out, ".r%da{fill:%s}.r%db{fill:%s}\n", i,
			   hues[i][0], i, hues[i][1]);
	buf_printf(d->out, ".ma{fill:%s}.mb{fill:%s}</style>\n", hues[HUES][0],
		   hues[HUES][1]);
	xml_hatch(d->out, "#ffd7d9", "#d0021b");
	buf_printf(d->out,
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		   "<text class=\"head\" x=\"16\" y=\"30\">%s</text>\n"
		   "<text x=\"16\" y=\"54\">Containers: ",
		   xml_shown(name));
	xml_escaped(d->out, line.data);
	buf_free(&line);
	buf_printf(d->out, "</text>\n");
	for (size_t i = 0, x = LEFT; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t at = x;

		for (int c = 0; c < 2 && keys[i].classes[c] != NULL; c++) {
			buf_printf(d->out,
				   "<rect class=\"%s\" x=\"%zu\" y=\"74\" "
				   "width=\"16\" height=\"12\"/>",
				   keys[i].classes[c], at);
			at += 16;
		}
		buf_printf(d->out, "<text x=\"%zu\" y=\"85\">%s</text>\n",
			   at + 6, keys[i].meaning);
		x += (size_t)keys[i].width;
	}
	buf_printf(d->out,
		   "<text class=\"dim\" x=\"%d\" y=\"%d\">0</text>"
		   "<text class=\"dim\" text-anchor=\"end\" x=\"%d\" "
		   "y=\"%d\">%s</text>\n",
		   LEFT, TOP - 8, LEFT + BAR, TOP - 8, str_size(d->p.room));
}

void
report_svg(const struct condition *h, struct buf *out)
{
	const char *name = h->entry != NULL ? h->entry->name : NULL;
	struct drawing d = { .out = out };
	int y = TOP;

	container_picture(h->containers, ALONE_MAX, ROWS_MAX, &d.p);
	choose_merging(&d);
	put_head(&d, str_printed(NAME_TEXT, "dataset %" PRId64 "  %s", h->id,
				 name != NULL ? name : ""));
	for (size_t i = 0; i < d.p.shown; i++, y += PITCH) {
		if (d.p.rows[i].section) {
			buf_printf(
				out,
				"<text x=\"%d\" y=\"%d\">redundancy</text>\n",
				LEFT, y + 15);
			y += SECTION;
		}
		put_row(&d, &d.p.rows[i], y);
	}
	if (d.p.more > 0)
		buf_printf(out,
			   "<text x=\"%d\" y=\"%d\">... and %zu more "
			   "containers</text>\n",
			   LEFT, y + 13, d.p.more);
	buf_printf(out, "</svg>\n");
	container_picture_free(&d.p);
}
