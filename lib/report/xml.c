/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/xml.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "str.h"

#define NAME_TEXT 512

void
xml_escaped(struct buf *out, const char *text)
{
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
		if (as != NULL)
			buf_printf(out, "%s", as);
		else
			buf_add_char(out, *s);
	}
}

void
xml_text(struct buf *out, const char *text)
{
	char shown[NAME_TEXT];

	xml_escaped(out, str_printable(shown, sizeof(shown), text));
}

void
xml_path(struct buf *out, const char *path)
{
	size_t len = strlen(path), most = NAME_TEXT / 4 - 1;

	if (len > most) {
		buf_printf(out, "...");
		path += len - most;
	}
	xml_text(out, path);
}

void
xml_number(struct buf *out, const char *name, double value, const char *unit)
{
	const unsigned hundredths = (unsigned)(value * 100 + 0.5);

	buf_printf(out, " %s=\"%u.%02u%s\"", name, hundredths / 100,
		   hundredths % 100, unit);
}

void
xml_svg(struct buf *out, size_t width, size_t height, const char *title)
{
	buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
			 "xmlns=\"http://www.w3.org/2000/svg\"");
	if (width > 0)
		buf_printf(out, " width=\"%zu\" viewBox=\"0 0 %zu %zu\"", width,
			   width, height);
	else
		buf_add_str(out, " width=\"100%\"");
	buf_printf(out, " height=\"%zu\">\n<title>", height);
	xml_path(out, title);
	buf_add_str(out, "</title>\n");
}

void
xml_hatch(struct buf *out, const char *ground, const char *lines)
{
	buf_printf(out,
		   "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
		   "patternUnits=\"userSpaceOnUse\" "
		   "patternTransform=\"rotate(45)\">"
		   "<rect width=\"6\" height=\"6\" "
		   "style=\"fill:%s;fill-opacity:1\"/>"
		   "<rect width=\"4\" height=\"6\" "
		   "style=\"fill:%s;fill-opacity:1\"/></pattern></defs>\n",
		   ground, lines);
}
