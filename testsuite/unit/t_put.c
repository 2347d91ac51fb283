/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_put.c - put files in place: no file gets its name early, no temporary file
 * is left after a failure, and leftovers and links in the way do no harm.
 */
#include <errno.h>

#include "meta/attr.h"
#include "par.h"
#include "puttest.h"

static struct par *one; /* a pool of one thread */

/* --- Images --- */

static void
round_trip(unsigned threads)
{
	struct par *pool = par_new(threads, NULL);
	struct put *p = puttest_start(pool);
	struct put_file *file = NULL;
	struct stat st;

	write_text(fmt("%s/old", puttest_root), "what was there before");
	puttest_add(p, PUT_MAP, "meta/filemap_0", "map");
	file = puttest_add(p, PUT_FILE, "a/b/c/file", "contents");
	puttest_make(puttest_add(p, PUT_FILE, "old", "new"));
	puttest_add(p, PUT_FILE, "a/empty", "");
	puttest_add(p, PUT_REDUNDANCY, "meta/red", "parity");
	puttest_add(p, PUT_DESCRIPTOR, "meta/desc", "descriptor");
	put_set_size(file, 20); /* not all of them are written yet */
	ok(put_check_room(p, "them", NULL) == 0, "there is room");
	ok(put_write(file, "-twelve-more", 12, 8, NULL) == 0, "written to");
	ok(puttest_holds("old", "what was there before"),
	   "nothing is replaced yet");
	ok(!exists(fmt("%s/a/b/c/file", puttest_root)), "nor new");
	ok(exists(puttest_temp("a/b/c/file")),
	   "a temporary file stands beside its place");
	ok(put_commit(p, NULL) == 0, "put in place");
	is_int((int64_t)puttest_count(), 6, "no temporary file is left");
	ok(puttest_holds("old", "new") &&
		   puttest_holds("meta/filemap_0", "map") &&
		   puttest_holds("meta/red", "parity") &&
		   puttest_holds("meta/desc", "descriptor") &&
		   puttest_holds("a/empty", "") &&
		   puttest_holds("a/b/c/file", "contents-twelve-more"),
	   "all have their contents");
	ok(stat(fmt("%s/a/b/c/file", puttest_root), &st) == 0 &&
		   (st.st_mode & 07777) == 0644,
	   "mode as the umask says");
	ok(put_commit(p, NULL) == 0, "a second commit does nothing");
	put_free(p);
	is_int((int64_t)puttest_count(), 6, "what is in place stays");
	par_free(pool);
}

static void
giving_up(void)
{
	struct put *p = puttest_start(one);
	struct error err = ERROR_INIT;
	struct put_file *f = NULL;

	write_text(fmt("%s/old", puttest_root), "before");
	for (int i = 0; i < 150; i++)
		puttest_make(puttest_add(p, PUT_FILE,
					 i % 2 ? "dir/file" : "old", "x"));
	put_free(p);
	ok(puttest_count() == 1 && puttest_holds("old", "before"),
	   "temporary files are gone, what was there is not");

	p = puttest_start(one);
	f = puttest_add(p, PUT_FILE, "file", "xyz");
	put_set_size(f, 10);
	ok(put_write(f, "more", 4, 3, NULL) == 0 && put_commit(p, &err) < 0 &&
		   err.kind == ERROR_CORRUPT && says(&err, "7 of 10 bytes"),
	   "a file of which bytes are missing");
	ok(!exists(fmt("%s/file", puttest_root)), "does not get its name");
	must(put_open(f, NULL) >= 0);
	put_drop(f);
	is_int((int64_t)puttest_count(), 0, "dropped");
	put_free(p);
}

