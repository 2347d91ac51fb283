/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_target.c - temporary files that become the final ones: nothing is visible
 * before the commit, and nothing remains after a failure.
 */
#include "transfer/target.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "arena.h"
#include "par.h"
#include "scratch.h"

static char root[96];
static int rootfd = -1;
static struct par *par;

static void
start(struct targets *t)
{
	if (rootfd >= 0)
		close(rootfd);
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(rootfd >= 0 && targets_init(t, NULL) == 0);
}

static struct target *
add(struct targets *t, enum target_kind kind, const char *path,
    const char *image)
{
	const struct target what = {
		.kind = kind,
		.dirfd = rootfd,
		.path = arena_strdup(t->arena, path),
		.size = strlen(image),
		.image = image,
		.image_size = strlen(image),
	};

	return targets_add(t, &what, NULL);
}

static size_t files_seen;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	files_seen += type != FTW_D;
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

static void
round_trip(unsigned threads)
{
	struct par *pool = par_new(threads, NULL);
	struct targets t;
	struct stat st;

	start(&t);
	write_text(fmt("%s/old", root), "what was there before");
	add(&t, TARGET_MAP, "meta/filemap_0", "map");
	add(&t, TARGET_FILE, "a/b/c/file", "contents");
	add(&t, TARGET_FILE, "old", "new");
	add(&t, TARGET_FILE, "a/empty", "");
	add(&t, TARGET_REDUNDANCY, "meta/red", "parity");
	add(&t, TARGET_DESCRIPTOR, "meta/desc", "descriptor");
	t.list[1].size = 20; /* others fill in the rest */
	ok(targets_check_space(&t, NULL) == 0, "there is room");
	ok(targets_prepare(&t, pool, NULL) == 0, "temporary files are made");
	is_int((int64_t)count_files(), 7, "one for each target");
	ok(holds("old", "what was there before"), "nothing is replaced yet");
	ok(!exists(fmt("%s/a/b/c/file", root)), "nor new");
	ok(io_is_temp(strrchr(t.list[1].temp, '/') + 1) &&
		   strncmp(t.list[1].temp, "a/b/c/", 6) == 0,
	   "a temporary file stands beside its target");
	ok(targets_commit(&t, pool, NULL) == 0, "put in place");
	is_int((int64_t)count_files(), 6, "no temporary file is left");
	ok(holds("old", "new") && holds("meta/filemap_0", "map") &&
		   holds("meta/red", "parity") &&
		   holds("meta/desc", "descriptor") && holds("a/empty", ""),
	   "all have their contents");
	ok(stat(fmt("%s/a/b/c/file", root), &st) == 0 && st.st_size == 20 &&
		   (st.st_mode & 07777) == 0644,
	   "size as wanted, mode as the umask says");
	targets_discard(&t);
	is_int((int64_t)count_files(), 6, "what is done is not discarded");
	ok(targets_commit(&t, pool, NULL) == 0, "a second commit does nothing");
	targets_fini(&t);
	par_free(pool);
}

static void
discarding(void)
{
	struct targets t;

	start(&t);
	write_text(fmt("%s/old", root), "before");
	for (int i = 0; i < 150; i++)
		add(&t, TARGET_FILE, fmt("dir_%d/file", i % 3 * 50 + i % 50),
		    "x");
	add(&t, TARGET_FILE, "old", "new");
	targets_discard(&t);
	is_int((int64_t)count_files(), 1, "nothing prepared: nothing removed");
	must(targets_prepare(&t, par, NULL) == 0);
	ok(count_files() == 152, "151 temporary files");
	targets_discard(&t);
	ok(count_files() == 1 && holds("old", "before"),
	   "all of them are gone, what was there is not");
	targets_discard(&t);
	targets_fini(&t);
}

