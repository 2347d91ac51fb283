/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of a cache to the prefix: first, repeated, over existing files,
 * interrupted, and concurrent; of damaged caches, with wrong filemaps, and to
 * prefixes that were moved.
 */
#include <sys/file.h>

#include "copytest.h"
#include "lock.h"
#include "progress.h"

/* --- Whole caches --- */

TEST(copy)
{
	static const char reddesc[] =
		"reddesc.er.2.partner.grp_1_of_1.mem_3_of_4.redset";
	struct progress *progress = progress_start("test", true, NULL);
	uint64_t done = 0, total = 0;
	auto_par *par = par_new(3, NULL);
	char name[COPIED_NAME_MAX];

	cache_make(&cache);
	how.par = par;
	how.progress = progress;
	ok(copies(FILES, 0, 0, 0) && all_right() && no_temps(),
	   "a cache is copied: contents, modes, times");
	progress_get(progress, &done, &total);
	progress_end(progress);
	ok(total > 0 && done == total, "... was counted");
	for (int i = 0; i < CACHE_RANKS; i++)
		ok(same_files(at(fmt(META "/filemap_%d", i)),
			      fmt("%s/.scr/filemap_%d", cache.dataset, i)) &&
			   exists(at(fmt(META "/%s", copied_name(name, i)))) &&
			   exists(at(fmt(META "/reddescmap.er.%d.redset", i))),
		   "metadata of a rank");
	ok(same_files(at(fmt(META "/%s", reddesc)),
		      fmt("%s/.scr/%s", cache.dataset, reddesc)),
	   "redundancy");
	ok(copies(0, 0, FILES, 0) && result.bytes == 0, "again: nothing");
	must(unlink(target(1, 0)) == 0);
	ok(copies(1, 0, FILES - 1, 0) && all_right(), "gone: copied again");
	flip(target(2, 0), 7);
	ok(copies(0, 0, FILES, 0), "(a change without a trace is not seen)");
	must(utimensat(AT_FDCWD, target(2, 0), NULL, 0) == 0);
	ok(copies(0, 0, FILES - 2, 0) && result.taken == 1,
	   "what was changed is not replaced");
	with.replace = true;
	ok(copies(1, 0, FILES - 1, 0) && all_right(),
	   "... unless that is allowed");
}

TEST(ranks)
{
	static struct copy_range ranges[] = { { 1, 1 }, { 3, 3 } };
	const struct copy_ranks some = { 2, ranges }, none = { 0, ranges };

	cache_make(&cache);
	with.ranks = &some;
	ok(copies(14, 0, 0, 0) && file_right(1, 0) && file_right(3, 0) &&
		   !exists(target(0, 0)) && !exists(at(META "/filemap_0")),
	   "only some ranks");
	with.ranks = &none;
	ok(copies(0, 0, 0, 0), "none");
}

/* --- Existing files --- */

TEST(adopt)
{
	char outside[128], junk[1100];

	cache_make(&cache);
	snprintf(outside, sizeof(outside), "%s/outside", cache.root);
	must(run_copy() == 0);
	for (int i = 0; i < CACHE_RANKS; i++)
		must(unlink(at(fmt(META "/copied_%d.scr", i))) == 0);
	must(chmod(target(0, 0), 0600) == 0);
	ok(copies(0, FILES - CACHE_RANKS, CACHE_RANKS, 0) && all_right(),
	   "what somebody else has copied is adopted");
	ok(copies(0, 0, FILES, 0), "... and remembered");

	cache_make(&cache);
	write_text(target(0, 0), "half");
	memset(junk, 'x', sizeof(junk));
	write_file(target(1, 0), junk, sizeof(junk));
	write_text(outside, "not ours");
	make_parents(target(2, 0));
	must(symlink(outside, target(2, 0)) == 0);
	ok(copies(FILES - 3 - 3, 0, 0, 0) && result.taken == 3,
	   "what is there but wrong is kept: short, other bytes, a link");
	with.replace = true;
	ok(copies(6, 0, FILES - 6, 0) && all_right(),
	   "... and replaced if that is allowed");
	ok(file_holds(outside, "not ours", 8), "... the link, not its target");
	must(unlink(target(3, 0)) == 0 && mkdir(target(3, 0), 0777) == 0);
	how.dry_run = true;
	ok(run_copy() == 0 && result.copied == 1 && result.bad == 0,
	   "an empty directory would make way");
	how.dry_run = false;
	ok(copies(1, 0, FILES - 1, 0) && all_right(), "... and does");
	must(unlink(target(3, 0)) == 0 && mkdir(target(3, 0), 0777) == 0);
	write_text(fmt("%s/kept", target(3, 0)), "kept");
	ok(copies(0, 0, FILES - 1, 1) && logged("a directory"),
	   "a directory stays, and is told");
}

