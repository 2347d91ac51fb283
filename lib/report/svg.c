/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/svg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

/* Pixels. */
#define LINE 22
#define GAP 4	 /* between two rows */
#define LETTER 7 /* a character of a text in a box */
#define NARROW 400

/* Per cent of the width. */
#define BAD_LEAST 0.4
#define KEY 24

const char svg_css[] =
	":root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;"
	"--paper:#fff;--line:#d1d9e0;--lost:#b00020;--mark:#0969da;"
	"--work:#b5c7db}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;"
	"--paper:#0d1117;--line:#3d444d;--lost:#ff9aa2;--mark:#4493f8;"
	"--work:#2f4a66}}\n"
	"svg{background:var(--paper)}"
	"text{font:13px system-ui,sans-serif;fill:var(--ink)}"
	".head{font-size:17px;font-weight:600}.dim{fill:var(--dim)}"
	".alarm{fill:var(--lost);font-weight:600}"
	".side{font-family:ui-monospace,monospace;text-anchor:end}"
	".in{fill:#fff;stroke:#000a;stroke-width:2px;paint-order:stroke;"
	"text-anchor:middle}\n"
	".h0{fill:#4e79a7}.h1{fill:#59a14f}.h2{fill:#8067b0}.h3{fill:#3a9a94}"
	".h4{fill:#9c755f}.h5{fill:#b07aa1}.h6{fill:#b0892f}.h7{fill:#5f6b7a}"
	".many{fill:#7d8590}.meta{fill:var(--ink)}.paper{fill:var(--paper)}"
	".none{fill:var(--line);fill-opacity:.3;stroke:var(--line)}\n"
	".light{fill-opacity:.6}.pale{fill-opacity:.25;stroke:var(--dim)}"
	".bad{fill:url(#hatch);fill-opacity:1;stroke:var(--lost);"
	"stroke-width:.5}\n"
	"rect.w,rect.d,rect.r,rect.l{stroke:var(--paper);stroke-width:2px}"
	"rect.w{fill:#2e9e4f}rect.d{fill:#c79a00}rect.r{fill:#e8772e}"
	"rect.l{fill:#c8102e}\n"
	".p0{fill:var(--work)}.p1{fill:#c4500a}.p2{fill:#7a5c00}"
	".p3{fill:#a78bd8}.p5{fill:var(--paper);stroke:var(--ink)}"
	".p6{fill:var(--ink)}.p7{fill:#3a9a94}\n"
	".mark{fill:var(--mark)}.fail{fill:var(--lost)}\n";

const char *
svg_hue(size_t number)
{
	static const char names[][3] = { "h0", "h1", "h2", "h3",
					 "h4", "h5", "h6", "h7" };

	return names[number % (sizeof(names) / sizeof(names[0]))];
}

/* --- Text of SVG and HTML --- */

#define NAME_TEXT 512
#define LONGEST 6 /* "&quot;" */

_Static_assert(SVG_SHOWN > 3 + LONGEST * NAME_TEXT, "room for a text");

/* Write `text` as XML to `to`.  Returns its length. */
static size_t
escape(char *to, const char *text)
{
	size_t len = 0;

	for (const char *s = text; *s != '\0'; s++) {
		const char *as = *s == '&'   ? "&amp;"
				 : *s == '<' ? "&lt;"
				 : *s == '>' ? "&gt;"
				 : *s == '"' ? "&quot;"
					     : NULL;

		/* U+FFFE and U+FFFF are valid UTF-8, but not valid in XML. */
		if (strncmp(s, "\xef\xbf\xbe", 3) == 0 ||
		    strncmp(s, "\xef\xbf\xbf", 3) == 0) {
			as = "\xef\xbf\xbd";
			s += 2;
		}
		if (as == NULL)
			to[len++] = *s;
		for (; as != NULL && *as != '\0'; as++)
			to[len++] = *as;
	}
	to[len] = '\0';
	return len;
}

void
svg_escaped(struct buf *out, const char *text)
{
	buf_reserve(out, LONGEST * strlen(text) + 1);
	out->len += escape(out->data + out->len, text);
}

const char *
svg_shown_text(char to[static SVG_SHOWN], const char *text)
{
	char shown[NAME_TEXT];

	escape(to, str_printable(shown, sizeof(shown), text));
	return to;
}

