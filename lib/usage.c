/* SPDX-License-Identifier: BSD-3-Clause */
#include "usage.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "str.h"

/* Longer words are cut. */
#define WORD_MAX 128

/* A parsed usage line. */
struct line {
	char verbs[WORD_MAX]; /* "pack|list", or empty */
	struct buf arguments, kinds;
};

static const char *
kind_of(const char *argument)
{
	if (strstr(argument, "DATASET") != NULL)
		return "dataset";
	if (strstr(argument, "PATH") != NULL)
		return "packed";
	if (strstr(argument, "FILE") != NULL ||
	    strstr(argument, "ARCHIVE") != NULL)
		return "file";
	if (strstr(argument, "DIR") != NULL)
		return "dir";
	return islower((unsigned char)argument[0]) ? "words" : "any";
}

/* Copy the next word of the line, without the brackets and dots around it, and
 * move *at behind it.  Returns its length in the line; 0: no more words. */
static size_t
next_word(const char **at, char *word)
{
	const char *from = *at + strspn(*at, " ");
	const size_t len = strcspn(from, " \n");
	size_t first = strspn(from, "["), last = len;

	*at = from + len;
	while (last > first && strchr("].", from[last - 1]) != NULL)
		last--;
	snprintf(word, WORD_MAX, "%.*s", (int)(last - first), from + first);
	return len;
}

static void
add_argument(struct line *l, const char *word)
{
	const char *blank = l->kinds.len > 0 ? " " : "";

	buf_printf(&l->arguments, "%s%s", blank, word);
	buf_printf(&l->kinds, "%s%s", blank, kind_of(word));
}

static void
take_apart(struct line *l, const char *name, const char *at)
{
	bool first = true, value = false; /* next is the value of an option */
	char word[WORD_MAX];
	size_t len = 0;

	while ((len = next_word(&at, word)) > 0) {
		/* A word in brackets is not the value of an option. */
		const bool is_value = value && at[-(ptrdiff_t)len] != '[';

		if (str_eq(word, name))
			continue;
		value = word[0] == '-' && at[-1] != ']';
		if (first && islower((unsigned char)word[0]))
			snprintf(l->verbs, sizeof(l->verbs), "%s", word);
		else if (word[0] != '-' && !is_value && !str_eq(word, "OPTION"))
			add_argument(l, word);
		first = false;
	}
}

int
usage_dump(const char *name, const char *usage, struct buf *out)
{
	while (*usage != '\0') {
		struct line l = { .arguments = BUF_INIT, .kinds = BUF_INIT };
		const char *verb = NULL;
		bool none = false;

		take_apart(&l, name, usage);
		verb = l.verbs[0] != '\0' ? l.verbs : "-";
		none = l.kinds.len == 0;
		while (*verb != '\0') {
			const size_t len = strcspn(verb, "|");

			buf_printf(out, "verb\t%.*s\t%s\t%s\tusage\t\n",
				   (int)len, verb,
				   none ? "-" : l.arguments.data,
				   none ? "any" : l.kinds.data);
			verb += len + (verb[len] == '|');
		}
		out->failed |= l.arguments.failed || l.kinds.failed;
		buf_free(&l.arguments);
		buf_free(&l.kinds);
		usage += strcspn(usage, "\n");
		usage += *usage == '\n';
	}
	return buf_check(out, NULL);
}
