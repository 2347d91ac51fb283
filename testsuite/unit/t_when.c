/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"
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
	{ "2030-01-02T03:04:05", "2030-01-02T03:04:05" },
	{ "2030-01-02t03:04:05", "2030-01-02T03:04:05" },
	{ "2030-01-02 03:04:05", "2030-01-02T03:04:05" },
	{ "  2030-01-02   03:04  ", "2030-01-02T03:04:00" },
	{ "2030-01-02", "2030-01-02T00:00:00" },
	{ "3:30 2030-01-02", "2030-01-02T03:30:00" },
	{ "2028-02-29", "2028-02-29T00:00:00" },
	{ "2038-01-19T03:14:08", "2038-01-19T03:14:08" },
	{ "now", "2026-11-21T10:00:00" },
	{ "now + 2 h", "2026-11-21T12:00:00" },
	{ "+2h", "2026-11-21T12:00:00" },
	{ "+ 2 hours", "2026-11-21T12:00:00" },
	{ "in 30m", "2026-11-21T10:30:00" },
	{ "2h30m", "2026-11-21T12:30:00" },
	{ "12:00pm today", "2026-11-21T12:00:00" },
	{ "today at 12:00pm", "2026-11-21T12:00:00" },
	{ "12:00am today", "2026-11-21T00:00:00" },
	{ "8:30am tomorrow", "2026-11-22T08:30:00" },
	{ "15:00", "2026-11-21T15:00:00" },
	{ "9:59:59", "2026-11-22T09:59:59" },
	{ "10:00", "2026-11-22T10:00:00" },
	{ "10:00:01", "2026-11-21T10:00:01" },
	{ "3pm", "2026-11-21T15:00:00" },
	{ "3:00:30pm", "2026-11-21T15:00:30" },
	{ "12am", "2026-11-22T00:00:00" },
	{ "noon", "2026-11-21T12:00:00" },
	{ "midnight", "2026-11-22T00:00:00" },
	{ "today", "2026-11-21T00:00:00" },
	{ "tomorrow", "2026-11-22T00:00:00" },
	{ "friday", "2026-11-27T00:00:00" },
	{ "tues 3:00:30pm", "2026-11-24T15:00:30" },
	{ "sat 10:00:00", "2026-11-28T10:00:00" },
	{ "sat 10:00:01", "2026-11-21T10:00:01" },
	{ "thurs at noon", "2026-11-26T12:00:00" },
	{ "Wed Jan  2 03:04:05 2030", "2030-01-02T03:04:05" },
	{ "nov 21", "2027-11-21T00:00:00" },
	{ "nov 21 11:00", "2026-11-21T11:00:00" },
	{ "mon dec 7", "2026-12-07T00:00:00" },
	{ "feb 29", "2028-02-29T00:00:00" },
	{ "sat today", "2026-11-21T00:00:00" },
};

