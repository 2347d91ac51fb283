/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_put.c - put files in place: no file gets its name early, no temporary file
 * is left after a failure, and leftovers and links in the way do no harm.
 */
#include <sys/file.h>

#include "meta/attr.h"
#include "puttest.h"

static struct par *one; /* a pool of one thread */

/* --- Images --- */

static void
round_trip(unsigned threads)
{
	static const struct {
		enum put_kind kind;
		const char *path, *image, *want;
	} files[] = {
		{ PUT_MAP, "meta/filemap_0", "map", "map" },
		{ PUT_FILE, "a/b/c/file", "contents", "contents-twelve-more" },
		{ PUT_FILE, "old", "new", "new" },
		{ PUT_FILE, "a/empty", "", "" },
		{ PUT_REDUNDANCY, "meta/red", "parity", "parity" },
		{ PUT_DESCRIPTOR, "meta/desc", "descriptor", "descriptor" },
	};
	auto_par *pool = par_new(threads, NULL);
	struct put *p = puttest_start(pool);
	bool good = true;

	put_file(puttest_fd, "old", "what was there before");
	for (size_t i = 0; i < 6; i++)
		puttest_add(p, files[i].kind, files[i].path, files[i].image);
	puttest_make(put_at(p, 2));
	put_what(put_at(p, 1))->size = 20; /* not all of them are written yet */
	ok(put_check_room(p, "them", NULL) == 0, "there is room");
	ok(put_write(put_at(p, 1), "-twelve-more", 12, 8, NULL) == 0, "write");
	ok(puttest_holds("old", "what was there before") &&
		   !exists_at(puttest_fd, "a/b/c/file") &&
		   exists_at(puttest_fd, puttest_temp("a/b/c/file")),
	   "a temporary file stands beside its place, nothing is replaced");
	ok(put_commit(p, NULL) == 0, "put in place");
	for (size_t i = 0; i < 6; i++)
		good &= puttest_holds(files[i].path, files[i].want);
	ok(good && puttest_count() == 6,
	   "all have their contents, no temporary file is left");
	is_int(mode_of(puttest_fd, "a/b/c/file"), 0644, "mode by the umask");
	ok(put_commit(p, NULL) == 0, "a second commit does nothing");
	put_free(p);
	is_int(puttest_count(), 6, "what is in place stays");
}

TEST(giving_up)
{
	auto_put *p = puttest_start(one);
	struct put_file *f = NULL;

	put_file(puttest_fd, "old", "before");
	for (int i = 0; i < 150; i++)
		puttest_make(puttest_add(p, PUT_FILE,
					 i % 2 ? "dir/file" : "old", "x"));
	put_free(p);
	ok(puttest_count() == 1 && puttest_holds("old", "before"),
	   "temporary files are gone, what was there is not");

	p = puttest_start(one);
	f = puttest_add(p, PUT_FILE, "file", "xyz");
	put_what(f)->size = 10;
	ok(put_write(f, "more", 4, 3, NULL) == 0 &&
		   fails_as(put_commit(p, &why), &why, ERROR_CORRUPT,
			    "7 of 10 bytes") &&
		   !exists_at(puttest_fd, "file"),
	   "a file of which bytes are missing does not get its name");
	must(put_open(f, NULL) >= 0);
	put_drop(f);
	is_int(puttest_count(), 0, "dropped");
	put_what(f)->size = UINT64_C(1) << 60;
	refuses(put_check_room(p, "them", &why), -ENOSPC, NULL,
		"an exabyte has no room");
}

