/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/joblog.h"

#include <math.h>

#include "scratch.h"
#include "site/interval.h"

static struct joblog found;

/* A log of lines "[JOB ]TIME REST": date and host are added, and job 1. */
static int
read_log(const char *text)
{
	auto_buf out = BUF_INIT;
	const char *path = here("log");
	size_t len = 0;

	for (const char *line = NULL; (line = str_line(&text, &len)) != NULL;) {
		const char job = line[1] == ' ' ? line[0] : '1';

		line += line[1] == ' ' ? 2 : 0;
		len = strcspn(line, "\n");
		must(buf_printf(&out,
				"2026-11-20T%.8s: host=n, jobid=%c, %.*s\n",
				line, job, (int)len - 9, line + 9) == 0);
	}
	joblog_free(&found);
	write_file(path, out.data != NULL ? out.data : "", out.len);
	return joblog_read(AT_FDCWD, path, &found, NULL);
}

#define START(t) t " event=START, procs=4, nodes=4\n"
#define BEGIN(t) t " event=COMPUTE_START\n"
#define CKPT(t, secs, id) \
	t " event=COMPUTE_END, secs=" secs "\n" t \
	  " event=CHECKPOINT_START, dset=" id "\n" t \
	  " event=CHECKPOINT_END, dset=" id ", secs=1.0\n" BEGIN(t)
#define BACK(t, id) t " event=RESTART_SUCCESS, dset=" id "\n" BEGIN(t)
#define DIED(t) t " event=RUN_END\n"
#define DONE(t) t " event=HALT, note=\"SCR_FINALIZE_CALLED\"\n"

/* A job of 100 s work and a checkpoint each, and more. */
#define TWO \
	START("00:00:00") \
	BEGIN("00:00:00") \
	CKPT("00:01:40", "100", "1") CKPT("00:03:20", "100", "2")

