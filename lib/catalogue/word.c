/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue/word.h"

#include <string.h>

#include "error.h"
#include "meta/dataset.h"
#include "num.h"
#include "str.h"

#define WORD_ID "id:"

void
word_parse(const char *text, struct word *w)
{
	const bool marked = str_starts(text, WORD_ID);
	const char *digits = text + (marked ? strlen(WORD_ID) : 0);
	int64_t id = 0;

	*w = (struct word){ .name = text, .id = -1 };
	if (str_starts(text, WORD_NAME)) {
		w->name = text + strlen(WORD_NAME);
		w->marked = true;
	} else if (str_is_digit(digits[0]) &&
		   num_i64(digits, 1, DATASET_ID_MAX, &id, NULL) == 0) {
		w->id = id;
		w->marked = marked;
		if (marked)
			w->name = NULL;
	}
}

int
word_parse_id(const char *text, struct word *w, struct error *err)
{
	word_parse(text, w);
	if (w->id > 0) {
		w->name = NULL;
		return 0;
	}
	if (w->marked)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a number from 1 to %d, "
			 "id:NUMBER or name:NAME",
			 str_shown(text), DATASET_ID_MAX);
}
