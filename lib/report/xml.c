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
