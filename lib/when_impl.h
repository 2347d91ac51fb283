/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * when_impl.h - what reading times and reading spans share.
 */
#ifndef WHEN_IMPL_H
#define WHEN_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEN_TEXT_MAX 80 /* bytes of a time or span */
#define WHEN_WORD 12	 /* letters of a word, with NUL */
#define WHEN_BLANKS " \t\r\n\v\f"
#define WHEN_DIGITS "0123456789"

/* A text being read, in lower case. */
struct when_scan {
	char text[WHEN_TEXT_MAX + 1];
	const char *p;	 /* what follows */
	const char *why; /* it was refused, if that can be said */
};

/* Start to read `text`; false: it is too long. */
bool when_open(struct when_scan *s, const char *text);

/* Of no use: `why`, unless a reason is known already.  Returns false. */
bool when_no(struct when_scan *s, const char *why);

/* Is that all? */
bool when_end(struct when_scan *s);

/* Read the character, or the word, if it follows. */
bool when_skip(struct when_scan *s, char c);
bool when_skip_word(struct when_scan *s, const char *word);

/* Read a number of min..max digits, and no more. */
bool when_number(struct when_scan *s, size_t min, size_t max, int64_t *v);

/* Read two digits with a value up to `max`. */
bool when_two(struct when_scan *s, int64_t max, int *v);

/* Read all letters that follow; none into `word` if they are too many. */
void when_word(struct when_scan *s, char word[static WHEN_WORD]);

/* Read the rest of the text as a span with units, or any span. */
bool when_units(struct when_scan *s, int64_t *secs);
bool when_any_span(struct when_scan *s, int64_t *secs);

#endif /* WHEN_IMPL_H */
