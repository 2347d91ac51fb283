/* SPDX-License-Identifier: BSD-3-Clause */
#include "when.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "str.h"
#include "when_impl.h"

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

static bool
is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

/* --- Parsing --- */

/* Record that `part` was given.  False: it was given before. */
static bool
take(struct moment *m, unsigned part)
{
	if ((m->have & part) != 0)
		return false;
	m->have |= part;
	return true;
}

/* Parse "am" or "pm" after the hour. */
static bool
half_of_day(struct when_scan *s, struct moment *m, bool *found)
{
	bool pm = false;

	s->p += strspn(s->p, WHEN_BLANKS);
	pm = when_skip_word(s, "pm");
	*found = pm || when_skip_word(s, "am");
	if (!*found)
		return true;
	if (m->hour < 1 || m->hour > 12)
		return false;
	m->hour = m->hour % 12 + (pm ? 12 : 0);
	return true;
}

/* Parse the optional zone after the time of an ISO date. */
static bool
read_zone(struct when_scan *s, struct moment *m)
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
	when_skip(s, ':');
	if (hours > 23 || !when_two(s, 59, &mins))
		return false;
	m->offset = (hours * 60 + mins) * (sign == '-' ? -60 : 60);
	return true;
}

/* Parse the rest of a time of day, after its hour. */
static bool
read_time(struct when_scan *s, struct moment *m, int64_t hour)
{
	static const char wrong[] = "there is no such time of day";
	bool colon = false, half = false;

	m->want_time = false;
	if (!take(m, HAVE_TIME))
		return when_no(s, "has two times of day");
	m->hour = (int)hour;
	colon = when_skip(s, ':');
	if (colon && !when_two(s, 59, &m->min))
		return when_no(s, wrong);
	if (colon && when_skip(s, ':') && !when_two(s, 59, &m->sec))
		return when_no(s, wrong);
	if (colon && !read_zone(s, m))
		return when_no(s, "the zone after it is wrong");
	if ((m->have & HAVE_ZONE) != 0)
		return hour <= 23 || when_no(s, wrong);
	if (!half_of_day(s, m, &half) || hour > 23)
		return when_no(s, wrong);
	return colon || half;
}

/* Parse the rest of "2026-11-21", after the year. */
static bool
read_date(struct when_scan *s, struct moment *m, int64_t year)
{
	if (!take(m, HAVE_DATE))
		return when_no(s, "has two days");
	m->iso = true;
	m->year = (int)year;
	if (!when_skip(s, '-') || !when_two(s, 12, &m->month) ||
	    !when_skip(s, '-') || !when_two(s, 31, &m->mday))
		return when_no(s, "there is no such day");
	m->month--;
	if (*s->p == 't' && str_is_digit(s->p[1])) {
		s->p++;
		m->want_time = true;
	}
	return true;
}

/* Parse a date, a time, a day of a month, or a year. */
static bool
read_digits(struct when_scan *s, struct moment *m)
{
	const size_t len = strspn(s->p, WHEN_DIGITS);
	int64_t n = 0;

	if (!when_number(s, 1, 4, &n))
		return false;
	if (len == 4 && *s->p == '-')
		return !m->want_time && read_date(s, m, n);
	if (len <= 2) {
		const char *p = s->p + strspn(s->p, WHEN_BLANKS);

		if (*s->p == ':' || strncmp(p, "am", 2) == 0 ||
		    strncmp(p, "pm", 2) == 0)
			return read_time(s, m, n);
		m->mday = (int)n;
		return !m->want_time && take(m, HAVE_MDAY);
	}
	/* A year is allowed only after a month: 1500 and 2030 alone look like
	 * times. */
	if (len < 4 || (m->have & HAVE_MONTH) == 0)
		return when_no(s, "a time of day needs a colon, am or pm");
	m->year = (int)n;
	return !m->want_time &&
	       (take(m, HAVE_YEAR) || when_no(s, "has two days"));
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

/* The day `days` after today. */
static void
set_day(struct moment *m, const struct tm *today, int days)
{
	struct tm t = { .tm_year = today->tm_year,
			.tm_mon = today->tm_mon,
			.tm_mday = today->tm_mday + days,
			.tm_hour = 12 };

	timegm(&t); /* calendar days, whatever clocks do */
	m->year = t.tm_year + 1900;
	m->month = t.tm_mon;
	m->mday = t.tm_mday;
}

static bool
read_name(struct when_scan *s, struct moment *m, const struct tm *today)
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
	char word[WHEN_WORD];
	int i = 0;

	when_word(s, word);
	if (str_eq(word, "noon") || str_eq(word, "midnight")) {
		m->want_time = false;
		m->hour = word[0] == 'n' ? 12 : 0;
		m->midnight = word[0] == 'm';
		return take(m, HAVE_TIME);
	}
	if (m->want_time)
		return false;
	if (str_eq(word, "at")) {
		m->want_time = true;
		return true;
	}
	if (str_eq(word, "today") || str_eq(word, "tomorrow")) {
		set_day(m, today, word[2] == 'm');
		return take(m, HAVE_DATE) || when_no(s, "has two days");
	}
	if ((i = find_name(word, days, 7)) >= 0) {
		m->weekday = i;
		return take(m, HAVE_WEEKDAY) || when_no(s, "has two days");
	}
	m->month = find_name(word, months, 12);
	return m->month >= 0 &&
	       (take(m, HAVE_MONTH) || when_no(s, "has two days"));
}

