/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheme/scheme.h"

#include <stdio.h>

#include "scheme/scheme_impl.h"

#define ENTRY(NAME, word, ...) &scheme_##word
#define ENTRY_NAME(NAME, word, ...) scheme_##word
extern const struct scheme REDSET_TYPES_ALL(ENTRY_NAME);

const struct scheme *
scheme_of(enum redset_type type)
{
	static const struct scheme *const table[] = { REDSET_TYPES_ALL(ENTRY) };

	return table[type];
}

char *
scheme_made_words(char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (int t = 0; t < REDSET_TYPES && len < size; t++)
		if (scheme_of(t)->chunk != NULL)
			len += (size_t)snprintf(to + len, size - len, "%s%s",
						len > 0 ? "|" : "",
						redset_format(t)->word);
	return to;
}