/* An input, and its error message. */
static const struct vector bad[] = {
	{ "", "is not a time" },
	{ "now-2h", "is not a time" },
	{ "in", "is not a time" },
	{ "90", "is not a time" },
	{ "1500", "a time of day needs a colon, am or pm" },
	{ "+1:30", "may be hours or minutes" },
	{ "2m30m", "the units go from large to small" },
	{ "2h30", "is not a time" },
	{ "2h 3pm", "is not a time" },
	{ "2026-11-21T24:00:00Z", "there is no such time of day" },
	{ "24:00", "there is no such time of day" },
	{ "12:5", "there is no such time of day" },
	{ "12:00:60", "there is no such time of day" },
	{ "12:00:00:00", "is not a time" },
	{ "13:00pm", "there is no such time of day" },
	{ "3pm 4pm", "has two times of day" },
	{ "3pm today tomorrow", "has two days" },
	{ "today 2026-11-21", "has two days" },
	{ "at", "is not a time" },
	{ "at today 3pm", "is not a time" },
	{ "10000-01-01", "is not a time" },
	{ "christmastide", "is not a time" },
	{ "midnight today", "a day has two midnights" },
	{ "fr", "is not a time" },
	{ "2026-02-30", "there is no such day" },
	{ "2027-02-29", "there is no such day" },
	{ "2026-00-01", "there is no such day" },
	{ "2026-1-1", "there is no such day" },
	{ "fri nov 21 2026", "there is no such day" },
	{ "fri today", "there is no such day" },
	{ "nov 2026", "is not a time" },
	{ "21 2026", "a time of day needs a colon, am or pm" },
	{ "2026-11-21T10:00:00x", "is not a time" },
	{ "2026-11-21T10:00+2h", "the zone after it is wrong" },
	{ "2026-11-21T10:00+24:00", "the zone after it is wrong" },
	{ "1969-12-31", "is too early" },
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
test_parse(const char *zone)
{
	struct error err = ERROR_INIT;
	char text[WHEN_TEXT];
	int64_t now = 0, t = MARK;

	set_zone(zone);
	printf("# %s\n", zone);
	now = at("2026-11-21T10:00:00");
	each (g, good)
		ok(when_parse(g->text, now, &t, NULL) == 0 &&
			   strcmp(when_text(text, t), g->time) == 0,
		   g->text);
	each (b, bad) {
		t = MARK;
		error_clear(&err);
		ok(when_parse(b->text, now, &t, &err) == -1 && t == MARK &&
			   err.kind == ERROR_USAGE &&
			   strstr(err.text, b->time) != NULL,
		   err.text[0] != '\0' ? err.text : b->text);
	}
	is_int(when_parse("x", now, &t, &err), -1, "a refusal");
	is_str(err.text,
	       "\"x\": is not a time: write it like 2026-11-21T10:00:00, "
	       "8:30am tomorrow or now+2h",
	       "shows how to say it");
	is_int(when_parse("x", now, &t, NULL), -1, "no struct, no sentence");
}

/* Times that do not depend on the zone. */
TEST(epoch)
{
	static const struct {
		const char *text;
		int64_t t;
	} v[] = {
		{ "@0", 0 },
		{ "@1700000000", 1700000000 },
		{ "@253402300799", WHEN_MAX },
		{ "2023-11-14T22:13:20Z", 1700000000 },
		{ "2023-11-14 22:13:20z", 1700000000 },
		{ "2023-11-14T23:13:20+01:00", 1700000000 },
		{ "2023-11-15T03:43:20+0530", 1700000000 },
		{ "2023-11-14T17:13:20-05:00", 1700000000 },
		{ "9999-12-31T23:59:59Z", WHEN_MAX },
	};
	int64_t t = 0;

	set_zone(NEW_YORK);
	each (c, v) {
		t = MARK;
		is_int(when_parse(c->text, 5, &t, NULL), 0, c->text);
		is_int(t, c->t, c->text);
	}
	is_int(when_parse("1970-01-01T00:00:00+01:00", 5, &t, NULL), -1,
	       "before 1970");
	is_int(when_parse("9999-12-31T23:59:59-01:00", 5, &t, NULL), -1,
	       "after 9999");
}

/* New York 2026: 2:00 to 3:00 does not exist on March 8, and 1:00 to 2:00
 * occurs twice on November 1. */
TEST(clock_changes)
{
	static const struct {
		const char *zone, *now, *text, *want, *what;
	} v[] = {
		{ NEW_YORK, "2026-03-08T01:00:00", "2:30",
		  "2026-03-09T02:30:00", "a time that the clock skips" },
		{ NEW_YORK, "2026-03-08T01:00:00", "sun 2:30",
		  "2026-03-15T02:30:00", "... on a weekday: a week later" },
		{ NEW_YORK, "2026-03-08T06:00:00Z", "3:00",
		  "2026-03-08T07:00:00Z", "the hour behind comes earlier" },
		{ NEW_YORK, "2026-03-07T17:00:00Z", "noon tomorrow",
		  "2026-03-08T16:00:00Z", "a short day has 23 hours" },
		{ NEW_YORK, "2026-03-07T17:00:00Z", "1d",
		  "2026-03-08T17:00:00Z", "... a day as a span has 24" },
		{ NEW_YORK, "2026-10-31T16:00:00Z", "noon tomorrow",
		  "2026-11-01T17:00:00Z", "a long day has 25 hours" },
		{ NEW_YORK, "2026-10-31T16:00:00Z", "2026-11-01T01:30:00",
		  "2026-11-01T05:30:00Z", "of two times the first" },
		{ NEW_YORK, "2026-11-01T05:31:00Z", "1:30",
		  "2026-11-01T06:30:00Z", "... after the first the second" },
		{ NEW_YORK, "2026-11-01T06:30:00Z", "1:30",
		  "2026-11-02T01:30:00", "... after that, tomorrow's" },
		{ BERLIN, "2026-07-01", "2026-10-25T02:30:00",
		  "2026-10-25T00:30:00Z", "of two times the first, in Berlin" },
		{ BERLIN, "2026-07-01", "2026-07-01T12:00:00",
		  "2026-07-01T10:00:00Z", "summer time" },
		{ BERLIN, "2026-07-01", "2060-07-01T12:00:00",
		  "2060-07-01T10:00:00Z", "... and beyond 2038" },
	};
	int64_t t = 0;

	each (c, v) {
		set_zone(c->zone);
		t = MARK;
		when_parse(c->text, at(c->now), &t, NULL);
		is_int(t, at(c->want), c->what);
	}
	set_zone(NEW_YORK);
	is_int(when_parse("2026-03-08T02:30:00", 0, &t, &why), -1,
	       "a date and time that the clock skips");
	ok(strstr(why.text, "the clock is set forward over it") != NULL,
	   why.text);
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
	is_int(twice, strchr(zone, ',') == NULL ? 0 : 2, "an hour twice");
}

TEST(text)
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

TEST(span)
{
	static const struct {
		const char *text;
		int64_t secs; /* -1: refused */
		const char *why;
	} v[] = {
		{ "0", 0, NULL },
		{ "90", 90, NULL },
		{ "90 sec", 90, NULL },
		{ "1 hr", 3600, NULL },
		{ "2h30m", 9000, NULL },
		{ "2h 30m 5s", 9005, NULL },
		{ "2h5s", 7205, NULL },
		{ "1 week 1 day", 8 * 86400, NULL },
		{ "1:30:00", 5400, NULL },
		{ "100:00:00", 360000, NULL },
		{ "2-12:00:00", 216000, NULL },
		{ "253402300799", WHEN_MAX, NULL },
		{ "253402300800", -1, "is too long" },
		{ "99999999999999999999", -1, "is too long" },
		{ "999999999999w", -1, "is too long" },
		{ "99999999999999999999w", -1, "is not a span of time" },
		{ "", -1, "is not a span of time" },
		{ "-5", -1, "is not a span of time" },
		{ "5 x", -1, "is not a span of time" },
		{ "5m1h", -1, "the units go from large to small" },
		{ "1:30", -1, "may be hours or minutes" },
		{ "1:60:00", -1, "is not a span of time" },
		{ "1:30:0", -1, "is not a span of time" },
		{ "1:30:00:00", -1, "is not a span of time" },
		{ "1-24:00:00", -1, "is not a span of time" },
		{ "2026-11-21", -1, "is not a span of time" },
	};
	uint64_t secs = 0;
	int rc = 0;

	each (t, v) {
		secs = MARK;
		rc = when_span(t->text, &secs, &why);
		if (t->secs >= 0)
			ok(rc == 0 && secs == (uint64_t)t->secs, t->text);
		else
			ok(rc == -1 && secs == MARK &&
				   why.kind == ERROR_USAGE &&
				   strstr(why.text, t->why) != NULL,
			   why.text);
	}
	when_span("\033[2J", &secs, &why);
	is_str(why.text,
	       "\"\\x1b[2J\": is not a span of time: write it like 2h30m or "
	       "1:30:00",
	       "no control character reaches the terminal");
}

TEST(zones)
{
	test_parse("UTC0");
	test_parse(NEW_YORK);
	test_parse(KOLKATA);
	test_round_trip("UTC0");
	test_round_trip(NEW_YORK);
	test_round_trip(BERLIN);
	test_round_trip(KOLKATA);
}