static void
set_time(struct kvtree *t, void *arg)
{
	t = kvtree_get(kvtree_get2(t, "FILE", arg), "META");
	must(t != NULL && kvtree_set(t, "MTIME_SECS", "1000000077", NULL) == 0);
}

TEST(generations)
{
	cache_make(&cache);
	must(run_copy() == 0);
	/* The same id and names, but from another run of the job. */
	flip(source(1, 0), 3);
	edit_tree(fmt("%s/.scr/filemap_1", cache.dataset), set_time,
		  fmt("%s", source(1, 0)));
	with.replace = true;
	ok(run_copy() == 0 && result.copied == 2 &&
		   same_files(source(1, 0), target(1, 0)),
	   "a newer dataset of the same number is not taken for the old one");
}

/* --- Interruptions and other processes --- */

TEST(stop)
{
	bool good = true;
	int runs = 0;

	cache_make(&cache);
	for (int n = 1;; n++) {
		stop_after = n;
		runs++;
		how.stop = is_stopped;
		with.block = 512;
		if (run_copy() == 0)
			break;
		good = good && failure.kind == ERROR_SYSTEM &&
		       says(&failure, "stopped") && no_temps();
		/* A filemap exists only if all files of its rank do. */
		for (int i = 0; i < CACHE_RANKS; i++)
			good = good &&
			       (!exists(at(fmt(META "/filemap_%d", i))) ||
				(file_right(i, 0) && file_right(i, 1)));
	}
	ok(good && runs > 3, "stopped at any block");
	ok(all_right(), "... and gone on with");
	ok(copies(0, 0, FILES, 0), "... to the end");
}

static int looks;
static bool early;

/* Called at each block: makes one of them slow. */
static bool
dawdle(void)
{
	const struct timespec t = { .tv_sec = 1, .tv_nsec = 100000000 };

	/* Rank 0 is copied and rank 1 is in progress.  Both have few enough
	 * files to be committed at the end only. */
	if (++looks == 18)
		nanosleep(&t, NULL);
	early = early ||
		(exists(at(META "/filemap_0")) && !exists(target(1, 1)));
	return false;
}

/* If the node dies during the copy, complete ranks are already usable. */
TEST(waiting)
{
	static struct copy_range range = { 0, 1 };
	const struct copy_ranks some = { 1, &range };

	cache_make(&cache);
	how.stop = dawdle;
	with.ranks = &some;
	with.block = 512;
	ok(run_copy() == 0 && looks > 25 && early,
	   "a rank does not wait for all others");
	ok(file_right(0, 0) && file_right(1, 1) && no_temps(), "... all do");
}

/* --- Lists of ranks --- */

