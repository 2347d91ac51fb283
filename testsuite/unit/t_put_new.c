/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_put_new.c - directories that are filled under a temporary name and renamed
 * once.
 */
#include "par.h"
#include "puttest.h"

static struct par *one; /* a pool of one thread */

/* Twenty files of a directory "up/new", of which one is made if `make`. */
static struct put *
start_new(bool make)
{
	struct put *p = puttest_start(one);

	for (int i = 0; i < 20; i++)
		puttest_add(p, PUT_FILE, fmt("up/new/%d", i), "image");
	puttest_add(p, PUT_MAP, "map", "map");
	must(put_clear(p, NULL) == 0);
	if (make) {
		must(put_new_dirs(p, NULL) == 0);
		puttest_make(put_at(p, 3));
	}
	return p;
}

static bool
all_in_place(struct put *p)
{
	bool good = put_commit(p, NULL) == 0 && puttest_count() == put_count(p);

	for (int i = 0; i < 20; i++)
		good &= puttest_holds(fmt("up/new/%d", i), "image");
	good &= puttest_holds("map", "map") && !exists(puttest_temp("up/new"));
	put_free(p);
	return good;
}

TEST(new_dirs)
{
	struct put *p = start_new(true);

	ok(!exists_at(puttest_fd, "up/new") &&
		   exists(fmt("%s/3", puttest_temp("up/new"))) &&
		   !exists(puttest_temp("up/new/3")),
	   "a new directory does not have its name yet, but a file in it does");
	put_drop(put_at(p, 3));
	ok(!exists(fmt("%s/3", puttest_temp("up/new"))), "until it is dropped");
	ok(all_in_place(p), "files of a new directory");

	put_free(start_new(true));
	ok(puttest_count() == 0 && !exists(puttest_temp("up/new")),
	   "nothing is left of one that was given up");

	p = start_new(false);
	for (int i = 0; i < 2; i++)
		puttest_add(p, PUT_FILE, fmt("up/new/below/%d", i), "image");
	must(put_new_dirs(p, NULL) == 0);
	ok(!exists(puttest_temp("up/new")) && all_in_place(p),
	   "a directory with others below it is made at once");
}

TEST(existing_dirs)
{
	struct put *p = start_new(false);
	char old[128];

	snprintf(old, sizeof(old), "%s/up/new", scratch_root);
	write_text(fmt("%s/1", puttest_temp("up/new")), "left over");
	ok(put_clear(p, NULL) == 0 && puttest_count() == 0, "leftovers go");
	write_text(fmt("%s/x", puttest_temp("up/new")), "left over");
	ok(put_new_dirs(p, NULL) == 0 && all_in_place(p), "at any time");

	p = start_new(false);
	write_text(fmt("%s/1", old), "old");
	must(put_new_dirs(p, NULL) == 0);
	ok(!exists(puttest_temp("up/new")) && all_in_place(p),
	   "an old one stays");

	p = start_new(false);
	must(mkdirat(puttest_fd, "up", 0777) == 0 && mkdir(old, 0777) == 0 &&
	     chmod(old, 02751) == 0 && put_new_dirs(p, NULL) == 0);
	puttest_make(put_at(p, 3));
	ok(exists(fmt("%s/3", puttest_temp("up/new"))) && all_in_place(p),
	   "an empty one is replaced");
	is_int(mode_of(puttest_fd, "up/new"), 02751, "by one of its mode");

	p = start_new(true);
	write_text(old, "a file");
	ok(put_commit(p, NULL) < 0 && !exists_at(puttest_fd, "map") &&
		   puttest_holds("up/new", "a file"),
	   "a file in its place is not replaced");
	put_free(p);
	is_int(puttest_count(), 1, "and no other is left");
}

TEST(two_processes)
{
	struct put *p = start_new(true), *q = NULL;

	q = put_new(&(struct put_options){ .par = one }, NULL);
	for (int i = 0; i < 16; i++)
		puttest_add(q, PUT_FILE, fmt("up/new/q%d", i), "second");
	ok(put_clear(q, NULL) == 0 && put_new_dirs(q, NULL) == 0 &&
		   exists(fmt("%s/3", puttest_temp("up/new"))),
	   "that of another process is not touched");
	ok(put_commit(q, NULL) == 0 && puttest_holds("up/new/q5", "second"),
	   "who comes second makes the directory");
	put_free(q);
	ok(put_commit(p, NULL) == 0 && puttest_holds("up/new/3", "image") &&
		   puttest_holds("up/new/q5", "second") &&
		   !exists(puttest_temp("up/new")) && puttest_count() == 37,
	   "and the first one moves its files into it");
	put_free(p);
}

int
main(void)
{
	one = par_new(1, NULL);
	must(one != NULL);
	return tap_run();
}