const char *
svg_path_text(char to[static SVG_SHOWN], const char *path)
{
	const size_t len = strlen(path), most = NAME_TEXT / 4 - 1;
	char shown[NAME_TEXT];

	if (len <= most)
		return svg_shown_text(to, path);
	str_printable(shown, sizeof(shown), path + len - most);
	memcpy(to, "...", 3);
	escape(to + 3, shown);
	return to;
}

/* --- Texts --- */

static void
put_text(struct svg *d, const char *style, double x, unsigned y,
	 const char *text)
{
	buf_printf(&d->body, "<text class=\"%s\" x=\"%.2f%%\" y=\"%u\">", style,
		   x, y);
	svg_escaped(&d->body, text);
	buf_add_str(&d->body, "</text>\n");
}

void
svg_text(struct svg *d, const char *style, const char *fmt, ...)
{
	char text[STR_SHOWN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->y += str_eq(style, "head") ? LINE + 8 : LINE;
	put_text(d, style, SVG_MARGIN, d->y - 6, text);
}

void
svg_keys(struct svg *d, const struct svg_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const double x = SVG_MARGIN + KEY * (double)i;

		buf_printf(&d->body,
			   "<rect class=\"%s\" x=\"%.2f%%\" y=\"%u\" "
			   "width=\"12\" height=\"12\"/>"
			   "<text x=\"%.2f%%\" dx=\"18\" y=\"%u\">%s</text>\n",
			   keys[i].style, x, d->y + 5, x, d->y + 16,
			   svg_shown(keys[i].text));
	}
	d->y += LINE + GAP;
}

/* --- Rows --- */

/* What `len` is on a row. */
static double
share(const struct svg *d, uint64_t len, uint64_t room)
{
	const double part = (double)len / (double)room;

	return d->wide * (part > 1 ? 1 : part);
}

/* Returns the end of the box that begins with item `from`. */
static size_t
box_end(const struct svg *d, const struct svg_item *s, size_t from, size_t end,
	uint64_t room)
{
	size_t i = from + 1;

	if (share(d, s[from].len, room) < d->thin)
		while (i < end && share(d, s[i].len, room) < d->thin &&
		       share(d, s[i].off - s[from].off, room) < d->thin)
			i++;
	return i;
}

size_t
svg_boxes(const struct svg *d, const struct svg_item *s, size_t count,
	  uint64_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i = box_end(d, s, i, count, room))
		n++;
	return n;
}

static void
put_rect(struct svg *d, const char *style, const char *more, double x,
	 double width)
{
	buf_printf(&d->body,
		   "<rect class=\"%s%s\" x=\"%.2f%%\" width=\"%.2f%%\" "
		   "y=\"%u\" height=\"%u\"/>",
		   style, more, x, width, d->y, d->bar);
}

/* Each style of a box has a part of its height, with a tooltip. */
static void
put_stack(struct svg *d, const struct svg_item *s, size_t count, double x,
	  double width)
{
	double all = 0, y = d->y;

	for (size_t i = 0; i < count; i++)
		all += 1 + (double)s[i].len;
	for (size_t k = 0; k < d->nstack; k++) {
		double part = 0;
		size_t n = 0;

		for (size_t i = 0; i < count; i++)
			if (str_eq(s[i].style, d->stack[k].style)) {
				part += (1 + (double)s[i].len) / all;
				n++;
			}
		if (n == 0)
			continue;
		buf_printf(&d->body,
			   "<rect class=\"%s\" x=\"%.2f%%\" width=\"%.2f%%\" "
			   "y=\"%.1f\" height=\"%.1f\"><title>%zu %s: %.1f %% "
			   "of %zu %s, the first ",
			   d->stack[k].style, x, width, y, part * d->bar, n,
			   d->stack[k].text, 100 * part, count, d->items);
		d->tip(d->arg, s, &d->body);
		buf_add_str(&d->body, "</title></rect>");
		y += part * d->bar;
	}
}

