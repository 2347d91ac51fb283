/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_list.c - finding datasets by name and number, selecting what to
 * prune; and the lock of a dataset.  Lists: cmd/scr_index.bats.
 */
#include "cattest.h"
#include "lock.h"
#include "report/list.h"

#define NOON "2026-11-20T12:00:00"

TEST(ids)
{
	auto_catalogue *c = NULL;
	auto_index *ix = NULL;
	int64_t *ids = NULL;
	size_t n = 0;

	make_prefix(12, true, true);
	make_parents(here(".scr/scr.dataset.012/x"));
	make_parents(here(".scr/scr.dataset./x"));
	make_parents(here(".scr/scr.dataset.99/x"));
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
	refuses(catalogue_resolve(c, ix, "98", &why), ERROR_ABSENT, NULL,
		"the number of nothing");
	is_int(catalogue_resolve(c, ix, "set.", NULL), -1, "no name");
	is_int(catalogue_resolve(c, ix, "", NULL), -1, "no text");
	is_int(catalogue_resolve(c, NULL, "2", NULL), 2, "without an index");
	ids = catalogue_ids(c, ix, "nosuch", &n, &why);
	ok(n == (size_t)-1 && why.kind == ERROR_ABSENT,
	   "one that is not there");
	mem_free(ids);
}

/* --- Pruning --- */

/* Newest first a checkpoint that is still being written, then one or two of
 * each of three days, and two that were never completed. */
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
		auto_kvtree *d = tree_of(
			fmt("ID>%d\nNAME>set.%d\nFLAG_CKPT>1\nCKPT>%d\n", i + 1,
			    i + 1, i + 1));

		must(index_add(ix, d, flushed[i] != NULL, flushed[i], NULL) ==
		     0);
	}
	return ix;
}

struct keeping {
	struct catalogue_keep keep;
	const char *gone, *name;
};

/* The datasets that go. */
static void
prunes(struct catalogue *c, const struct index *ix, const struct keeping *k)
{
	size_t n = 0;
	auto_mem int64_t *ids = catalogue_prune(c, ix, &k->keep, &n, NULL);
	char *gone = fmt("%s", "");

	for (size_t i = 0; i < n; i++)
		gone = fmt("%s %d", gone, (int)ids[i]);
	is_str(gone, k->gone, k->name);
}

TEST(prune)
{
	/* checkpoints 1 3 5 7 9, outputs 2 4 6 8, current 3 */
	static const struct keeping kinds[] = {
		{ { .last = 1 }, " 1 5 7", "keep 1" },
		{ { .last = 2 }, " 1 5", "keep 2" },
		{ { .last = 5 }, "", "keep 5" },
		{ { .last = 6 }, "", "keep 6" },
		{ { .last = 1, .outputs = true },
		  " 1 2 4 5 6 7",
		  "1, outputs" },
		{ { .last = 3, .outputs = true }, " 1 2", "3, outputs" },
	};
	static const struct keeping ages[] = {
		{ { .daily = 2 }, " 1 2 3 4 6", "keep two days" },
		{ { .last = 2, .daily = 2 }, " 1 2 3 4", "... and two more" },
		{ { .daily = 9 }, " 1 3 4 6", "... more than there are" },
		{ { .since = NOON }, " 1 2 3 4", "keep since then" },
		{ { .daily = 3, .since = NOON }, " 1 3 4", "... and 3 days" },
		{ { .since = "2026-12-01T00:00:00" },
		  " 1 2 3 4 5 6",
		  "the newest valid one stays" },
		{ { .last = 9, .daily = 1 }, "", "too few valid ones" },
	};
	struct catalogue_edit e;
	auto_catalogue *c = NULL;
	auto_index *ix = NULL;
	size_t n = 0;

	make_prefix(9, true, false);
	c = open_prefix();
	must(edit(c, CATALOGUE_CURRENT, "set.3", &e, NULL) == 0);
	ix = catalogue_read(c, NULL);
	each (k, kinds)
		prunes(c, ix, k);
	index_free(ix);
	catalogue_close(c);

	make_prefix(9, false, true);
	c = open_prefix();
	ix = make_days();
	each (a, ages)
		prunes(c, ix, a);
	index_free(ix);
	ix = catalogue_read(c, NULL);
	ok(ix != NULL &&
		   catalogue_prune(c, ix, &ages[0].keep, &n, &why) == NULL &&
		   n == (size_t)-1 && why.kind == ERROR_DAMAGED,
	   "nothing is pruned by a guess");
}

TEST(times)
{
	static const struct {
		const char *text, *stamp; /* NULL: refused */
	} cases[] = {
		{ "2026-11-20", "2026-11-20T00:00:00" },
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
		{ "2026-11-31", NULL },
	};
	const int64_t now = 1795255200; /* 2026-11-21T10:00:00Z, a Saturday */

	each (c, cases) {
		char to[WHEN_TEXT] = "";

		if (list_time(c->text, now, to, &why) == 0)
			is_str(to, c->stamp, c->text);
		else
			ok(c->stamp == NULL && why.kind == ERROR_USAGE,
			   fmt("not \"%s\"", c->text));
	}
}

/* --- Locks (waiting for one: cmd/scr_index.bats) --- */

TEST(lock)
{
	struct catalogue_options o = { .work = { .log = be_deaf } };
	int dir = scratch_fd(), lock = -1;

	lock = lock_take(dir, "here", &o.work, NULL);
	ok(lock >= 0 && exists(here(LOCK_FILE)), "a lock");
	o.work.stop = is_stopped;
	ok(lock_take(dir, "here", &o.work, &why) == -1 &&
		   says(&why, "interrupted"),
	   "... that keeps others out, until they are stopped");
	o.work.stop = NULL;
	lock_give(dir, lock);
	/* Another process ended without unlocking: only its file remains. */
	write_text(here(LOCK_FILE), "");
	lock = lock_take(dir, "here", &o.work, NULL);
	ok(lock >= 0, "a lock of somebody who died");
	must(unlink(here(LOCK_FILE)) == 0);
	write_text(here(LOCK_FILE), "another's");
	lock_give(dir, lock);
	ok(exists(here(LOCK_FILE)), "another's lock file is not removed");
	lock = lock_take(dir, "here", &o.work, NULL);
	lock_give(dir, lock);
	ok(!exists(here(LOCK_FILE)), "the own one is");
	lock_give(dir, -1);
	lock_give(dir, -2);
	remove_tree(scratch_root);
	refuses(lock_take(dir, "gone", &o.work, &why), ERROR_ABSENT, NULL,
		"a directory that was deleted meanwhile");
	must(mkdir(scratch_root, 0777) == 0);
}

int
main(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	return tap_run();
}
