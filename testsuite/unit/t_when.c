/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <time.h>

#include "error.h"
#include "tap.h"
#include "when.h"

#define MARK 4711 /* output that a failed call must not change */

/* Complete POSIX rules, so that no time zone database is needed.  Clocks go
 * forward on the second (New York) or last Sunday of March, and back in
 * autumn. */
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define KOLKATA "IST-5:30"

static void
set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* An input, and the local time it means. */
struct vector {
	const char *text, *time;
};

/* As of Saturday, 2026-11-21 at 10:00:00. */
static const struct vector good[] = {
	{ "2026-11-21T10:00:00", "2026-11-21T10:00:00" },
	{ "2030-01-02T03:04:05", "2030-01-02T03:04:05" },
	{ "2030-01-02t03:04:05", "2030-01-02T03:04:05" },
	{ "2030-01-02 03:04:05", "2030-01-02T03:04:05" },
	{ "  2030-01-02   03:04  ", "2030-01-02T03:04:00" },
	{ "2030-01-02T03:04", "2030-01-02T03:04:00" },
	{ "2030-01-02", "2030-01-02T00:00:00" },
	{ "2030-01-02 3pm", "2030-01-02T15:00:00" },
	{ "2030-01-02 noon", "2030-01-02T12:00:00" },
	{ "3:30 2030-01-02", "2030-01-02T03:30:00" },
	{ "2028-02-29", "2028-02-29T00:00:00" },
	{ "1999-12-31T23:59:59", "1999-12-31T23:59:59" },
	{ "2038-01-19T03:14:08", "2038-01-19T03:14:08" },
	{ "2106-02-07T06:28:16", "2106-02-07T06:28:16" },
	{ "9999-12-30T00:00:00", "9999-12-30T00:00:00" },
	{ "now", "2026-11-21T10:00:00" },
	{ " NOW ", "2026-11-21T10:00:00" },
	{ "now+2h", "2026-11-21T12:00:00" },
	{ "now + 2 h", "2026-11-21T12:00:00" },
	{ "now+90", "2026-11-21T10:01:30" },
	{ "now+1:30:00", "2026-11-21T11:30:00" },
	{ "+2h", "2026-11-21T12:00:00" },
	{ "+ 2 hours", "2026-11-21T12:00:00" },
	{ "+0", "2026-11-21T10:00:00" },
	{ "in 30m", "2026-11-21T10:30:00" },
	{ "In 30 Minutes", "2026-11-21T10:30:00" },
	{ "in30m", "2026-11-21T10:30:00" },
	{ "2h30m", "2026-11-21T12:30:00" },
	{ "90s", "2026-11-21T10:01:30" },
	{ "1d", "2026-11-22T10:00:00" },
	{ "1w", "2026-11-28T10:00:00" },
	{ "12:00pm today", "2026-11-21T12:00:00" },
	{ "12:00PM TODAY", "2026-11-21T12:00:00" },
	{ "12:00 pm today", "2026-11-21T12:00:00" },
	{ "today 12:00pm", "2026-11-21T12:00:00" },
	{ "today at 12:00pm", "2026-11-21T12:00:00" },
	{ "12:00am today", "2026-11-21T00:00:00" },
	{ "9:00 today", "2026-11-21T09:00:00" },
	{ "8:30am tomorrow", "2026-11-22T08:30:00" },
	{ "tomorrow 8:30am", "2026-11-22T08:30:00" },
	{ "15:00", "2026-11-21T15:00:00" },
	{ "at 15:00", "2026-11-21T15:00:00" },
	{ "9:59:59", "2026-11-22T09:59:59" },
	{ "10:00", "2026-11-22T10:00:00" },
	{ "10:00:01", "2026-11-21T10:00:01" },
	{ "1:30:00", "2026-11-22T01:30:00" },
	{ "00:00", "2026-11-22T00:00:00" },
	{ "0:00", "2026-11-22T00:00:00" },
	{ "3pm", "2026-11-21T15:00:00" },
	{ "3 PM", "2026-11-21T15:00:00" },
	{ "3:00:30pm", "2026-11-21T15:00:30" },
	{ "12am", "2026-11-22T00:00:00" },
	{ "12pm", "2026-11-21T12:00:00" },
	{ "12:30am", "2026-11-22T00:30:00" },
	{ "12:30pm", "2026-11-21T12:30:00" },
	{ "1am", "2026-11-22T01:00:00" },
	{ "11pm", "2026-11-21T23:00:00" },
	{ "noon", "2026-11-21T12:00:00" },
	{ "noon tomorrow", "2026-11-22T12:00:00" },
	{ "midnight", "2026-11-22T00:00:00" },
	{ "today", "2026-11-21T00:00:00" },
	{ "tomorrow", "2026-11-22T00:00:00" },
	{ "friday", "2026-11-27T00:00:00" },
	{ "Fri 17:00", "2026-11-27T17:00:00" },
	{ "17:00 fri", "2026-11-27T17:00:00" },
	{ "tues 3:00:30pm", "2026-11-24T15:00:30" },
	{ "sunday", "2026-11-22T00:00:00" },
	{ "saturday", "2026-11-28T00:00:00" },
	{ "sat 10:00:00", "2026-11-28T10:00:00" },
	{ "sat 10:00:01", "2026-11-21T10:00:01" },
	{ "thurs at noon", "2026-11-26T12:00:00" },
	{ "Wed Jan  2 03:04:05 2030", "2030-01-02T03:04:05" },
	{ "jan 2 2030", "2030-01-02T00:00:00" },
	{ "2 january 2030 3pm", "2030-01-02T15:00:00" },
	{ "nov 21", "2027-11-21T00:00:00" },
	{ "nov 21 11:00", "2026-11-21T11:00:00" },
	{ "21 nov 9am", "2027-11-21T09:00:00" },
	{ "mon dec 7", "2026-12-07T00:00:00" },
	{ "feb 29", "2028-02-29T00:00:00" },
	{ "sat today", "2026-11-21T00:00:00" },
};

