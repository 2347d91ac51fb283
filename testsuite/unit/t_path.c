/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "path.h"
#include "scratch.h"
#include "shim/openat2.h"
#include "tap.h"

static void
test_clean(void)
{
	static const char *const clean[] = { "a",   "a/b", "...",    ".a",
					     "..a", "a..", "a/.b/c", "a b\n" };
	static const char *const unclean[] = {
		"",    "/",    "/a",   "a/",  "a//b",  ".",	 "..",
		"./a", "../a", "a/..", "a/.", "a/./b", "a/../b",
	};
	char text[PATH_MAX + 1];
	size_t i = 0;

	for (i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		ok(path_is_clean(clean[i]), "clean");
	for (i = 0; i < sizeof(unclean) / sizeof(unclean[0]); i++)
		ok(!path_is_clean(unclean[i]), unclean[i]);
	memset(text, 'a', PATH_MAX);
	text[PATH_MAX - 1] = '\0';
	ok(path_is_clean(text), "PATH_MAX - 1 bytes are clean");
	text[PATH_MAX - 1] = 'a';
	text[PATH_MAX] = '\0';
	ok(!path_is_clean(text), "PATH_MAX bytes are not");
}

static void
test_normal(void)
{
	static const char *const v[][2] = {
		{ "", "." },
		{ ".", "." },
		{ "./", "." },
		{ "/", "/" },
		{ "//", "/" },
		{ "///a//b///", "/a/b" },
		{ "a/./b/.", "a/b" },
		{ "a/..", "." },
		{ "a/../..", ".." },
		{ "..", ".." },
		{ "../../a", "../../a" },
		{ "../a/../..", "../.." },
		{ "/..", "/" },
		{ "/../../a", "/a" },
		{ "/a/..", "/" },
		{ "/a/../b", "/b" },
		{ "/a/b/../../c/", "/c" },
		{ "a/b/../../c", "c" },
		{ "...", "..." },
		{ "..a/..b/c..", "..a/..b/c.." },
		{ "a/b/..", "a" },
	};
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	size_t i = 0;
	long n = 0;
	int rc = -1;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		path_normal(v[i][0], &out, &err);
		is_str(out.data, v[i][1], v[i][0]);
		path_normal(v[i][1], &out, &err);
		ok(strcmp(out.data, v[i][1]) == 0, "the normal form stays");
	}
	is_int(err.kind, ERROR_NONE, "no error was set");
	buf_free(&out);
	for (n = 0; rc < 0 && n < 10; n++) {
		mem_fail_after(n);
		rc = path_normal("/a/b", &out, &err);
		mem_fail_after(-1);
		ok(rc == 0 || err.kind == ERROR_NOMEM, "ERROR_NOMEM");
		buf_free(&out);
	}
	ok(rc == 0 && n > 1, "the n-th allocation fails, until none does");
}

static void
test_below(void)
{
	static const char *const v[][3] = {
		{ "/a/b", "/a", "b" },	 { "/a/b/c", "/a", "b/c" },
		{ "/a", "/a", "" },	 { "/", "/", "" },
		{ "/a/b", "/", "a/b" },	 { "/ab", "/a", NULL },
		{ "/b", "/a", NULL },	 { "/", "/a", NULL },
		{ "a/b", "a", "b" },	 { "a/b", "/a", NULL },
		{ "/a/b", "a", NULL },	 { "a", ".", "a" },
		{ ".", ".", "" },	 { "..", ".", NULL },
		{ "../a", ".", NULL },	 { "..a", ".", "..a" },
		{ "/a", ".", NULL },	 { "../a", "..", "a" },
		{ "../..", "..", NULL }, { "../../a", "..", NULL },
	};
	char what[64];
	size_t i = 0;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		snprintf(what, sizeof(what), "%s below %s", v[i][0], v[i][1]);
		is_str(path_below(v[i][0], v[i][1]), v[i][2], what);
	}
}