/* Another process copies the same rank: wait, and take what it made. */
TEST(other)
{
	const struct timespec t = { .tv_nsec = 200000000 };
	const char *there = NULL;
	int status = 0, pipes[2];
	char go = 0;
	pid_t child = -1;

	cache_make(&cache);
	there = at("ckpt/0/other");
	make_parents(there);
	make_parents(at(META "/x"));
	must(pipe(pipes) == 0);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		int dir = open(at(META), O_RDONLY | O_DIRECTORY);
		int lock = lock_shares_open(dir, NULL, NULL);

		if (lock < 0 || !lock_shares_take(lock, 1, 1) ||
		    write(pipes[1], "x", 1) != 1)
			_exit(1);
		nanosleep(&t, NULL);
		if (rename(source(1, 0), there) < 0 ||
		    link(there, source(1, 0)) < 0 ||
		    rename(there, target(1, 0)) < 0)
			_exit(2);
		lock_shares_close(dir, lock);
		_exit(0);
	}
	must(read(pipes[0], &go, 1) == 1);
	ok(run_copy() == 0 && result.bad == 0 && result.adopted == 1 &&
		   same_files(source(1, 0), target(1, 0)) && no_temps(),
	   "a rank that another process is copying");
	ok(!exists(at(META "/" LOCK_SHARES_FILE)), "no lock is left");
	must(waitpid(child, &status, 0) == child && status == 0);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(lists)
{
	static const char *const bad[] = { "x",	  "1-",	  "-1",		 "3-1",
					   "1,",  ",1",	  "01",		 "1 ",
					   "1;2", "1--2", "999999999999" };
	static const struct {
		const char *host, *what;
		size_t count;
		int64_t last; /* in the list; -1: none is looked for */
	} shares[] = {
		{ "n1", "several lines of one host", 2, 9 },
		{ "n2", "tabs and blanks", 1, 5 },
		{ "n5", "no newline at the end", 1, 7 },
		{ "n3", "no ranks", 0, -1 },
		{ "n", "no such host", 0, -1 },
	};
	auto_arena *a = arena_new();
	struct copy_ranks list;
	const char *file = fmt("%s/shares", cache.root);

	ok(copy_ranks_parse("7,0-3,2-5,20-30,25", a, &list, NULL) == 0 &&
		   list.count == 3,
	   "a list");
	ok(copy_ranks_has(&list, 0) && copy_ranks_has(&list, 5) &&
		   copy_ranks_has(&list, 7) && copy_ranks_has(&list, 30) &&
		   !copy_ranks_has(&list, 6) && !copy_ranks_has(&list, 31) &&
		   !copy_ranks_has(&list, -1),
	   "... and what is in it");
	each (b, bad)
		is_error(copy_ranks_parse(*b, a, &list, &failure), &failure,
			 ERROR_USAGE, *b, *b);
	write_text(file, "n1 0-3\nn10 8\n\nn2\t4,5 \r\nn1 9\nn3\nn4 x\nn5 7");
	each (s, shares)
		ok(copy_ranks_assigned(AT_FDCWD, file, s->host, a, &list,
				       NULL) == 0 &&
			   list.count == s->count &&
			   copy_ranks_has(&list, s->last) == (s->last >= 0),
		   s->what);
	is_error(copy_ranks_assigned(AT_FDCWD, file, "n4", a, &list, &failure),
		 &failure, ERROR_USAGE, "n4", "no number");
}

/* --- Damage --- */

TEST(checksums)
{
	cache.crc = true;
	cache_make(&cache);
	flip(source(1, 0), 100);
	ok(copies(FILES - 1, 0, 0, 1) && logged("checksum"),
	   "a wrong checksum: that file is bad");
	ok(!exists(target(1, 0)) && file_right(2, 0) &&
		   exists(at(META "/filemap_1")) && no_temps(),
	   "... and not put in place");
	flip(source(1, 0), 100);
	ok(copies(1, 0, FILES - 1, 0) && all_right(), "right again: copied");
	must(unlink(at(META "/copied_2.scr")) == 0);
	must(unlink(source(2, 0)) == 0);
	ok(run_copy() == 0 && result.bad == 0 && result.adopted > 0 &&
		   all_right(),
	   "gone from the cache, and right where it belongs: adopted");
	cache.crc = false;
}

/* The filemap of a rank in the cache. */
static const char *
map_of(int rank)
{
	return fmt("%s/.scr/filemap_%d", cache.dataset, rank);
}

static void
set_incomplete(struct kvtree *t, void *arg)
{
	struct kvtree *k = kvtree_first(kvtree_get(t, "FILE"));

	(void)arg;
	kvtree_set(kvtree_get(k, "META"), "COMPLETE", "0", NULL);
}

TEST(damage)
{
	cache_make(&cache);
	must(unlink(source(0, 0)) == 0);
	must(truncate(source(1, 0), 5) == 0);
	edit_tree(map_of(2), set_incomplete, NULL);
	must(unlink(fmt("%s/.scr/reddesc.er.3.redset", cache.dataset)) == 0);
	ok(copies(FILES - 4, 0, 0, 3),
	   "gone, short, incomplete; no redundancy");
	ok(logged("rank 0: rank 0.0: cannot open") &&
		   logged("5 bytes, expected 1100") &&
		   logged("never completed"),
	   "... is told");
	ok(!exists(target(0, 0)) && exists(at(META "/filemap_0")) &&
		   file_right(0, 1) && file_right(3, 0),
	   "... the rest is copied, and filemaps, which name what is missing");

	cache_make(&cache);
	flip(map_of(2), 40);
	ok(copies(FILES - 3, 0, 0, 1) && logged("filemap_2") &&
		   !exists(at(META "/filemap_2")) &&
		   exists(at(META "/reddescmap.er.2.redset")),
	   "a damaged filemap is left to redundancy");
	/* Make the rank look rebuilt. */
	cache_rank(&cache, 2);
	must(rename(map_of(2), at(META "/filemap_2")) == 0);
	write_text(map_of(2), "junk");
	ok(run_copy() == 0 && result.bad == 1 && all_right(),
	   "... and its files follow when it was rebuilt");
}

