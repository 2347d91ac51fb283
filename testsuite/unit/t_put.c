/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_put.c - put files in place: no file gets its name early, no temporary file
 * is left after a failure, and leftovers and links in the way do no harm.
 */
#include <errno.h>

#include "meta/attr.h"
#include "par.h"
#include "scratch.h"
#include "temp.h"
#include "transfer/put.h"

static char root[96];
static int rootfd = -1;
static struct par *one; /* thread */

static void
start_root(void)
{
	if (rootfd >= 0)
		close(rootfd);
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(rootfd >= 0);
}

static struct put *
start(struct par *par)
{
	struct put *p = put_new(&(struct put_options){ .par = par }, NULL);

	start_root();
	must(p != NULL);
	return p;
}

/* A file that consists of its image. */
static struct put_what
image_of(enum put_kind kind, const char *path, const char *image)
{
	return (struct put_what){
		.kind = kind,
		.dirfd = rootfd,
		.path = path,
		.size = strlen(image),
		.image = image,
		.image_size = strlen(image),
	};
}

static struct put_file *
add(struct put *p, enum put_kind kind, const char *path, const char *image)
{
	const struct put_what what = image_of(kind, path, image);
	struct put_file *f = put_add(p, &what, NULL);

	must(f != NULL);
	return f;
}

/* Write the temporary file completely. */
static void
make(struct put_file *f)
{
	must(put_open(f, NULL) >= 0 && put_wrote(f, 0, NULL) == 0);
}

/* The path of the temporary file of `path`. */
static const char *
temp_of(const char *path)
{
	const char *base = strrchr(path, '/');
	char temp[TEMP_NAME_MAX];

	base = base != NULL ? base + 1 : path;
	return fmt("%s/%.*s%s", root, (int)(base - path), path,
		   temp_name(temp, base));
}

static size_t files_seen;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	files_seen += type != FTW_D;
	(void)path;
	(void)ftw;
	return 0;
}

static size_t
count_files(void)
{
	files_seen = 0;
	must(nftw(root, count_file, 16, FTW_PHYS) == 0);
	return files_seen;
}

static bool
holds(const char *path, const char *want)
{
	struct buf b = BUF_INIT;
	bool same = io_read_file(rootfd, path, 1 << 20, &b, NULL) == 0 &&
		    b.len == strlen(want) &&
		    (b.len == 0 || memcmp(b.data, want, b.len) == 0);

	buf_free(&b);
	return same;
}

/* --- Images --- */

static void
round_trip(unsigned threads)
{
	struct par *pool = par_new(threads, NULL);
	struct put *p = start(pool);
	struct put_file *file = NULL;
	struct stat st;

	write_text(fmt("%s/old", root), "what was there before");
	add(p, PUT_MAP, "meta/filemap_0", "map");
	file = add(p, PUT_FILE, "a/b/c/file", "contents");
	make(add(p, PUT_FILE, "old", "new"));
	add(p, PUT_FILE, "a/empty", "");
	add(p, PUT_REDUNDANCY, "meta/red", "parity");
	add(p, PUT_DESCRIPTOR, "meta/desc", "descriptor");
	put_set_size(file, 20); /* the rest is for others to write */
	ok(put_check_room(p, "them", NULL) == 0, "there is room");
	ok(put_write(file, "-twelve-more", 12, 8, NULL) == 0, "written to");
	ok(holds("old", "what was there before"), "nothing is replaced yet");
	ok(!exists(fmt("%s/a/b/c/file", root)), "nor new");
	ok(exists(temp_of("a/b/c/file")),
	   "a temporary file stands beside its place");
	ok(put_commit(p, NULL) == 0, "put in place");
	is_int((int64_t)count_files(), 6, "no temporary file is left");
	ok(holds("old", "new") && holds("meta/filemap_0", "map") &&
		   holds("meta/red", "parity") &&
		   holds("meta/desc", "descriptor") && holds("a/empty", "") &&
		   holds("a/b/c/file", "contents-twelve-more"),
	   "all have their contents");
	ok(stat(fmt("%s/a/b/c/file", root), &st) == 0 &&
		   (st.st_mode & 07777) == 0644,
	   "mode as the umask says");
	ok(put_commit(p, NULL) == 0, "a second commit does nothing");
	put_free(p);
	is_int((int64_t)count_files(), 6, "what is in place stays");
	par_free(pool);
}