static void
test_join(void)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;

	is_int(path_join(&out, "a", "b", &err), 0, "path_join()");
	is_str(out.data, "a/b", "a and b");
	path_join(&out, "", "b", &err);
	is_str(out.data, "b", "an empty directory");
	path_join(&out, "/", "b", &err);
	is_str(out.data, "/b", "the root directory");
	path_join(&out, "x/", "b", &err);
	is_str(out.data, "x/b", "no second slash");
	path_join(&out, out.data, "c/d", &err);
	is_str(out.data, "x/b/c/d", "onto what `out` held");
	buf_free(&out);
	mem_fail_after(0);
	is_int(path_join(&out, "a", "b", &err), -1, "without memory");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	mem_fail_after(-1);
	buf_free(&out);

	is_str(path_base("a/b"), "b", "the base of a/b");
	is_str(path_base("b"), "b", "the base of b");
	is_str(path_base("/"), "", "the base of /");
}

static void
test_real(const char *scratch)
{
	char cwd[PATH_MAX], real[PATH_MAX];
	struct error err = ERROR_INIT;
	struct buf path = BUF_INIT, out = BUF_INIT, want = BUF_INIT;

	ok(realpath(scratch, real) != NULL && getcwd(cwd, sizeof(cwd)) != NULL,
	   "the scratch directory is there");
	path_join(&path, scratch, "top/./to_sub/../sub/file", &err);
	path_join(&want, real, "top/sub/file", &err);
	is_int(path_real(path.data, &out, &err), 0, "path_real()");
	is_str(out.data, want.data, "resolves links and dots");
	is_int(path_real(".", &out, &err), 0, "path_real() of .");
	is_str(out.data, cwd, "is the working directory");
	is_int(path_real("/no/such/path", &out, &err), -1, "of nothing");
	is_int(err.kind, ERROR_ABSENT, "is ERROR_ABSENT");
	buf_free(&out);
	mem_fail_after(0);
	is_int(path_real(".", &out, &err), -1, "without memory");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	mem_fail_after(-1);
	buf_free(&path);
	buf_free(&want);
}