/* Two roots with directories of the same name. */
static void
two_roots(void)
{
	struct put *p = puttest_start(one);
	struct put_what what;
	int second = -1;

	must(mkdir(fmt("%s/second", puttest_root), 0777) == 0);
	second = openat(puttest_fd, "second",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(second >= 0);
	for (int i = 0; i < 4; i++) {
		what = puttest_image(PUT_FILE, i < 2 ? "dir/one" : "two",
				     i % 2 ? "in second" : "in first");
		what.dirfd = i % 2 ? second : puttest_fd;
		must(put_add(p, &what, NULL) != NULL);
	}
	ok(put_check_room(p, "them", NULL) == 0 && put_commit(p, NULL) == 0,
	   "files below two roots");
	ok(puttest_holds("dir/one", "in first") &&
		   puttest_holds("two", "in first") &&
		   puttest_holds("second/dir/one", "in second") &&
		   puttest_holds("second/two", "in second"),
	   "each in its own");
	close(second);
	put_free(p);
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
	return stat(path, &st) == 0 && st.st_mode == (a->mode & ~07000u) &&
	       st.st_uid == geteuid() && st.st_gid == getegid() &&
	       st.st_mtim.tv_sec == a->mtime.tv_sec &&
	       st.st_mtim.tv_nsec == a->mtime.tv_nsec &&
	       st.st_atim.tv_sec == a->atime.tv_sec;
}

static mode_t
mode_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void
attributes(void)
{
	static const mode_t modes[] = { 0644, 0640, 0471, 0666, 0777, 04755 };
	struct attr a[12],
		times = { .has_times = true, .mtime = { 1100000000, 7 } };
	struct put *p = puttest_start(one);
	bool good = true;

	for (int i = 0; i < 12; i++) {
		bool other = geteuid() == 0 && i % 2 == 1;

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
	if (geteuid() == 0)
		is_int(mode_at(puttest_temp("dir/1")), 0644,
		       "the mode comes with the owner");
	must(put_open(add_with(p, "dir/private", &a[1], 0), NULL) >= 0);
	ok(geteuid() != 0 || mode_at(puttest_temp("dir/private")) == 0600,
	   "nobody else may read it before it has its owner");
	put_free(p);

	p = puttest_start(one);
	for (int i = 0; i < 12; i++)
		add_with(p, fmt("dir/%d", i), &a[i], 0);
	must(put_commit(p, NULL) == 0);
	for (int i = 0; i < 12; i++)
		good &= has(fmt("%s/dir/%d", puttest_root, i), &a[i]);
	ok(good, "modes, owners and times of many files");
	put_free(p);

	p = puttest_start(one);
	add_with(p, "a", &times, 0);
	for (int i = 0; i < 3; i++) {
		add_with(p, fmt("b%d", i), NULL, 0606);
		add_with(p, fmt("c%d", i), NULL, 0);
	}
	must(put_commit(p, NULL) == 0);
	is_int(mode_at(fmt("%s/a", puttest_root)), 0644, "times alone");
	ok(mode_at(fmt("%s/b0", puttest_root)) == 0606 &&
		   mode_at(fmt("%s/b1", puttest_root)) == 0606 &&
		   mode_at(fmt("%s/b2", puttest_root)) == 0606,
	   "a mode that the umask would not allow");
	ok(mode_at(fmt("%s/c2", puttest_root)) == 0644,
	   "none: that of any new file");
	put_free(p);
}

/* Files under the temporary names: left by an interrupted run, or planted by
 * another user. */
static void
leftovers(void)
{
	struct put *p = puttest_start(one);
	struct error err = ERROR_INIT;

	puttest_add(p, PUT_FILE, "file", "new");
	puttest_add(p, PUT_FILE, "dir/other", "new");
	write_text(puttest_temp("file"), "left by an interrupted run");
	ok(put_clear(p, NULL) == 0 && puttest_count() == 0, "cleared");
	write_text(puttest_temp("file"), "left by an interrupted run");
	ok(put_commit(p, NULL) == 0 && puttest_holds("file", "new"),
	   "a temporary file left over does not matter");
	put_free(p);

	p = puttest_start(one);
	puttest_add(p, PUT_FILE, "file", "new");
	write_text(fmt("%s/precious", puttest_root), "precious");
	must(symlink("precious", puttest_temp("file")) == 0);
	ok(put_commit(p, NULL) == 0 && puttest_holds("file", "new") &&
		   puttest_holds("precious", "precious"),
	   "a link in its place is not followed");
	put_free(p);

	p = puttest_start(one);
	puttest_add(p, PUT_FILE, "file", "new");
	write_text(fmt("%s/precious", puttest_root), "precious");
	must(link(fmt("%s/precious", puttest_root), puttest_temp("file")) == 0);
	ok(put_commit(p, NULL) == 0 && puttest_holds("file", "new") &&
		   puttest_holds("precious", "precious"),
	   "nor a hard link written to");
	put_free(p);

	p = puttest_start(one);
	puttest_add(p, PUT_FILE, "file", "new");
	must(mkdir(puttest_temp("file"), 0777) == 0);
	write_text(fmt("%s/x", puttest_temp("file")), "left over");
	ok(put_commit(p, &err) == 0 && puttest_holds("file", "new"),
	   "nor does a directory matter");
	put_free(p);

	p = puttest_start(one);
	must(symlink("nowhere", fmt("%s/file", puttest_root)) == 0);
	puttest_add(p, PUT_FILE, "file", "new");
	ok(put_commit(p, NULL) == 0 && puttest_holds("file", "new") &&
		   !exists(fmt("%s/nowhere", puttest_root)),
	   "a dangling link that stands for the file is replaced");
	put_free(p);
}

static void
bad_parents(void)
{
	struct error err = ERROR_INIT;
	struct put *p = puttest_start(one);

	write_text(fmt("%s/a", puttest_root),
		   "a file where a directory should be");
	puttest_add(p, PUT_FILE, "a/file", "x");
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_SYSTEM,
	   "a file in the place of a directory is an error");
	put_free(p);

	p = puttest_start(one);
	must(symlink("/tmp", fmt("%s/out", puttest_root)) == 0);
	puttest_add(p, PUT_FILE, "out/file", "x");
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_UNSAFE,
	   "a link that leads out is refused");
	put_free(p);
}