static void
giving_up(void)
{
	struct put *p = start(one);
	struct error err = ERROR_INIT;
	struct put_file *f = NULL;

	write_text(fmt("%s/old", root), "before");
	for (int i = 0; i < 150; i++)
		make(add(p, PUT_FILE, i % 2 ? "dir/file" : "old", "x"));
	put_free(p);
	ok(count_files() == 1 && holds("old", "before"),
	   "temporary files are gone, what was there is not");

	p = start(one);
	f = add(p, PUT_FILE, "file", "xyz");
	put_set_size(f, 10);
	ok(put_write(f, "more", 4, 3, NULL) == 0 && put_commit(p, &err) < 0 &&
		   err.kind == ERROR_CORRUPT && says(&err, "7 of 10 bytes"),
	   "a file of which bytes are missing");
	ok(!exists(fmt("%s/file", root)), "does not get its name");
	must(put_open(f, NULL) >= 0);
	put_drop(f);
	is_int((int64_t)count_files(), 0, "dropped");
	put_free(p);
}

/* Two roots with directories of the same name. */
static void
two_roots(void)
{
	struct put *p = start(one);
	struct put_what what;
	int second = -1;

	must(mkdir(fmt("%s/second", root), 0777) == 0);
	second = openat(rootfd, "second", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(second >= 0);
	for (int i = 0; i < 4; i++) {
		what = image_of(PUT_FILE, i < 2 ? "dir/one" : "two",
				i % 2 ? "in second" : "in first");
		what.dirfd = i % 2 ? second : rootfd;
		must(put_add(p, &what, NULL) != NULL);
	}
	ok(put_check_room(p, "them", NULL) == 0 && put_commit(p, NULL) == 0,
	   "files below two roots");
	ok(holds("dir/one", "in first") && holds("two", "in first") &&
		   holds("second/dir/one", "in second") &&
		   holds("second/two", "in second"),
	   "each in its own");
	close(second);
	put_free(p);
}

static struct put_file *
add_with(struct put *p, const char *path, const struct attr *a, mode_t mode)
{
	struct put_what what = image_of(PUT_FILE, path, "secret");
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
	struct put *p = start(one);
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
		make(add_with(p, fmt("dir/%d", i), &a[i], 0));
	}
	if (geteuid() == 0)
		is_int(mode_at(temp_of("dir/1")), 0644,
		       "the mode comes with the owner");
	must(put_open(add_with(p, "dir/private", &a[1], 0), NULL) >= 0);
	ok(geteuid() != 0 || mode_at(temp_of("dir/private")) == 0600,
	   "nobody else may read it before it has its owner");
	put_free(p);

	p = start(one);
	for (int i = 0; i < 12; i++)
		add_with(p, fmt("dir/%d", i), &a[i], 0);
	must(put_commit(p, NULL) == 0);
	for (int i = 0; i < 12; i++)
		good &= has(fmt("%s/dir/%d", root, i), &a[i]);
	ok(good, "modes, owners and times of many files");
	put_free(p);

	p = start(one);
	add_with(p, "a", &times, 0);
	for (int i = 0; i < 3; i++) {
		add_with(p, fmt("b%d", i), NULL, 0606);
		add_with(p, fmt("c%d", i), NULL, 0);
	}
	must(put_commit(p, NULL) == 0);
	is_int(mode_at(fmt("%s/a", root)), 0644, "times alone");
	ok(mode_at(fmt("%s/b0", root)) == 0606 &&
		   mode_at(fmt("%s/b1", root)) == 0606 &&
		   mode_at(fmt("%s/b2", root)) == 0606,
	   "a mode that the umask would not allow");
	ok(mode_at(fmt("%s/c2", root)) == 0644, "none: that of any new file");
	put_free(p);
}

/* Files under the temporary names: left by an interrupted run, or planted by
 * another user. */
static void
leftovers(void)
{
	struct put *p = start(one);
	struct error err = ERROR_INIT;

	add(p, PUT_FILE, "file", "new");
	add(p, PUT_FILE, "dir/other", "new");
	write_text(temp_of("file"), "left by an interrupted run");
	ok(put_clear(p, NULL) == 0 && count_files() == 0, "cleared");
	write_text(temp_of("file"), "left by an interrupted run");
	ok(put_commit(p, NULL) == 0 && holds("file", "new"),
	   "a temporary file left over does not matter");
	put_free(p);

	p = start(one);
	add(p, PUT_FILE, "file", "new");
	write_text(fmt("%s/precious", root), "precious");
	must(symlink("precious", temp_of("file")) == 0);
	ok(put_commit(p, NULL) == 0 && holds("file", "new") &&
		   holds("precious", "precious"),
	   "a link in its place is not followed");
	put_free(p);

	p = start(one);
	add(p, PUT_FILE, "file", "new");
	write_text(fmt("%s/precious", root), "precious");
	must(link(fmt("%s/precious", root), temp_of("file")) == 0);
	ok(put_commit(p, NULL) == 0 && holds("file", "new") &&
		   holds("precious", "precious"),
	   "nor a hard link written to");
	put_free(p);

	p = start(one);
	add(p, PUT_FILE, "file", "new");
	must(mkdir(temp_of("file"), 0777) == 0);
	write_text(fmt("%s/x", temp_of("file")), "left over");
	ok(put_commit(p, &err) == 0 && holds("file", "new"),
	   "nor does a directory matter");
	put_free(p);

	p = start(one);
	must(symlink("nowhere", fmt("%s/file", root)) == 0);
	add(p, PUT_FILE, "file", "new");
	ok(put_commit(p, NULL) == 0 && holds("file", "new") &&
		   !exists(fmt("%s/nowhere", root)),
	   "a dangling link that stands for the file is replaced");
	put_free(p);
}

