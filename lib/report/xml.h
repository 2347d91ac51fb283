/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xml.h - text of SVG and HTML pictures.
 */
#ifndef REPORT_XML_H
#define REPORT_XML_H

#include <stddef.h>

struct buf;

/* Append printable UTF-8 as text of an element or an attribute. */
void xml_escaped(struct buf *out, const char *text);

/*
 * Arguments of printf, valid until the end of the block: any bytes as such a
 * text, what is not printable as \xHH; a path, of which a long one is cut at
 * its start, as the end identifies the file.
 */
#define XML_SHOWN 3100
#define xml_shown(text) xml_text((char[XML_SHOWN]){ 0 }, text)
#define xml_path(path) xml_path_text((char[XML_SHOWN]){ 0 }, path)

/* Write them to `to`, and return it. */
const char *xml_text(char to[static XML_SHOWN], const char *text);
const char *xml_path_text(char to[static XML_SHOWN], const char *path);

#endif /* REPORT_XML_H */
