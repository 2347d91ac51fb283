/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_svg.c - an FTI-FF file as an SVG picture: the whole file as a bar, a row
 * for each block with its containers, and a list of the variables.
 *
 * Lengths along the bars are percentages, and texts keep their size: so the
 * picture fits any width.  Small containers that are neighbours share a
 * rectangle, and blocks share rows if there are many.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "mem.h"
#include "path.h"
#include "report/fti.h"
#include "report/xml.h"
#include "str.h"

/* Pixels. */
#define HEAD 150 /* title, facts, legend */
#define BAR 24
#define PITCH 52 /* of a row: a line of text and a bar */
#define LINE 22	 /* of the list of variables */

/* Per cent of the width. */
#define LEFT 3.0
#define WIDE 94.0
#define THIN 0.4   /* a container that is narrower may share its rectangle */
#define LETTER 2.6 /* a character of a label, where the width is 400 pixels */

/* Rows of blocks, and lines of variables. */
#define ROWS_MAX 32
#define VARIABLES_MAX 48

#define HUES 8

/* A rectangle: one container, or several neighbours. */
struct box {
	size_t first, count;
	uint64_t size, live;
	size_t damaged;
};

struct drawing {
	struct buf *out;
	const struct fti_checked *c;
	size_t *hues; /* by container: the number of its variable */
	const char **states;
	size_t per; /* blocks of a row */
	size_t rows;
	uint64_t widest; /* bytes of the largest row, at least 1 */
	int y;
};

/* --- Rectangles --- */

static void
put_rect(struct drawing *d, const char *style, double x, double width)
{
	buf_printf(d->out,
		   "<rect class=\"%s\" x=\"%s%%\" width=\"%s%%\" y=\"%d\" "
		   "height=\"%d\"/>",
		   style, xml_number(x), xml_number(width), d->y, BAR);
}

/* What the share of `bytes` in `of` is on a bar. */
static double
width_of(uint64_t bytes, uint64_t of)
{
	const double part = of == 0 ? 0 : (double)bytes / (double)of;

	return WIDE * (part > 1 ? 1 : part);
}

static uint64_t
sum(int64_t bytes)
{
	return bytes < 0 ? 0 : (uint64_t)bytes;
}

/* The bytes reserved, over them the bytes in use from the left, around both a
 * line, and the number of the variable if there is room for it. */
static void
put_box(struct drawing *d, const struct box *b, double x)
{
	double width = width_of(b->size, d->widest);
	double live = width_of(b->live, d->widest);
	const char *style =
		b->damaged > 0 ? "bad"
		: b->count > 1
			? "many"
			: str_printed(32, "h%zu", d->hues[b->first] % HUES);
	const struct fti_container *k = &d->c->file->containers[b->first].c;
	const char *id = str_printed(16, "%" PRId32, k->id);

	/* Damage must be visible, however small it is. */
	if (b->damaged > 0 && width < 2 * THIN)
		live = width = 2 * THIN;
	buf_add_str(d->out, "<g><title>");
	if (b->count > 1)
		buf_printf(d->out,
			   "%zu containers from byte %" PRIu64 "\n%" PRIu64
			   " bytes, %" PRIu64 " in use",
			   b->count, k->fptr, b->size, b->live);
	else
		buf_printf(d->out,
			   "variable %" PRId32 ", container %" PRId32
			   ", at byte %" PRIu64 "\n%" PRId64 " bytes, %" PRId64
			   " in use: bytes %" PRIu64 " to %" PRIu64
			   " of the variable",
			   k->id, k->part, k->fptr, k->size, k->used, k->dptr,
			   k->dptr + sum(k->used));
	if (b->count > 1 && b->damaged > 0)
		buf_printf(d->out, "\n%zu damaged", b->damaged);
	else if (b->count == 1 && d->states[b->first][0] != '\0')
		buf_printf(d->out, "\n%s", d->states[b->first]);
	buf_add_str(d->out, "</title>");
	put_rect(d, style, x, width);
	if (b->live > 0 || b->damaged > 0)
		put_rect(d, str_printed(48, "%s live", style), x, live);
	put_rect(d, "frame", x, width);
	if (b->count == 1 && (double)strlen(id) * LETTER <= width)
		buf_printf(
			d->out,
			"<text class=\"id\" text-anchor=\"middle\" x=\"%s%%\" "
			"y=\"%d\">%s</text>",
			xml_number(x + width / 2), d->y + 17, id);
	buf_add_str(d->out, "</g>\n");
}

/* --- Rows --- */

static size_t
first_block(const struct drawing *d, size_t row)
{
	const size_t n = row * d->per;

	return n < d->c->file->nblocks ? n : d->c->file->nblocks;
}