/* Two roots with directories of the same name. */
TEST(two_roots)
{
	static const char *const paths[] = { "dir/one", "two" };
	auto_put *p = puttest_start(one);
	bool good = true;
	auto_fd int second = -1;

	must(mkdirat(puttest_fd, "second", 0777) == 0);
	second = openat(puttest_fd, "second",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(second >= 0);
	for (int i = 0; i < 4; i++) {
		struct put_what what =
			puttest_image(PUT_FILE, paths[i / 2],
				      i % 2 ? "in second" : "in first");

		what.dirfd = i % 2 ? second : puttest_fd;
		must(put_add(p, &what, NULL) != NULL);
	}
	ok(put_check_room(p, "them", NULL) == 0 && put_commit(p, NULL) == 0,
	   "files below two roots");
	for (int i = 0; i < 2; i++)
		good &= puttest_holds(paths[i], "in first") &&
			puttest_holds(fmt("second/%s", paths[i]), "in second");
	ok(good, "each in its own");
}

static struct put_file *
add_with(struct put *p, const char *path, const struct attr *a, mode_t mode)
{
	struct put_what what = puttest_image(PUT_FILE, path, "secret");
	struct put_file *f = NULL;

	what.attr = a;
	what.mode = mode;
	f = put_add(p, &what, NULL);
	must(f != NULL);
	return f;
}

static bool
has(const char *path, const struct attr *a)
{
	struct stat st;

	/* Neither set-id bits nor the recorded owner are taken over. */
	return fstatat(puttest_fd, path, &st, 0) == 0 &&
	       st.st_mode == (a->mode & ~07000u) && st.st_uid == geteuid() &&
	       st.st_gid == getegid() && st.st_mtim.tv_sec == a->mtime.tv_sec &&
	       st.st_mtim.tv_nsec == a->mtime.tv_nsec &&
	       st.st_atim.tv_sec == a->atime.tv_sec;
}

TEST(attributes)
{
	static const mode_t modes[] = { 0644, 0640, 0471, 0666, 0777, 04755 };
	struct attr a[12],
		times = { .has_times = true, .mtime = { 1100000000, 7 } };
	auto_put *p = puttest_start(one);
	bool good = true, giving = may_give();

	for (int i = 0; i < 12; i++) {
		bool other = giving && i % 2 == 1;

		a[i] = (struct attr){
			.has_owner = true,
			.has_times = true,
			.mode = S_IFREG | modes[i / 2],
			.uid = other ? 1234 : geteuid(),
			.gid = other ? 4321 : getegid(),
			.atime = { 1000000000, 5 },
			.mtime = { 1100000000 + i, 7 },
		};
		puttest_make(add_with(p, fmt("dir/%d", i), &a[i], 0));
	}
	is_int(mode_of(puttest_fd, puttest_temp("dir/1")), 0644,
	       "the mode comes with the owner");
	must(put_open(add_with(p, "dir/private", &a[1], 0), NULL) >= 0);
	ok(!giving || mode_of(puttest_fd, puttest_temp("dir/private")) == 0600,
	   "nobody else may read it before it has its owner");
	put_free(p);

	p = puttest_start(one);
	for (int i = 0; i < 12; i++)
		add_with(p, fmt("dir/%d", i), &a[i], 0);
	add_with(p, "times alone", &times, 0);
	for (int i = 0; i < 3; i++) {
		add_with(p, fmt("b%d", i), NULL, 0606);
		add_with(p, fmt("c%d", i), NULL, 0);
	}
	must(put_commit(p, NULL) == 0);
	for (int i = 0; i < 12; i++)
		good &= has(fmt("dir/%d", i), &a[i]);
	ok(good, "modes, owners and times of many files");
	is_int(mode_of(puttest_fd, "times alone"), 0644, "times alone");
	for (int i = 0; i < 3; i++)
		good &= mode_of(puttest_fd, fmt("b%d", i)) == 0606 &&
			mode_of(puttest_fd, fmt("c%d", i)) == 0644;
	ok(good, "a mode that the umask would not allow; none");
}

/* What an interrupted run left under the temporary name, or another user
 * planted there. */
TEST(leftovers)
{
	static const char *const what[] = {
		"a temporary file left over does not matter",
		"a link in its place is not followed",
		"nor a hard link write",
		"nor does a directory matter",
		"a dangling link that stands for the file is replaced",
	};
	struct put *p = puttest_start(one);

	puttest_add(p, PUT_FILE, "file", "new");
	puttest_add(p, PUT_FILE, "dir/other", "new");
	put_file(puttest_fd, puttest_temp("file"), "left over");
	ok(put_clear(p, NULL) == 0 && puttest_count() == 0, "cleared");
	put_free(p);
	for (int i = 0; i < 5; i++) {
		const char *temp = puttest_temp("file");
		int rc = 0;

		p = puttest_start(one);
		puttest_add(p, PUT_FILE, "file", "new");
		put_file(puttest_fd, "precious", "precious");
		if (i == 0)
			put_file(puttest_fd, temp, "left over, and longer");
		else if (i == 1)
			rc = symlinkat("precious", puttest_fd, temp);
		else if (i == 2)
			rc = linkat(puttest_fd, "precious", puttest_fd, temp,
				    0);
		else if (i == 3)
			rc = mkdirat(puttest_fd, temp, 0777);
		else
			rc = symlinkat("nowhere", puttest_fd, "file");
		must(rc == 0);
		if (i == 3)
			put_file(puttest_fd, fmt("%s/x", temp), "left over");
		ok(put_commit(p, NULL) == 0 && puttest_holds("file", "new") &&
			   puttest_holds("precious", "precious") &&
			   puttest_count() == 2,
		   what[i]);
		put_free(p);
	}
}

/* Older versions wrote into a directory under a temporary name, and locked it
 * meanwhile. */
TEST(directories_left_over)
{
	auto_put *p = puttest_start(one);
	const char *temp = puttest_temp("up/new");
	auto_fd int fd = -1;

	puttest_add(p, PUT_FILE, "up/new/file", "new");
	write_text(fmt("%s/x", temp), "of a living process");
	fd = openat(puttest_fd, temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
	ok(put_clear(p, NULL) == 0 && puttest_count() == 1,
	   "a directory of a living process is not touched");
	must(flock(fd, LOCK_UN) == 0);
	ok(put_clear(p, NULL) == 0 && !exists_at(puttest_fd, temp),
	   "one that a dead process left is removed");
}

/* Files that cannot be put in place; a later kind is not attempted then. */
TEST(commit_fails)
{
	static const struct {
		const char *path;
		enum error_kind kind;
		const char *words, *what;
	} cases[] = {
		{ "file/x", ERROR_SYSTEM, "file", "a file as a directory" },
		{ "out/x", ERROR_UNSAFE, "out", "a link that leads out" },
		{ "dir", ERROR_SYSTEM, "dir: cannot rename", "a directory" },
		{ "vanished", ERROR_ABSENT, "vanished", "no temporary file" },
		{ "gone/x", ERROR_ABSENT, "gone/x", "nor its directory" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct put *p = puttest_start(one);
		struct put_file *f = NULL;

		put_file(puttest_fd, "file", "x");
		link_by_anyone("/tmp", here("out"));
		must(mkdirat(puttest_fd, "dir", 0777) == 0);
		must(mkdirat(puttest_fd, "dir/full", 0777) == 0);
		puttest_add(p, PUT_MAP, "map", "3");
		puttest_add(p, PUT_FILE, "first", "1");
		f = puttest_add(p, PUT_FILE, cases[i].path, "2");
		if (i > 2) {
			puttest_make(f);
			remove_tree(here("gone"));
			(void)unlinkat(puttest_fd, puttest_temp("vanished"), 0);
		}
		ok(fails_as(put_commit(p, &why), &why, cases[i].kind,
			    cases[i].words) &&
			   !exists_at(puttest_fd, "map"),
		   cases[i].what);
		put_free(p);
		is_int(puttest_count(), 2 + exists_at(puttest_fd, "first"),
		       "... temporary files are gone");
	}
}

/* --- At once --- */

static size_t placed;

static int
note_placed(void *arg, const struct put_what *what,
	    const struct timespec *mtime, struct error *err)
{
	struct stat st;

	(void)arg;
	(void)err;
	must(fstatat(puttest_fd, what->path, &st, 0) == 0);
	placed += st.st_mtim.tv_sec == mtime->tv_sec &&
		  st.st_mtim.tv_nsec == mtime->tv_nsec;
	return 0;
}

static struct put *
start_at_once(bool unlocked)
{
	const struct put_options o = {
		.at_once = true,
		.unlocked = unlocked,
		.placed = note_placed,
	};

	return put_new(&o, NULL);
}

static void
at_once(void)
{
	const struct attr a = { .has_times = true, .mtime = { 77, 123456789 } };
	const struct timespec t = { .tv_sec = 1, .tv_nsec = 50000000 };
	struct put *p = start_at_once(false), *q = NULL;

	puttest_root_new();
	for (int i = 0; i < 100; i++)
		puttest_make(add_with(p, fmt("d%d/%d", i % 3, i), &a, 0));
	ok(placed >= 64 && placed < 100, "a full queue gets its names");
	ok(put_settle(p, 0, NULL) == 0 && placed == 100, "and then the rest");
	puttest_make(add_with(p, "late", NULL, 0));
	ok(put_settle(p, PUT_SECONDS, NULL) == 0 && placed == 100,
	   "one waits for others");
	nanosleep(&t, NULL);
	ok(put_settle(p, PUT_SECONDS, NULL) == 0 && placed == 101,
	   "but not long");
	ok(put_sync(p, NULL, NULL) == 0 && put_sync(p, NULL, NULL) == 0,
	   "directories");
	put_free(p);

	puttest_root_new();
	p = start_at_once(true);
	q = start_at_once(true);
	puttest_make(puttest_add(p, PUT_FILE, "file", "first"));
	puttest_make(puttest_add(q, PUT_FILE, "file", "second"));
	ok(fails_as(put_settle(p, 0, &why), &why, -EBUSY, NULL) &&
		   !exists_at(puttest_fd, "file"),
	   "without locks: who comes second takes over");
	put_free(p);
	ok(put_settle(q, 0, NULL) == 0 && puttest_holds("file", "second"),
	   "and is not disturbed");
	put_free(q);
}

/* --- Without memory --- */

static struct put *again;

static void
begin_again(void *arg)
{
	(void)arg;
	put_free(again);
	again = NULL;
	puttest_root_new();
}

TEST(no_memory)
{
	at_once();
	without_memory_after (m, begin_again(NULL), 2, "no memory") {
		static const char *const names[] = { "a", "b/c", "b/d", "e/f/g",
						     "h" };
		const struct put_options o = { .par = one };

		again = put_new(&o, &m.err);
		m.rc = again == NULL ? -1 : 0;
		for (size_t i = 0; m.rc == 0 && i < 5; i++) {
			const struct put_what what =
				puttest_image(PUT_FILE, names[i], "image");

			m.rc = put_add(again, &what, &m.err) == NULL ? -1 : 0;
		}
		if (m.rc == 0)
			m.rc = put_commit(again, &m.err);
	}
	put_free(again);
}

int
main(void)
{
	one = par_new(1, NULL);
	must(one != NULL);
	round_trip(1);
	round_trip(3);
	return tap_run();
}
