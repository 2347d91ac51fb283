/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/interval.h"

#include <math.h>

#include "json.h"
#include "scratch.h"

static struct interval_stats stats;
static struct interval found;

/* Read a log of these lines, "TIME REST": the date, host and job are added. */
static int
read_log(const char *const *lines, size_t count, struct interval_stats *s)
{
	auto_buf text = BUF_INIT;
	const char *path = here("log");

	for (size_t i = 0; i < count; i++)
		if (lines[i][0] == '0')
			must(buf_printf(&text,
					"2026-11-20T%.8s: host=n, jobid=1, "
					"%s\n",
					lines[i], lines[i] + 9) == 0);
		else
			must(buf_printf(&text, "%s\n", lines[i]) == 0);
	write_file(path, text.data, text.len);
	return interval_read(AT_FDCWD, path, s, NULL);
}
#define READ(lines, s) read_log(lines, COUNT(lines), s)
#define START "00:00:00 event=START, procs=4, nodes=4"

static bool
near(double got, double want)
{
	if (fabs(got - want) <= 1e-6 * fabs(want))
		return true;
	printf("# got %.9g, expected %.9g\n", got, want);
	return false;
}

/* Two runs of 1000 s and 600 s with four checkpoints of 8 s, two of them
 * flushed in 4 s; an output; and events without cost. */
static const char *const two_runs[] = {
	START,
	"00:00:10 event=FETCH_SUCCESS, secs=3.0",
	"00:00:10 event=COMPUTE_START",
	"00:05:00 event=COMPUTE_END, secs=290.0",
	"00:05:08 event=CHECKPOINT_END, dset=1, secs=8.0",
	"00:05:12 event=FLUSH_SUCCESS, dset=1, secs=4.0",
	"00:05:08 xfer=FLUSH_SYNC, dset=1, secs=4.0",
	"00:06:00 event=OUTPUT_END, dset=2, secs=70.0",
	"00:07:00 event=FLUSH_SUCCESS, dset=2, secs=50.0",
	"this is no line of a log",
	"00:10:08 event=CHECKPOINT_END, dset=3, secs=8.0",
	"2026-11-20T00:16:40: host=n, event=ASYNC_FLUSH_SUCCESS, dset=3, secs=9",
	"00:50:00 event=RUN_END, secs=3000",
	"01:00:00 event=START, procs=4, nodes=4",
	"01:00:01 event=REBUILD_SUCCESS, secs=1.0",
	"01:00:01 event=RESTART_SUCCESS",
	"01:05:00 event=CHECKPOINT_END, dset=4, secs=8.0",
	"01:05:08 event=CHECKPOINT_END, dset=5, secs=8.0",
	"01:05:12 event=FLUSH_SUCCESS, dset=5, secs=4.0",
	"01:10:00 event=HALT, note=\"JOB_HALTED\"",
	"01:20:00 event=SCAVENGE_END, secs=600",
};

/* The last transfers count most; a scavenge does not belong to a run. */
TEST(rate)
{
	static const char *const flushes[] = {
		START,
		"00:00:10 xfer=FLUSH_SYNC, dset=1, secs=4.0, bytes=400.0",
		"00:00:20 xfer=FLUSH_SYNC, dset=2, secs=2.0, bytes=2000.0",
		"00:00:30 xfer=WRITE, dset=2, secs=1.0, bytes=9.0",
		"00:00:30 xfer=FLUSH_SYNC, dset=3, secs=0, bytes=7.0",
		"00:00:30 xfer=FLUSH_SYNC, dset=3, secs=1.0, bytes=-7.0",
		"00:00:30 xfer=FLUSH_SYNC, dset=3, secs=1.0, bytes=nan",
		"00:00:30 xfer=FLUSH_SYNC, dset=3, secs=1.0, bytes=1e30",
	};
	static const char *const scavenge[] = {
		START,
		"00:00:20 xfer=FLUSH_SYNC, dset=2, secs=2.0, bytes=2000.0",
		"00:09:00 xfer=SCAVENGE, to=/p, dset=3, secs=50.0, bytes=100.0",
	};

	is_int(READ(flushes, &stats), 0, "transfers are read");
	ok(near(interval_scavenge_rate(&stats), 2200.0 / 4.0),
	   "the rate of flushes");
	is_int(READ(scavenge, &stats), 0, "a scavenge is read");
	ok(near(interval_scavenge_rate(&stats), 2), "the rate of a scavenge");
	ok(near(stats.runs.secs, 22), "... makes no run longer");
	is_int(READ(two_runs, &stats), 0, "transfers without bytes are read");
	ok(interval_scavenge_rate(&stats) <= 0, "... and tell no rate");
}