/* The container with which a block begins, or the end of the containers. */
static size_t
first_container(const struct drawing *d, size_t block)
{
	const struct fti_file *f = d->c->file;

	return block < f->nblocks ? f->blocks[block].first : f->ncontainers;
}

/* Bytes of the containers of a row, reserved and in use. */
static struct box
row_sum(const struct drawing *d, size_t row)
{
	const struct fti_file *f = d->c->file;
	struct box b = { .first = first_container(d, first_block(d, row)) };
	const size_t end = first_container(d, first_block(d, row + 1));

	for (size_t i = b.first; i < end; i++, b.count++) {
		b.size += sum(f->containers[i].c.size);
		b.live += sum(f->containers[i].c.used);
	}
	return b;
}

static void __attribute__((format(printf, 4, 5)))
put_text(struct drawing *d, const char *style, int y, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(d->out, "<text class=\"%s\" x=\"%s%%\" y=\"%d\">%s</text>\n",
		   style, xml_number(LEFT), y, xml_shown(text));
}

static void
put_row(struct drawing *d, size_t row)
{
	const size_t first = first_block(d, row), end = first_block(d, row + 1);
	const struct fti_file_container *c = d->c->file->containers;
	const struct box all = row_sum(d, row);
	const char *name =
		end - first > 1
			? str_printed(64, "blocks %zu-%zu", first, end - 1)
			: str_printed(64, "block %zu", first);
	double x = LEFT;

	put_text(d, "row", d->y + 16, "%s: %zu %s, %s of %s in use", name,
		 str_count(all.count, "container"), str_size(all.live),
		 str_size(all.size));
	d->y += 24;
	for (size_t i = all.first, last = i + all.count; i < last;) {
		struct box b = { .first = i };

		/* One container, or several neighbours that are thin. */
		for (; i < last; i++) {
			const struct fti_container *k = &c[i].c;
			const double width = width_of(sum(k->size), d->widest);

			if (b.count > 0 &&
			    (width >= THIN ||
			     width_of(b.size, d->widest) >= THIN))
				break;
			b.count++;
			b.size += sum(k->size);
			b.live += sum(k->used);
			b.damaged += d->states[i][0] != '\0' &&
				     strcmp(d->states[i], "empty") != 0;
		}
		put_box(d, &b, x);
		x += width_of(b.size, d->widest);
	}
	d->y += PITCH - 24;
}

/* The whole file: what each row of blocks takes of it, and the records. */
static void
put_file(struct drawing *d)
{
	const struct fti_file *f = d->c->file;
	double x = LEFT;

	put_text(d, "row", d->y + 16, "the file: %zu %s",
		 str_count(f->nblocks, "block"));
	d->y += 24;
	put_rect(d, "meta", LEFT, WIDE);
	for (size_t i = 0; i < d->rows; i++) {
		const struct box b = row_sum(d, i);
		const size_t first = first_block(d, i);

		x = b.count == 0
			    ? x
			    : LEFT + width_of(f->containers[b.first].c.fptr,
					      f->size);
		buf_printf(d->out, "<g><title>block %zu", first);
		if (first_block(d, i + 1) - first > 1)
			buf_printf(d->out, " to %zu",
				   first_block(d, i + 1) - 1);
		buf_add_str(d->out, "</title>");
		put_rect(d, "paper", x, width_of(b.size, f->size));
		put_rect(d, "many", x, width_of(b.size, f->size));
		put_rect(d, "many live", x, width_of(b.live, f->size));
		put_rect(d, "frame", x, width_of(b.size, f->size));
		buf_add_str(d->out, "</g>\n");
	}
	d->y += PITCH - 24;
}

/* --- All parts --- */

/* A square of this style, and its meaning `dx` pixels from it. */
static void
put_key(struct drawing *d, const char *style, double x, int y, int dx,
	const char *text)
{
	buf_printf(d->out,
		   "<rect class=\"%s\" x=\"%s%%\" y=\"%d\" width=\"12\" "
		   "height=\"12\"/><text x=\"%s%%\" dx=\"%d\" y=\"%d\">%s"
		   "</text>\n",
		   style, xml_number(x), y, xml_number(x), dx, y + 11,
		   xml_shown(text));
}

