/* SPDX-License-Identifier: BSD-3-Clause */
#include "when.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "str.h"

#define INPUT_MAX 80 /* bytes of a time or span */
#define WORD_MAX 12  /* letters of a word, with NUL */
#define BLANKS " \t\r\n\v\f"
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* A text being parsed, in lower case. */
struct scan {
	char text[INPUT_MAX + 1];
	const char *p;	 /* the rest of the text */
	const char *why; /* reason for rejecting it, or NULL */
};

#define DAY_SECONDS 86400

/* Years within which a day such as February 29 occurs again. */
#define YEARS 9
/* Clocks are set forward or back by up to two hours, in half hours. */
#define JUMP 7200
#define JUMP_STEP 1800

/* The parts of a time. */
enum {
	HAVE_TIME = 1, /* hour, min, sec */
	HAVE_YEAR = 2,
	HAVE_MONTH = 4,
	HAVE_MDAY = 8,
	HAVE_WEEKDAY = 16,
	HAVE_ZONE = 32,
	HAVE_DATE = HAVE_YEAR | HAVE_MONTH | HAVE_MDAY,
};

struct moment {
	unsigned have;
	bool iso;	/* the date consists of digits */
	bool want_time; /* after "at", or 'T' */
	bool midnight;	/* given by the word "midnight" */
	int year, month, mday, weekday;
	int hour, min, sec;
	int64_t offset; /* seconds east of UTC */
};

/* --- Words and numbers --- */

static bool
is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Reject the text.  `why` is recorded unless there is a reason already.
 * Returns false. */
static bool
no(struct scan *s, const char *why)
{
	if (s->why == NULL)
		s->why = why;
	return false;
}

/* Start parsing `text`, or the empty text if it is too long. */
static void
begin(struct scan *s, const char *text)
{
	*s = (struct scan){ .p = s->text };
	if (strlen(text) > INPUT_MAX)
		return;
	for (size_t i = 0; text[i] != '\0'; i++)
		s->text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z'
					    ? text[i] - 'A' + 'a'
					    : text[i]);
	s->p += strspn(s->p, BLANKS);
}

static bool
at_end(struct scan *s)
{
	s->p += strspn(s->p, BLANKS);
	return *s->p == '\0';
}

static bool
skip(struct scan *s, char c)
{
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

/* Parse a number of min..max digits, not followed by another digit. */
static bool
number(struct scan *s, size_t min, size_t max, int64_t *v)
{
	const size_t n = strspn(s->p, DIGITS);

	if (n < min || n > max)
		return false;
	for (*v = 0; str_is_digit(*s->p); s->p++)
		*v = 10 * *v + (*s->p - '0');
	return true;
}

/* Parse two digits with a value up to `max`. */
static bool
two(struct scan *s, int64_t max, int *v)
{
	int64_t n = 0;

	if (!number(s, 2, 2, &n) || n > max)
		return false;
	*v = (int)n;
	return true;
}

/* Read the letters that are next into `word`, empty if there are too many. */
static void
word_of(struct scan *s, char word[static WORD_MAX])
{
	size_t n = strspn(s->p, LETTERS);

	if (n >= WORD_MAX)
		n = 0;
	memcpy(word, s->p, n);
	word[n] = '\0';
	s->p += n;
}

static bool
skip_word(struct scan *s, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(s->p, word, len) != 0 || is_letter(s->p[len]))
		return false;
	s->p += len;
	return true;
}

/* --- Spans --- */

