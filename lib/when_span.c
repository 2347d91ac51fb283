/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "error.h"
#include "str.h"
#include "when.h"
#include "when_impl.h"

#define DAY_SECONDS 86400

/* --- Parsing --- */

static bool
is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

bool
when_no(struct when_scan *s, const char *why)
{
	if (s->why == NULL)
		s->why = why;
	return false;
}

bool
when_open(struct when_scan *s, const char *text)
{
	size_t i = 0;

	*s = (struct when_scan){ .p = s->text };
	for (i = 0; i < WHEN_TEXT_MAX && text[i] != '\0'; i++)
		s->text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z'
					    ? text[i] - 'A' + 'a'
					    : text[i]);
	s->p += strspn(s->p, WHEN_BLANKS);
	return text[i] == '\0';
}

bool
when_end(struct when_scan *s)
{
	s->p += strspn(s->p, WHEN_BLANKS);
	return *s->p == '\0';
}

bool
when_skip(struct when_scan *s, char c)
{
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

bool
when_number(struct when_scan *s, size_t min, size_t max, int64_t *v)
{
	const size_t n = strspn(s->p, WHEN_DIGITS);

	if (n < min || n > max)
		return false;
	for (*v = 0; str_is_digit(*s->p); s->p++)
		*v = 10 * *v + (*s->p - '0');
	return true;
}

bool
when_two(struct when_scan *s, int64_t max, int *v)
{
	int64_t n = 0;

	if (!when_number(s, 2, 2, &n) || n > max)
		return false;
	*v = (int)n;
	return true;
}

void
when_word(struct when_scan *s, char word[static WHEN_WORD])
{
	size_t n = 0;

	while (is_letter(s->p[n]))
		n++;
	word[0] = '\0';
	if (n >= WHEN_WORD)
		return;
	memcpy(word, s->p, n);
	word[n] = '\0';
	s->p += n;
}

bool
when_skip_word(struct when_scan *s, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(s->p, word, len) != 0 || is_letter(s->p[len]))
		return false;
	s->p += len;
	return true;
}

/* --- Spans --- */

static bool
unit_seconds(char *word, int64_t *secs)
{
	static const struct {
		const char *word;
		int64_t secs;
	} units[] = {
		{ "s", 1 },
		{ "sec", 1 },
		{ "second", 1 },
		{ "m", 60 },
		{ "min", 60 },
		{ "minute", 60 },
		{ "h", 3600 },
		{ "hr", 3600 },
		{ "hour", 3600 },
		{ "d", DAY_SECONDS },
		{ "day", DAY_SECONDS },
		{ "w", 7 * DAY_SECONDS },
		{ "week", 7 * DAY_SECONDS },
	};
	const size_t len = strlen(word);

	/* A plural; "s" and "ms" are none. */
	if (len > 2 && word[len - 1] == 's')
		word[len - 1] = '\0';
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (str_eq(word, units[i].word)) {
			*secs = units[i].secs;
			return true;
		}
	return false;
}

bool
when_units(struct when_scan *s, int64_t *secs)
{
	int64_t n = 0, unit = 0, last = INT64_MAX;
	char word[WHEN_WORD];

	*secs = 0;
	do {
		if (!when_number(s, 1, 12, &n))
			return false;
		s->p += strspn(s->p, WHEN_BLANKS);
		when_word(s, word);
		if (!unit_seconds(word, &unit))
			return false;
		if (unit >= last)
			return when_no(
				s,
				"the units go from large to small, each once");
		*secs += n * unit; /* below 2^60 each */
		if (*secs > WHEN_MAX)
			return when_no(s, "is too long");
		last = unit;
	} while (!when_end(s));
	return true;
}

/* Parse the rest of the text as "1:30:00" or "2-12:00:00". */
static bool
read_clock(struct when_scan *s, int64_t *secs)
{
	int64_t days = 0, hours = 0;
	int min = 0, sec = 0;

	if (!when_number(s, 1, 6, &hours))
		return false;
	if (when_skip(s, '-')) {
		days = hours;
		if (!when_number(s, 1, 2, &hours) || hours > 23)
			return false;
	}
	if (!when_skip(s, ':') || !when_two(s, 59, &min))
		return false;
	if (when_end(s))
		return when_no(s, "may be hours or minutes");
	if (!when_skip(s, ':') || !when_two(s, 59, &sec))
		return false;
	*secs = days * DAY_SECONDS + hours * 3600 + min * 60 + sec;
	return when_end(s);
}

bool
when_any_span(struct when_scan *s, int64_t *secs)
{
	const char *digits = NULL;

	s->p += strspn(s->p, WHEN_BLANKS);
	digits = s->p + strspn(s->p, WHEN_DIGITS);
	if (*digits == ':' || *digits == '-')
		return read_clock(s, secs);
	if (digits > s->p && digits[strspn(digits, WHEN_BLANKS)] == '\0') {
		if (!when_number(s, 1, 12, secs) || *secs > WHEN_MAX)
			return when_no(s, "is too long");
		return true;
	}
	return when_units(s, secs);
}

int
when_span(const char *text, uint64_t *secs, struct error *err)
{
	struct when_scan s;
	int64_t v = 0;

	if (when_open(&s, text) && when_any_span(&s, &v)) {
		*secs = (uint64_t)v;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": %s: write it like 2h30m or 1:30:00",
			 str_quoted(text),
			 s.why != NULL ? s.why : "is not a span of time");
}