static void
put_head(struct drawing *d, size_t height)
{
	static const char *const hues[HUES] = {
		"#4e79a7", "#59a14f", "#8067b0", "#3a9a94",
		"#9c755f", "#b07aa1", "#b0892f", "#5f6b7a",
	};
	static const struct {
		const char *style, *meaning;
		double x;
	} keys[] = {
		{ "many live", "in use", LEFT },
		{ "many", "reserved", 24 },
		{ "meta", "records", 49 },
		{ "bad live", "damaged", 72 },
	};
	const struct fti_file *f = d->c->file;

	xml_svg(d->out, 0, height, f->name);
	buf_add_str(
		d->out,
		"<style>:root{color-scheme:light dark;--ink:#1b1f24;"
		"--dim:#59636e;--paper:#fff;--line:#8c959f;--meta:#24292f;"
		"--many:#7d8590;--lost:#b00020}\n"
		"@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;"
		"--dim:#9198a1;--paper:#0d1117;--line:#767f89;--meta:#e6edf3;"
		"--many:#7d8590;--lost:#ff6b75}}\n"
		"svg{background:var(--paper)}"
		"text{font:14px system-ui,sans-serif;fill:var(--ink)}"
		".row{font-size:13px}.head{font-size:17px;font-weight:600}.dim{fill:var(--dim)}"
		".alarm{fill:var(--lost);font-weight:600}"
		".id{fill:#fff;stroke:#000a;stroke-width:2px;"
		"paint-order:stroke}\n"
		"rect{fill-opacity:.25}.live,.meta{fill-opacity:1}"
		".frame{fill:none;stroke:var(--line)}"
		".paper{fill:var(--paper);fill-opacity:1}"
		".meta{fill:var(--meta)}.many{fill:var(--many)}"
		".bad{fill:url(#hatch);fill-opacity:1}\n");
	for (int i = 0; i < HUES; i++)
		buf_printf(d->out, ".h%d{fill:%s}", i, hues[i]);
	buf_add_str(d->out, "</style>\n");
	xml_hatch(d->out, "var(--paper)", "var(--lost)");
	put_text(d, "head", 30, "%s", path_base(f->name));
	put_text(d, "dim", 54, "layout %s (FTI %s), %s",
		 fti_format(f->layout)->letter, fti_format(f->layout)->versions,
		 str_size(f->size));
	put_text(d, d->c->verdict == FTI_DAMAGED ? "alarm" : "dim", 76, "%s",
		 fti_verdict_names[d->c->verdict]);
	put_text(d, "dim", 98, "%s of %s in use (%.0f %%)", str_size(f->live),
		 str_size(f->allocated),
		 f->allocated == 0
			 ? 100.0
			 : 100.0 * (double)f->live / (double)f->allocated);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_key(d, keys[i].style, keys[i].x, HEAD - 36, 17,
			keys[i].meaning);
}

int
report_fti_svg(const struct fti_checked *c, struct buf *out, struct error *err)
{
	const struct fti_file *f = c->file;
	struct drawing d = { .out = out, .c = c, .widest = 1 };
	const size_t lines =
		f->nvars <= VARIABLES_MAX ? f->nvars : VARIABLES_MAX + 1;

	if (f->kind != FTI_KIND_DATA)
		return error_set(err, ERROR_USAGE,
				 "%s: no blocks to draw: it is %s", f->name,
				 f->kind == FTI_KIND_PARITY
					 ? "a file of parity"
					 : "not an FTI-FF file");
	if (!f->usable)
		return error_set(err, ERROR_CORRUPT,
				 "%s: cannot draw it: its structure is damaged",
				 f->name);
	d.hues = mem_calloc(f->ncontainers + 1, sizeof(*d.hues));
	d.states = report_fti_container_states(c);
	d.per = (f->nblocks + ROWS_MAX - 1) / ROWS_MAX;
	d.per = d.per == 0 ? 1 : d.per;
	d.rows = (f->nblocks + d.per - 1) / d.per;
	for (size_t i = 0; i < f->nvars; i++)
		for (size_t k = f->vars[i].first; k != SIZE_MAX;
		     k = f->containers[k].next)
			d.hues[k] = i;
	for (size_t i = 0; i < d.rows; i++)
		if (row_sum(&d, i).size > d.widest)
			d.widest = row_sum(&d, i).size;
	put_head(&d, HEAD + PITCH + d.rows * PITCH + 20 + lines * LINE);
	d.y = HEAD;
	put_file(&d);
	for (size_t i = 0; i < d.rows; i++)
		put_row(&d, i);
	d.y += 10;
	for (size_t i = 0; i < f->nvars && i < VARIABLES_MAX; i++) {
		const struct fti_var *v = &f->vars[i];

		put_key(&d, str_printed(32, "h%zu live", i % HUES), LEFT, d.y,
			20,
			str_printed(256, "variable %" PRId32 ": %s in %zu %s",
				    v->id, str_size(v->size),
				    str_count(v->parts, "container")));
		d.y += LINE;
	}
	if (f->nvars > VARIABLES_MAX)
		put_text(&d, "", d.y + 11, "and %zu more variables",
			 f->nvars - VARIABLES_MAX);
	buf_add_str(out, "</svg>\n");
	mem_free(d.hues);
	mem_free(d.states);
	return 0;
}