/* Parse the rest of the text as a span with units. */
static bool
units(struct scan *s, int64_t *secs)
{
	static const struct {
		const char *word;
		int64_t secs;
	} known[] = {
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
	const size_t count = sizeof(known) / sizeof(*known);
	int64_t n = 0, last = INT64_MAX;
	char word[WORD_MAX];

	*secs = 0;
	do {
		size_t len = 0, i = 0;

		if (!number(s, 1, 12, &n))
			return false;
		s->p += strspn(s->p, BLANKS);
		word_of(s, word);
		/* A plural; "s" and "ms" are none. */
		len = strlen(word);
		if (len > 2 && word[len - 1] == 's')
			word[len - 1] = '\0';
		for (i = 0; i < count && !str_eq(word, known[i].word);)
			i++;
		if (i == count)
			return false;
		if (known[i].secs >= last)
			return no(
				s,
				"the units go from large to small, each once");
		*secs += n * known[i].secs; /* below 2^60 each */
		if (*secs > WHEN_MAX)
			return no(s, "is too long");
		last = known[i].secs;
	} while (!at_end(s));
	return true;
}

/* Parse the rest of the text as any span. */
static bool
any_span(struct scan *s, int64_t *secs)
{
	const char *digits = NULL;
	int64_t days = 0, hours = 0;
	int min = 0, sec = 0;

	s->p += strspn(s->p, BLANKS);
	digits = s->p + strspn(s->p, DIGITS);
	if (*digits == ':' || *digits == '-') { /* 1:30:00, 2-12:00:00 */
		if (!number(s, 1, 6, &hours))
			return false;
		if (skip(s, '-')) {
			days = hours;
			if (!number(s, 1, 2, &hours) || hours > 23)
				return false;
		}
		if (!skip(s, ':') || !two(s, 59, &min))
			return false;
		if (at_end(s))
			return no(s, "may be hours or minutes");
		if (!skip(s, ':') || !two(s, 59, &sec))
			return false;
		*secs = days * DAY_SECONDS + hours * 3600 + min * 60 + sec;
		return at_end(s);
	}
	if (digits > s->p && digits[strspn(digits, BLANKS)] == '\0') {
		if (!number(s, 1, 12, secs) || *secs > WHEN_MAX)
			return no(s, "is too long");
		return true;
	}
	return units(s, secs);
}

int
when_span(const char *text, uint64_t *secs, struct error *err)
{
	struct scan s;
	int64_t v = 0;

	begin(&s, text);
	if (any_span(&s, &v)) {
		*secs = (uint64_t)v;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": %s: write it like 2h30m or 1:30:00",
			 str_quoted(text),
			 s.why != NULL ? s.why : "is not a span of time");
}

/* --- Dates and times of day --- */

/* Record that `part` was given.  Rejected: it was given before. */
static bool
take(struct scan *s, struct moment *m, unsigned part)
{
	if ((m->have & part) != 0)
		return no(s, part == HAVE_TIME ? "has two times of day"
					       : "has two days");
	m->have |= part;
	return true;
}

/* Parse the optional zone after the time of an ISO date. */
static bool
read_zone(struct scan *s, struct moment *m)
{
	const char sign = *s->p;
	int hours = 0, mins = 0;

	if (!m->iso || (sign != 'z' && sign != '+' && sign != '-'))
		return true;
	s->p++;
	m->have |= HAVE_ZONE;
	if (sign == 'z')
		return !is_letter(*s->p);
	/* +01:00 or +0100 */
	if (!str_is_digit(s->p[0]) || !str_is_digit(s->p[1]))
		return false;
	hours = 10 * (s->p[0] - '0') + (s->p[1] - '0');
	s->p += 2;
	skip(s, ':');
	if (hours > 23 || !two(s, 59, &mins))
		return false;
	m->offset = (hours * 60 + mins) * (sign == '-' ? -60 : 60);
	return true;
}

/* Parse the rest of a time of day, after its hour. */
static bool
read_time(struct scan *s, struct moment *m, int64_t hour)
{
	static const char wrong[] = "there is no such time of day";
	bool colon = false, half = false, pm = false;

	m->want_time = false;
	if (!take(s, m, HAVE_TIME))
		return false;
	m->hour = (int)hour;
	colon = skip(s, ':');
	if (colon && !two(s, 59, &m->min))
		return no(s, wrong);
	if (colon && skip(s, ':') && !two(s, 59, &m->sec))
		return no(s, wrong);
	if (colon && !read_zone(s, m))
		return no(s, "the zone after it is wrong");
	if ((m->have & HAVE_ZONE) != 0)
		return hour <= 23 || no(s, wrong);
	s->p += strspn(s->p, BLANKS);
	pm = skip_word(s, "pm");
	half = pm || skip_word(s, "am");
	if (hour > (half ? 12 : 23) || (half && hour < 1))
		return no(s, wrong);
	if (half)
		m->hour = m->hour % 12 + (pm ? 12 : 0);
	return colon || half;
}

/* Parse a date, a time, a day of a month, or a year. */
static bool
read_digits(struct scan *s, struct moment *m)
{
	const size_t len = strspn(s->p, DIGITS);
	int64_t n = 0;

	if (!number(s, 1, 4, &n))
		return false;
	if (len == 4 && *s->p == '-') { /* 2026-11-21 */
		if (m->want_time || !take(s, m, HAVE_DATE))
			return false;
		m->iso = true;
		m->year = (int)n;
		if (!skip(s, '-') || !two(s, 12, &m->month) || !skip(s, '-') ||
		    !two(s, 31, &m->mday))
			return no(s, "there is no such day");
		m->month--;
		m->want_time = *s->p == 't' && str_is_digit(s->p[1]);
		s->p += m->want_time;
		return true;
	}
	if (len <= 2) {
		const char *p = s->p + strspn(s->p, BLANKS);

		if (*s->p == ':' || strncmp(p, "am", 2) == 0 ||
		    strncmp(p, "pm", 2) == 0)
			return read_time(s, m, n);
		m->mday = (int)n;
		return !m->want_time && take(s, m, HAVE_MDAY);
	}
	/* A year is allowed only after a month: 1500 and 2030 alone look like
	 * times. */
	if (len < 4 || (m->have & HAVE_MONTH) == 0)
		return no(s, "a time of day needs a colon, am or pm");
	m->year = (int)n;
	return !m->want_time && take(s, m, HAVE_YEAR);
}

/* The index of `word`, a full name or at least its first three letters, among
 * the `count` names.  -1: not found. */
static int
find_name(const char *word, const char *const *names, int count)
{
	const size_t len = strlen(word);

	for (int i = 0; len >= 3 && i < count; i++)
		if (strncmp(word, names[i], len) == 0)
			return i;
	return -1;
}

/* Take the day that is `days` after today, whatever clocks do. */
static void
set_day(struct moment *m, const struct tm *today, int days)
{
	struct tm t = *today;

	t.tm_mday += days;
	t.tm_hour = 12;
	timegm(&t);
	m->year = t.tm_year + 1900;
	m->month = t.tm_mon;
	m->mday = t.tm_mday;
}

static bool
read_name(struct scan *s, struct moment *m, const struct tm *today)
{
	static const char *const days[] = {
		"sunday",   "monday", "tuesday",  "wednesday",
		"thursday", "friday", "saturday",
	};
	static const char *const months[] = {
		"january",   "february", "march",    "april",
		"may",	     "june",	 "july",     "august",
		"september", "october",	 "november", "december",
	};
	char word[WORD_MAX];
	int i = 0;

	word_of(s, word);
	if (str_eq(word, "noon") || str_eq(word, "midnight")) {
		m->want_time = false;
		m->hour = word[0] == 'n' ? 12 : 0;
		m->midnight = word[0] == 'm';
		return take(s, m, HAVE_TIME);
	}
	if (m->want_time)
		return false;
	if (str_eq(word, "at")) {
		m->want_time = true;
		return true;
	}
	if (str_eq(word, "today") || str_eq(word, "tomorrow")) {
		set_day(m, today, word[2] == 'm');
		return take(s, m, HAVE_DATE);
	}
	if ((i = find_name(word, days, 7)) >= 0) {
		m->weekday = i;
		return take(s, m, HAVE_WEEKDAY);
	}
	m->month = find_name(word, months, 12);
	return m->month >= 0 && take(s, m, HAVE_MONTH);
}

/* --- From the calendar to seconds --- */

/* What a clock shows at *m. */
static struct tm
clock_tm(const struct moment *m)
{
	return (struct tm){ .tm_year = m->year - 1900,
			    .tm_mon = m->month,
			    .tm_mday = m->mday,
			    .tm_hour = m->hour,
			    .tm_min = m->min,
			    .tm_sec = m->sec,
			    .tm_isdst = -1 };
}

/* Does this day exist? */
static bool
is_day(const struct moment *m)
{
	struct tm t = clock_tm(m);

	t.tm_hour = 12;
	timegm(&t);
	return t.tm_mday == m->mday && t.tm_mon == m->month &&
	       ((m->have & HAVE_WEEKDAY) == 0 || t.tm_wday == m->weekday);
}

/*
 * The first moment after `after` at which the local clock shows *m. mktime()
 * changes a time that the clock skips, and picks either moment of a time that
 * the clock shows twice.  So try the moments around its result.
 */
static bool
find_moment(const struct moment *m, int64_t after, int64_t *out)
{
	struct tm t = clock_tm(m);
	const time_t near = mktime(&t);

	for (time_t at = near - JUMP; at <= near + JUMP; at += JUMP_STEP) {
		if (at <= after || localtime_r(&at, &t) == NULL ||
		    t.tm_mday != m->mday || t.tm_hour != m->hour ||
		    t.tm_min != m->min)
			continue;
		*out = at;
		return true;
	}
	return false;
}

/* Parse the text as a date and time: on a given day; on the next day of the
 * year; or on the next such day of the week, or the next day. */
static bool
calendar(struct scan *s, int64_t now, int64_t *out)
{
	static const char early[] = "is too early";
	static const char skipped[] = "the clock is set forward over it";
	const unsigned day_of_month = HAVE_MONTH | HAVE_MDAY;
	const time_t t = now;
	struct tm today, shown;
	struct moment m = { 0 };
	int days = 0, step = 0;

	tzset(); /* localtime_r() need not do that */
	if (localtime_r(&t, &today) == NULL)
		return false;
	while (!at_end(s))
		if (str_is_digit(*s->p) ? !read_digits(s, &m)
					: !read_name(s, &m, &today))
			return false;
	if (m.have == 0 || m.want_time)
		return false;
	if (m.midnight && m.have != HAVE_TIME)
		return no(s, "a day has two midnights, write 00:00 instead");
	if ((m.have & HAVE_DATE) != 0 &&
	    (m.have & day_of_month) != day_of_month)
		return false;
	if ((m.have & HAVE_YEAR) != 0) {
		if (!is_day(&m))
			return no(s, "there is no such day");
		shown = clock_tm(&m);
		*out = timegm(&shown) - m.offset;
		return (m.have & HAVE_ZONE) != 0 || find_moment(&m, -1, out) ||
		       no(s, m.year < 1970 ? early : skipped);
	}
	for (int i = 0; (m.have & HAVE_MONTH) != 0 && i < YEARS; i++) {
		m.year = today.tm_year + 1900 + i;
		if (is_day(&m) && find_moment(&m, now, out))
			return true;
	}
	if ((m.have & HAVE_MONTH) != 0)
		return no(s, "there is no such day");
	step = (m.have & HAVE_WEEKDAY) != 0 ? 7 : 1;
	days = (m.weekday - today.tm_wday + 7) % step;
	/* A clock that is set forward may skip the time once. */
	for (int i = 0; i < 3; i++, days += step) {
		set_day(&m, &today, days);
		if (find_moment(&m, now, out))
			return true;
	}
	return no(s, "no clock shows it");
}

int
when_parse(const char *text, int64_t now, int64_t *out, struct error *err)
{
	struct scan s;
	int64_t t = 0, secs = 0;
	bool good = true;
	const char *start = NULL;

	begin(&s, text);
	start = s.p;
	if (skip(&s, '@')) {
		good = number(&s, 1, 12, &t) && at_end(&s);
	} else if (skip_word(&s, "now") && at_end(&s)) {
		t = now;
	} else if (skip(&s, '+') || (s.p == start && skip_word(&s, "in"))) {
		good = any_span(&s, &secs);
		t = now + secs;
	} else if (s.p != start) {
		good = false; /* "now" and something else */
	} else if (units(&s, &secs)) {
		t = now + secs;
	} else {
		s.p = start;
		good = calendar(&s, now, &t);
	}
	if (good && ((t >= 0 && t <= WHEN_MAX) || no(&s, "is out of range"))) {
		*out = t;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": %s: write it like 2026-11-21T10:00:00, "
			 "8:30am tomorrow or now+2h",
			 str_quoted(text),
			 s.why != NULL ? s.why : "is not a time");
}

char *
when_text(char to[static WHEN_TEXT], int64_t t)
{
	const time_t time = t;
	struct tm tm;

	tzset();
	/* East of UTC the year 10000 begins before WHEN_MAX. */
	if (t < 0 || t > WHEN_MAX || localtime_r(&time, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900 ||
	    strftime(to, WHEN_TEXT, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(to, WHEN_TEXT, "@%" PRId64, t);
	return to;
}

char *
when_shown(char to[static WHEN_TEXT], int64_t t, bool utc)
{
	const time_t time = (time_t)t;
	struct tm tm;

	if ((utc ? gmtime_r(&time, &tm) : localtime_r(&time, &tm)) == NULL ||
	    strftime(to, WHEN_TEXT, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		memcpy(to, "?", sizeof("?"));
	return to;
}
