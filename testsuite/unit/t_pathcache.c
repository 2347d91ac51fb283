/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#define DIRS 200 /* more than the cache holds */

static size_t
open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

static void
test_parent(int root)
{
	struct pathcache *c = pathcache_new(root);
	const char *base = NULL;
	int fd = pathcache_parent(c, "sub/file", &base, &why);

	ok(fd >= 0, "pathcache_parent()");
	is_str(base, "file", "gives the base");
	is_int(pathcache_parent(c, "sub/other", &base, &why), fd,
	       "the same directory again");
	is_int(pathcache_parent(c, "file", &base, &why), root,
	       "the root's own descriptor");
	is_int(pathcache_parent(c, "sub/file", &base, &why), fd, "and back");
	is_int(pathcache_parent(c, "su/file", &base, &why), -1,
	       "a part of the name is another name");
	pathcache_free(c);
	pathcache_free(NULL);
}

/* pathcache_stat() always gives the result of path_stat_beneath(). */
static void
test_stat(int root)
{
	static const char *const rels[] = {
		"file",	    "sub/file", "to_file",   "to_sub/file", "out",
		"loop",	    "up/out",	"dangling",  "none",	    "none/x",
		"file/x",   "",		"../secret", "/etc/passwd", "sub",
		"sub/file", "sub/none", "loop/file",
	};
	static const char *const bad[] = { "out", "none/x", ".." };
	struct pathcache *c = pathcache_new(root);
	struct stat st;

	each (r, rels) {
		struct error err = ERROR_INIT, want = ERROR_INIT;
		struct stat want_st;
		int rc = path_stat_beneath(root, *r, &want_st, &want);

		memset(&st, 0, sizeof(st));
		ok(pathcache_stat(c, *r, &st, &err) == rc &&
			   err.kind == want.kind && err.errnum == want.errnum &&
			   (rc < 0 || (st.st_ino == want_st.st_ino &&
				       st.st_size == want_st.st_size)),
		   *r);
		if (strcmp(*r, "out") == 0)
			is_int(err.kind, ERROR_UNSAFE, "a link that leads out");
	}
	for (size_t i = 0; i < 3; i++)
		is_int(pathcache_stat(c, bad[i], &st, NULL), -1, "no struct");
	pathcache_free(c);
}

/* pathcache_parent() of file "f" in directory number `i`. */
static int
parent(struct pathcache *c, size_t i)
{
	struct error err = ERROR_INIT;
	const char *base = NULL;

	return pathcache_parent(c, fmt("d%zu/f", i), &base, &err);
}

/* Directories used in turn are opened only once. */
static void
test_kept(int root)
{
	static const char *const moved[] = { "d0", "d99", "d130" };
	struct pathcache *c = pathcache_new(root);
	int fds[100];
	bool kept = true;

	for (size_t i = 0; i < DIRS; i++) {
		mkdirat(root, fmt("d%zu", i), 0777);
		put_file(root, fmt("d%zu/f", i), "x");
	}
	for (size_t i = 0; i < 100; i++)
		fds[i] = parent(c, i);
	for (size_t i = 0; i < 200; i++)
		kept = kept && fds[i % 100] >= 0 &&
		       parent(c, i % 100) == fds[i % 100];
	ok(kept, "100 directories in turn keep their descriptors");
	/* Of 128 slots 28 are free, then the oldest is evicted.  A cached
	 * directory is found even if its name was removed. */
	for (size_t i = 100; i < 150; i++)
		parent(c, i);
	for (size_t i = 0; i < 3; i++)
		renameat(root, moved[i], root, fmt("was_%s", moved[i]));
	is_int(parent(c, 99), fds[99], "what was used lately is kept");
	ok(parent(c, 130) >= 0, "so is the new");
	is_int(parent(c, 0), -1, "what was not used for long is not");
	for (size_t i = 0; i < 3; i++)
		renameat(root, fmt("was_%s", moved[i]), root, moved[i]);
	pathcache_free(c);
}