/* Set META PATH of rank 1's files. */
static void
set_path(struct kvtree *t, void *arg)
{
	struct kvtree *k = NULL;

	kvtree_foreach (k, kvtree_get(t, "FILE"))
		kvtree_set(kvtree_get(k, "META"), "PATH", arg, NULL);
}

TEST(unsafe)
{
	static const struct {
		const char *what, *path; /* {}: the prefix */
		bool below;
	} paths[] = {
		{ "outside", "../out", true },
		{ "a relative path", "relative", false },
		{ "the root", "/", false },
		{ "metadata", ".scr", true },
		{ "below metadata", ".scr/x", true },
		{ "dots", "x/../../out", true },
		{ "a link out", "link", true },
		{ "below a link", "link/sub", true },
		{ "elsewhere", "/etc", false },
	};

	each (t, paths) {
		const char *p = t->path, *out = NULL;

		cache_make(&cache);
		out = fmt("%s/out", cache.root);
		must(mkdir(out, 0777) == 0);
		link_by_anyone(out, at("link"));
		edit_tree(map_of(1), set_path, fmt("%s", t->below ? at(p) : p));
		ok(run_copy() == 0 && result.bad == 2 && file_right(0, 0) &&
			   file_right(2, 0) && rmdir(out) == 0 &&
			   log_text[0] != '\0',
		   fmt("%s is refused", t->what));
	}
}

/* --- Prefixes --- */

static void
set_prefix(struct kvtree *t, void *arg)
{
	kvtree_set(t, "PREFIX", arg, NULL);
}

TEST(moved)
{
	char old[128], now[128];

	cache_make(&cache);
	snprintf(old, sizeof(old), "%s", cache.prefix);
	snprintf(now, sizeof(now), "%s/moved", cache.root);
	must(rename(old, now) == 0);
	memcpy(cache.prefix, now, sizeof(now));
	is_error(run_copy(), &failure, ERROR_USAGE, "--moved-from",
		 "a moved prefix: nobody knows");
	with.moved_from = old;
	ok(run_copy() == 0 && all_right(), "... but who is told");
	remove_tree(at("ckpt"));
	edit_tree(map_of(1), set_prefix, old);
	ok(run_copy() == 0 && all_right(), "... or reads it in a filemap");

	for (int link = 0; link < 2; link++) {
		cache_make(&cache);
		must(link ? symlink(cache.prefix, now) == 0
			  : rename(cache.prefix, now) == 0 &&
				     symlink(now, cache.prefix) == 0);
		with.prefix = now;
		ok(copies(FILES, 0, 0, 0) && all_right(),
		   link ? "another name of the prefix"
			: "recorded by another name");
	}
}

TEST(bypass)
{
	struct kvtree *t = kvtree_new(NULL);
	struct filemap_file f;

	cache_make(&cache);
	cache_data(&cache, 1, 0, &f);
	make_parents(target(1, 0));
	must(rename(source(1, 0), target(1, 0)) == 0);
	f.cache_path = target(1, 0);
	must(filemap_add(t, &f, NULL) == 0 &&
	     kvtree_write_file(t, AT_FDCWD, map_of(1), NULL) == 0);
	kvtree_free(t);
	ok(copies(FILES - 2, 0, 1, 0), "what the job wrote to the prefix");
	must(truncate(target(1, 0), 9) == 0);
	ok(run_copy() == 0 && result.bad == 1 && logged("9 bytes, expected"),
	   "... and is told if it is short");
}

TEST(cannot)
{
	cache_make(&cache);
	with.id = 6;
	is_error(run_copy(), &failure, ERROR_ABSENT, "dataset 6",
		 "no such dataset");
	with.prefix = "/nowhere/at all";
	is_error(run_copy(), &failure, ERROR_ABSENT, NULL, "no such prefix");
	remove_tree(cache.dataset);
	is_error(run_copy(), &failure, ERROR_ABSENT, NULL, "no directory");
}

int
main(void)
{
	begin_copies();
	return tap_run();
}