static void
bad_parents(void)
{
	struct error err = ERROR_INIT;
	struct put *p = start(one);

	write_text(fmt("%s/a", root), "a file where a directory should be");
	add(p, PUT_FILE, "a/file", "x");
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_SYSTEM,
	   "a file in the place of a directory is an error");
	put_free(p);

	p = start(one);
	must(symlink("/tmp", fmt("%s/out", root)) == 0);
	add(p, PUT_FILE, "out/file", "x");
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_UNSAFE,
	   "a link that leads out is refused");
	put_free(p);
}

/* Another process changes the directories meanwhile. */
static void
commit_fails(void)
{
	struct error err = ERROR_INIT;
	struct put *p = start(one);
	struct put_file *f = NULL;

	add(p, PUT_MAP, "map", "3");
	add(p, PUT_FILE, "one", "1");
	add(p, PUT_FILE, "dir", "2");
	must(mkdir(fmt("%s/dir", root), 0777) == 0);
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   says(&err, "dir: cannot rename"),
	   "a directory cannot be replaced");
	ok(holds("one", "1") && !exists(fmt("%s/map", root)),
	   "what is of a later kind was not put in place");
	put_free(p);
	is_int((int64_t)count_files(), 1, "temporary files are gone");

	p = start(one);
	f = add(p, PUT_FILE, "file", "x");
	make(f);
	must(unlink(temp_of("file")) == 0);
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_ABSENT,
	   "the temporary file has vanished");
	put_free(p);

	p = start(one);
	f = add(p, PUT_FILE, "a/file", "x");
	make(f);
	remove_tree(fmt("%s/a", root));
	ok(put_commit(p, &err) < 0 && err.kind == ERROR_ABSENT,
	   "and its directory");
	put_free(p);
}

static void
room(void)
{
	struct error err = ERROR_INIT;
	struct put *p = start(one);

	add(p, PUT_FILE, "small", "x");
	put_set_size(add(p, PUT_FILE, "large", "x"), UINT64_C(1) << 60);
	ok(put_check_room(p, "them", &err) < 0, "an exabyte has no room");
	is_int(err.kind, ERROR_SYSTEM, "the system's fault");
	is_int(err.errnum, ENOSPC, "as if it had said so itself");
	put_free(p);
}

/* --- New directories --- */

/* Add 20 files to "new", and 2 to a directory below it if `below`. */
static struct put *
start_new(bool below)
{
	struct put *p = start(one);

	for (int i = 0; i < 20; i++)
		add(p, PUT_FILE, fmt("up/new/%d", i), "image");
	for (int i = 0; below && i < 2; i++)
		add(p, PUT_FILE, fmt("up/new/below/%d", i), "image");
	add(p, PUT_MAP, "map", "map");
	must(put_clear(p, NULL) == 0);
	return p;
}

static bool
all_in_place(struct put *p)
{
	bool good = put_commit(p, NULL) == 0 && count_files() == put_count(p);

	for (int i = 0; i < 20; i++)
		good &= holds(fmt("up/new/%d", i), "image");
	good &= holds("map", "map") && !exists(temp_of("up/new"));
	put_free(p);
	return good;
}

