/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_list.c - listing the index, finding datasets by name and number,
 * selecting what to prune; and the lock of a dataset.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cattest.h"
#include "lock.h"
#include "report/list.h"

/* --- Ids --- */

static void
test_ids(void)
{
	struct error err = ERROR_INIT;
	struct catalogue *c = NULL;
	struct index *ix = NULL;
	int64_t *ids = NULL;
	size_t n = 0;

	make_prefix(12, true, true);
	make_parents(fmt("%s/.scr/scr.dataset.012/x", place));
	make_parents(fmt("%s/.scr/scr.dataset./x", place));
	make_parents(fmt("%s/.scr/scr.dataset.99/x", place));
	c = open_prefix();
	ids = catalogue_dirs(c, &n, NULL);
	ok(n == 13 && ids[0] == 1 && ids[9] == 10 && ids[12] == 99,
	   "directories by number");
	mem_free(ids);
	ix = catalogue_read(c, NULL);
	ids = catalogue_ids(c, ix, NULL, &n, NULL);
	ok(n == 12 && ids[0] == 12 && ids[11] == 1, "the index, newest first");
	mem_free(ids);
	is_int(catalogue_resolve(c, ix, "set.3", NULL), 3, "a name");
	is_int(catalogue_resolve(c, ix, "3", NULL), 3, "a number");
	is_int(catalogue_resolve(c, ix, "99", NULL), 99,
	       "the number of a directory");
	ok(catalogue_resolve(c, ix, "98", &err) == -1 &&
		   err.kind == ERROR_ABSENT,
	   "the number of nothing");
	is_int(catalogue_resolve(c, ix, "set.", NULL), -1, "no name");
	is_int(catalogue_resolve(c, ix, "", NULL), -1, "no text");
	is_int(catalogue_resolve(c, NULL, "2", NULL), 2, "without an index");
	ids = catalogue_ids(c, ix, "nosuch", &n, &err);
	ok(n == (size_t)-1 && err.kind == ERROR_ABSENT,
	   "one that is not there");
	mem_free(ids);
	index_free(ix);
	catalogue_close(c);
}

static void
test_prune(void)
{
	static const struct {
		size_t keep, count;
		bool outputs;
		int64_t first, last;
	} cases[] = {
		/* checkpoints 1 3 5 7 9, outputs 2 4 6 8, current 3 */
		{ 1, 3, false, 1, 7 }, { 2, 2, false, 1, 5 },
		{ 5, 0, false, 0, 0 }, { 6, 0, false, 0, 0 },
		{ 1, 6, true, 1, 7 },  { 3, 2, true, 1, 2 },
	};
	const struct catalogue_keep one = { .last = 1 };
	struct error err = ERROR_INIT;
	struct catalogue_edit e;
	struct catalogue *c = NULL;
	struct index *ix = NULL;
	size_t n = 0;

	make_prefix(9, true, false);
	c = open_prefix();
	must(edit(c, CATALOGUE_CURRENT, "set.3", &e, NULL) == 0);
	ix = catalogue_read(c, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct catalogue_keep keep = {
			.last = cases[i].keep,
			.outputs = cases[i].outputs,
		};
		int64_t *ids = catalogue_prune(c, ix, &keep, &n, NULL);
		bool good = n == cases[i].count;

		if (good && n > 0)
			good = ids[0] == cases[i].first &&
			       ids[n - 1] == cases[i].last;
		for (size_t k = 0; good && k < n; k++)
			good = ids[k] != 3;
		ok(good, fmt("prune, keep %zu%s", cases[i].keep,
			     cases[i].outputs ? " and outputs" : ""));
		mem_free(ids);
	}
	index_free(ix);
	catalogue_close(c);

	make_prefix(9, false, true);
	c = open_prefix();
	ix = catalogue_read(c, NULL);
	ok(ix != NULL && catalogue_prune(c, ix, &one, &n, &err) == NULL &&
		   n == (size_t)-1 && err.kind == ERROR_DAMAGED,
	   "nothing is pruned by a guess");
	index_free(ix);
	catalogue_close(c);
}

/* --- Lists --- */

static struct buf listed;

static int
collect(struct buf *text)
{
	must(buf_add(&listed, text->data, text->len) == 0);
	buf_clear(text);
	return 0;
}

/* The output of list_print(), for mem_free(). */
static char *
list_text(const struct index_entry *e, size_t n, const struct list_filter *f,
	  const struct list_look *look)
{
	char *text = NULL;

	buf_clear(&listed);
	must(list_print(&(struct list_rows){ NULL, e, n }, f, look, collect,
			NULL) == 0);
	text = mem_strdup(listed.len > 0 ? listed.data : "");
	must(text != NULL);
	return text;
}