/* Parse the text into *m. */
static bool
read_moment(struct when_scan *s, struct moment *m, const struct tm *today)
{
	const unsigned day_of_month = HAVE_MONTH | HAVE_MDAY;

	*m = (struct moment){ 0 };
	while (!when_end(s)) {
		if (!str_is_digit(*s->p) && !is_letter(*s->p))
			return false;
		if (str_is_digit(*s->p) ? !read_digits(s, m)
					: !read_name(s, m, today))
			return false;
	}
	if (m->have == 0 || m->want_time)
		return false;
	if (m->midnight && m->have != HAVE_TIME)
		return when_no(s, "a day has two midnights, write 00:00 "
				  "instead");
	return (m->have & HAVE_DATE) == 0 ||
	       (m->have & day_of_month) == day_of_month;
}

/* --- From the calendar to seconds --- */

/* Does this day exist? */
static bool
is_day(const struct moment *m)
{
	struct tm t = { .tm_year = m->year - 1900,
			.tm_mon = m->month,
			.tm_mday = m->mday,
			.tm_hour = 12 };

	timegm(&t);
	if (t.tm_mday != m->mday || t.tm_mon != m->month)
		return false;
	return (m->have & HAVE_WEEKDAY) == 0 || t.tm_wday == m->weekday;
}

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

/* A time on a given day. */
static bool
on_day(struct when_scan *s, struct moment *m, int64_t *out)
{
	if (!is_day(m))
		return when_no(s, "there is no such day");
	if ((m->have & HAVE_ZONE) != 0) {
		struct tm t = clock_tm(m);

		*out = timegm(&t) - m->offset;
		return true;
	}
	return find_moment(m, -1, out) ||
	       when_no(s, m->year < 1970 ? "is too early"
					 : "the clock is set forward over it");
}

/* A time on the next day of the year. */
static bool
next_year(struct when_scan *s, struct moment *m, const struct tm *today,
	  int64_t now, int64_t *out)
{
	for (int i = 0; i < YEARS; i++) {
		m->year = today->tm_year + 1900 + i;
		if (is_day(m) && find_moment(m, now, out))
			return true;
	}
	return when_no(s, "there is no such day");
}

/* A time on the next such day of the week, or on the next day. */
static bool
next_day(struct when_scan *s, struct moment *m, const struct tm *today,
	 int64_t now, int64_t *out)
{
	const bool weekly = (m->have & HAVE_WEEKDAY) != 0;
	int days = weekly ? (m->weekday - today->tm_wday + 7) % 7 : 0;

	/* A clock that is set forward may skip the time once. */
	for (int i = 0; i < 3; i++, days += weekly ? 7 : 1) {
		set_day(m, today, days);
		if (find_moment(m, now, out))
			return true;
	}
	return when_no(s, "no clock shows it");
}

/* Parse the text as a date and time. */
static bool
calendar(struct when_scan *s, int64_t now, int64_t *out)
{
	const time_t t = now;
	struct tm today;
	struct moment m;

	tzset(); /* localtime_r() need not do that */
	if (localtime_r(&t, &today) == NULL || !read_moment(s, &m, &today))
		return false;
	if ((m.have & HAVE_YEAR) != 0)
		return on_day(s, &m, out);
	if ((m.have & HAVE_MONTH) != 0)
		return next_year(s, &m, &today, now, out);
	return next_day(s, &m, &today, now, out);
}

/* Parse the rest of the text as a span from now on. */
static bool
later(struct when_scan *s, int64_t now, int64_t *out)
{
	int64_t secs = 0;

	if (!when_any_span(s, &secs))
		return false;
	*out = now + secs;
	return true;
}

static bool
parse(struct when_scan *s, int64_t now, int64_t *out)
{
	const char *start = s->p;
	int64_t secs = 0;

	if (when_skip(s, '@'))
		return when_number(s, 1, 12, out) && when_end(s);
	if (when_skip_word(s, "now")) {
		*out = now;
		return when_end(s) || (when_skip(s, '+') && later(s, now, out));
	}
	if (when_skip(s, '+') || when_skip_word(s, "in"))
		return later(s, now, out);
	if (when_units(s, &secs)) {
		*out = now + secs;
		return true;
	}
	s->p = start;
	return calendar(s, now, out);
}

int
when_parse(const char *text, int64_t now, int64_t *out, struct error *err)
{
	struct when_scan s;
	int64_t t = 0;

	if (when_open(&s, text) && parse(&s, now, &t) &&
	    ((t >= 0 && t <= WHEN_MAX) || when_no(&s, "is out of range"))) {
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
