/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/halt.h"

#include "conf.h"
#include "json.h"
#include "scratch.h"

#define FILE_AT "p/.scr/halt.scr"

/* --- Changes --- */

struct wish {
	const char *reason, *key;
	int64_t value;
	int fail;
};

static int
wish(struct kvtree *t, void *arg, struct error *err)
{
	const struct wish *w = arg;

	if (w->reason != NULL && halt_set_reason(t, w->reason, err) < 0)
		return -1;
	if (w->key != NULL && halt_set_number(t, w->key, w->value, err) < 0)
		return -1;
	return w->fail ? error_set(err, ERROR_USAGE, "not so") : 0;
}

/* The result of the last load() or set(). */
static struct halt_state s;

static int
load(struct error *err)
{
	halt_state_free(&s);
	return halt_load(here("p"), &s, err);
}

static int
set(const char *reason, const char *key, int64_t value, unsigned flags,
    struct error *err)
{
	struct wish w = { reason, key, value, 0 };

	halt_state_free(&s);
	return halt_update(here("p"), flags, wish, &w, &s, err);
}

/* Set a reason, a number, or both. */
static void
must_set(const char *reason, const char *key, int64_t value)
{
	must(set(reason, key, value, HALT_CREATE, NULL) == 0);
}

/* Make an empty prefix, or one in which a job ran. */
static void
fresh(void)
{
	scratch_new();
	must(mkdir(here("p"), 0777) == 0);
}

/* A job keeps the file open and locked, so a change must keep the inode. */
TEST(in_place)
{
	auto_buf old = BUF_INIT, new = BUF_INIT;
	struct stat a, b;
	struct wish w = { "later", NULL, 0, 1 };

	fresh();
	must_set("first", "ExitAfter", 5);
	must(stat(here(FILE_AT), &a) == 0);
	must(set(NULL, "ExitAfter", -1, 0, NULL) == 0);
	ok(stat(here(FILE_AT), &b) == 0 && a.st_ino == b.st_ino &&
		   b.st_size < a.st_size,
	   "rewritten in place, and cut");
	read_whole(here(FILE_AT), &old);
	halt_state_free(&s);
	is_int(halt_update(here("p"), HALT_CREATE, wish, &w, &s, &why), -1,
	       "a change that fails");
	is_str(why.text, "not so", "... says why");
	read_whole(here(FILE_AT), &new);
	ok(old.len == new.len &&memcmp(old.data, new.data, old.len) == 0,
	   "... leaves the file");
	must(unlink(here(FILE_AT)) == 0);
	ok(halt_update(here("p"), HALT_CREATE, wish, &w, &s, NULL) < 0 &&
		   !exists(here(FILE_AT)),
	   "... and makes none");
}

/* scr_halt.bats has what is done about damage, and what else a file may be. */
TEST(damaged)
{
	static const struct {
		off_t more; /* than the file has; -1000: none is left */
		bool damaged;
		const char *what;
	} sizes[] = {
		{ -1, true, "one byte short" },
		{ 9, false, "bytes behind the image" },
		{ 2 << 20, true, "more than any halt file has" },
		{ -1000, false, "an empty file" },
	};
	auto_buf raw = BUF_INIT;

	fresh();
	must_set("y", "ExitAfter", 7);
	read_whole(here(FILE_AT), &raw);
	flip(here(FILE_AT), -1);
	ok(load(NULL) == 0 && s.damaged, "a wrong checksum");
	for (size_t i = 0; i < 4; i++) {
		const off_t size = (off_t)raw.len + sizes[i].more;

		write_file(here(FILE_AT), raw.data, raw.len);
		must(truncate(here(FILE_AT), size > 0 ? size : 0) == 0);
		ok(load(NULL) == 0 && s.exists && s.damaged == sizes[i].damaged,
		   sizes[i].what);
	}
	ok(set("z", NULL, 0, HALT_CREATE, NULL) == 0 && s.created, "... used");
}

/* --- Evaluating --- */