static const struct index_entry rows[] = {
	{ .id = 123456,
	  .name = "long id",
	  .complete = 1,
	  .flushed = "2026-11-20T23:00:34",
	  .current = true,
	  .desc = { .is_ckpt = true, .files = 3, .bytes = 1536 } },
	{ .id = 7,
	  .name = "bad\nname",
	  .complete = 0,
	  .desc = { .is_ckpt = true, .is_output = true, .files = -1 } },
	{ .id = 6,
	  .name = NULL,
	  .complete = 1,
	  .failed = "2026-11-20T23:00:42",
	  .flushed = "x",
	  .desc = { .is_output = true, .files = 0 } },
};

static void
test_list(void)
{
	const struct list_filter all = { .valid = false };
	const struct list_look llnl = { .style = LIST_LLNL };
	const struct list_look wide = { .style = LIST_WIDE };
	const struct list_look names = { .style = LIST_NAMES };
	struct list_filter f = all;
	char *text = list_text(rows, 3, &all, &llnl);

	is_str(text,
	       "DSET VALID FLUSHED             CUR NAME\n"
	       "123456 YES   2026-11-20T23:00:34   * long id\n"
	       "   7 NO                            bad\\nname\n"
	       "   6 NO    x     UNKNOWN_NAME\n",
	       "LLNL's table");
	mem_free(text);
	text = list_text(rows, 3, &all, &wide);
	is_str(text,
	       "DSET VALID FLUSHED             CUR KIND     FILES       SIZE "
	       "NAME         REASON\n"
	       "123456 YES   2026-11-20T23:00:34   * ckpt         3    1.5 KiB "
	       "long id\n"
	       "   7 NO                            both         -          - "
	       "bad\\nname    never completed\n"
	       "   6 NO    x     output       0        0 B UNKNOWN_NAME last "
	       "fetch failed 2026-11-20T23:00:42\n",
	       "the wide table");
	mem_free(text);
	text = list_text(rows, 3, &all, &names);
	is_str(text, "long id\nbad\\nname\n", "names");
	mem_free(text);
	text = list_text(rows, 0, &all, &llnl);
	is_str(text, "DSET VALID FLUSHED             CUR NAME\n",
	       "an empty table");
	mem_free(text);

	f.valid = true;
	ok(list_match(&f, &rows[0]) && !list_match(&f, &rows[1]) &&
		   !list_match(&f, &rows[2]),
	   "valid ones");
	f = (struct list_filter){ .checkpoints = true };
	ok(list_match(&f, &rows[1]) && !list_match(&f, &rows[2]),
	   "checkpoints");
	f = (struct list_filter){ .outputs = true };
	ok(list_match(&f, &rows[1]) && !list_match(&f, &rows[0]), "outputs");
	f = (struct list_filter){ .after = "2026-11-20" };
	ok(list_match(&f, &rows[0]) && !list_match(&f, &rows[1]),
	   "after a day; without a stamp never");
	f = (struct list_filter){ .before = "2026-11-20T23:00:34" };
	ok(!list_match(&f, &rows[0]), "before is before");
}

static void
test_json(void)
{
	struct list_filter f = { .checkpoints = true };
	struct catalogue *c = NULL;
	struct index_entry *e = NULL;
	struct index *ix = NULL;
	FILE *to = tmpfile();
	char text[8192] = "";
	size_t n = 0;

	make_prefix(3, true, false);
	c = open_prefix();
	ix = catalogue_read(c, NULL);
	e = index_entries(ix, &n, NULL);
	must(to != NULL && e != NULL);
	ok(json_print(list_json(c, ix, e, n, &f), to, NULL) == 0,
	   "a list as JSON");
	rewind(to);
	must(fread(text, 1, sizeof(text) - 1, to) > 0);
	ok(strstr(text, "\"name\": \"set.3\"") != NULL &&
		   strstr(text, "\"set.2\"") == NULL &&
		   strstr(text, "\"current\": null") != NULL &&
		   strstr(text, "\"valid\": true") != NULL,
	   "... of those that match");
	fclose(to);
	mem_free(e);
	index_free(ix);
	catalogue_close(c);
}

