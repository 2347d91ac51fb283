/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/log.h"

#include "metatest.h"

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

static void
test_round_trip(void)
{
	size_t i = 0;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct buf out = BUF_INIT;
		char *copy = mem_strdup(lines[i]);
		struct log_line l;

		is_int(log_parse(copy, &l, NULL), 0, label(lines[i]));
		is_int(log_format(&l, &out), 0, "... is written");
		ok(out.len == strlen(lines[i]) + 1 &&
			   memcmp(out.data, lines[i], out.len - 1) == 0 &&
			   out.data[out.len - 1] == '\n',
		   "... as it was");
		buf_free(&out);
		mem_free(copy);
	}
}

static void
test_fields(void)
{
	char *copy = mem_strdup(lines[3]);
	struct log_line l;

	log_parse(copy, &l, NULL);
	is_int(l.time, 1795215218, "time");
	is_str(l.host, "node0", "host");
	is_str(l.job_id, "1000", "job");
	ok(l.event == NULL, "no event");
	is_str(l.xfer, "WRITE", "transfer");
	is_str(l.from, "/tmp/cache", "from");
	is_str(l.to, "/tmp/a, b/scr.dataset.1", "to, with a comma");
	is_int(l.dataset, 1, "dataset");
	is_str(l.name, "ckpt.1", "name");
	ok(l.secs > 0.383954 && l.secs < 0.383956, "seconds");
	ok(l.bytes > 158685 && l.bytes < 158687, "bytes");
	is_int(l.files, 14, "files");
	ok(l.note == NULL && l.procs == -1 && l.nodes == -1, "no others");
	mem_free(copy);
	copy = mem_strdup(lines[4]);
	log_parse(copy, &l, NULL);
	is_str(l.note, "a \"b\", c, dset=5, x", "a note with everything");
	is_int(l.dataset, -1, "... but no dataset");
	mem_free(copy);
	copy = mem_strdup("2026-11-20T22:53:38: event=E, name=\"cut of");
	is_int(log_parse(copy, &l, NULL), 0, "a line that was cut");
	is_str(l.name, "cut of", "... what there is of its name");
	ok(l.host == NULL, "... no host");
	mem_free(copy);
	copy = mem_strdup("2026-11-20T22:53:38: event=E, dset=x, secs=inf, "
			  "bytes=-1, files=");
	is_int(log_parse(copy, &l, NULL), 0, "numbers that are none");
	ok(l.dataset == -1 && l.secs < 0 && l.bytes < 0 && l.files == -1,
	   "... are not there");
	mem_free(copy);
}

static void
test_refused(void)
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
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = ERROR_INIT;
		char *copy = mem_strdup(bad[i]);
		struct log_line l;

		is_int(log_parse(copy, &l, &err), -1, label(bad[i]));
		is_int(err.kind, ERROR_CORRUPT, err.text);
		mem_free(copy);
	}
}

/* Parse every prefix of a line, and the line with each byte changed: it is
 * refused, or formatting and parsing it again changes nothing. */
static bool
stable(char *line)
{
	struct buf one = BUF_INIT, two = BUF_INIT;
	struct log_line l;
	bool good = true;
	char *copy = NULL;

	if (log_parse(line, &l, NULL) < 0)
		return true;
	good = log_format(&l, &one) == 0;
	one.data[one.len - 1] = '\0';
	copy = mem_strdup(one.data);
	good = good && log_parse(copy, &l, NULL) == 0 &&
	       log_format(&l, &two) == 0;
	two.data[two.len - 1] = '\0';
	good = good && strcmp(one.data, two.data) == 0;
	if (!good)
		printf("# %s\n# %s\n", one.data, two.data);
	mem_free(copy);
	buf_free(&one);
	buf_free(&two);
	return good;
}

static void
test_damage(void)
{
	size_t i = 0, k = 0, bad = 0, tried = 0;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (k = 0; k < strlen(lines[i]); k++) {
			char *copy = mem_strdup(lines[i]);

			copy[k] = '\0';
			bad += !stable(copy);
			memcpy(copy, lines[i], strlen(lines[i]));
			copy[k] ^= (char)(1 << (k % 7));
			bad += !stable(copy);
			mem_free(copy);
			tried += 2;
		}
	is_int((int64_t)bad, 0, "cut and flipped lines");
	ok(tried > 1000, "... many of them");
}

static void
test_long(void)
{
	struct log_line l = { .event = "E",
			      .dataset = -1,
			      .procs = -1,
			      .nodes = -1,
			      .files = -1,
			      .secs = -1,
			      .bytes = -1 };
	char note[3000];
	struct buf out = BUF_INIT;

	memset(note, 'x', sizeof(note));
	note[sizeof(note) - 1] = '\0';
	note[3] = '\n';
	note[4] = '\x1b';
	note[5] = '\x7f';
	l.note = note;
	l.time = 1795215218;
	buf_add_str(&out, "before\n");
	is_int(log_format(&l, &out), 0, "a long line");
	is_int((int64_t)out.len, 7 + LOG_LINE_MAX + 1, "... is cut");
	ok(out.data[out.len - 1] == '\n', "... and ended");
	ok(strstr(out.data, "xxx???xx") != NULL,
	   "... without control characters");
	ok(strchr(out.data + 7, '\n') == out.data + out.len - 1,
	   "... one line");
	buf_free(&out);
}

static int
format_all(void *arg, struct error *err)
{
	struct buf out = BUF_INIT;
	int rc = log_format(arg, &out);

	if (rc < 0 && (out.len != 0 || (out.data != NULL && *out.data != 0)))
		return error_set(err, ERROR_USAGE, "half a line is left");
	buf_free(&out);
	return rc < 0 ? error_set(err, ERROR_NOMEM, "buf") : 0;
}

int
main(void)
{
	char *copy = mem_strdup(lines[3]);
	struct log_line l;

	setenv("TZ", "UTC", 1);
	test_round_trip();
	test_fields();
	test_refused();
	test_damage();
	test_long();
	log_parse(copy, &l, NULL);
	ok(fail_each_alloc(format_all, &l) > 0, "no memory to write");
	mem_free(copy);
	return tap_done();
}
