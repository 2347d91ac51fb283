/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "scratch.h"
#include "shim/openat2.h"

static void
test_clean(void)
{
	static const char *const clean[] = { "a",   "a/b", "...",    ".a",
					     "..a", "a..", "a/.b/c", "a b\n" };
	static const char *const unclean[] = {
		"",    "/",    "/a",   "a/",  "a//b",  ".",	 "..",
		"./a", "../a", "a/..", "a/.", "a/./b", "a/../b",
	};
	char text[PATH_MAX + 1] = "";

	each (c, clean)
		ok(path_is_clean(*c), "clean");
	each (u, unclean)
		ok(!path_is_clean(*u), *u);
	memset(text, 'a', PATH_MAX - 1);
	ok(path_is_clean(text), "PATH_MAX - 1 bytes are clean");
	text[PATH_MAX - 1] = 'a';
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
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(v); i++) {
		must(path_normal(v[i][0], &out, NULL) == 0);
		is_str(out.data, v[i][1], v[i][0]);
		must(path_normal(v[i][1], &out, NULL) == 0);
		ok(strcmp(out.data, v[i][1]) == 0, "the normal form stays");
	}
	buf_free(&out);
	without_memory (m, 1, "no memory") {
		auto_buf some = BUF_INIT;

		m.rc = path_normal("/a/b", &some, &m.err);
	}
}