/* Draw a box, if it is as bad as `bad` says. */
static void
put_box(struct svg *d, const struct svg_row *r, const struct svg_item *s,
	size_t count, bool bad)
{
	const char *style = s->style;
	const double x = d->left + share(d, s->off, r->room);
	const double least = bad && d->least < BAD_LEAST ? BAD_LEAST : d->least;
	uint64_t end = 0, used = 0;
	double width = 0, full = 0;
	size_t nbad = 0;

	for (size_t i = 0; i < count; i++) {
		if (s[i].off + s[i].len > end)
			end = s[i].off + s[i].len;
		used += s[i].used;
		nbad += s[i].bad;
		if (!str_eq(s[i].style, s->style))
			style = d->mixed;
	}
	if ((nbad > 0) != bad)
		return;
	style = bad ? "bad" : style;
	width = share(d, end - s->off, r->room);
	full = d->pale && !bad ? share(d, used, r->room) : width;
	if (width < least)
		full = width = least;
	d->shade = d->shades && !d->shade;
	buf_add_str(&d->body, "<g><title>");
	if (count > 1)
		buf_printf(&d->body, "%zu %s:\n", count, d->items);
	d->tip(d->arg, s, &d->body);
	if (count > 1) {
		buf_add_str(&d->body, "\n...\n");
		d->tip(d->arg, &s[count - 1], &d->body);
	}
	if (count > 1 && nbad > 0)
		buf_printf(&d->body, "\n%zu %s", nbad, d->wrong);
	buf_add_str(&d->body, "</title>");
	if (d->pale) {
		put_rect(d, "paper", "", x, width);
		put_rect(d, style, " pale", x, width);
	}
	if (count > 1 && d->nstack > 0 && !bad)
		put_stack(d, s, count, x, width);
	else if (full > 0)
		put_rect(d, style, d->shade ? " light" : "", x, full);
	if (count == 1 && s->text != NULL &&
	    (double)str_width(s->text, strlen(s->text)) * LETTER * 100 <=
		    width * (d->width > 0 ? d->width : NARROW))
		put_text(d, "in", x + width / 2, d->y + d->bar / 2 + 5,
			 s->text);
	buf_add_str(&d->body, "</g>\n");
}

void
svg_row(struct svg *d, const struct svg_row *r)
{
	if (d->left <= SVG_MARGIN) {
		svg_text(d, "", "%s", r->label);
	} else {
		put_text(d, "side", d->left - 1, d->y + d->bar / 2 + 5,
			 r->label);
		put_text(d, r->alarm ? "alarm" : "dim", d->left + d->wide + 1,
			 d->y + d->bar / 2 + 5, r->state);
	}
	if (r->ground != NULL) {
		buf_printf(&d->body, "<g><title>%s</title>", r->tip);
		put_rect(d, r->ground, "", d->left, share(d, r->size, r->room));
		buf_add_str(&d->body, "</g>\n");
	}
	/* The bad ones last, on top of their neighbours. */
	for (int bad = 0; bad < 2; bad++)
		for (size_t i = 0, end = 0; i < r->count; i = end) {
			end = box_end(d, r->items, i, r->count, r->room);
			put_box(d, r, &r->items[i], end - i, bad == 1);
		}
	d->y += d->bar + GAP;
}

void
svg_end(struct svg *d, const char *title, struct buf *out)
{
	if (title != NULL)
		buf_add_str(out,
			    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_add_str(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" ");
	if (d->width > 0)
		buf_printf(out, "width=\"%u\" viewBox=\"0 0 %u %u\"", d->width,
			   d->width, d->y + GAP);
	else
		buf_add_str(out, "width=\"100%\"");
	buf_printf(out, " height=\"%u\">\n", d->y + GAP);
	if (title != NULL)
		buf_printf(out, "<title>%s</title>\n<style>%s</style>\n",
			   svg_path(title), svg_css);
	buf_add_str(out, "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
			 "patternUnits=\"userSpaceOnUse\" "
			 "patternTransform=\"rotate(45)\">"
			 "<rect class=\"paper\" width=\"6\" height=\"6\"/>"
			 "<rect class=\"fail\" width=\"4\" height=\"6\"/>"
			 "</pattern></defs>\n");
	buf_add_str(out, d->body.data != NULL ? d->body.data : "");
	buf_add_str(out, "</svg>\n");
	buf_free(&d->body);
}