static const struct {
	const char *name;
	const char *reason; /* of the halt file, and its four numbers */
	int64_t left, before, after, halt_seconds;
	int64_t now, remaining;
	uint64_t seconds;
	int count;
	const char *line; /* one of the lines */
} cases[] = {
	{ "a reason", "SCR_FINALIZE_CALLED", -1, -1, -1, -1, 1000, -1, 0, 1,
	  "HALT RUN: Reason: SCR_FINALIZE_CALLED.\n" },
	{ "an empty reason", "", -1, -1, -1, -1, 1, -1, 0, 0, NULL },
	{ "one checkpoint left", NULL, 1, -1, -1, -1, 1, -1, 0, 0, NULL },
	{ "none left", NULL, 0, -1, -1, -1, 1, -1, 0, 1,
	  "HALT RUN: No checkpoints remaining.\n" },
	{ "a second before", NULL, -1, 1000, -1, 100, 899, -1, 0, 0, NULL },
	{ "in time before", NULL, -1, 1000, -1, 100, 900, -1, 7, 1,
	  "HALT RUN: Current time (Thu Jan  1 00:15:00 1970) is past "
	  "ExitBefore-HaltSeconds time (Thu Jan  1 00:15:00 1970).\n" },
	{ "by the parameter", NULL, -1, 1000, -1, -1, 900, -1, 100, 1,
	  "ExitBefore-HaltSeconds" },
	{ "which the file overrides", NULL, -1, 1000, -1, 0, 900, -1, 100, 0,
	  NULL },
	{ "more seconds than there were", NULL, -1, 5, -1, 100, 0, -1, 0, 1,
	  "(Thu Jan  1 00:00:00 1970)" },
	{ "not yet after", NULL, -1, -1, 5000000000, -1, 4999999999, -1, 0, 0,
	  NULL },
	{ "after, beyond 2038", NULL, -1, -1, 5000000000, -1, 5000000001, -1, 0,
	  1,
	  "HALT RUN: Current time (Fri Jun 11 08:53:21 2128) is past "
	  "ExitAfter time (Fri Jun 11 08:53:20 2128).\n" },
	{ "little time left", NULL, -1, -1, -1, -1, 1, 49, 100, 1,
	  "HALT RUN: Reached time limit: (seconds remaining = 49) <= "
	  "(SCR_HALT_SECONDS = 100).\n" },
	{ "enough left", NULL, -1, -1, -1, -1, 1, 101, 100, 0, NULL },
	{ "all at once", "a\nb", 0, 10, 10, 5, 10, 5, 0, 5,
	  "Reason: a\\nb.\n" },
	{ "numbers without end", NULL, -1, INT64_MAX, INT64_MAX, INT64_MAX, 0,
	  -1, UINT64_MAX, 1, "1970" },
};

TEST(due)
{
	auto_buf lines = BUF_INIT;

	each (c, cases) {
		const struct halt h = { c->reason, c->left,	    c->before,
					c->after,  c->halt_seconds, NULL };

		buf_clear(&lines);
		is_int(halt_due(&h, c->now, c->remaining, c->seconds, &lines),
		       c->count, c->name);
		if (c->line != NULL)
			ok(strstr(lines.data, c->line) != NULL, c->line);
	}
}

/* --- A running job --- */

static int64_t
end_of(void *arg)
{
	return *(const int64_t *)arg;
}

TEST(running)
{
	static const struct {
		struct halt h;
		int64_t end;
		const char *want, *what;
	} jobs[] = {
		{ { NULL, -1, -1, -1, -1, NULL },
		  0,
		  NULL,
		  "the end is unknown" },
		{ { NULL, -1, -1, -1, -1, NULL }, -1, NULL, "no end" },
		{ { NULL, -1, -1, -1, -1, NULL }, 1101, NULL, "time is left" },
		{ { NULL, -1, -1, -1, -1, NULL },
		  1100,
		  HALT_TIME_LIMIT,
		  "little" },
		{ { NULL, -1, -1, -1, -1, NULL },
		  900,
		  HALT_TIME_LIMIT,
		  "none left" },
		{ { NULL, -1, -1, -1, 0, NULL },
		  1001,
		  NULL,
		  "no halt seconds" },
		{ { HALT_FINISHED, -1, -1, -1, -1, NULL },
		  0,
		  NULL,
		  "another job's" },
		{ { NULL, 0, -1, -1, -1, NULL },
		  0,
		  HALT_NO_CHECKPOINTS,
		  "the last" },
		{ { NULL, -1, 1050, -1, -1, NULL },
		  0,
		  HALT_EXIT_BEFORE,
		  "before" },
		{ { NULL, -1, -1, 999, -1, NULL },
		  0,
		  HALT_EXIT_AFTER,
		  "after" },
		{ { "mine", 0, 10, 10, -1, NULL },
		  0,
		  "mine",
		  "several: the first" },
	};
	const size_t njobs = COUNT(jobs);
	auto_buf lines = BUF_INIT;

	for (size_t i = 0; i <= njobs; i++) {
		int64_t end = i < njobs ? jobs[i].end : 0;
		const char *want = i < njobs ? jobs[i].want : HALT_DAMAGED;
		const struct halt_job j = { .now = 1000,
					    .halt_seconds = 100,
					    .end = end_of,
					    .arg = &end };
		struct halt_state is = { .damaged = i == njobs };
		const char *reason = "";

		if (i < njobs)
			is.is = jobs[i].h;
		must(buf_add_str(&is.path, "p/halt.scr") == 0);
		buf_clear(&lines);
		is_int(halt_running(&is, &j, &reason, &lines, NULL),
		       want != NULL, i < njobs ? jobs[i].what : "damaged");
		is_str(reason, want, "... the reason");
		ok((lines.len == 0) == (want == NULL), "... and why");
		buf_free(&is.path);
	}
	ok(strstr(lines.data, "p/halt.scr: damaged") != NULL, lines.data);
}