/* Targets below two roots, with directories of the same name. */
static void
two_roots(void)
{
	struct targets t;
	int second = -1;

	start(&t);
	must(mkdir(fmt("%s/second", root), 0777) == 0);
	second = openat(rootfd, "second", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(second >= 0);
	for (int i = 0; i < 4; i++)
		add(&t, TARGET_FILE, i < 2 ? "dir/one" : "two",
		    i % 2 ? "in second" : "in first")
			->dirfd = i % 2 ? second : rootfd;
	ok(targets_check_space(&t, NULL) == 0 &&
		   targets_prepare(&t, par, NULL) == 0 &&
		   targets_commit(&t, par, NULL) == 0,
	   "files below two roots");
	ok(holds("dir/one", "in first") && holds("two", "in first") &&
		   holds("second/dir/one", "in second") &&
		   holds("second/two", "in second"),
	   "each in its own");
	close(second);
	targets_fini(&t);
}

static void
attributes(void)
{
	struct attr a = {
		.has_owner = true,
		.has_times = true,
		.mode = S_IFREG | 0471,
		.uid = geteuid() == 0 ? 1234 : geteuid(),
		.gid = geteuid() == 0 ? 4321 : getegid(),
		.atime = { 1000000000, 5 },
		.mtime = { 1100000000, 7 },
	};
	struct targets t;
	struct stat st;

	start(&t);
	add(&t, TARGET_FILE, "file", "secret")->attr = &a;
	must(targets_prepare(&t, par, NULL) == 0);
	ok(stat(fmt("%s/%s", root, t.list[0].temp), &st) == 0 &&
		   (st.st_mode & 07777) == 0600,
	   "nobody else may read it before it has its owner");
	must(targets_commit(&t, par, NULL) == 0);
	must(stat(fmt("%s/file", root), &st) == 0);
	is_int(st.st_mode, a.mode, "mode");
	ok(st.st_uid == a.uid && st.st_gid == a.gid, "owner");
	ok(st.st_mtim.tv_sec == 1100000000 && st.st_mtim.tv_nsec == 7 &&
		   st.st_atim.tv_sec == 1000000000 && st.st_atim.tv_nsec == 5,
	   "times");
	targets_fini(&t);

	start(&t);
	a.has_owner = false;
	add(&t, TARGET_FILE, "file", "x")->attr = &a;
	must(targets_prepare(&t, par, NULL) == 0 &&
	     targets_commit(&t, par, NULL) == 0);
	ok(stat(fmt("%s/file", root), &st) == 0 &&
		   (st.st_mode & 07777) == 0644 &&
		   st.st_mtim.tv_sec == 1100000000,
	   "no owner recorded: that of any new file");
	targets_fini(&t);
}

/* Leftovers of an interrupted run, or files that somebody planted. */
static void
leftovers(void)
{
	struct targets t;
	struct error err = ERROR_INIT;
	const char *temp = NULL;

	start(&t);
	add(&t, TARGET_FILE, "file", "new");
	temp = fmt("%s/%s", root, t.list[0].temp);
	write_text(temp, "left by an interrupted run, longer than the file");
	ok(targets_prepare(&t, par, NULL) == 0 &&
		   targets_commit(&t, par, NULL) == 0 && holds("file", "new"),
	   "a temporary file left over does not matter");
	targets_fini(&t);

	start(&t);
	add(&t, TARGET_FILE, "file", "new");
	write_text(fmt("%s/precious", root), "precious");
	must(symlink("precious", fmt("%s/%s", root, t.list[0].temp)) == 0);
	ok(targets_prepare(&t, par, NULL) == 0 &&
		   targets_commit(&t, par, NULL) == 0 && holds("file", "new") &&
		   holds("precious", "precious"),
	   "a link in its place is not followed");
	targets_fini(&t);

	start(&t);
	add(&t, TARGET_FILE, "file", "new");
	must(mkdir(fmt("%s/%s", root, t.list[0].temp), 0777) == 0);
	write_text(fmt("%s/%s/x", root, t.list[0].temp), "left over");
	ok(targets_prepare(&t, par, &err) == 0 &&
		   targets_commit(&t, par, NULL) == 0 && holds("file", "new"),
	   "nor does a directory");
	targets_fini(&t);

	start(&t);
	must(symlink("nowhere", fmt("%s/file", root)) == 0);
	add(&t, TARGET_FILE, "file", "new");
	must(targets_prepare(&t, par, NULL) == 0);
	ok(targets_commit(&t, par, NULL) == 0 && holds("file", "new") &&
		   !exists(fmt("%s/nowhere", root)),
	   "a dangling link that stands for the file is replaced");
	targets_fini(&t);
}

static void
bad_parents(void)
{
	struct error err = ERROR_INIT;
	struct targets t;

	start(&t);
	write_text(fmt("%s/a", root), "a file where a directory should be");
	add(&t, TARGET_FILE, "a/file", "x");
	ok(targets_prepare(&t, par, &err) < 0 && err.kind == ERROR_SYSTEM,
	   "a file in the place of a directory is an error");
	targets_discard(&t);
	targets_fini(&t);

	start(&t);
	must(symlink("/tmp", fmt("%s/out", root)) == 0);
	add(&t, TARGET_FILE, "out/file", "x");
	ok(targets_prepare(&t, par, &err) < 0 && err.kind == ERROR_UNSAFE,
	   "a link that leads out is refused");
	targets_fini(&t);
}

/* Another process interferes between prepare and commit. */
static void
commit_fails(void)
{
	struct error err = ERROR_INIT;
	struct targets t;

	start(&t);
	add(&t, TARGET_MAP, "map", "3");
	add(&t, TARGET_FILE, "one", "1");
	add(&t, TARGET_FILE, "dir", "2");
	must(mkdir(fmt("%s/dir", root), 0777) == 0);
	must(targets_prepare(&t, par, NULL) == 0);
	ok(targets_commit(&t, par, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   says(&err, "cannot rename to dir"),
	   "a directory cannot be replaced");
	ok(holds("one", "1") && !exists(fmt("%s/map", root)),
	   "what is of a later kind was not put in place");
	targets_discard(&t);
	is_int((int64_t)count_files(), 1, "temporary files are gone");
	targets_fini(&t);

	start(&t);
	add(&t, TARGET_FILE, "file", "x");
	must(targets_prepare(&t, par, NULL) == 0);
	must(unlink(fmt("%s/%s", root, t.list[0].temp)) == 0);
	ok(targets_commit(&t, par, &err) < 0 && says(&err, "cannot open"),
	   "the temporary file has vanished");
	targets_discard(&t);
	targets_fini(&t);

	start(&t);
	add(&t, TARGET_FILE, "a/file", "x");
	must(targets_prepare(&t, par, NULL) == 0);
	remove_tree(fmt("%s/a", root));
	ok(targets_commit(&t, par, &err) < 0 && err.kind == ERROR_ABSENT,
	   "and its directory");
	targets_discard(&t);
	targets_fini(&t);
}

static void
space(void)
{
	struct error err = ERROR_INIT;
	struct targets t;

	start(&t);
	add(&t, TARGET_FILE, "small", "x");
	add(&t, TARGET_FILE, "large", "x")->size = UINT64_C(1) << 60;
	ok(targets_check_space(&t, &err) < 0, "an exabyte has no room");
	is_int(err.kind, ERROR_SYSTEM, "the system's fault");
	is_int(err.errnum, ENOSPC, "as if it had said so itself");
	ok(says(&err, "1.0 EiB needed"), "how much is needed");
	targets_fini(&t);

	start(&t);
	add(&t, TARGET_FILE, "file", "x")->dirfd = -1;
	ok(targets_check_space(&t, NULL) == 0,
	   "a file system that does not tell is trusted");
	targets_fini(&t);
}

static void
file_size_limit(void)
{
	struct rlimit old, small = { 0 };
	struct error err = ERROR_INIT;
	struct targets t;
	int rc = 0;

	start(&t);
	add(&t, TARGET_FILE, "small", "x");
	add(&t, TARGET_FILE, "large", "x")->size = 1 << 20;
	must(getrlimit(RLIMIT_FSIZE, &old) == 0);
	signal(SIGXFSZ, SIG_IGN);
	small.rlim_cur = 4096;
	small.rlim_max = old.rlim_max;
	must(setrlimit(RLIMIT_FSIZE, &small) == 0);
	rc = targets_prepare(&t, par, &err);
	must(setrlimit(RLIMIT_FSIZE, &old) == 0);
	ok(rc < 0 && err.kind == ERROR_SYSTEM && err.errnum == EFBIG &&
		   says(&err, "1048576 bytes long"),
	   "a file larger than the limit cannot be made");
	targets_discard(&t);
	is_int((int64_t)count_files(), 0, "and nothing is left of the others");
	targets_fini(&t);
}

/* Add, prepare and commit with failing allocations. */
static int
all_of_it(void *arg, struct error *err)
{
	struct targets t;
	int rc = -1;

	(void)arg;
	if (targets_init(&t, err) < 0)
		return -1;
	for (int i = 0; i < 70; i++) {
		const struct target what = {
			.kind = TARGET_FILE,
			.dirfd = rootfd,
			.path = i % 2 ? "d/a_name_long_enough_to_fill_it/x"
				      : "e/x",
			.size = 1,
		};

		if (targets_add(&t, &what, err) == NULL)
			goto out;
	}
	/* Only two files; the others make the arrays grow. */
	t.count = 2;
	if (targets_prepare(&t, par, err) == 0 &&
	    targets_commit(&t, par, err) == 0)
		rc = 0;
out:
	targets_discard(&t);
	targets_fini(&t);
	return rc;
}

static void
no_memory(void)
{
	struct targets t;

	start(&t);
	targets_fini(&t);
	ok(fails_well(all_of_it, NULL, NULL), "every allocation may fail");
	is_int((int64_t)count_files(), 2, "and nothing is left over");
}

int
main(void)
{
	umask(022);
	par = par_new(1, NULL);
	round_trip(1);
	round_trip(4);
	discarding();
	two_roots();
	attributes();
	leftovers();
	bad_parents();
	commit_fails();
	space();
	file_size_limit();
	no_memory();
	par_free(par);
	close(rootfd);
	remove_tree(root);
	return tap_done();
}