/* An input, and its error message. */
static const struct vector bad[] = {
	{ "", "is not a time" },
	{ "   ", "is not a time" },
	{ "x", "is not a time" },
	{ "now2h", "is not a time" },
	{ "now+", "is not a time" },
	{ "now-2h", "is not a time" },
	{ "now now", "is not a time" },
	{ "nowhere", "is not a time" },
	{ "+", "is not a time" },
	{ "+-2h", "is not a time" },
	{ "in", "is not a time" },
	{ "in 3pm", "is not a time" },
	{ "90", "is not a time" },
	{ "1500", "a time of day needs a colon, am or pm" },
	{ "1500 tomorrow", "a time of day needs a colon, am or pm" },
	{ "12/11", "is not a time" },
	{ "11-21", "is not a time" },
	{ "+1:30", "may be hours or minutes" },
	{ "2m30m", "the units go from large to small" },
	{ "30m2h", "the units go from large to small" },
	{ "2h30", "is not a time" },
	{ "h", "is not a time" },
	{ "1.5h", "is not a time" },
	{ "2h 3pm", "is not a time" },
	{ "25:00", "there is no such time of day" },
	{ "24:00", "there is no such time of day" },
	{ "12:60", "there is no such time of day" },
	{ "12:5", "there is no such time of day" },
	{ "12:00:60", "there is no such time of day" },
	{ "12:00:00:00", "is not a time" },
	{ "13pm", "there is no such time of day" },
	{ "0am", "there is no such time of day" },
	{ "13:00pm", "there is no such time of day" },
	{ "3pm 4pm", "has two times of day" },
	{ "noon 3pm", "has two times of day" },
	{ "3pmx", "is not a time" },
	{ "3p", "is not a time" },
	{ "3pm today tomorrow", "has two days" },
	{ "mon tue", "has two days" },
	{ "today 2026-11-21", "has two days" },
	{ "at", "is not a time" },
	{ "at today 3pm", "is not a time" },
	{ "3pm at", "is not a time" },
	{ "midnight today", "a day has two midnights" },
	{ "midnight friday", "a day has two midnights" },
	{ "next friday", "is not a time" },
	{ "fr", "is not a time" },
	{ "frightday", "is not a time" },
	{ "3pm today!", "is not a time" },
	{ "2026-02-30", "there is no such day" },
	{ "2027-02-29", "there is no such day" },
	{ "2026-13-01", "there is no such day" },
	{ "2026-00-01", "there is no such day" },
	{ "2026-01-00", "there is no such day" },
	{ "2026-1-1", "there is no such day" },
	{ "feb 30", "there is no such day" },
	{ "fri nov 21 2026", "there is no such day" },
	{ "fri today", "there is no such day" },
	{ "nov", "is not a time" },
	{ "nov 2026", "is not a time" },
	{ "21 2026", "a time of day needs a colon, am or pm" },
	{ "2026-11-21T", "is not a time" },
	{ "2026-11-21T10", "is not a time" },
	{ "2026-11-21T10:00:00x", "is not a time" },
	{ "2026-11-21T10:00:00.5", "is not a time" },
	{ "2026-11-21T10:00+2h", "the zone after it is wrong" },
	{ "2026-11-2110:00", "there is no such day" },
	{ "1969-12-31", "is too early" },
	{ "@", "is not a time" },
	{ "@-1", "is not a time" },
	{ "@1x", "is not a time" },
	{ "@9999999999999", "is not a time" },
	{ "@999999999999", "is out of range" },
	{ "+999999999999w", "is too long" },
	{ "+99999999999999h", "is not a time" },
	{ "+253402300799", "is out of range" },
	{ "\xff\xfe", "is not a time" },
	{ "2026-11-21T10:00:00                                          "
	  "                               now",
	  "is not a time" },
};