static void
test_join(void)
{
	static const char *const below[][3] = {
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
	static const char *const joined[][2] = {
		{ "a", "a/b" },
		{ "", "b" },
		{ "/", "/b" },
		{ "x/", "x/b" },
	};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(below); i++)
		is_str(path_below(below[i][0], below[i][1]), below[i][2],
		       fmt("%s below %s", below[i][0], below[i][1]));
	for (size_t i = 0; i < COUNT(joined); i++) {
		must(path_join(&out, joined[i][0], "b", &why) == 0);
		is_str(out.data, joined[i][1], fmt("%s and b", joined[i][0]));
	}
	path_join(&out, out.data, "c/d", &why);
	is_str(out.data, "x/b/c/d", "onto what `out` held");
	buf_free(&out);
	mem_fail_after(0);
	refuses(path_join(&out, "a", "b", &why), ERROR_NOMEM, NULL,
		"without memory");
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
	struct buf out = BUF_INIT;

	must(realpath(scratch, real) != NULL && getcwd(cwd, sizeof(cwd)));
	is_int(path_real(fmt("%s/top/./to_sub/../sub/file", scratch), &out,
			 &why),
	       0, "path_real()");
	is_str(out.data, fmt("%s/top/sub/file", real), "links, dots");
	is_int(path_real(".", &out, &why), 0, "path_real() of .");
	is_str(out.data, cwd, "is the working directory");
	refuses(path_real("/no/such/path", &out, &why), ERROR_ABSENT, NULL,
		"of nothing");
	buf_free(&out);
	mem_fail_after(0);
	refuses(path_real(".", &out, &why), ERROR_NOMEM, NULL,
		"without memory");
	mem_fail_after(-1);
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

static int
make_tree(const char *scratch)
{
	int root = -1;

	write_text(fmt("%s/secret", scratch), "secret");
	write_text(fmt("%s/top/file", scratch), "top file");
	write_text(fmt("%s/top/sub/file", scratch), "sub file");
	root = open(fmt("%s/top", scratch), O_RDONLY | O_DIRECTORY);
	symlinkat("sub", root, "to_sub");
	symlinkat("../file", root, "sub/to_file");
	symlinkat("../secret", root, "out");
	symlinkat("..", root, "up");
	symlinkat(fmt("%s/top/file", scratch), root, "absolute");
	symlinkat("loop", root, "loop");
	symlinkat("not/there", root, "dangling");
	/* Others may have made the links. */
	must(fchmod(root, 0777) == 0);
	return root;
}

/* Expected results of opening a path below the root, and of stat. */
static const struct {
	const char *rel;
	enum error_kind kind;
	const char *text; /* contents, or part of the error message */
} opens[] = {
	{ "file", ERROR_NONE, "top file" },
	{ "sub/file", ERROR_NONE, "sub file" },
	{ "to_sub/file", ERROR_NONE, "sub file" },
	{ "sub/to_file", ERROR_NONE, "top file" },
	{ "out", ERROR_UNSAFE, "out: " },
	{ "up/secret", ERROR_UNSAFE, "up/secret: " },
	{ "up/top/file", ERROR_UNSAFE, "up/top/file: " },
	{ "absolute", ERROR_UNSAFE, "absolute: " },
	{ "loop", ERROR_UNSAFE, "loop: a symbolic link blocks the path" },
	{ "loop/file", ERROR_UNSAFE,
	  "loop/file: a symbolic link blocks the path" },
	{ "dangling", ERROR_ABSENT, "dangling: " },
	{ "none", ERROR_ABSENT, ": No such file or directory" },
	{ "none/file", ERROR_ABSENT, ": No such file or directory" },
	{ "file/x", ERROR_SYSTEM, ": Not a directory" },
	{ "../secret", ERROR_UNSAFE, "\"../secret\"" },
	{ "sub/../file", ERROR_UNSAFE, "sub/../file" },
	{ "/etc/passwd", ERROR_UNSAFE, "/etc/passwd" },
	{ "", ERROR_UNSAFE, "\"\"" },
};

static void
test_open(int root, const char *how)
{
	struct error err = ERROR_INIT;

	each (o, opens) {
		const char *rel = o->rel, *what = fmt("%s %s", how, rel);
		int fd = path_open_beneath(root, rel, O_RDONLY, 0, &err);
		char text[16];
		struct stat st;

		if (o->kind == ERROR_NONE) {
			ok(read(fd, text, sizeof(text)) == 8 &&
				   memcmp(text, o->text, 8) == 0 &&
				   fcntl(fd, F_GETFD) == FD_CLOEXEC,
			   what);
			close(fd);
			ok(path_stat_beneath(root, rel, &st, &err) == 0 &&
				   S_ISREG(st.st_mode) && st.st_size == 8,
			   "its stat does the same, and follows the link");
		} else {
			is_error(fd, &err, o->kind, o->text, what);
			is_error(path_stat_beneath(root, rel, &st, &err), &err,
				 o->kind, NULL, "its stat does the same");
		}
	}
	is_int(path_open_beneath(root, "out", O_RDONLY, 0, NULL), -1,
	       "no struct to tell");
}

/* Flags with which a path is opened, or not. */
static void
test_flags(int root)
{
	static char name[NAME_MAX + 8];
	const int create = O_WRONLY | O_CREAT;
	const struct {
		const char *rel;
		int flags, how; /* 0: opened */
		const char *what;
	} cases[] = {
		{ "sub/new", create | O_EXCL, -EEXIST, "O_EXCL finds it" },
		{ "out", create, ERROR_UNSAFE, "O_CREAT through a link out" },
		{ "up/made", create, ERROR_UNSAFE, "... or a directory" },
		{ "out", O_PATH | O_NOFOLLOW, 0, "the link itself" },
		{ "out", O_RDONLY | O_NOFOLLOW, ERROR_UNSAFE, "O_NOFOLLOW" },
		{ "sub", O_RDONLY | O_DIRECTORY, 0, "O_DIRECTORY" },
		{ "file", O_RDONLY | O_DIRECTORY, -ENOTDIR, "... of a file" },
		{ name, O_RDONLY, -ENAMETOOLONG, "more than NAME_MAX" },
	};
	struct stat st;
	mode_t old = umask(027);
	int fd = path_open_beneath(root, "sub/new", create, 0666, &why);

	close(fd);
	umask(old);
	is_int(mode_of(root, "sub/new"), 0640, "O_CREAT obeys mode and umask");
	memset(name, 'n', sizeof(name));
	memcpy(name + NAME_MAX + 1, "/file", 6);
	for (size_t i = 0; i < COUNT(cases); i++) {
		fd = path_open_beneath(root, cases[i].rel, cases[i].flags, 0666,
				       &why);
		ok(cases[i].how != 0 ? fails_as(fd, &why, cases[i].how, NULL)
				     : fstat(fd, &st) == 0 &&
					       S_ISLNK(st.st_mode) == (i == 3),
		   cases[i].what);
		io_close(fd);
	}
	ok(!exists_at(root, "../made"), "nothing is made outside");
	unlinkat(root, "sub/new", 0);
	refuses(path_open_beneath(-1, "sub/file", O_RDONLY, 0, &why), -EBADF,
		NULL, "no directory");

	fd = path_open_beneath(root, "sub", O_RDWR | O_TMPFILE, 0600, &why);
	ok(fd >= 0 || why.errnum == EOPNOTSUPP, "O_TMPFILE");
	io_close(fd);
}

/* Is `fd` open on this directory?  Closes it. */
static bool
is_dir(int fd, int root, const char *rel)
{
	struct stat a, b;
	bool same = fd >= 0 && fd != root && fstat(fd, &a) == 0 &&
		    fstatat(root, rel, &b, 0) == 0 && a.st_ino == b.st_ino;

	io_close(fd);
	return same;
}

static void
test_parent(int root)
{
	static const struct {
		const char *rel;
		bool make;
		const char *dir, *what;
	} cases[] = {
		{ "sub/file", false, "sub", "the parent of sub/file" },
		{ "file", false, ".", "it is the root, opened anew" },
		{ "x/y/z/file", true, "x/y/z", "directories are made" },
		{ "x/y/w/v/file", true, "x/y/w/v", "a part of them" },
		{ "x/file", true, "x", "nothing is to be made" },
		{ "file", true, ".", "nothing can be made" },
		{ "to_sub/deep/file", true, "sub/deep", "where a link leads" },
	};
	static const char *const made[] = { "x/y/z", "x/y/w/v", "x/y/w",
					    "x/y",   "x",	"sub/deep" };
	const char *base = NULL;
	mode_t old = umask(022);

	refuses(path_open_parent(root, "x/y/z/f", false, 0, &base, &why),
		ERROR_ABSENT, NULL, "no such parent");
	each (c, cases) {
		int fd = path_open_parent(root, c->rel, c->make, 0770, &base,
					  &why);

		ok(is_dir(fd, root, c->dir) && strcmp(base, "file") == 0,
		   c->what);
	}
	is_int(mode_of(root, "x/y/z"), 0750, "with mode and umask");
	each (m, made)
		is_int(unlinkat(root, *m, AT_REMOVEDIR), 0,
		       "nothing else was made");
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
	const char *base = NULL;

	each (t, v)
		refuses(path_open_parent(root, t->rel, true, 0777, &base, &why),
			t->kind, NULL, t->rel);
	is_int(path_open_parent(root, "dangling/new/f", true, 0777, &base,
				&why),
	       -1, "a dangling link in the way");
	ok(!exists_at(root, "../new") && !exists_at(root, "new") &&
		   !exists_at(root, "not"),
	   "nothing was made anywhere");
}

/* From now on let openat2() fail with `error`, as in an old kernel (ENOSYS) or
 * in a sandbox (EPERM).  Cannot be undone; the last call counts. */
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
	       !have_openat2() && errno == error;
}

