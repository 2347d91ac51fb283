/* SPDX-License-Identifier: BSD-3-Clause */
/* when_impl.h - helpers shared by the parsers of times and of spans. */
#ifndef WHEN_IMPL_H
#define WHEN_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEN_TEXT_MAX 80 /* bytes of a time or span */
#define WHEN_WORD 12	 /* letters of a word, with NUL */
#define WHEN_BLANKS " \t\r\n\v\f"
#define WHEN_DIGITS "0123456789"

/* A text being parsed, in lower case. */
struct when_scan {
	char text[WHEN_TEXT_MAX + 1];
	const char *p;	 /* the rest of the text */
	const char *why; /* reason for rejecting it, or NULL */
};

/* Start parsing `text`.  False: too long. */
bool when_open(struct when_scan *s, const char *text);

/* Reject the text.  `why` is recorded unless there is a reason already.
 * Returns false. */
bool when_no(struct when_scan *s, const char *why);

/* Is the text at its end? */
bool when_end(struct when_scan *s);

/* Skip the character, or the word, if it is next.  False: it is not. */
bool when_skip(struct when_scan *s, char c);
bool when_skip_word(struct when_scan *s, const char *word);

/* Parse a number of min..max digits, not followed by another digit. */
bool when_number(struct when_scan *s, size_t min, size_t max, int64_t *v);

/* Parse two digits with a value up to `max`. */
bool when_two(struct when_scan *s, int64_t max, int *v);

/* Read the letters that are next into `word`; `word` is empty if there are too
 * many. */
void when_word(struct when_scan *s, char word[static WHEN_WORD]);

/* Parse the rest of the text as a span with units, or as any span. */
bool when_units(struct when_scan *s, int64_t *secs);
bool when_any_span(struct when_scan *s, int64_t *secs);

#endif /* WHEN_IMPL_H */