/* The first `n` files, in steps of `step`; does each exist? */
static bool
find_all(struct pathcache *c, size_t n, size_t step)
{
	struct stat st;
	bool good = true;

	for (size_t i = 0; i < n; i++)
		good = good && pathcache_stat(c, fmt("d%zu/f", i * step % DIRS),
					      &st, NULL) == 0;
	return good;
}

/* More directories than the cache holds, in order and out of order; then so few
 * descriptors that it must evict before it is full. */
static void
test_many_dirs(int root)
{
	struct pathcache *c = pathcache_new(root);
	struct rlimit limit, few;
	size_t before = open_files();

	ok(find_all(c, 2000, 7), "many directories");
	ok(open_files() - before <= 130, "take 128 descriptors at most");
	pathcache_free(c);

	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = 50;
	setrlimit(RLIMIT_NOFILE, &few);
	c = pathcache_new(root);
	ok(find_all(c, DIRS, 1), "many directories with 50 descriptors");
	pathcache_free(c);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Small caches of two roots. */
static void
test_two(int root)
{
	size_t before = open_files();
	struct pathcache_pair two = { .next = 0 };
	auto_fd int sub = openat(root, "sub", O_RDONLY | O_DIRECTORY);
	auto_fd int other = openat(root, ".", O_RDONLY | O_DIRECTORY);
	struct pathcache *a = pathcache_pair_at(&two, root);
	const struct pathcache *b = pathcache_pair_at(&two, sub);

	ok(a != NULL && b != NULL && a != b, "caches of two roots");
	ok(pathcache_pair_at(&two, root) == a &&
		   pathcache_pair_at(&two, sub) == b,
	   "... the same ones again");
	ok(find_all(a, DIRS, 1) && open_files() - before <= 2 + 16,
	   "... are small");
	ok(pathcache_pair_at(&two, other) != NULL &&
		   pathcache_pair_at(&two, sub) == b &&
		   open_files() - before <= 2,
	   "a third one takes the place of the first");
	pathcache_pair_fini(&two);
	mem_fail_after(0);
	ok(pathcache_pair_at(&two, root) == NULL, "no memory for one");
	mem_fail_after(-1);
	pathcache_pair_fini(&two);
}

static void
test_special(int root)
{
	auto_fd int cwd = open(".", O_RDONLY | O_DIRECTORY);
	struct pathcache *c = NULL;
	struct stat st;

	mem_fail_after(0);
	ok(pathcache_new(root) == NULL, "no memory for a cache");
	mem_fail_after(1);
	c = pathcache_new(root);
	refuses(pathcache_stat(c, "sub/file", &st, &why), ERROR_NOMEM, NULL,
		"no memory for a directory");
	mem_fail_after(-1);
	is_int(pathcache_stat(c, "sub/file", &st, &why), 0, "then it works");
	pathcache_free(c);

	must(cwd >= 0 && fchdir(root) == 0);
	c = pathcache_new(AT_FDCWD);
	ok(pathcache_stat(c, "file", &st, &why) == 0 &&
		   pathcache_stat(c, "sub/file", &st, &why) == 0,
	   "below the working directory");
	refuses(pathcache_stat(c, "none", &st, &why), ERROR_ABSENT, NULL,
		"no file there");
	must(fchdir(cwd) == 0);
	pathcache_free(c);
}

int
main(void)
{
	static void (*const tests[])(int root) = {
		test_parent,	test_stat, test_kept,
		test_many_dirs, test_two,  test_special,
	};
	int root = scratch_fd();

	put_file(root, "file", "top file");
	mkdirat(root, "sub", 0777);
	put_file(root, "sub/file", "sub file");
	symlinkat("sub", root, "to_sub");
	symlinkat("sub/file", root, "to_file");
	symlinkat("../..", root, "out");
	symlinkat("..", root, "up");
	symlinkat("loop", root, "loop");
	symlinkat("not/there", root, "dangling");
	must(fchmod(root, 0777) == 0); /* others may have made the links */
	each (t, tests) {
		size_t before = open_files();

		(*t)(root);
		is_int(open_files(), before, "no file left open");
	}
	return tap_done();
}
