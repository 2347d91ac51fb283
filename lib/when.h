/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * when.h - times and spans of time as people write them.
 *
 * A time is one of
 *
 *	2026-11-21T10:00:00	a date, and a time of day (else 00:00:00) behind
 *	2026-11-21 10:00	'T' or a blank; Z or +01:00 may follow
 *	8:30am tomorrow		a time of day and a day, in either order: today,
 *	fri 17:00		tomorrow, a weekday (the next such moment), a
 *	nov 21 3pm		month and its day (the next), with a year (then)
 *	15:00, noon, midnight	a time of day alone: the next such moment
 *	tomorrow, friday	a day alone: its first moment, 00:00:00
 *	now, now+2h, +2h,	a span from now on; without "now", '+' or "in"
 *	in 30m, 2h30m		only one with units
 *	@1700000000		seconds since 1970 (UTC)
 *
 * and a span one of
 *
 *	1w, 2h30m, 90 s, 5 minutes	numbers with units, largest first
 *	1:30:00, 2-12:00:00		hours (after days and '-'), minutes,
 *					seconds
 *	90				seconds
 *
 * Case does not matter, and blanks are optional.  An ambiguous text ("1:30" as
 * a span, "midnight today") is rejected.
 *
 * Times are seconds since 1970 in 0..WHEN_MAX.  The zone is the local one (TZ,
 * see tzset(3)).  If the clock shows a time twice, because it is set back, the
 * first such moment that fits is meant.  A time that the clock skips is
 * rejected.  Errors: -1 and ERROR_USAGE with the text, what is wrong, and
 * examples.
 */
#ifndef WHEN_H
#define WHEN_H

#include <stdbool.h>
#include <stdint.h>

struct error;

#define WHEN_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59 UTC */

/* Parse a time; relative times count from `now`. */
int when_parse(const char *text, int64_t now, int64_t *out, struct error *err);

/* Parse a span into seconds, up to WHEN_MAX. */
int when_span(const char *text, uint64_t *secs, struct error *err);

/* Write local time as "2026-11-21T10:00:00", or "@SECONDS" if `t` is outside
 * 0..WHEN_MAX or its year has five digits.  Returns `to`. */
#define WHEN_TEXT 32
char *when_text(char to[static WHEN_TEXT], int64_t t);

/* Write any time for people as "2026-11-21 10:00:00", in UTC or local time; "?"
 * if the calendar does not have it.  Returns `to`. */
char *when_shown(char to[static WHEN_TEXT], int64_t t, bool utc);
/* The same as an argument of printf, valid until the end of the block. */
#define when_local(t) when_shown((char[WHEN_TEXT]){ 0 }, t, false)
#define when_utc(t) when_shown((char[WHEN_TEXT]){ 0 }, t, true)

#endif /* WHEN_H */
