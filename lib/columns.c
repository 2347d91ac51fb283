/* SPDX-License-Identifier: BSD-3-Clause */
#include "columns.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "str.h"

/* The number of the word text[0..len), or -1. */
static int
find_word(const char *words, const char *text, size_t len, struct error *err)
{
	char shown[2 * COLUMNS_WORDS] = "", meant[80] = "", column[64];
	size_t used = 0, best = str_near_enough(len);
	int number = 0;

	for (const char *w = words; *w != '\0'; number++) {
		const size_t n = strcspn(w, "|");

		if (n == len && memcmp(w, text, n) == 0)
			return number;
		snprintf(column, sizeof(column), "%.*s", (int)n, w);
		if (str_is_nearer(text, len, column, &best))
			snprintf(meant, sizeof(meant), "did you mean %s? ",
				 column);
		if (used < sizeof(shown))
			used += (size_t)snprintf(
				shown + used, sizeof(shown) - used, "%s%.*s",
				number > 0 ? ", " : "", (int)n, w);
		w += n + (w[n] == '|');
	}
	return error_set(err, ERROR_USAGE, "unknown column '%.*s': %sone of %s",
			 (int)(len < 80 ? len : 80), text, meant, shown);
}

int
columns_choose(struct columns *c, const char *words, const char *text,
	       struct error *err)
{
	c->count = 0;
	for (const char *word = text, *end = NULL; word != NULL;
	     word = *end == ',' ? end + 1 : NULL) {
		int number = 0;

		end = word + strcspn(word, ",");
		number = find_word(words, word, (size_t)(end - word), err);
		if (number < 0)
			return -1;
		if (c->count == COLUMNS_MAX)
			return error_set(err, ERROR_USAGE,
					 "more than %d columns", COLUMNS_MAX);
		c->list[c->count++] = number;
	}
	return 0;
}

int
columns_sort(struct columns *c, const char *words, const char *text,
	     struct error *err)
{
	c->descending = *text == '-';
	text += *text == '-' || *text == '+';
	c->sort = 1 + find_word(words, text, strlen(text), err);
	return c->sort == 0 ? -1 : 0;
}

void
columns_add_word(char to[static COLUMNS_WORDS], const char *word)
{
	const size_t used = strlen(to);

	snprintf(to + used, COLUMNS_WORDS - used, "%s%s", used > 0 ? "|" : "",
		 word);
}