TEST(sums)
{
	const double c = 10, m = 800, x = c / (2 * m);

	is_int(READ(two_runs, &stats), 0, "a log is read");
	ok(stats.lines == 21 && stats.unreadable == 1, "... its lines");
	ok(stats.runs.count == 2 && near(stats.runs.secs, 1600),
	   "... runs, to their last line, without what scripts did after");
	ok(stats.checkpoint.count == 4 && near(stats.checkpoint.secs, 32),
	   "... checkpoints");
	ok(stats.flush.count == 2 && near(stats.flush.secs, 8),
	   "... flushes of checkpoints");
	ok(stats.output_flush.count == 1 && near(stats.output_flush.secs, 50) &&
		   stats.output.count == 1 && stats.async_flush.count == 1,
	   "... other flushes apart");
	ok(stats.fetch.count == 1 && stats.rebuild.count == 1 &&
		   stats.restart == 1 && stats.halts == 1,
	   "... other events");
	is_int(interval_compute(&stats, INTERVAL_YOUNG, &found, &why), 0,
	       "Young");
	ok(near(found.cost, c) && near(found.mtbi, m),
	   "... cost and interrupts");
	ok(near(found.seconds, sqrt(2 * c * m)), "... interval");
	ok(near(found.percent, 100 * c / (found.seconds + c)), "... percent");
	is_int(interval_compute(&stats, INTERVAL_DALY, &found, &why), 0,
	       "Daly");
	ok(near(found.seconds, sqrt(2 * c * m) * (1 + sqrt(x) / 3 + x / 9) - c),
	   "... interval");
	stats.runs.secs = 8; /* mtbi 4, cost 10 */
	is_int(interval_compute(&stats, INTERVAL_DALY, &found, &why), 0,
	       "interrupts that come faster than checkpoints");
	ok(near(found.seconds, 4), "... one checkpoint each");
}

TEST(without_data)
{
	static const struct {
		const char *lines[2], *says;
	} logs[] = {
		{ { "", "" }, "no run" },
		{ { START, "00:10:00 event=COMPUTE_END, secs=600" },
		  "no checkpoint" },
		{ { "00:00:00 event=CHECKPOINT_END, secs=1.0", "" }, "no run" },
		{ { START, "00:00:00 event=CHECKPOINT_END, secs=0.0" },
		  "no time" },
	};

	is_int(interval_read(AT_FDCWD, here("none"), &stats, &why), -1,
	       "no log");
	ok(why.kind == ERROR_ABSENT && says(&why, "none"), "... is said");
	each (l, logs) {
		error_clear(&why);
		is_int(READ(l->lines, &stats), 0, l->says);
		ok(interval_compute(&stats, INTERVAL_DALY, &found, &why) < 0 &&
			   why.kind == ERROR_ABSENT && says(&why, l->says),
		   why.text);
	}
}

/* Numbers and lines that are too long. */
TEST(odd)
{
	char big[4096];
	const char *lines[] = {
		START,
		big,
		"00:00:01 event=CHECKPOINT_END, "
		"secs=99999999999999999999999999999999999999999999999999999",
		"00:00:02 event=CHECKPOINT_END, secs=-5",
		"9999-01-01T00:00:00: host=n, jobid=1, event=COMPUTE_START",
	};

	snprintf(big, sizeof(big), "00:00:00 event=HALT, note=%04000d", 0);
	is_int(READ(lines, &stats), 0, "an odd log");
	ok(stats.lines == 5 && stats.unreadable == 0 && stats.halts == 1,
	   "a line that is too long counts once");
	ok(stats.checkpoint.count == 2 && stats.checkpoint.secs == 0,
	   "times that cannot be are left out");
	ok(stats.runs.count == 1 && stats.runs.secs == 0,
	   "... and a run that took centuries");
}

int
main(void)
{
	scratch_new();
	return tap_run();
}