/* The first job of a log; and what its first failure cost. */
static const struct {
	const char *name, *log;
	uint64_t runs, failures;
	enum joblog_end end;
	double work, lost, lost_max;
	double efficiency; /* -1: unknown */
	int64_t from;	   /* -1: unknown; -2: there was no failure */
	double cost, cost_max;
	int64_t restart;
} table[] = {
	{ "a run that ended", TWO DONE("00:03:30"), 1, 0, JOBLOG_HALTED, 210, 0,
	  0, 1, -2, 0, 0, 0 },
	{ "a run that may go on", TWO, 1, 0, JOBLOG_UNKNOWN, 200, 0, 0, 1, -2,
	  0, 0, 0 },
	{ "killed, seen by scr_run",
	  TWO DIED("00:04:00") START("00:05:00") BACK("00:05:07", "2")
		  DONE("00:06:40"),
	  2, 1, JOBLOG_HALTED, 293, 40, 40, 0.7325, 2, 40, 40, 7 },
	{ "killed, nobody saw it",
	  TWO START("00:05:00") BACK("00:05:07", "2") DONE("00:06:40"), 2, 1,
	  JOBLOG_HALTED, 293, 0, 100, 0.7325, 2, 0, 100, 7 },
	{ "killed in a checkpoint: nothing that computes is lost with it",
	  TWO "00:03:30 event=COMPUTE_END, secs=10\n"
	      "00:03:30 event=CHECKPOINT_START, dset=3\n" START("00:05:00")
		      BACK("00:05:01", "2") DONE("00:05:01"),
	  2, 1, JOBLOG_HALTED, 200, 10, 10, 200.0 / 301, 2, 10, 10, 1 },
	{ "the newest checkpoint was lost, too",
	  TWO DIED("00:03:20") START("00:05:00") BACK("00:05:00", "1")
		  DONE("00:05:00"),
	  2, 1, JOBLOG_HALTED, 100, 100, 100, 100.0 / 300, 1, 100, 100, 0 },
	{ "killed before its first checkpoint",
	  START("00:00:00") BEGIN("00:00:00") DIED("00:00:50") START("00:01:00")
		  BEGIN("00:01:00") DONE("00:01:40"),
	  2, 1, JOBLOG_HALTED, 40, 50, 50, 0.4, 0, 50, 50, 0 },
	{ "nobody says from where the second run restarts",
	  TWO DIED("00:03:30") START("00:05:00") BEGIN("00:05:00")
		  DONE("00:05:10"),
	  2, 1, JOBLOG_HALTED, 210, 10, 10, -1, -1, -1, -1, 0 },
	{ "killed again while it restarts: paid once",
	  TWO DIED("00:03:30") START("00:04:00") DIED("00:04:01")
		  START("00:05:00") BACK("00:05:02", "2") DONE("00:05:02"),
	  3, 2, JOBLOG_HALTED, 200, 10, 10, 200.0 / 302, 2, 10, 10, 62 },
	{ "it goes on, then with an older one that it can read",
	  TWO DIED("00:03:20") START("00:04:00") BACK(
		  "00:04:00",
		  "2") "00:04:03 event=FETCH_SUCCESS, dset=1, secs=2\n" BEGIN("00:04:03")
		  DONE("00:04:03"),
	  2, 1, JOBLOG_HALTED, 100, 100, 100, 100.0 / 243, 1, 100, 100, 3 },
	{ "a checkpoint that seemed to be lost is there again",
	  TWO DIED("00:03:20") START("00:04:00") BACK("00:04:00", "1")
		  DIED("00:04:00") START("00:05:00") BACK("00:05:00", "2")
			  DONE("00:05:00"),
	  3, 2, JOBLOG_HALTED, 200, 0, 0, 200.0 / 300, 1, 100, 100, 0 },
	{ "killed, and not launched again", TWO DIED("00:03:20"), 1, 1,
	  JOBLOG_FAILED, 200, 0, 0, -1, -1, -1, -1, -1 },
	{ "the next job goes on from it",
	  TWO "2 00:10:00 event=START\n2 00:10:09 event=FETCH_SUCCESS, dset=1\n"
	      "2 " BEGIN("00:10:09") "2 " DONE("00:10:10"),
	  1, 1, JOBLOG_FAILED, 100, 100, 500, 0.5, 1, 100, 500, 9 },
	{ "a job that halts, and goes on from its last checkpoint",
	  TWO DONE("00:03:30") START("00:04:00") BACK("00:04:00", "2")
		  DONE("00:04:10"),
	  2, 0, JOBLOG_HALTED, 210, 10, 10, 210.0 / 250, -2, 0, 0, 0 },
	{ "a halt that the application does not obey",
	  START("00:00:00") BEGIN("00:00:00") DONE("00:00:10")
		  CKPT("00:01:40", "100", "1") DIED("00:01:40"),
	  1, 1, JOBLOG_FAILED, 100, 0, 0, -1, -1, -1, -1, -1 },
	{ "no start in the log",
	  BEGIN("00:00:00") CKPT("00:01:40", "100", "1") DONE("00:01:50"), 1, 0,
	  JOBLOG_HALTED, 110, 0, 0, -1, -2, 0, 0, 0 },
	{ "the clock went back",
	  START("01:00:00") BEGIN("01:00:00") CKPT("00:01:40", "100", "1")
		  DONE("00:01:50"),
	  1, 0, JOBLOG_HALTED, 110, 0, 0, -1, -2, 0, 0, 0 },
	{ "a computation without a duration",
	  START("00:00:00") "00:00:05 event=COMPUTE_END\n" DONE("00:00:09"), 1,
	  0, JOBLOG_HALTED, 0, 0, 0, -1, -2, 0, 0, 0 },
	{ "only a script", "00:00:00 event=NODE_FAIL, note=\"n1: down\"\n", 0,
	  0, JOBLOG_UNKNOWN, 0, 0, 0, -1, -2, 0, 0, 0 },
};

static bool
near(const char *what, double got, double want)
{
	if (fabs(got - want) <= 1e-6)
		return true;
	printf("# %s: got %.9g, expected %.9g\n", what, got, want);
	return false;
}