static void
test_columns(void)
{
	const struct list_filter all = { .valid = false };
	struct list_look look = { .bytes = true };
	struct index_entry list[3];
	struct error err = ERROR_INIT;
	char words[COLUMNS_WORDS], *text = NULL;

	look.style = LIST_CHOSEN;
	list_column_words(words);
	is_int(columns_choose(&look.chosen, words,
			      "name,size,reason,id,fetches", NULL),
	       0, "columns");
	text = list_text(rows, 3, &all, &look);
	is_str(text,
	       "NAME         SIZE REASON                                  "
	       "DSET FETCHES\n"
	       "long id      1536 -                                     "
	       "123456       0\n"
	       "bad\\nname       - never completed                       "
	       "     7       0\n"
	       "UNKNOWN_NAME    0 last fetch failed 2026-11-20T23:00:42 "
	       "     6       0\n",
	       "... as wide as their cells, and none is empty");
	mem_free(text);
	ok(columns_choose(&look.chosen, words, "id,colour", &err) == -1 &&
		   err.kind == ERROR_USAGE &&
		   says(&err, "unknown column 'colour': one of id, valid"),
	   "no column");
	error_clear(&err);
	ok(columns_choose(&look.chosen, words, "id,", &err) == -1, "nothing");
	error_clear(&err);
	ok(columns_choose(&look.chosen, words,
			  "id,id,id,id,id,id,id,id,id,id,id,id,id,id,"
			  "id,id,id",
			  &err) == -1 &&
		   says(&err, "more than 16 columns"),
	   "too many");

	memcpy(list, rows, sizeof(rows));
	must(columns_sort(&look.chosen, words, "size", NULL) == 0);
	must(list_sort(NULL, list, 3, &look, NULL) == 0);
	ok(list[0].id == 6 && list[1].id == 123456 && list[2].id == 7,
	   "by size, unknown ones last");
	must(columns_sort(&look.chosen, words, "-size", NULL) == 0);
	must(list_sort(NULL, list, 3, &look, NULL) == 0);
	ok(list[0].id == 123456 && list[1].id == 6 && list[2].id == 7,
	   "... also in descending order");
	must(columns_sort(&look.chosen, words, "reason", NULL) == 0);
	must(list_sort(NULL, list, 3, &look, NULL) == 0);
	ok(list[0].id == 6 && list[1].id == 7 && list[2].id == 123456,
	   "by a text that is composed");
	must(columns_sort(&look.chosen, words, "valid", NULL) == 0);
	must(list_sort(NULL, list, 3, &look, NULL) == 0);
	ok(list[0].id == 7 && list[1].id == 6 && list[2].id == 123456,
	   "newer ones first among equals");
	error_clear(&err);
	ok(columns_sort(&look.chosen, words, "-", &err) == -1 &&
		   err.kind == ERROR_USAGE,
	   "no order");
}

/* The index of an empty prefix, in memory: newest first a checkpoint that is
 * still being written, then one or two of each of three days, and two that were
 * never completed. */
static struct index *
make_days(void)
{
	static const char *const flushed[] = {
		"2026-11-19T01:00:00",
		"2026-11-19T23:59:59",
		NULL,
		"2026-11-20T10:00:00",
		"2026-11-20T18:00:00",
		NULL,
		"2026-11-21T08:00:00",
		NULL,
	};
	struct index *ix = index_new(NULL);

	for (int i = 0; i < 8; i++) {
		struct kvtree *d = tree_of(
			fmt("ID>%d\nNAME>set.%d\nFLAG_CKPT>1\nCKPT>%d\n", i + 1,
			    i + 1, i + 1));

		must(index_add(ix, d, flushed[i] != NULL, flushed[i], NULL) ==
		     0);
		kvtree_free(d);
	}
	return ix;
}

static void
test_keep(void)
{
	static const struct {
		struct catalogue_keep keep;
		const char *gone, *name;
	} cases[] = {
		{ { .daily = 2 }, " 1 2 3 4 6", "keep two days" },
		{ { .last = 2, .daily = 2 }, " 1 2 3 4", "... and two more" },
		{ { .daily = 9 }, " 1 3 4 6", "... more than there are" },
		{ { .since = "2026-11-20T12:00:00" },
		  " 1 2 3 4",
		  "keep since then" },
		{ { .daily = 3, .since = "2026-11-20T12:00:00" },
		  " 1 3 4",
		  "... and three days" },
		{ { .since = "2026-12-01T00:00:00" },
		  " 1 2 3 4 5 6",
		  "the newest valid one stays" },
		{ { .last = 9, .daily = 1 }, "", "too few valid ones" },
	};
	struct index *ix = make_days();
	struct catalogue *c = NULL;

	make_prefix(0, false, false);
	c = open_prefix();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf gone = BUF_INIT;
		size_t n = 0;
		int64_t *ids = catalogue_prune(c, ix, &cases[i].keep, &n, NULL);

		must(buf_add_str(&gone, "") == 0);
		for (size_t k = 0; k < n; k++)
			must(buf_printf(&gone, " %d", (int)ids[k]) == 0);
		is_str(gone.data, cases[i].gone, cases[i].name);
		buf_free(&gone);
		mem_free(ids);
	}
	index_free(ix);
	catalogue_close(c);
}

