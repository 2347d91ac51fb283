/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_list.c - listing the index, finding datasets by name and number,
 * selecting what to prune; and the lock of a dataset.
 */
#include <signal.h>
#include <sys/wait.h>

#include "cattest.h"
#include "json.h"
#include "lock.h"

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
		int64_t *ids = catalogue_prune(c, ix, cases[i].keep,
					       cases[i].outputs, &n, NULL);
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
	ok(ix != NULL && catalogue_prune(c, ix, 1, false, &n, &err) == NULL &&
		   n == (size_t)-1 && err.kind == ERROR_DAMAGED,
	   "nothing is pruned by a guess");
	index_free(ix);
	catalogue_close(c);
}

/* --- Lists --- */

/* The output of catalogue_list(), for mem_free(). */
static char *
list_text(const struct index_entry *e, size_t n,
	  const struct catalogue_filter *f, enum catalogue_style style)
{
	FILE *to = tmpfile();
	char *text = NULL;
	long len = 0;

	must(to != NULL);
	must(catalogue_list(e, n, f, style, to, NULL) == 0);
	len = ftell(to);
	text = mem_calloc((size_t)len + 1, 1);
	rewind(to);
	must(fread(text, 1, (size_t)len, to) == (size_t)len);
	fclose(to);
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
	const struct catalogue_filter all = { .valid = false };
	struct catalogue_filter f = all;
	char *text = list_text(rows, 3, &all, CATALOGUE_LLNL);

	is_str(text,
	       "DSET VALID FLUSHED             CUR NAME\n"
	       "123456 YES   2026-11-20T23:00:34   * long id\n"
	       "   7 NO                            bad\\nname\n"
	       "   6 NO    x     UNKNOWN_NAME\n",
	       "LLNL's table");
	mem_free(text);
	text = list_text(rows, 3, &all, CATALOGUE_WIDE);
	is_str(text,
	       "DSET VALID FLUSHED             CUR KIND     FILES       SIZE "
	       "NAME     REASON\n"
	       "123456 YES   2026-11-20T23:00:34   * ckpt         3    1.5 KiB "
	       "long id\n"
	       "   7 NO                            both         -          - "
	       "bad\\nname never completed\n"
	       "   6 NO    x     output       0        0 B UNKNOWN_NAME last "
	       "fetch failed 2026-11-20T23:00:42\n",
	       "the wide table");
	mem_free(text);
	text = list_text(rows, 3, &all, CATALOGUE_NAMES);
	is_str(text, "long id\nbad\\nname\n", "names");
	mem_free(text);
	text = list_text(rows, 0, &all, CATALOGUE_LLNL);
	is_str(text, "DSET VALID FLUSHED             CUR NAME\n",
	       "an empty table");
	mem_free(text);

	f.valid = true;
	ok(catalogue_match(&f, &rows[0]) && !catalogue_match(&f, &rows[1]) &&
		   !catalogue_match(&f, &rows[2]),
	   "valid ones");
	f = (struct catalogue_filter){ .checkpoints = true };
	ok(catalogue_match(&f, &rows[1]) && !catalogue_match(&f, &rows[2]),
	   "checkpoints");
	f = (struct catalogue_filter){ .outputs = true };
	ok(catalogue_match(&f, &rows[1]) && !catalogue_match(&f, &rows[0]),
	   "outputs");
	f = (struct catalogue_filter){ .after = "2026-11-20" };
	ok(catalogue_match(&f, &rows[0]) && !catalogue_match(&f, &rows[1]),
	   "after a day; without a stamp never");
	f = (struct catalogue_filter){ .before = "2026-11-20T23:00:34" };
	ok(!catalogue_match(&f, &rows[0]), "before is before");
}

static void
test_json(void)
{
	struct catalogue_filter f = { .checkpoints = true };
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
	ok(json_print(catalogue_list_json(c, ix, e, n, &f), to, NULL) == 0,
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
test_stamps(void)
{
	static const char *const good[] = { "2026-11-20", "2026-11-20T23",
					    "2026-11-20T23:00",
					    "2026-11-20T23:00:34" };
	static const char *const bad[] = { "",
					   "2026",
					   "2026-11",
					   "2026-11-2",
					   "2026-11-20T",
					   "20261120",
					   "2026-11-20 23:00:34",
					   "2026-11-20T23:00:34Z",
					   "yyyy-mm-dd" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		is_int(catalogue_check_stamp(good[i], NULL), 0, good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(catalogue_check_stamp(bad[i], NULL), -1,
		       fmt("not \"%s\"", bad[i]));
	is_int(catalogue_check_stamp(NULL, NULL), 0, "no stamp");
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
	test_ids();
	test_prune();
	test_list();
	test_json();
	test_stamps();
	test_lock();
	remove_tree(place);
	return tap_done();
}