TEST(jobs)
{
	each (t, table) {
		const struct joblog_job *j = NULL;
		const struct joblog_failure *f = NULL;

		must(read_log(t->log) == 0);
		j = joblog_job(&found, 0);
		f = found.failures;
		ok(j->runs == t->runs && j->failures == t->failures &&
			   j->end == t->end && near("work", j->work, t->work) &&
			   near("lost", j->lost, t->lost) &&
			   near("at most", j->lost_max, t->lost_max) &&
			   near("efficiency", joblog_efficiency(j),
				t->efficiency),
		   t->name);
		if (t->from == -2)
			is_int(found.failures_seen, 0, "... no failure");
		else
			ok(f->from == t->from && f->restart == t->restart &&
				   near("cost", f->lost, t->cost) &&
				   near("at most", f->lost_max, t->cost_max),
			   "... what its failure cost");
	}
}

/* Durations and bytes, of the job and of its datasets. */
TEST(phases)
{
	const struct joblog_job *j = NULL;
	const struct joblog_dataset *d = NULL;
	struct interval best;

	must(read_log(TWO
		      "00:03:21 xfer=CHECKPOINT, dset=2, secs=1, bytes=500\n"
		      "00:03:21 event=FLUSH_START, dset=2\n"
		      "00:03:25 event=FLUSH_SUCCESS, dset=2, name=\"ckpt.2\", "
		      "secs=4.5\n"
		      "00:03:21 xfer=FLUSH_SYNC, dset=2, secs=4, bytes=800\n"
		      "00:03:30 event=ASYNC_FLUSH_FAIL, dset=1, secs=2\n"
		      "00:03:30 event=OUTPUT_START, dset=3\n"
		      "00:03:32 event=OUTPUT_END, dset=3\n"
		      "00:03:32 event=FLUSH_SUCCESS, dset=3, secs=7\n"
		      "00:03:33 event=CHECKPOINT_START, dset=4\n"
		      "00:03:33 event=OUTPUT_START, dset=4\n"
		      "00:03:34 event=CHECKPOINT_END, dset=4, secs=1.0\n"
		      "00:03:34 event=OUTPUT_END, dset=4, secs=1.0\n"
		      "00:03:34 event=REBUILD_FAIL, dset=9\n"
		      "00:03:34 event=SOMETHING_ELSE, secs=9\n") == 0);
	j = joblog_job(&found, 0);
	is_int(j->phases[JOBLOG_CHECKPOINT].count, 3, "checkpoints");
	ok(near("seconds", j->phases[JOBLOG_CHECKPOINT].secs, 3), "... time");
	ok(j->phases[JOBLOG_FLUSH].count == 2 &&
		   near("seconds", j->phases[JOBLOG_FLUSH].secs, 11.5) &&
		   near("bytes", j->phases[JOBLOG_FLUSH].bytes, 800) &&
		   near("moving", j->phases[JOBLOG_FLUSH].moving, 4),
	   "flushes");
	ok(j->phases[JOBLOG_ASYNC_FLUSH].failed == 1, "a flush that failed");
	ok(j->phases[JOBLOG_OUTPUT].count == 1 &&
		   near("seconds", j->phases[JOBLOG_OUTPUT].secs, 2),
	   "an output; its duration by the stamps, and none counted twice");
	ok(j->phases[JOBLOG_REBUILD].untimed == 1 &&
		   j->phases[JOBLOG_REBUILD].failed == 1,
	   "a rebuild without duration");
	d = &found.datasets[2];
	ok(d->id == 2 && d->is_ckpt && d->job == 0 &&
		   near("compute", d->phases[JOBLOG_COMPUTE].secs, 100) &&
		   near("flush", d->phases[JOBLOG_FLUSH].secs, 4.5) &&
		   near("bytes", d->phases[JOBLOG_CHECKPOINT].bytes, 500),
	   "a dataset");
	is_str(d->name, "ckpt.2", "... its name");
	is_int(found.datasets[9].job, UINT64_MAX,
	       "a dataset of which the log does not have the job");
	ok(near("used", joblog_used(j), 200.0 / 3), "the interval used");
	is_int(joblog_best(j, &best), -1,
	       "no failure, no answer what would have been best");
	must(read_log(TWO DIED("00:03:25") START("00:05:00")) == 0);
	is_int(joblog_best(joblog_job(&found, 0), &best), 0, "a failure");
	ok(near("cost", best.cost, 1) && near("between", best.mtbi, 205) &&
		   best.seconds > 19 && best.seconds < 21,
	   "... and the best interval");
}