/* Another process changes the directories meanwhile. */
static void
commit_fails(void)
{
	struct error err = ERROR_INIT;
	struct put *p = puttest_start(one);
	struct put_file *f = NULL;

	puttest_add(p, PUT_MAP, "map", "3");
	puttest_add(p, PUT_FILE, "one", "1");
	puttest_add(p, PUT_FILE, "dir", "2");
	must(mkdir(fmt("%s/dir", puttest_root), 0777) == 0);
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   says(&err, "dir: cannot rename"),
	   "a directory cannot be replaced");
	ok(puttest_holds("one", "1") && !exists(fmt("%s/map", puttest_root)),
	   "what is of a later kind was not put in place");
	put_free(p);
	is_int((int64_t)puttest_count(), 1, "temporary files are gone");

	p = puttest_start(one);
	f = puttest_add(p, PUT_FILE, "file", "x");
	puttest_make(f);
	must(unlink(puttest_temp("file")) == 0);
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_ABSENT,
	   "the temporary file has vanished");
	put_free(p);

	p = puttest_start(one);
	f = puttest_add(p, PUT_FILE, "a/file", "x");
	puttest_make(f);
	remove_tree(fmt("%s/a", puttest_root));
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_ABSENT,
	   "and its directory");
	put_free(p);
}

static void
room(void)
{
	struct error err = ERROR_INIT;
	struct put *p = puttest_start(one);

	puttest_add(p, PUT_FILE, "small", "x");
	put_set_size(puttest_add(p, PUT_FILE, "large", "x"), UINT64_C(1) << 60);
	ok(put_check_room(p, "them", &err) < 0, "an exabyte has no room");
	is_int(err.kind, ERROR_SYSTEM, "the system's fault");
	is_int(err.errnum, ENOSPC, "as if it had said so itself");
	put_free(p);
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

	puttest_root_new();
	placed = 0;
	return put_new(&o, NULL);
}

static void
at_once(void)
{
	const struct attr a = { .has_times = true, .mtime = { 77, 123456789 } };
	const struct timespec t = { .tv_sec = 1, .tv_nsec = 50000000 };
	struct put *p = start_at_once(false), *q = NULL;
	struct error err = ERROR_INIT;

	for (int i = 0; i < 100; i++)
		puttest_make(add_with(p, fmt("d%d/%d", i % 3, i), &a, 0));
	ok(placed >= 64 && placed < 100, "a full queue gets its names");
	ok(put_settle(p, 0, NULL) == 0 && placed == 100, "and then the rest");
	puttest_make(add_with(p, "late", NULL, 0));
	ok(put_settle(p, PUT_SECONDS, NULL) == 0 && placed == 100,
	   "one waits for others");
	nanosleep(&t, NULL);
	ok(put_settle(p, PUT_SECONDS, NULL) == 0 && placed == 101,
	   "but not for ever");
	ok(put_sync(p, NULL, NULL) == 0 && put_sync(p, NULL, NULL) == 0,
	   "directories");
	put_free(p);

	p = start_at_once(true);
	q = put_new(&(struct put_options){ .at_once = true, .unlocked = true },
		    NULL);
	puttest_make(puttest_add(p, PUT_FILE, "file", "first"));
	puttest_make(puttest_add(q, PUT_FILE, "file", "second"));
	ok(put_settle(p, 0, &err) < 0 && err.errnum == EBUSY &&
		   !exists(fmt("%s/file", puttest_root)),
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

static int
fill_again(void *arg, struct error *err)
{
	static const char *const names[] = { "a", "b/c", "b/d", "e/f/g", "h" };
	const struct put_options o = { .par = one };

	(void)arg;
	again = put_new(&o, err);
	if (again == NULL)
		return -1;
	for (size_t i = 0; i < 5; i++) {
		const struct put_what what =
			puttest_image(PUT_FILE, names[i], "image");

		if (put_add(again, &what, err) == NULL)
			return -1;
	}
	return put_commit(again, err);
}

int
main(void)
{
	umask(022);
	one = par_new(1, NULL);
	must(one != NULL);
	round_trip(1);
	round_trip(3);
	giving_up();
	two_roots();
	attributes();
	leftovers();
	bad_parents();
	commit_fails();
	room();
	at_once();
	ok(fails_well(fill_again, begin_again, NULL), "no memory");
	put_free(again);
	close(puttest_fd);
	remove_tree(puttest_root);
	par_free(one);
	return tap_done();
}
