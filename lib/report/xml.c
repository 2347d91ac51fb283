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