static int64_t
at(const char *iso)
{
	int64_t t = -1;

	if (when_parse(iso, 0, &t, NULL) < 0)
		abort();
	return t;
}

static void
check_good(const struct vector *v, int64_t now)
{
	struct error err = ERROR_INIT;
	char text[WHEN_TEXT];
	int64_t t = MARK;

	is_int(when_parse(v->text, now, &t, &err), 0, v->text);
	is_str(when_text(text, t), v->time, v->text);
}

static void
test_parse(const char *zone)
{
	struct error err = ERROR_INIT;
	int64_t now = 0, t = MARK;

	set_zone(zone);
	printf("# %s\n", zone);
	now = at("2026-11-21T10:00:00");
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		check_good(&good[i], now);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		t = MARK;
		error_clear(&err);
		ok(when_parse(bad[i].text, now, &t, &err) == -1 && t == MARK &&
			   err.kind == ERROR_USAGE &&
			   strstr(err.text, bad[i].time) != NULL,
		   err.text[0] != '\0' ? err.text : bad[i].text);
	}
	is_int(when_parse("x", now, &t, &err), -1, "a refusal");
	is_str(err.text,
	       "\"x\": is not a time: write it like 2026-11-21T10:00:00, "
	       "8:30am tomorrow or now+2h",
	       "shows how to say it");
	is_int(when_parse("x", now, &t, NULL), -1, "no struct, no sentence");
}

/* Times that do not depend on the zone. */
static void
test_epoch(void)
{
	static const struct {
		const char *text;
		int64_t t;
	} v[] = {
		{ "@0", 0 },
		{ "@1700000000", 1700000000 },
		{ " @1700000000 ", 1700000000 },
		{ "@253402300799", WHEN_MAX },
		{ "2023-11-14T22:13:20Z", 1700000000 },
		{ "2023-11-14 22:13:20z", 1700000000 },
		{ "2023-11-14T22:13Z", 1700000000 - 20 },
		{ "2023-11-14T23:13:20+01:00", 1700000000 },
		{ "2023-11-15T03:43:20+0530", 1700000000 },
		{ "2023-11-14T17:13:20-05:00", 1700000000 },
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2038-01-19T03:14:08Z", INT64_C(1) << 31 },
		{ "9999-12-31T23:59:59Z", WHEN_MAX },
	};
	int64_t t = 0;

	set_zone(NEW_YORK);
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		t = MARK;
		is_int(when_parse(v[i].text, 5, &t, NULL), 0, v[i].text);
		is_int(t, v[i].t, v[i].text);
	}
	is_int(when_parse("1970-01-01T00:00:00+01:00", 5, &t, NULL), -1,
	       "before 1970");
	is_int(when_parse("9999-12-31T23:59:59-01:00", 5, &t, NULL), -1,
	       "after 9999");
}

/* New York 2026: 2:00 to 3:00 does not exist on March 8, and 1:00 to 2:00
 * occurs twice on November 1. */