static void
new_dirs(void)
{
	struct put *p = start_new(false), *q = NULL;
	struct put_file *f = put_at(p, 3);
	struct stat st;

	ok(put_new_dirs(p, NULL) == 0 && !exists(fmt("%s/up/new", root)),
	   "a new directory does not have its name yet");
	make(f);
	ok(exists(fmt("%s/3", temp_of("up/new"))) &&
		   !exists(temp_of("up/new/3")),
	   "but a file in it does");
	put_drop(f);
	ok(!exists(fmt("%s/3", temp_of("up/new"))), "until it is dropped");
	ok(all_in_place(p), "files of a new directory");

	p = start_new(false);
	must(put_new_dirs(p, NULL) == 0);
	make(put_at(p, 3));
	put_free(p);
	ok(count_files() == 0 && !exists(temp_of("up/new")),
	   "nothing is left of one that was given up");

	p = start_new(true);
	must(put_new_dirs(p, NULL) == 0);
	ok(!exists(temp_of("up/new")) && all_in_place(p),
	   "a directory with others below it is made at once");

	p = start_new(false);
	must(mkdir(fmt("%s/up", root), 0777) == 0 &&
	     mkdir(temp_of("up/new"), 0777) == 0);
	write_text(fmt("%s/1", temp_of("up/new")), "left over");
	ok(put_clear(p, NULL) == 0 && count_files() == 0, "leftovers go");
	must(mkdir(temp_of("up/new"), 0777) == 0);
	write_text(fmt("%s/x", temp_of("up/new")), "left over");
	ok(put_new_dirs(p, NULL) == 0 && all_in_place(p), "at any time");

	p = start_new(false);
	must(mkdir(fmt("%s/up", root), 0777) == 0 &&
	     mkdir(fmt("%s/up/new", root), 0777) == 0);
	write_text(fmt("%s/up/new/1", root), "old");
	must(put_new_dirs(p, NULL) == 0);
	ok(!exists(temp_of("up/new")) && all_in_place(p),
	   "one that exists is kept");

	p = start_new(false);
	must(mkdir(fmt("%s/up", root), 0777) == 0 &&
	     mkdir(fmt("%s/up/new", root), 0777) == 0 &&
	     chmod(fmt("%s/up/new", root), 02751) == 0);
	must(put_new_dirs(p, NULL) == 0);
	make(put_at(p, 3));
	ok(exists(fmt("%s/3", temp_of("up/new"))) && all_in_place(p),
	   "an empty one is replaced");
	must(stat(fmt("%s/up/new", root), &st) == 0);
	is_int(st.st_mode & 07777, 02751, "by one of its mode");

	p = start_new(false);
	must(put_new_dirs(p, NULL) == 0);
	make(put_at(p, 3));
	q = put_new(&(struct put_options){ .par = one }, NULL);
	for (int i = 0; i < 16; i++)
		add(q, PUT_FILE, fmt("up/new/q%d", i), "second");
	ok(put_clear(q, NULL) == 0 && put_new_dirs(q, NULL) == 0 &&
		   exists(fmt("%s/3", temp_of("up/new"))),
	   "that of another process is not touched");
	ok(put_commit(q, NULL) == 0 && holds("up/new/q5", "second"),
	   "who comes second makes the directory");
	put_free(q);
	ok(put_commit(p, NULL) == 0 && holds("up/new/3", "image") &&
		   holds("up/new/q5", "second") && !exists(temp_of("up/new")) &&
		   count_files() == 37,
	   "and the first one moves its files into it");
	put_free(p);

	p = start_new(false);
	must(put_new_dirs(p, NULL) == 0);
	make(put_at(p, 3));
	write_text(fmt("%s/up/new", root), "a file");
	ok(put_commit(p, NULL) < 0 && !exists(fmt("%s/map", root)) &&
		   holds("up/new", "a file"),
	   "a file in its place is not replaced");
	put_free(p);
	is_int((int64_t)count_files(), 1, "and no other is left");
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
	must(fstatat(rootfd, what->path, &st, 0) == 0);
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

	start_root();
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
		make(add_with(p, fmt("d%d/%d", i % 3, i), &a, 0));
	ok(placed >= 64 && placed < 100, "a full queue gets its names");
	ok(put_settle(p, NULL) == 0 && placed == 100, "and then the rest");
	make(add_with(p, "late", NULL, 0));
	ok(put_due(p, NULL) == 0 && placed == 100, "one waits for others");
	nanosleep(&t, NULL);
	ok(put_due(p, NULL) == 0 && placed == 101, "but not for ever");
	ok(put_sync(p, NULL) == 0 && put_sync(p, NULL) == 0, "directories");
	put_free(p);

	p = start_at_once(true);
	q = put_new(&(struct put_options){ .at_once = true, .unlocked = true },
		    NULL);
	make(add(p, PUT_FILE, "file", "first"));
	make(add(q, PUT_FILE, "file", "second"));
	ok(put_settle(p, &err) < 0 && err.errnum == EBUSY &&
		   !exists(fmt("%s/file", root)),
	   "without locks: who comes second takes over");
	put_free(p);
	ok(put_settle(q, NULL) == 0 && holds("file", "second"),
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
	start_root();
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
			image_of(PUT_FILE, names[i], "image");

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
	new_dirs();
	at_once();
	ok(fails_well(fill_again, begin_again, NULL), "no memory");
	put_free(again);
	close(rootfd);
	remove_tree(root);
	par_free(one);
	return tap_done();
}
