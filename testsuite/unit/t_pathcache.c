/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "error.h"
#include "mem.h"
#include "path.h"
#include "scratch.h"
#include "tap.h"

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
	size_t before = open_files();
	struct pathcache *c = pathcache_new(root);
	struct error err = ERROR_INIT;
	const char *base = NULL;
	int fd = -1;

	fd = pathcache_parent(c, "sub/file", &base, &err);
	ok(fd >= 0, "pathcache_parent()");
	is_str(base, "file", "gives the base");
	is_int(pathcache_parent(c, "sub/other", &base, &err), fd,
	       "the same directory again");
	is_int(pathcache_parent(c, "file", &base, &err), root,
	       "the root's own descriptor");
	is_int(pathcache_parent(c, "sub/file", &base, &err), fd, "and back");
	is_int(pathcache_parent(c, "su/file", &base, &err), -1,
	       "a part of the name is another name");
	pathcache_free(c);
	pathcache_free(NULL);
	is_int((int64_t)open_files(), (int64_t)before,
	       "no descriptor is left open");
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
	struct pathcache *c = pathcache_new(root);
	struct error err = ERROR_INIT, want = ERROR_INIT;
	struct stat st, want_st;
	size_t i = 0;
	int rc = -1;

	for (i = 0; i < sizeof(rels) / sizeof(rels[0]); i++) {
		error_clear(&err);
		error_clear(&want);
		memset(&st, 0, sizeof(st));
		memset(&want_st, 0, sizeof(want_st));
		rc = path_stat_beneath(root, rels[i], &want_st, &want);
		ok(pathcache_stat(c, rels[i], &st, &err) == rc &&
			   err.kind == want.kind && err.errnum == want.errnum,
		   rels[i]);
		ok(rc < 0 || (st.st_ino == want_st.st_ino &&
			      st.st_size == want_st.st_size),
		   "it is the same file");
	}
	is_int(pathcache_stat(c, "out", &st, NULL), -1, "no struct to tell");
	is_int(pathcache_stat(c, "none/x", &st, NULL), -1,
	       "no struct to tell of the parent");
	is_int(pathcache_stat(c, "..", &st, NULL), -1, "nor of a bad path");
	is_int(pathcache_stat(c, "out", &st, &err), -1,
	       "a link that leads out");
	is_int(err.kind, ERROR_UNSAFE, "is unsafe");
	pathcache_free(c);
}

/* Directories used in turn are opened only once. */
static void
test_kept(int root)
{
	struct pathcache *c = pathcache_new(root);
	struct error err = ERROR_INIT;
	const char *base = NULL;
	char name[32];
	int fds[100];
	bool kept = true;
	size_t i = 0;

	for (i = 0; i < DIRS; i++) {
		snprintf(name, sizeof(name), "d%zu", i);
		mkdirat(root, name, 0777);
		snprintf(name, sizeof(name), "d%zu/f", i);
		put_file(root, name, "x");
	}
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "d%zu/f", i % 100);
		if (i < 100)
			fds[i] = pathcache_parent(c, name, &base, &err);
		else
			kept = kept && fds[i % 100] >= 0 &&
			       pathcache_parent(c, name, &base, &err) ==
				       fds[i % 100];
	}
	ok(kept, "100 directories in turn keep their descriptors");
	/* Of 128 slots 28 are free, then the oldest is evicted.  A cached
	 * directory is found even if its name was removed. */
	for (i = 100; i < 150; i++) {
		snprintf(name, sizeof(name), "d%zu/f", i);
		pathcache_parent(c, name, &base, &err);
	}
	renameat(root, "d0", root, "moved0");
	renameat(root, "d99", root, "moved99");
	renameat(root, "d130", root, "moved130");
	is_int(pathcache_parent(c, "d99/f", &base, &err), fds[99],
	       "what was used lately is kept");
	ok(pathcache_parent(c, "d130/f", &base, &err) >= 0, "so is the new");
	is_int(pathcache_parent(c, "d0/f", &base, &err), -1,
	       "what was not used for long is not");
	renameat(root, "moved0", root, "d0");
	renameat(root, "moved99", root, "d99");
	renameat(root, "moved130", root, "d130");
	pathcache_free(c);
}

/* More directories than the cache holds, in order and out of order; then so few
 * descriptors that it must evict before it is full. */
