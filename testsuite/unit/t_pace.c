/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy keeps its share of the time, however short its blocks are, and its
 * rate. */
#include "pace.h"

#include "clock.h"
#include "tap.h"

/* Work for `secs`, `n` times.  Returns the share of the time that was work, in
 * percent. */
static double
share(double percent, double secs, int n)
{
	const double start = clock_seconds();
	struct pace p = { .percent = percent, .start = start };
	double work = 0;

	for (int i = 0; i < n; i++) {
		const double from = clock_seconds();

		while (clock_seconds() < from + secs)
			;
		work += clock_seconds() - from;
		if (!pace_keep(&p, 1))
			return -1;
	}
	return work / (clock_seconds() - start) * 100;
}

TEST(percent)
{
	static const double percents[] = { 10, 50, 90, 100 };
	char what[64];
	static const double blocks[] = { 0.00002, 0.0002, 0.005 };

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		for (size_t k = 0; k < sizeof(blocks) / sizeof(blocks[0]);
		     k++) {
			const double is = share(percents[i], blocks[k],
						(int)(0.06 / blocks[k]));

			snprintf(what, sizeof(what), "%g %% in blocks of %g ms",
				 percents[i], blocks[k] * 1000);
			ok(is > percents[i] * 0.8 && is < percents[i] * 1.2,
			   what);
			printf("# %.1f %%\n", is);
		}
}

/* The seconds in which ten blocks of `len` bytes are moved. */
static double
taken(struct pace *p, uint64_t len)
{
	const double start = clock_seconds();

	for (int i = 0; i < 10; i++)
		if (!pace_keep(p, len))
			return -1;
	return clock_seconds() - start;
}

static bool
stop(void *unused)
{
	(void)unused;
	return true;
}

TEST(rate)
{
	struct pace p = { .rate = 1000000 };
	double is = taken(&p, 20000);

	ok(is > 0.199 && is < 0.3, "from the first block on");
	/* After 100 seconds in which nothing was moved. */
	p.due = clock_seconds() - 100;
	is = taken(&p, 120000);
	ok(is > 0.199 && is < 0.3, "a pause saves up bytes of one second");
	p.stop = stop;
	ok(!pace_keep(&p, UINT64_C(1) << 40), "a stop ends it");
}