static void
test_clock_changes(void)
{
	struct error err = ERROR_INIT;
	int64_t now = 0, t = 0;
	char text[WHEN_TEXT];

	set_zone(NEW_YORK);
	is_int(when_parse("2026-03-08T02:30:00", 0, &t, &err), -1,
	       "a time that the clock skips");
	ok(strstr(err.text, "the clock is set forward over it") != NULL,
	   err.text);
	now = at("2026-03-08T01:00:00");
	is_int(when_parse("2:30", now, &t, NULL), 0, "said alone");
	is_str(when_text(text, t), "2026-03-09T02:30:00",
	       "it is the next that is there");
	when_parse("sun 2:30", now, &t, NULL);
	is_str(when_text(text, t), "2026-03-15T02:30:00",
	       "on a weekday, that of the next week");
	is_int(when_parse("3:00", now, &t, NULL), 0, "the hour behind");
	is_int(t - now, 3600, "comes an hour earlier");
	now = at("2026-03-07T12:00:00");
	is_int(when_parse("noon tomorrow", now, &t, NULL), 0, "a short day");
	is_int(t - now, 23 * 3600, "has 23 hours");
	is_int(when_parse("1d", now, &t, NULL), 0, "a day as a span");
	is_int(t - now, 24 * 3600, "has 24");
	now = at("2026-10-31T12:00:00");
	is_int(when_parse("noon tomorrow", now, &t, NULL), 0, "a long day");
	is_int(t - now, 25 * 3600, "has 25 hours");
	t = at("2026-11-01T01:30:00");
	is_int(t, at("2026-11-01T05:30:00Z"), "of two times the first");
	is_int(when_parse("1:30", t + 60, &now, NULL), 0, "after the first");
	is_int(now - t, 3600, "the next is the second");
	is_int(when_parse("1:30", t + 3600, &now, NULL), 0, "after that");
	is_str(when_text(text, now), "2026-11-02T01:30:00", "that of tomorrow");
	set_zone(BERLIN);
	is_int(at("2026-10-25T02:30:00"), at("2026-10-25T00:30:00Z"),
	       "of two times the first, in Berlin");
	is_int(at("2026-07-01T12:00:00"), at("2026-07-01T10:00:00Z"),
	       "summer time");
	is_int(at("2060-07-01T12:00:00"), at("2060-07-01T10:00:00Z"),
	       "and beyond 2038");
}

/* Every half hour of a year after 2038: formatting and parsing gives the same
 * time, or the first of two times with the same text. */
static void
test_round_trip(const char *zone)
{
	char text[WHEN_TEXT], again[WHEN_TEXT];
	int64_t from = 0, to = 0, back = 0;
	int wrong = 0, twice = 0;

	set_zone(zone);
	from = at("2038-12-30T00:00:30Z");
	to = at("2039-12-30T00:00:00Z");
	for (int64_t t = from; t < to; t += 1800) {
		when_text(text, t);
		if (when_parse(text, t, &back, NULL) < 0)
			wrong++;
		else if (back == t - 3600)
			twice++;
		else
			wrong += back != t;
		wrong += strcmp(when_text(again, back), text) != 0;
	}
	is_int(wrong, 0, zone);
	is_int(twice, strchr(zone, ',') == NULL ? 0 : 2,
	       "the clock shows an hour twice each autumn");
}

static void
test_text(void)
{
	char text[WHEN_TEXT];

	set_zone("UTC0");
	is_str(when_text(text, 0), "1970-01-01T00:00:00", "the first second");
	is_str(when_text(text, WHEN_MAX), "9999-12-31T23:59:59", "the last");
	is_str(when_text(text, -1), "@-1", "before the first");
	is_str(when_text(text, WHEN_MAX + 1), "@253402300800",
	       "behind the last");
	is_str(when_text(text, INT64_MIN), "@-9223372036854775808", "long ago");
}