static void
test_times(void)
{
	static const struct {
		const char *text, *stamp; /* NULL: refused */
	} cases[] = {
		{ "2026-11-20", "2026-11-20T00:00:00" },
		{ "2026-11-20T23:00", "2026-11-20T23:00:00" },
		{ "2026-11-20 23:00:34", "2026-11-20T23:00:34" },
		{ "2026-11-20T23:00:34Z", "2026-11-20T23:00:34" },
		{ "2027-01-01", "2027-01-01T00:00:00" },
		{ "2d", "2026-11-19T10:00:00" },
		{ "1h 30m", "2026-11-21T08:30:00" },
		{ "now", "2026-11-21T10:00:00" },
		{ "today", "2026-11-21T00:00:00" },
		{ "9:00 today", "2026-11-21T09:00:00" },
		{ "9000w", "1970-01-01T00:00:00" },
		{ "@0", "1970-01-01T00:00:00" },
		{ "15:00", NULL },
		{ "fri", NULL },
		{ "+2h", NULL },
		{ "", NULL },
		{ "2026", NULL },
		{ "2026-11", NULL },
		{ "2026-11-31", NULL },
		{ "20261120", NULL },
		{ "yyyy-mm-dd", NULL },
	};
	const int64_t now = 1795255200; /* 2026-11-21T10:00:00Z, a Saturday */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = ERROR_INIT;
		char to[WHEN_TEXT] = "";

		if (list_time(cases[i].text, now, to, &err) == 0)
			is_str(to, cases[i].stamp, cases[i].text);
		else
			ok(cases[i].stamp == NULL && err.kind == ERROR_USAGE,
			   fmt("not \"%s\"", cases[i].text));
	}
}

/* --- Locks --- */

static int waits;

static void
count_waits(void *arg, const char *what)
{
	(void)arg;
	waits += strstr(what, "waiting") != NULL;
}

static bool
stop_now(void)
{
	return true;
}

static void
test_lock(void)
{
	struct catalogue_options o = { .work = { .log = count_waits } };
	struct error err = ERROR_INIT;
	int dir = -1, lock = -1, status = 0;
	pid_t pid = -1;

	scratch_dir(place, sizeof(place));
	dir = open(place, O_RDONLY | O_DIRECTORY);
	lock = lock_take(dir, "here", &o.work, NULL);
	ok(lock >= 0 && exists(fmt("%s/" LOCK_FILE, place)), "a lock");
	o.work.stop = stop_now;
	ok(lock_take(dir, "here", &o.work, &err) == -1 &&
		   says(&err, "interrupted"),
	   "... that keeps others out, until they are stopped");
	o.work.stop = NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int mine = lock_take(dir, "there", &o.work, NULL);

		_exit(mine >= 0 && waits == 1 ? 0 : 1);
	}
	usleep(100000);
	lock_give(dir, lock);
	must(waitpid(pid, &status, 0) == pid);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "... or until it is given back, with a word to the user");
	/* The other process ended without unlocking: only its file remains. */
	lock = lock_take(dir, "here", &o.work, NULL);
	ok(lock >= 0, "a lock of somebody who died");
	must(unlink(fmt("%s/" LOCK_FILE, place)) == 0);
	write_text(fmt("%s/" LOCK_FILE, place), "another's");
	lock_give(dir, lock);
	ok(exists(fmt("%s/" LOCK_FILE, place)),
	   "another's lock file is not removed");
	lock = lock_take(dir, "here", &o.work, NULL);
	lock_give(dir, lock);
	ok(!exists(fmt("%s/" LOCK_FILE, place)), "the own one is");
	lock_give(dir, -1);
	lock_give(dir, -2);
	remove_tree(place);
	ok(lock_take(dir, "gone", &o.work, &err) == -1 &&
		   err.kind == ERROR_ABSENT,
	   "a directory that was deleted meanwhile");
	must(mkdir(place, 0777) == 0);
	close(dir);
}

int
main(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	test_ids();
	test_prune();
	test_list();
	test_json();
	test_columns();
	test_keep();
	test_times();
	test_lock();
	remove_tree(place);
	buf_free(&listed);
	return tap_done();
}
