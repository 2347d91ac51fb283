/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xml.h - text of SVG and HTML pictures.  A buf remembers a failure.
 */
#ifndef REPORT_XML_H
#define REPORT_XML_H

#include <stddef.h>

struct buf;

/* Append printable UTF-8 as text of an element or an attribute. */
void xml_escaped(struct buf *out, const char *text);

/* The same for any bytes: what is not printable is shown as \xHH. */
void xml_text(struct buf *out, const char *text);

/* The same for a path; a long one is cut at its start, as the end identifies
 * the file. */
void xml_path(struct buf *out, const char *path);

/* Append an attribute: NAME="12.50%", with a decimal point in every locale. */
void xml_number(struct buf *out, const char *name, double value,
		const char *unit);

/* Begin an SVG, `width` pixels wide (0: as wide as there is room); its title is
 * cut as a path is. */
void xml_svg(struct buf *out, size_t width, size_t height, const char *title);

/* Define the pattern "hatch" in these colours. */
void xml_hatch(struct buf *out, const char *ground, const char *lines);

#endif /* REPORT_XML_H */
