/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_job_halt_due.c - evaluating and listing conditions; t_job_halt.c tests the
 * file.
 */
#include "conf.h"
#include "json.h"
#include "scratch.h"
#include "site/halt.h"

static char root[256];

#define FILE_AT "p/.scr/halt.scr"

/* A path in the scratch directory. */
static char *
at(const char *rel)
{
	return fmt("%s/%s", root, rel);
}

struct wish {
	const char *reason, *key;
	int64_t value;
};

static int
wish(struct kvtree *t, void *arg, struct error *err)
{
	const struct wish *w = arg;

	if (w->reason != NULL && halt_set_reason(t, w->reason, err) < 0)
		return -1;
	return w->key != NULL ? halt_set_number(t, w->key, w->value, err) : 0;
}

/* Set a reason, a number, or both. */
static void
set(const char *reason, const char *key, int64_t value)
{
	struct wish w = { reason, key, value };
	struct halt_state s;

	must(halt_update(at("p"), HALT_CREATE, wish, &w, &s, NULL) == 0);
	halt_state_free(&s);
}

static void
fresh(void)
{
	scratch_dir(root, sizeof(root));
	must(mkdir(at("p"), 0777) == 0);
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
	{ "no condition", NULL, -1, -1, -1, -1, 1000, -1, 0, 0, NULL },
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
	{ "nobody minds", NULL, -1, -1, -1, -1, 1, 0, 0, 0, NULL },
	{ "all at once", "a\nb", 0, 10, 10, 5, 10, 5, 0, 5,
	  "Reason: a\\nb.\n" },
	{ "numbers without end", NULL, -1, INT64_MAX, INT64_MAX, INT64_MAX, 0,
	  -1, UINT64_MAX, 1, "1970" },
};

static void
test_due(void)
{
	struct buf why = BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct halt h = { cases[i].reason, cases[i].left,
					cases[i].before, cases[i].after,
					cases[i].halt_seconds };

		buf_clear(&why);
		is_int(halt_due(&h, cases[i].now, cases[i].remaining,
				cases[i].seconds, &why, NULL),
		       cases[i].count, cases[i].name);
		if (cases[i].line != NULL)
			ok(strstr(why.data, cases[i].line) != NULL,
			   cases[i].line);
	}
	buf_free(&why);
}

/* --- A running job --- */

static int64_t
end_of(void *arg)
{
	return *(const int64_t *)arg;
}

static void
reason_is(struct halt h, int64_t end, const char *want, const char *what)
{
	const struct halt_job j = {
		.now = 1000, .halt_seconds = 100, .end = end_of, .arg = &end
	};
	struct halt_state s = { .is = h };
	struct buf why = BUF_INIT;
	const char *reason = "";

	is_int(halt_running(&s, &j, &reason, &why, NULL), want != NULL, what);
	ok(want == NULL ? reason == NULL && why.len == 0
			: reason != NULL && strcmp(reason, want) == 0,
	   reason != NULL ? reason : "no reason");
	buf_free(&why);
}

static void
test_running(void)
{
	const struct halt none = { NULL, -1, -1, -1, -1 },
			  last = { NULL, 0, -1, -1, -1 },
			  off = { NULL, -1, -1, -1, 0 },
			  done = { HALT_FINISHED, -1, -1, -1, -1 },
			  all = { "mine", 0, 10, 10, -1 },
			  before = { NULL, -1, 1050, -1, -1 },
			  after = { NULL, -1, -1, 999, -1 };
	struct halt_state damaged = { .damaged = true };
	const struct halt_job j = { .now = 1000 };
	struct buf why = BUF_INIT;
	const char *reason = NULL;

	reason_is(none, 0, NULL, "no condition, the end is unknown");
	reason_is(none, -1, NULL, "no end");
	reason_is(none, 1101, NULL, "time is left");
	reason_is(none, 1100, HALT_TIME_LIMIT, "little is left");
	reason_is(none, 900, HALT_TIME_LIMIT, "none is left");
	reason_is(off, 1001, NULL, "the file sets no seconds");
	reason_is(done, 0, NULL, "another job has finished");
	reason_is(last, 0, HALT_NO_CHECKPOINTS, "the last checkpoint");
	reason_is(before, 0, HALT_EXIT_BEFORE, "before");
	reason_is(after, 0, HALT_EXIT_AFTER, "after");
	reason_is(all, 0, "mine", "several: the first");
	must(buf_printf(&damaged.path, "p/.scr/halt.scr") == 0);
	is_int(halt_running(&damaged, &j, &reason, &why, NULL), 1, "damaged");
	is_str(reason, HALT_DAMAGED, "... is the reason");
	ok(strstr(why.data, "p/.scr/halt.scr: damaged") != NULL, why.data);
	buf_free(&damaged.path);
	buf_free(&why);
}