/* The working directory as the root. */
static void
test_cwd(int root)
{
	auto_fd int cwd = open(".", O_RDONLY | O_DIRECTORY);
	const char *base = NULL;

	must(cwd >= 0 && fchdir(root) == 0);
	ok(is_dir(path_open_parent(AT_FDCWD, "file", false, 0, &base, &why),
		  root, "."),
	   "path_open_parent() of a file in the working directory");
	refuses(path_open_beneath(AT_FDCWD, "up/secret", O_RDONLY, 0, &why),
		ERROR_UNSAFE, NULL, "a link out of it");
	must(fchdir(cwd) == 0);
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
	char scratch[128] = "", real[PATH_MAX];
	struct error err = ERROR_INIT;
	auto_fd int root = -1;

	scratch_dir(scratch, sizeof(scratch));
	must(realpath(scratch, real) != NULL);
	root = make_tree(scratch);
	test_clean();
	test_normal();
	test_join();
	test_real(scratch);
	if (have_openat2()) {
		test_all(root, "open");
		path_open_beneath(root, "up/secret", O_RDONLY, 0, &err);
		is_str(err.text,
		       fmt("up/secret: leads out of %s/top by a link that "
			   "others may have made: only links of its owner are "
			   "followed, in directories that nobody else may "
			   "write",
			   real),
		       "the sentence names the root");
	} else {
		skip("with openat2", "there is none");
	}
	if (!have_openat2() || forbid_openat2(ENOSYS))
		test_all(root, "walk");
	else
		skip("without openat2", "no seccomp to forbid it");
	if (forbid_openat2(EPERM))
		test_open(root, "sandbox");
	else
		skip("in a sandbox", "no seccomp");
	return tap_done();
}
