/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/xml.h"

#include <string.h>

#include "buf.h"
#include "str.h"

#define NAME_TEXT 512
#define LONGEST 6 /* "&quot;" */

_Static_assert(XML_SHOWN > 3 + LONGEST * NAME_TEXT, "room for a text");

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
xml_escaped(struct buf *out, const char *text)
{
	buf_reserve(out, LONGEST * strlen(text) + 1);
	out->len += escape(out->data + out->len, text);
}

const char *
xml_text(char to[static XML_SHOWN], const char *text)
{
	char shown[NAME_TEXT];

	escape(to, str_printable(shown, sizeof(shown), text));
	return to;
}

const char *
xml_path_text(char to[static XML_SHOWN], const char *path)
{
	const size_t len = strlen(path), most = NAME_TEXT / 4 - 1;
	char shown[NAME_TEXT];

	if (len <= most)
		return xml_text(to, path);
	str_printable(shown, sizeof(shown), path + len - most);
	memcpy(to, "...", 3);
	escape(to + 3, shown);
	return to;
}

const char *
xml_number_text(char to[static XML_NUMBER], double value)
{
	const unsigned hundredths = (unsigned)(value * 100 + 0.5);

	return str_print(to, XML_NUMBER, "%u.%02u", hundredths / 100,
			 hundredths % 100);
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
	buf_printf(out, " height=\"%zu\">\n<title>%s</title>\n", height,
		   xml_path(title));
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