static void
test_span(void)
{
	static const struct {
		const char *text;
		int64_t secs; /* -1: refused */
		const char *why;
	} v[] = {
		{ "0", 0, NULL },
		{ "90", 90, NULL },
		{ " 90 ", 90, NULL },
		{ "90s", 90, NULL },
		{ "90 sec", 90, NULL },
		{ "30m", 1800, NULL },
		{ "30 MIN", 1800, NULL },
		{ "2h", 7200, NULL },
		{ "2 hours", 7200, NULL },
		{ "1 hr", 3600, NULL },
		{ "2h30m", 9000, NULL },
		{ "2h 30m 5s", 9005, NULL },
		{ "2h5s", 7205, NULL },
		{ "1d12h", 129600, NULL },
		{ "1 week 1 day", 8 * 86400, NULL },
		{ "1:30:00", 5400, NULL },
		{ "01:30:05", 5405, NULL },
		{ "100:00:00", 360000, NULL },
		{ "2-12:00:00", 216000, NULL },
		{ "0:00:00", 0, NULL },
		{ "90m", 5400, NULL },
		{ "253402300799", WHEN_MAX, NULL },
		{ "253402300800", -1, "is too long" },
		{ "99999999999999999999", -1, "is too long" },
		{ "999999999999w", -1, "is too long" },
		{ "99999999999999999999w", -1, "is not a span of time" },
		{ "", -1, "is not a span of time" },
		{ " ", -1, "is not a span of time" },
		{ "-5", -1, "is not a span of time" },
		{ "+5", -1, "is not a span of time" },
		{ "5 x", -1, "is not a span of time" },
		{ "5mx", -1, "is not a span of time" },
		{ "m", -1, "is not a span of time" },
		{ "5 5", -1, "is not a span of time" },
		{ "1h 5", -1, "is not a span of time" },
		{ "1.5h", -1, "is not a span of time" },
		{ "5m5m", -1, "the units go from large to small" },
		{ "5m1h", -1, "the units go from large to small" },
		{ "1:30", -1, "may be hours or minutes" },
		{ "1:60:00", -1, "is not a span of time" },
		{ "1:30:0", -1, "is not a span of time" },
		{ "1:30:00:00", -1, "is not a span of time" },
		{ "1-24:00:00", -1, "is not a span of time" },
		{ "1-", -1, "is not a span of time" },
		{ "2026-11-21", -1, "is not a span of time" },
		{ "3pm", -1, "is not a span of time" },
		{ "now", -1, "is not a span of time" },
	};
	struct error err = ERROR_INIT;
	uint64_t secs = 0;
	int rc = 0;

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		secs = MARK;
		error_clear(&err);
		rc = when_span(v[i].text, &secs, &err);
		if (v[i].secs >= 0)
			ok(rc == 0 && secs == (uint64_t)v[i].secs, v[i].text);
		else
			ok(rc == -1 && secs == MARK &&
				   err.kind == ERROR_USAGE &&
				   strstr(err.text, v[i].why) != NULL,
			   err.text);
	}
	when_span("\033[2J", &secs, &err);
	is_str(err.text,
	       "\"\\x1b[2J\": is not a span of time: write it like 2h30m or "
	       "1:30:00",
	       "no control character reaches the terminal");
}

/* Any combination of parts is a valid time or is refused. */
static void
test_random(void)
{
	static const char *const pieces[] = {
		" ",	 "3",	  "12",	  ":00", "am",	   "pm",  "today",
		"fri",	 "nov",	  "2026", "-",	 "11",	   "-21", "T",
		"10:00", "+",	  "now",  "in",	 "2h",	   "30m", "@",
		"noon",	 "at",	  "Z",	  ":",	 "-01:00", "21",  "tomorrow",
		"w",	 "99999", "x",	  "feb", "29",
	};
	const size_t n = sizeof(pieces) / sizeof(*pieces);
	uint64_t state = (uint64_t)time(NULL) | 1;
	const int64_t now = 1795300000;
	int times = 0, wrong = 0;

	set_zone(BERLIN);
	for (int i = 0; i < 20000; i++) {
		char text[100] = "";
		int64_t t = MARK;
		uint64_t secs = 0;

		state = state * 6364136223846793005 + 1442695040888963407;
		for (uint64_t r = state >> 46; r > 0; r /= n + 3)
			if (r % (n + 3) < n)
				strcat(text, pieces[r % (n + 3)]);
		if (when_parse(text, now, &t, NULL) == 0)
			times++;
		wrong += t != MARK && (t < 0 || t > WHEN_MAX);
		if (when_span(text, &secs, NULL) == 0)
			wrong += secs > WHEN_MAX;
	}
	ok(times > 100, "some random texts are times");
	is_int(wrong, 0, "none is out of range");
}

int
main(void)
{
	test_parse("UTC0");
	test_parse(NEW_YORK);
	test_parse(KOLKATA);
	test_epoch();
	test_clock_changes();
	test_round_trip("UTC0");
	test_round_trip(NEW_YORK);
	test_round_trip(BERLIN);
	test_round_trip(KOLKATA);
	test_text();
	test_span();
	test_random();
	return tap_done();
}
