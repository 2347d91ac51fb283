/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/log.h"

#include "metatest.h"
#include "scratch.h"

/* From formats.md 14.11, and more difficult lines. */
static const char *const lines[] = {
	"2026-11-20T22:53:38: host=node0, jobid=1000, event=START, procs=4, "
	"nodes=4",
	"2026-11-20T22:53:38: host=node0, jobid=1000, event=COMPUTE_END, "
	"secs=0.068097",
	"2026-11-20T22:53:38: host=node0, jobid=1000, event=CHECKPOINT_START, "
	"note=\"/tmp/cache\", dset=1, name=\"ckpt.1\"",
	"2026-11-20T22:53:38: host=node0, jobid=1000, xfer=WRITE, "
	"from=/tmp/cache, to=/tmp/a, b/scr.dataset.1, dset=1, "
	"name=\"ckpt.1\", secs=0.383955, bytes=158686.000000, files=14",
	"2026-11-20T22:53:38: host=n, jobid=1, event=HALT, "
	"note=\"a \"b\", c, dset=5, x\"",
	"2026-11-20T22:53:38: host=n, jobid=1, event=E, note=\"\", "
	"name=\"a, note=\"",
};

TEST(round_trip)
{
	each (t, lines) {
		auto_buf out = BUF_INIT;
		struct log_line l;

		ok(log_parse(fmt("%s", *t), &l, NULL) == 0 &&
			   log_format(&l, &out) == 0,
		   label(*t));
		is_str(out.data, fmt("%s\n", *t), "... as it was");
	}
}

TEST(fields)
{
	static const char head[] = "2026-11-20T22:53:38: event=E";
	struct log_line l;

	log_parse(fmt("%s", lines[3]), &l, NULL);
	is_int(l.time, 1795215218, "time");
	is_str(l.host, "node0", "host");
	is_str(l.job_id, "1000", "job");
	is_str(l.xfer, "WRITE", "transfer");
	is_str(l.from, "/tmp/cache", "from");
	is_str(l.to, "/tmp/a, b/scr.dataset.1", "to, with a comma");
	is_str(l.name, "ckpt.1", "name");
	ok(l.dataset == 1 && l.files == 14, "dataset, files");
	ok(l.secs > 0.383954 && l.secs < 0.383956, "seconds");
	ok(l.bytes > 158685 && l.bytes < 158687, "bytes");
	ok(l.event == NULL && l.note == NULL && l.procs == -1 && l.nodes == -1,
	   "no others");
	log_parse(fmt("%s", lines[4]), &l, NULL);
	is_str(l.note, "a \"b\", c, dset=5, x", "a note with everything");
	is_int(l.dataset, -1, "... but no dataset");
	is_int(log_parse(fmt("%s, name=\"cut of", head), &l, NULL), 0,
	       "a line that was cut");
	is_str(l.name, "cut of", "... what there is of its name");
	ok(l.host == NULL, "... no host");
	is_int(log_parse(fmt("%s, dset=x, secs=inf, bytes=-1, files=", head),
			 &l, NULL),
	       0, "numbers that are none");
	ok(l.dataset == -1 && l.secs < 0 && l.bytes < 0 && l.files == -1,
	   "... are not there");
}

TEST(refused)
{
	static const char *const bad[] = {
		"",
		"x",
		"2026-11-20T22:53:38",
		"2026-11-20T22:53:38 event=E",
		"2026-11-20T22:53:38: ",
		"2026-11-20T22:53:38: host=a",
		"2026-11-20T22:53:38: host=a, note=\"event=E\"",
		"2026-13-20T22:53:38: event=E",
		"2026-11-32T22:53:38: event=E",
		"2026-11-20T24:53:38: event=E",
		"2026-11-20T22:60:38: event=E",
		"2026-11-20T22:53:61: event=E",
		"2026/11/20T22:53:38: event=E",
		"202x-11-20T22:53:38: event=E",
		" 2026-11-20T22:53:38: event=E",
	};
	struct log_line l;

	each (b, bad) {
		auto_mem char *copy = mem_strdup(*b);

		refuses(log_parse(copy, &l, &why), ERROR_CORRUPT, NULL,
			label(*b));
	}
}