/* What a run did is in its order, and cut off where the run ended. */
TEST(spans)
{
	static const struct {
		int phase;
		double begin, end; /* since the START */
		bool failed;
	} want[] = {
		{ JOBLOG_COMPUTE, 0, 10, false },
		{ JOBLOG_CHECKPOINT, 10, 12, false },
		/* the clock went back */
		{ JOBLOG_COMPUTE, 12, 22, false },
		{ JOBLOG_ASYNC_FLUSH, 10, 15, false },
		{ JOBLOG_FLUSH, 22, 25, true },
		{ JOBLOG_COMPUTE, 30, 40, true },
		{ JOBLOG_ASYNC_FLUSH, 16, 40, true },
		{ JOBLOG_RUN, 40, 40, true },
		{ JOBLOG_RUN, 0, 40, false },
	};
	double start = 0;

	must(read_log(
		     "00:00:05 event=START\n"
		     "00:00:15 event=COMPUTE_END, secs=10\n"
		     "00:00:16 event=CHECKPOINT_END, dset=1, secs=2\n"
		     "00:00:15 event=COMPUTE_END, secs=10\n"
		     "00:00:21 event=ASYNC_FLUSH_START, dset=2\n"
		     "00:00:20 event=ASYNC_FLUSH_SUCCESS, dset=1, secs=5\n"
		     "00:00:30 event=FLUSH_FAIL, note=\"full\", dset=2, secs=3\n"
		     "00:00:35 event=COMPUTE_START\n"
		     "00:00:45 event=RUN_END\n") == 0);
	is_int((int64_t)found.spans_seen, sizeof(want) / sizeof(want[0]),
	       "spans");
	start = found.spans[found.spans_seen - 1].begin;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct joblog_span *s = &found.spans[i];

		ok(s->phase == want[i].phase && s->run == 1 &&
			   near("begin", s->begin - start, want[i].begin) &&
			   near("end", s->end - start, want[i].end) &&
			   s->failed == want[i].failed,
		   fmt("span %zu", i));
	}
	is_int((int64_t)found.events_seen, 1, "a failure that the log names");
	is_str(found.events[0].text, "FLUSH_FAIL full", "... with its note");
}

/* Of very many, the last are kept, and nothing is mixed up. */
TEST(bounds)
{
	auto_buf out = BUF_INIT;
	const char *path = here("log");

	for (int i = 0; i < 5000; i++)
		must(buf_printf(&out,
				"2026-11-20T00:00:00: host=n, jobid=job%d, "
				"event=START\n"
				"2026-11-20T00:00:00: host=n, jobid=job%d, "
				"event=CHECKPOINT_END, dset=%d, secs=1\n",
				i / 2, i / 2, i + 1) == 0);
	joblog_free(&found);
	write_file(path, out.data, out.len);
	must(joblog_read(AT_FDCWD, path, &found, NULL) == 0);
	ok(found.jobs_seen == 2500 && found.datasets_seen == 5000 &&
		   found.failures_seen == 2500,
	   "all are counted");
	ok(joblog_first(found.jobs_seen, JOBLOG_JOBS) == 2500 - JOBLOG_JOBS &&
		   joblog_job(&found, 2500 - JOBLOG_JOBS - 1) == NULL,
	   "... the oldest are not kept");
	is_str(joblog_job(&found, 2499)->id, "job2499", "... the newest are");
	joblog_free(&found);
}