/* Does this kernel (or emulator) support openat2()? */
static bool
have_openat2(void)
{
	const struct openat2_how how = { .flags = O_PATH };
	int fd = openat2_call(AT_FDCWD, ".", &how);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * SCRATCH/secret			outside
 * SCRATCH/top/file, sub/file		inside
 * SCRATCH/top/to_sub, sub/to_file	links that stay inside
 * SCRATCH/top/out, absolute, up, loop, dangling	links that do not
 */
static int
make_tree(const char *scratch)
{
	int top = open(scratch, O_RDONLY | O_DIRECTORY), root = -1;
	char absolute[PATH_MAX];

	put_file(top, "secret", "secret");
	mkdirat(top, "top", 0777);
	root = openat(top, "top", O_RDONLY | O_DIRECTORY);
	put_file(root, "file", "top file");
	mkdirat(root, "sub", 0777);
	put_file(root, "sub/file", "sub file");
	symlinkat("sub", root, "to_sub");
	symlinkat("../file", root, "sub/to_file");
	symlinkat("../secret", root, "out");
	symlinkat("..", root, "up");
	snprintf(absolute, sizeof(absolute), "%s/top/file", scratch);
	symlinkat(absolute, root, "absolute");
	symlinkat("loop", root, "loop");
	symlinkat("not/there", root, "dangling");
	close(top);
	return root;
}

/* Expected results of opening a path below the root, and of stat. */
static const struct {
	const char *rel;
	enum error_kind kind;
	const char *text; /* contents, if it can be opened */
	const char *says; /* part of the error message, if not */
} opens[] = {
	{ "file", ERROR_NONE, "top file", NULL },
	{ "sub/file", ERROR_NONE, "sub file", NULL },
	{ "to_sub/file", ERROR_NONE, "sub file", NULL },
	{ "sub/to_file", ERROR_NONE, "top file", NULL },
	{ "out", ERROR_UNSAFE, NULL, "out: " },
	{ "up/secret", ERROR_UNSAFE, NULL, "up/secret: " },
	{ "up/top/file", ERROR_UNSAFE, NULL, "up/top/file: " },
	{ "absolute", ERROR_UNSAFE, NULL, "absolute: " },
	{ "loop", ERROR_UNSAFE, NULL, "loop: a symbolic link blocks the path" },
	{ "loop/file", ERROR_UNSAFE, NULL,
	  "loop/file: a symbolic link blocks the path" },
	{ "dangling", ERROR_ABSENT, NULL, "dangling: " },
	{ "none", ERROR_ABSENT, NULL, ": No such file or directory" },
	{ "none/file", ERROR_ABSENT, NULL, ": No such file or directory" },
	{ "file/x", ERROR_SYSTEM, NULL, ": Not a directory" },
	{ "../secret", ERROR_UNSAFE, NULL, "\"../secret\"" },
	{ "sub/../file", ERROR_UNSAFE, NULL, "sub/../file" },
	{ "/etc/passwd", ERROR_UNSAFE, NULL, "/etc/passwd" },
	{ "", ERROR_UNSAFE, NULL, "\"\"" },
};

static void
test_open(int root, const char *how)
{
	char what[64], text[16];
	struct error err = ERROR_INIT;
	enum error_kind want = ERROR_NONE;
	struct stat st;
	ssize_t n = 0;
	size_t i = 0;
	int fd = -1, rc = -1;

	for (i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
		snprintf(what, sizeof(what), "%s \"%s\"", how, opens[i].rel);
		want = opens[i].kind;
		error_clear(&err);
		fd = path_open_beneath(root, opens[i].rel, O_RDONLY, 0, &err);
		is_int(err.kind, want, what);
		if (want == ERROR_NONE) {
			n = read(fd, text, sizeof(text));
			ok(n == 8 && memcmp(text, opens[i].text, 8) == 0,
			   "it is the right file");
			ok(fcntl(fd, F_GETFD) == FD_CLOEXEC,
			   "and closed on exec");
			close(fd);
		} else {
			ok(fd == -1 && strstr(err.text, opens[i].says) != NULL,
			   err.text);
		}
		error_clear(&err);
		rc = path_stat_beneath(root, opens[i].rel, &st, &err);
		ok(rc == (want == ERROR_NONE ? 0 : -1) && err.kind == want,
		   "its stat does the same");
		if (rc == 0)
			ok(S_ISREG(st.st_mode) && st.st_size == 8,
			   "and follows the link");
	}
	is_int(path_open_beneath(root, "out", O_RDONLY, 0, NULL), -1,
	       "no struct to tell");
}

static void
test_flags(int root)
{
	char name[NAME_MAX + 8];
	struct error err = ERROR_INIT;
	struct stat st;
	mode_t old = umask(027);
	int fd = path_open_beneath(root, "sub/new", O_WRONLY | O_CREAT, 0666,
				   &err);

	ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0640,
	   "O_CREAT obeys mode and umask");
	close(fd);
	umask(old);
	is_int(path_open_beneath(root, "sub/new", O_WRONLY | O_CREAT | O_EXCL,
				 0666, &err),
	       -1, "O_EXCL finds it");
	is_int(err.errnum, EEXIST, "and says so");
	unlinkat(root, "sub/new", 0);
	is_int(path_open_beneath(root, "out", O_WRONLY | O_CREAT, 0666, &err),
	       -1, "O_CREAT through a link that leads out");
	is_int(err.kind, ERROR_UNSAFE, "is unsafe");
	is_int(path_open_beneath(root, "up/made", O_WRONLY | O_CREAT, 0666,
				 &err),
	       -1, "O_CREAT behind a directory that leads out");
	is_int(err.kind, ERROR_UNSAFE, "is unsafe");
	is_int(fstatat(root, "../made", &st, 0), -1, "and makes nothing");

	fd = path_open_beneath(root, "out", O_PATH | O_NOFOLLOW, 0, &err);
	ok(fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode),
	   "O_PATH | O_NOFOLLOW opens the link itself");
	close(fd);
	is_int(path_open_beneath(root, "out", O_RDONLY | O_NOFOLLOW, 0, &err),
	       -1, "O_NOFOLLOW meets a link");
	is_int(err.kind, ERROR_UNSAFE, "which is unsafe");
	fd = path_open_beneath(root, "sub", O_RDONLY | O_DIRECTORY, 0, &err);
	ok(fd >= 0, "O_DIRECTORY");
	close(fd);
	is_int(path_open_beneath(root, "file", O_RDONLY | O_DIRECTORY, 0, &err),
	       -1, "O_DIRECTORY of a file");
	is_int(err.errnum, ENOTDIR, "is ENOTDIR");
	memset(name, 'n', sizeof(name));
	memcpy(name + NAME_MAX + 1, "/file", 6);
	is_int(path_open_beneath(root, name, O_RDONLY, 0, &err), -1,
	       "a component longer than NAME_MAX");
	is_int(err.errnum, ENAMETOOLONG, "is ENAMETOOLONG");
	is_int(path_open_beneath(-1, "sub/file", O_RDONLY, 0, &err), -1,
	       "no directory");
	is_int(err.errnum, EBADF, "is EBADF");

	fd = open("/proc/self", O_PATH | O_DIRECTORY);
	is_int(path_open_beneath(fd, "root/etc", O_PATH, 0, &err), -1,
	       "a magic link of the kernel");
	is_int(err.kind, ERROR_UNSAFE, "is unsafe");
	close(fd);
	fd = path_open_beneath(root, "sub", O_RDWR | O_TMPFILE, 0600, &err);
	ok(fd >= 0 || err.errnum == EOPNOTSUPP, "O_TMPFILE");
	close(fd);
}