/* The result and a line of a check. */
static void
check(const struct conf *c, bool want, const char *line, const char *what)
{
	auto_buf lines = BUF_INIT;
	bool stop = !want;

	ok(halt_check(here("p"), c, 1000, &stop, &lines, &why) == 0 &&
		   stop == want &&
		   strstr(lines.len > 0 ? lines.data : "", line) != NULL,
	   what);
}

TEST(check)
{
	static const struct {
		const char *seconds, *end;
		bool stop;
		const char *line;
	} limits[] = {
		{ "100", "0", true, "ExitBefore-HaltSeconds" },
		{ "60", "1060", true, "(seconds remaining = 60)" },
		{ "60", "900", true, "(seconds remaining = 0)" },
		{ "60", "-1", false, "" },
	};
	struct conf_where where = { .prefix = scratch_root };
	struct conf *c = NULL;
	bool stop = false;

	fresh();
	check(NULL, false, "CONTINUE RUN: No halt file found.\n", "no file");
	must(rmdir(here("p")) == 0);
	check(NULL, true, "cannot open the prefix",
	      "no prefix: unknown, so stop");
	must(mkdir(here("p"), 0777) == 0);
	must_set("X", NULL, 0);
	must_set(NULL, "ExitBefore", 1100);
	edit_tree(here(FILE_AT),
		  (void (*)(struct kvtree *, void *))kvtree_remove,
		  (char[]){ "ExitReason" });
	check(NULL, false, "", "one that is not");
	each (l, limits) {
		setenv("SCR_HALT_SECONDS", l->seconds, 1);
		setenv("SCR_END_TIME", l->end, 1);
		c = conf_open(&where, NULL);
		check(c, l->stop, l->line, "... a parameter");
		conf_close(c);
	}
	setenv("SCR_HALT_SECONDS", "some", 1);
	c = conf_open(&where, NULL);
	is_int(halt_check(here("p"), c, 1000, &stop, NULL, &why), -1,
	       "a parameter that is not a number");
	ok(stop && why.kind == ERROR_USAGE && says(&why, "SCR_HALT_SECONDS"),
	   "... is told, and means stop");
	conf_close(c);
	unsetenv("SCR_HALT_SECONDS");
	unsetenv("SCR_END_TIME");
	write_text(here(FILE_AT), "junk");
	check(NULL, true, "halt.scr: damaged: ", "damaged: stop");
	must(unlink(here(FILE_AT)) == 0 && symlink("x", here(FILE_AT)) == 0);
	check(NULL, true, "HALT RUN: ", "so does one that cannot be read");
}

/* --- Memory: what libscr calls --- */

static int64_t
no_end(void *arg)
{
	(void)arg;
	return 0;
}

TEST(memory)
{
	fresh();
	must_set("line\nbreak", "ExitBefore", 5);
	must_set(NULL, "HaltSeconds", 3600);
	without_memory (m, 2, "no memory to look: a running job") {
		const struct halt_job job = { .now = 5, .end = no_end };
		struct halt_state mine;
		const char *reason = NULL;
		auto_buf text = BUF_INIT;

		m.rc = halt_load(here("p"), &mine, &m.err);
		if (m.rc == 0 &&
		    halt_running(&mine, &job, &reason, &text, &m.err) < 0)
			m.rc = -1;
		halt_state_free(&mine);
	}
	without_memory (m, 2, "no memory to change") {
		struct wish w = { "another reason", "ExitAfter", 77, 0 };
		struct halt_state mine;

		m.rc = halt_update(here("p"), HALT_CREATE, wish, &w, &mine,
				   &m.err);
		if (m.rc == 0)
			halt_state_free(&mine);
	}
}

int
main(void)
{
	unsetenv("SCR_HALT_SECONDS");
	unsetenv("SCR_END_TIME");
	return tap_run();
}
