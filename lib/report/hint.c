/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/hint.h"

#include <stdio.h>
#include <stdlib.h>
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
	char dir[QUOTED_MAX], dataset[QUOTED_MAX] = "";

	if (word != NULL)
		quote(word, dataset);
	if (prefix == NULL ||
	    (str_eq(prefix, ".") && getenv("SCR_PREFIX") == NULL))
		snprintf(to, size, "%s", command);
	else
		snprintf(to, size, "%.*s -p %s%s", verb, command,
			 quote(prefix, dir), command + verb);
	if (word != NULL)
		snprintf(to + strlen(to), size - strlen(to), " %s", dataset);
	return to;
}

char *
report_next(const char *command, struct catalogue *c, int64_t id, char *to,
	    size_t size)
{
	char word[WORD_ID_SIZE];

	return report_command(command, catalogue_path(c),
			      catalogue_word_now(c, id, word), to, size);
}

const char *
report_mend(enum verify_mend mend, bool deep, bool checksums)
{
	switch (mend) {
	case MEND_MAP:
		return "scr_container repack";
	case MEND_UNPACK:
		return "scr_container --force unpack";
	case MEND_BUILD:
		return deep	   ? "scr_index --deep --build"
		       : checksums ? "scr_index --checksums --build"
				   : "scr_index --build";
	case MEND_NONE:
		break;
	}
	return NULL;
}
