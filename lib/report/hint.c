/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/hint.h"

#include <stdio.h>
#include <string.h>

#include "str.h"

/* Bytes of a printable path or name, and of the same quoted. */
#define SHOWN_MAX 4200
#define QUOTED_MAX (4 * SHOWN_MAX)

/* Quote `text` as one printable word for the shell. */
static const char *
quote(const char *text, char to[static QUOTED_MAX])
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz"
				   "0123456789/._-+,:@%=";
	char shown[SHOWN_MAX];
	size_t len = 0;

	str_printable(shown, sizeof(shown), text);
	if (shown[0] != '\0' && shown[strspn(shown, safe)] == '\0') {
		snprintf(to, QUOTED_MAX, "%s", shown);
		return to;
	}
	to[len++] = '\'';
	/* An escaped quote takes 4 bytes; 2 stay free for the last quote and
	 * NUL. */
	for (const char *p = shown; *p != '\0' && len + 6 < QUOTED_MAX; p++) {
		if (*p == '\'')
			len += (size_t)snprintf(to + len, QUOTED_MAX - len,
						"'\\''");
		else
			to[len++] = *p;
	}
	to[len++] = '\'';
	to[len] = '\0';
	return to;
}

char *
report_command(const char *command, const char *prefix, const char *word,
	       char *to, size_t size)
{
	const char *rest = strchr(command, ' ');
	int verb = rest != NULL ? (int)(rest - command) : (int)strlen(command);
	char dir[QUOTED_MAX], dataset[QUOTED_MAX];

	quote(word, dataset);
	if (str_eq(prefix, "."))
		snprintf(to, size, "%s %s", command, dataset);
	else
		snprintf(to, size, "%.*s -p %s%s %s", verb, command,
			 quote(prefix, dir), command + verb, dataset);
	return to;
}

const char *
report_build(bool deep, bool checksums)
{
	return deep	   ? "scr_index --deep --build"
	       : checksums ? "scr_index --checksums --build"
			   : "scr_index --build";
}
