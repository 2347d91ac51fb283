/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times and spans as users write them: a value that was parsed is in its
 * bounds, and a time that was formatted and parsed again is the same.
 */
#include "fuzz_tree.h"
#include "when.h"

/* One hour of local time occurs twice a year; it is parsed as the first. */
#define TWICE 3600

static void
check(const char *text, int64_t now)
{
	char to[WHEN_TEXT];
	int64_t t = 0, again = 0;

	if (when_parse(text, now, &t, NULL) < 0)
		return;
	fuzz_require(t >= 0 && t <= WHEN_MAX);
	fuzz_require(when_parse(when_text(to, t), now, &again, NULL) == 0);
	fuzz_require(again == t || again == t - TWICE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The epoch, in summer, in the last hours of summer and winter time,
	 * the maximum, and a leap day. */
	static const int64_t nows[] = { 0,	    1784548800, 1792890000,
					1774738800, WHEN_MAX,	1709164800 };
	auto_buf text = BUF_INIT;
	uint64_t secs = 0;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	fuzz_require(buf_add(&text, data, size) == 0);
	for (size_t i = 0; i < sizeof(nows) / sizeof(nows[0]); i++)
		check(text.data, nows[i]);
	if (when_span(text.data, &secs, NULL) == 0)
		fuzz_require(secs <= (uint64_t)WHEN_MAX);
	return 0;
}
