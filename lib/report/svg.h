/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - pictures as SVG: texts, a legend, and rows of boxes with tooltips,
 * without scripts and other files.
 *
 * Lengths along a row are per cent of the width, and texts keep their size.
 * Texts are printable UTF-8.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* --- Text of SVG and HTML --- */

/* Append printable UTF-8 as text of an element or an attribute. */
void svg_escaped(struct buf *out, const char *text);

/*
 * Arguments of printf, valid until the end of the block: any bytes as such a
 * text, what is not printable as \xHH; a path, of which a long one is cut at
 * its start, as the end identifies the file.
 */
#define SVG_SHOWN 3100
#define svg_shown(text) svg_shown_text((char[SVG_SHOWN]){ 0 }, text)
#define svg_path(path) svg_path_text((char[SVG_SHOWN]){ 0 }, path)

/* Write them to `to`, and return it. */
const char *svg_shown_text(char to[static SVG_SHOWN], const char *text);
const char *svg_path_text(char to[static SVG_SHOWN], const char *path);

/* --- Pictures --- */

/* A part of a row: of a file, a rank, an event. */
struct svg_item {
	const void *of;
	uint64_t off, len; /* its place; items are in this order */
	uint64_t used;	   /* of len: the rest is pale, if `pale` */
	const char *style; /* a class of svg_css */
	const char *text;  /* written where there is room; or NULL */
	bool bad;
};

struct svg_row {
	const char *label, *state;
	bool alarm; /* the state is bad */
	/* what is under the items: a class (NULL: nothing), its length, and the
	 * tooltip */
	const char *ground, *tip;
	uint64_t size;
	uint64_t room; /* what the whole width is; at least 1 */
	const struct svg_item *items;
	size_t count;
};

struct svg {
	unsigned width;	   /* pixels; 0: as wide as there is room */
	double left, wide; /* of the rows, per cent; labels are above them if
			      there is no room on the left */
	unsigned bar;	   /* height of a row, in pixels */
	double thin;	   /* thinner neighbours share a box */
	double least;	   /* thinner boxes are drawn so wide */
	const char *mixed; /* style of a box whose items have several */
	/* or these share its height, as the items share its length */
	const struct svg_key *stack;
	size_t nstack;
	bool pale;
	bool shades; /* every other box has a lighter colour */
	/* Append the tooltip of an item. */
	void (*tip)(const void *arg, const struct svg_item *s, struct buf *out);
	const void *arg;
	const char *items, *wrong; /* what they are, and what the bad ones are,
				      for the tooltip of several */
	/* The picture so far. */
	struct buf body;
	unsigned y;
	bool shade;
};

#define SVG_MARGIN 3.0 /* without labels on the left */

/* A line of text: "head", "dim", "alarm" or "". */
void svg_text(struct svg *d, const char *style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A line of a legend: at most four. */
struct svg_key {
	const char *style, *text;
};
void svg_keys(struct svg *d, const struct svg_key *keys, size_t count);

/* The class of a colour, of a rank or a variable. */
const char *svg_hue(size_t number);

/* The boxes of these items. */
size_t svg_boxes(const struct svg *d, const struct svg_item *s, size_t count,
		 uint64_t room);

/* Something is wrong with a bad box: it is visible however small it is. */
void svg_row(struct svg *d, const struct svg_row *r);

/* Append the picture, and free it: a file with this title, or a part of a page
 * that has svg_css (NULL). */
void svg_end(struct svg *d, const char *title, struct buf *out);

extern const char svg_css[];

#endif /* REPORT_SVG_H */