TEST(long)
{
	char note[3000] = "";
	struct log_line l = {
		.event = "E",
		.dataset = -1,
		.procs = -1,
		.nodes = -1,
		.files = -1,
		.secs = -1,
		.bytes = -1,
		.note = note,
		.time = 1795215218,
	};
	auto_buf out = BUF_INIT;

	memset(note, 'x', sizeof(note) - 1);
	memcpy(note + 3, "\n\x1b\x7f", 3);
	buf_add_str(&out, "before\n");
	is_int(log_format(&l, &out), 0, "a long line");
	is_int(out.len, 7 + LOG_LINE_MAX + 1, "... is cut");
	ok(strstr(out.data, "xxx???xx") != NULL, "... no control characters");
	ok(strchr(out.data + 7, '\n') == out.data + out.len - 1,
	   "... one line");
}

TEST(no_memory)
{
	struct log_line l;

	log_parse(fmt("%s", lines[3]), &l, NULL);
	without_memory (m, 1, "no memory to write") {
		auto_buf out = BUF_INIT;

		m.rc = log_format(&l, &out);
		if (m.rc < 0 && out.len == 0 &&
		    (out.data == NULL || *out.data == 0))
			error_no_memory(&m.err); /* no half line is left */
	}
}

#define STAMP "2026-11-20T22:53:38: host=n, jobid=1, "

/* Logs: how many lines can be used, and the dataset of the last. */
static const struct {
	const char *text;
	int used;
	uint64_t lines, unreadable;
	bool unfinished;
	int64_t last;
} logs[] = {
	{ "", 0, 0, 0, false, -1 },
	{ "\n\n", 0, 0, 0, false, -1 },
	{ STAMP "event=E, dset=1\n" STAMP "event=E, dset=2\n", 2, 2, 0, false,
	  2 },
	{ STAMP "event=E, dset=1\nnone\n\n", 1, 2, 1, false, 1 },
	/* It may grow. */
	{ STAMP "event=E, dset=1\n" STAMP "event=E, dset=23", 1, 1, 0, true,
	  1 },
	/* Writers ended in the middle: what they wrote is not mixed with the
	 * line of the next one. */
	{ STAMP "event=E, dset=12" STAMP "event=E, dset=3\n", 1, 2, 1, false,
	  3 },
	{ "2026-1" STAMP "event=E" STAMP "xfer=F, dset=4\n", 1, 3, 2, false,
	  4 },
	{ STAMP "event=E, note=\"at 22:53:38: host=m\", dset=5\n", 1, 1, 0,
	  false, 5 },
};

TEST(reading)
{
	const char *path = here("log");

	each (t, logs) {
		struct log_reader r;
		struct log_line l;
		int64_t last = -1;
		int used = 0;

		write_file(path, t->text, strlen(t->text));
		must(log_open(&r, AT_FDCWD, path, 0, NULL) == 0);
		for (; log_next(&r, &l, NULL) == 1; used++)
			last = l.dataset;
		ok(used == t->used && r.lines == t->lines &&
			   r.unreadable == t->unreadable &&
			   r.unfinished == t->unfinished && last == t->last,
		   label(t->text));
		is_int(r.next,
		       t->unfinished ? strchr(t->text, '\n') + 1 - t->text
				     : (long)strlen(t->text),
		       "... where it ended");
		log_close(&r);
	}
}

/* What a long path has pushed out of a line is not half a number. */
TEST(cut_number)
{
	char to[LOG_LINE_MAX - 40];
	struct log_line l = { LOG_LINE_NONE };
	auto_buf out = BUF_INIT;

	for (size_t len = sizeof(to) - 12; len < sizeof(to); len++) {
		l.time = 1795215218;
		l.xfer = "X";
		l.to = to;
		l.dataset = 123456;
		memset(to, 'x', len);
		to[len] = '\0';
		buf_clear(&out);
		must(log_format(&l, &out) == 0);
		out.data[out.len - 1] = '\0';
		must(log_parse(out.data, &l, NULL) == 0);
		ok(l.dataset == -1 || l.dataset == 123456,
		   fmt("a path of %zu bytes", len));
	}
}
