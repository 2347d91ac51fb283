/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xml.h - text of SVG and HTML pictures.  A buf remembers a failure.
 */
#ifndef REPORT_XML_H
#define REPORT_XML_H

struct buf;

/* Append printable UTF-8 as text of an element or an attribute. */
void xml_escaped(struct buf *out, const char *text);

/* The same for any bytes: what is not printable is shown as \xHH. */
void xml_text(struct buf *out, const char *text);

/* The same for a path; a long one is cut at its start, as the end identifies
 * the file. */
void xml_path(struct buf *out, const char *path);

#endif /* REPORT_XML_H */