static void
test_many_dirs(int root)
{
	struct error err = ERROR_INIT;
	struct pathcache *c = NULL;
	struct rlimit limit, few;
	char name[32];
	struct stat st;
	bool good = true;
	size_t i = 0, before = open_files();

	c = pathcache_new(root);
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "d%zu/f", i * 7 % DIRS);
		good = good && pathcache_stat(c, name, &st, &err) == 0;
	}
	ok(good, "many directories");
	ok(open_files() - before <= 130, "take 128 descriptors at most");
	pathcache_free(c);

	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = 50;
	setrlimit(RLIMIT_NOFILE, &few);
	c = pathcache_new(root);
	for (i = 0; i < DIRS; i++) {
		snprintf(name, sizeof(name), "d%zu/f", i);
		good = good && pathcache_stat(c, name, &st, &err) == 0;
	}
	ok(good, "many directories with 50 descriptors");
	pathcache_free(c);
	setrlimit(RLIMIT_NOFILE, &limit);
	is_int((int64_t)open_files(), (int64_t)before,
	       "no descriptor is left open");
}

/* Small caches of two roots. */
static void
test_two(int root)
{
	size_t before = open_files();
	struct pathcache_pair two = { .next = 0 };
	int sub = openat(root, "sub", O_RDONLY | O_DIRECTORY);
	int other = openat(root, ".", O_RDONLY | O_DIRECTORY);
	const struct pathcache *a = pathcache_pair_at(&two, root);
	const struct pathcache *b = pathcache_pair_at(&two, sub);
	struct error err = ERROR_INIT;
	struct stat st;
	char name[32];
	bool good = true;

	ok(a != NULL && b != NULL && a != b, "caches of two roots");
	ok(pathcache_pair_at(&two, root) == a &&
		   pathcache_pair_at(&two, sub) == b,
	   "... the same ones again");
	for (size_t i = 0; i < DIRS; i++) {
		snprintf(name, sizeof(name), "d%zu/f", i);
		good = good && pathcache_stat(pathcache_pair_at(&two, root),
					      name, &st, &err) == 0;
	}
	ok(good && open_files() - before <= 2 + 16, "... which are small");
	ok(pathcache_pair_at(&two, other) != NULL &&
		   pathcache_pair_at(&two, sub) == b &&
		   open_files() - before <= 2,
	   "a third one takes the place of the first");
	pathcache_pair_fini(&two);
	mem_fail_after(0);
	ok(pathcache_pair_at(&two, root) == NULL, "no memory for one");
	mem_fail_after(-1);
	pathcache_pair_fini(&two);
	close(sub);
	close(other);
	is_int((int64_t)open_files(), (int64_t)before,
	       "no descriptor is left open");
}

static void
test_nomem(int root)
{
	struct error err = ERROR_INIT;
	struct pathcache *c = NULL;
	struct stat st;
	size_t before = open_files();

	mem_fail_after(0);
	ok(pathcache_new(root) == NULL, "no memory for a cache");
	mem_fail_after(1);
	c = pathcache_new(root);
	is_int(pathcache_stat(c, "sub/file", &st, &err), -1,
	       "no memory for a directory");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	mem_fail_after(-1);
	is_int(pathcache_stat(c, "sub/file", &st, &err), 0,
	       "it works afterwards");
	pathcache_free(c);
	is_int((int64_t)open_files(), (int64_t)before,
	       "no descriptor is left open");
}

/* The working directory as the root. */
static void
test_cwd(int root)
{
	struct error err = ERROR_INIT;
	int cwd = open(".", O_RDONLY | O_DIRECTORY);
	struct pathcache *c = pathcache_new(AT_FDCWD);
	struct stat st;

	if (cwd < 0 || fchdir(root) < 0) {
		skip("the working directory as root", "cannot change to it");
		goto out;
	}
	ok(pathcache_stat(c, "file", &st, &err) == 0 &&
		   pathcache_stat(c, "sub/file", &st, &err) == 0,
	   "pathcache_stat() below the working directory");
	is_int(pathcache_stat(c, "none", &st, &err), -1, "no file there");
	is_int(err.kind, ERROR_ABSENT, "is ERROR_ABSENT");
	if (fchdir(cwd) < 0)
		printf("# cannot go back\n");
out:
	pathcache_free(c);
	close(cwd);
}

int
main(void)
{
	char scratch[128] = "";
	int root = -1;

	scratch_dir(scratch, sizeof(scratch));
	root = open(scratch, O_RDONLY | O_DIRECTORY);
	put_file(root, "file", "top file");
	mkdirat(root, "sub", 0777);
	put_file(root, "sub/file", "sub file");
	symlinkat("sub", root, "to_sub");
	symlinkat("sub/file", root, "to_file");
	symlinkat("../..", root, "out");
	symlinkat("..", root, "up");
	symlinkat("loop", root, "loop");
	symlinkat("not/there", root, "dangling");
	test_parent(root);
	test_stat(root);
	test_kept(root);
	test_many_dirs(root);
	test_two(root);
	test_nomem(root);
	test_cwd(root);
	close(root);
	remove_tree(scratch);
	return tap_done();
}