static void
test_sentence(int root, const char *scratch)
{
	char want[PATH_MAX + 64], real[PATH_MAX];
	struct error err = ERROR_INIT;

	if (!have_openat2()) {
		skip("the sentence names the root", "no openat2");
		return;
	}
	if (realpath(scratch, real) == NULL)
		return;
	snprintf(want, sizeof(want), "up/secret: leads out of %s/top", real);
	path_open_beneath(root, "up/secret", O_RDONLY, 0, &err);
	is_str(err.text, want, "the sentence names the root");
}

static void
test_parent(int root)
{
	struct error err = ERROR_INIT;
	const char *base = NULL;
	struct stat a, b;
	mode_t old = umask(022);
	int fd = path_open_parent(root, "sub/file", false, 0, &base, &err);

	is_str(base, "file", "the base of sub/file");
	ok(fstat(fd, &a) == 0 && fstatat(root, "sub", &b, 0) == 0 &&
		   a.st_ino == b.st_ino,
	   "the parent of sub/file");
	close(fd);
	fd = path_open_parent(root, "file", false, 0, &base, &err);
	is_str(base, "file", "the base of file");
	ok(fd != root && fstat(fd, &a) == 0 && fstat(root, &b) == 0 &&
		   a.st_ino == b.st_ino,
	   "its parent is the root, opened anew");
	close(fd);

	is_int(path_open_parent(root, "x/y/z/f", false, 0, &base, &err), -1,
	       "no such parent");
	is_int(err.kind, ERROR_ABSENT, "is ERROR_ABSENT");
	fd = path_open_parent(root, "x/y/z/f", true, 0770, &base, &err);
	ok(fd >= 0 && fstatat(root, "x/y/z", &a, 0) == 0 &&
		   fstat(fd, &b) == 0 && a.st_ino == b.st_ino,
	   "is made");
	is_int(a.st_mode & 0777, 0750, "with mode and umask");
	close(fd);
	fd = path_open_parent(root, "x/y/w/v/f", true, 0770, &base, &err);
	ok(fd >= 0 && fstatat(root, "x/y/w/v", &a, 0) == 0,
	   "a part of it is made");
	close(fd);
	fd = path_open_parent(root, "x/f", true, 0770, &base, &err);
	ok(fd >= 0, "nothing is to be made");
	close(fd);
	fd = path_open_parent(root, "f", true, 0770, &base, &err);
	ok(fd >= 0, "nothing can be made");
	close(fd);
	unlinkat(root, "x/y/z", AT_REMOVEDIR);
	unlinkat(root, "x/y/w/v", AT_REMOVEDIR);
	unlinkat(root, "x/y/w", AT_REMOVEDIR);
	unlinkat(root, "x/y", AT_REMOVEDIR);
	is_int(unlinkat(root, "x", AT_REMOVEDIR), 0, "nothing else was made");

	fd = path_open_parent(root, "to_sub/deep/f", true, 0777, &base, &err);
	ok(fd >= 0, "below a link that stays inside");
	close(fd);
	is_int(unlinkat(root, "sub/deep", AT_REMOVEDIR), 0,
	       "it is made where the link leads");
	umask(old);
}