/* The result and the lines of a check. */
static void
check(const struct conf *c, bool want, const char *line, const char *what)
{
	struct buf lines = BUF_INIT;
	struct error err = ERROR_INIT;
	bool stop = !want;

	ok(halt_check(at("p"), c, 1000, &stop, &lines, &err) == 0 &&
		   stop == want &&
		   strstr(lines.len > 0 ? lines.data : "", line) != NULL,
	   what);
	if (lines.len > 0)
		printf("# %s", lines.data);
	buf_free(&lines);
}

static void
test_check(void)
{
	const char *const no_file = "CONTINUE RUN: No halt file found.\n";
	struct conf_where where = { .prefix = root };
	struct conf *c = NULL;
	struct error err = ERROR_INIT;
	bool stop = false;

	fresh();
	check(NULL, false, no_file, "no halt file");
	must(rmdir(at("p")) == 0);
	check(NULL, true, "cannot open the prefix",
	      "no prefix: unknown, so stop");
	must(mkdir(at("p"), 0777) == 0);
	set("X", NULL, 0);
	check(NULL, true, "HALT RUN: Reason: X.\n", "a condition that is met");
	set(NULL, "ExitBefore", 1100);
	edit_tree(at(FILE_AT), (void (*)(struct kvtree *, void *))kvtree_remove,
		  (char[]){ "ExitReason" });
	check(NULL, false, "", "one that is not");
	setenv("SCR_HALT_SECONDS", "100", 1);
	c = conf_open(&where, NULL);
	check(c, true, "ExitBefore-HaltSeconds",
	      "... unless by SCR_HALT_SECONDS");
	conf_close(c);
	setenv("SCR_HALT_SECONDS", "60", 1);
	setenv("SCR_END_TIME", "1060", 1);
	c = conf_open(&where, NULL);
	check(c, true, "(seconds remaining = 60)", "the end is near");
	conf_close(c);
	setenv("SCR_END_TIME", "900", 1);
	c = conf_open(&where, NULL);
	check(c, true, "(seconds remaining = 0)", "... or past");
	conf_close(c);
	setenv("SCR_END_TIME", "-1", 1);
	c = conf_open(&where, NULL);
	check(c, false, "", "... or never");
	conf_close(c);
	setenv("SCR_HALT_SECONDS", "some", 1);
	c = conf_open(&where, NULL);
	is_int(halt_check(at("p"), c, 1000, &stop, NULL, &err), -1,
	       "a parameter that is not a number");
	ok(stop && err.kind == ERROR_USAGE && says(&err, "SCR_HALT_SECONDS"),
	   "... is told, and means stop");
	conf_close(c);
	unsetenv("SCR_HALT_SECONDS");
	unsetenv("SCR_END_TIME");
	write_text(at(FILE_AT), "junk");
	check(NULL, true, "halt.scr: damaged: ", "a damaged file means stop");
	must(unlink(at(FILE_AT)) == 0 && symlink("x", at(FILE_AT)) == 0);
	check(NULL, true, "HALT RUN: ", "so does one that cannot be read");
}

/* --- Listing --- */

static void
test_text(void)
{
	struct halt_state s;
	struct buf text = BUF_INIT;
	char *out = NULL;
	size_t len = 0;
	FILE *f = NULL;

	fresh();
	set("line\nbreak", "ExitBefore", 5000000000);
	set(NULL, "HaltSeconds", 3600);
	must(halt_load(at("p"), &s, NULL) == 0);
	ok(halt_text(&s, &text, NULL) == 0, "a listing");
	is_str(strchr(text.data, '\n'),
	       "\n  ExitReason:      line\\nbreak\n"
	       "  ExitBefore:      Fri Jun 11 08:53:20 2128\n"
	       "  HaltSeconds:     3600\n"
	       "  ExitBefore - HaltSeconds: Fri Jun 11 07:53:20 2128\n",
	       "... as LLNL's");
	f = open_memstream(&out, &len);
	must(f != NULL);
	ok(json_print(halt_json("p", &s, 5000000000), f, NULL) == 0, "as JSON");
	fclose(f);
	ok(strstr(out, "\"exit_before\": \"2128-06-11T08:53:20Z\"") != NULL &&
		   strstr(out, "\"stop_at\": \"2128-06-11T07:53:20Z\"") !=
			   NULL &&
		   strstr(out, "\"exit_after\": null") != NULL &&
		   strstr(out, "\"reason\": \"line\\nbreak\"") != NULL &&
		   strstr(out, "\"due\": true") != NULL &&
		   strstr(out, "\"damage\": null") != NULL,
	   "... with all of it");
	free(out);
	halt_state_free(&s);
	buf_free(&text);
}

int
main(void)
{
	setenv("TZ", "UTC", 1);
	unsetenv("SCR_HALT_SECONDS");
	unsetenv("SCR_END_TIME");
	test_due();
	test_running();
	test_check();
	test_text();
	remove_tree(root);
	return tap_done();
}