static void
test_unsafe_parent(int root)
{
	static const struct {
		const char *rel;
		enum error_kind kind;
	} v[] = {
		{ "up/new/f", ERROR_UNSAFE },	 { "loop/new/f", ERROR_UNSAFE },
		{ "file/new/f", ERROR_SYSTEM },	 { "../new/f", ERROR_UNSAFE },
		{ "new/../../f", ERROR_UNSAFE }, { "", ERROR_UNSAFE },
	};
	struct error err = ERROR_INIT;
	const char *base = NULL;
	struct stat st;
	size_t i = 0;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		is_int(path_open_parent(root, v[i].rel, true, 0777, &base,
					&err),
		       -1, v[i].rel);
		is_int(err.kind, v[i].kind, err.text);
	}
	ok(path_open_parent(root, "dangling/new/f", true, 0777, &base, &err) ==
		   -1,
	   "a dangling link in the way");
	ok(fstatat(root, "../new", &st, 0) < 0 &&
		   fstatat(root, "new", &st, 0) < 0 &&
		   fstatat(root, "not", &st, 0) < 0,
	   "nothing was made anywhere");
}

/* From now on let openat2() fail with `error`, as in an old kernel or in a
 * sandbox.  Cannot be undone. */
static bool
forbid_openat2(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       !have_openat2();
}

/* A sandbox that answers EPERM; in a child, because it cannot be undone. */
static void
test_sandbox(int root)
{
	struct error err = ERROR_INIT;
	struct stat st;
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (!forbid_openat2(EPERM))
			_exit(77);
		_exit(path_stat_beneath(root, "sub/file", &st, &err) != 0 ||
		      path_stat_beneath(root, "to_sub/file", &st, &err) != 0 ||
		      path_stat_beneath(root, "out", &st, &err) != -1 ||
		      err.kind != ERROR_UNSAFE);
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status),
	   "a child in a sandbox");
	if (WEXITSTATUS(status) == 77)
		skip("EPERM makes it walk", "no seccomp");
	else
		is_int(WEXITSTATUS(status), 0, "EPERM makes it walk");
}

/* The working directory as the root. */
static void
test_cwd(int root)
{
	struct error err = ERROR_INIT;
	int cwd = open(".", O_RDONLY | O_DIRECTORY), fd = -1;
	const char *base = NULL;

	if (cwd < 0 || fchdir(root) < 0) {
		skip("the working directory as root", "cannot change to it");
		goto out;
	}
	fd = path_open_parent(AT_FDCWD, "file", false, 0, &base, &err);
	ok(fd >= 0, "path_open_parent() of a file in the working directory");
	close(fd);
	is_int(path_open_beneath(AT_FDCWD, "up/secret", O_RDONLY, 0, &err), -1,
	       "a link out of the working directory");
	is_int(err.kind, ERROR_UNSAFE, "is unsafe");
	if (fchdir(cwd) < 0)
		printf("# cannot go back\n");
out:
	close(cwd);
}

/* Test all functions that open files. */
static void
test_all(int root, const char *how)
{
	test_open(root, how);
	test_flags(root);
	test_parent(root);
	test_unsafe_parent(root);
	test_cwd(root);
}

int
main(void)
{
	char scratch[128] = "";
	int root = -1;

	scratch_dir(scratch, sizeof(scratch));
	root = make_tree(scratch);
	test_clean();
	test_normal();
	test_below();
	test_join();
	test_real(scratch);
	test_sentence(root, scratch);
	test_sandbox(root);
	if (have_openat2())
		test_all(root, "open");
	else
		skip("with openat2", "there is none");
	if (!have_openat2() || forbid_openat2(ENOSYS))
		test_all(root, "walk");
	else
		skip("without openat2", "no seccomp to forbid it");
	close(root);
	remove_tree(scratch);
	return tap_done();
}
