/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path_impl.h: paths resolved here lead where openat2() leads, on random trees
 * with links of all kinds; and never out of their root, whatever another
 * process renames meanwhile.
 */
#include <sys/prctl.h>

#include "path_impl.h"
#include "scratch.h"
#include "shim/openat2.h"

#define TREES 60
#define NAMES 6	    /* names of a tree: a, b, ... */
#define PATHS 200   /* tried in each tree */
#define ROUNDS 3000 /* of a race */

static int
kernel_open(int root, const char *rel, int flags, mode_t mode)
{
	const struct openat2_how how = {
		.flags = (uint32_t)flags,
		.mode = mode,
		.resolve = OPENAT2_CONFINED,
	};

	int fd = -1, again = 0;

	/* EAGAIN: a rename anywhere on the machine may have moved "..". */
	do
		fd = openat2_call(root, rel, &how);
	while (fd < 0 && errno == EAGAIN && again++ < 1000);
	return fd;
}

/* Make a directory, and open it. */
static int
new_root(const char *path)
{
	must(mkdir(path, 0777) == 0);
	return open(path, O_RDONLY | O_DIRECTORY);
}

/* --- The same results --- */

/* A path of up to `max` components; some are "..", "." or missing. */
static void
random_path(char *out, size_t size, unsigned max)
{
	static const char *const words[] = { ".", "..", "..", "a", "b",
					     "c", "d",	"e",  "f", "a" };
	size_t len = 0;

	for (unsigned n = 1 + below(max); n > 0 && len + 4 < size; n--)
		len += (size_t)sprintf(out + len, "%s%s", len > 0 ? "/" : "",
				       words[below(10)]);
	if (below(12) == 0)
		strcpy(out + len, "/");
}

/* Fill a directory with files, directories and links. */
static void
fill(int dir, unsigned depth)
{
	char name[2] = "a", to[64];

	for (; name[0] < 'a' + NAMES; name[0]++) {
		const unsigned what = below(7);

		if (what < 2) {
			put_file(dir, name, "");
		} else if (what < 4 && depth > 0) {
			auto_fd int fd = -1;

			must(mkdirat(dir, name, 0777) == 0);
			fd = openat(dir, name, O_RDONLY | O_DIRECTORY);
			fill(fd, depth - 1);
		} else if (what == 4 || what == 5) {
			random_path(to, sizeof(to), 4);
			(void)symlinkat(to, dir, name);
		}
	}
	(void)symlinkat("/etc", dir, "z");
}

/* Do both ways agree on this path?  1: it can be opened, 0: it cannot, -1: they
 * do not agree. */
static int
compare(int root, const char *rel, int flags)
{
	int theirs = kernel_open(root, rel, flags, 0), theirs_errno = errno;
	int ours = path_walk(root, rel, flags, 0, false), ours_errno = errno;
	struct stat a, b;
	int opened = -1;

	if (ours < 0 && theirs < 0 && ours_errno == theirs_errno)
		opened = 0;
	else if (ours >= 0 && theirs >= 0 && fstat(ours, &a) == 0 &&
		 fstat(theirs, &b) == 0 && a.st_dev == b.st_dev &&
		 a.st_ino == b.st_ino)
		opened = 1;
	else
		printf("# %s, flags %o: %d (%s), openat2 %d (%s)\n", rel, flags,
		       ours, strerror(ours_errno), theirs,
		       strerror(theirs_errno));
	io_close(ours);
	io_close(theirs);
	return opened;
}

static void
test_trees(const char *scratch)
{
	static const int flags[] = {
		O_RDONLY,
		O_RDONLY | O_DIRECTORY,
		O_PATH,
		O_PATH | O_DIRECTORY,
		O_PATH | O_NOFOLLOW,
		O_RDONLY | O_NOFOLLOW,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		O_RDWR,
	};
	unsigned counts[3] = { 0 };
	char rel[96];

	for (unsigned t = 0; t < TREES; t++) {
		auto_fd int root = new_root(fmt("%s/tree%u", scratch, t));

		fill(root, 3);
		for (unsigned i = 0; i < PATHS; i++) {
			random_path(rel, sizeof(rel), 7);
			counts[1 + compare(root,
					   below(20) == 0 ? "z/passwd" : rel,
					   flags[below(8)] | O_CLOEXEC)]++;
		}
	}
	is_int(counts[0], 0, "random paths of random trees: as openat2()");
	ok(counts[2] > TREES * PATHS / 20, "and many of them can be opened");
}

static void
test_edges(const char *scratch)
{
	static char long_name[NAME_MAX + 3], deep[PATH_MAX + 8];
	const struct {
		const char *rel;
		int flags, opened;
		const char *what;
	} cases[] = {
		{ long_name, O_RDONLY, 0, "a name that is too long" },
		{ deep, O_RDONLY, 0, "a path that is too long" },
		{ "", O_RDONLY, 0, "no path" },
		{ "/etc", O_PATH, 0, "an absolute path" },
		{ "l39", O_PATH, 1, "40 links are followed" },
		{ "l40", O_PATH, 0, "41 links are not" },
	};
	auto_fd int root = new_root(fmt("%s/edges", scratch));

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (size_t i = 0; i < sizeof(deep) - 1; i++)
		deep[i] = i % 2 == 0 ? 'd' : '/';
	for (int i = 0; i < 42; i++)
		(void)symlinkat(i == 0 ? "." : fmt("l%d", i - 1), root,
				fmt("l%d", i));
	each (c, cases)
		is_int(compare(root, c->rel, c->flags), c->opened, c->what);
}

/* --- Races --- */

static void
test_race(const char *scratch)
{
	unsigned out = 0, in = 0, other = 0;
	struct stat secret, mine, st;
	int root = new_root(fmt("%s/race", scratch)), fd = -1;
	pid_t pid = -1;

	write_text(fmt("%s/outside/f", scratch), "");
	write_text(fmt("%s/race/d/f", scratch), "");
	mkdirat(root, "d/e", 0777);
	(void)symlinkat("../outside", root, "l");
	fstatat(root, "../outside/f", &secret, 0);
	fstatat(root, "d/f", &mine, 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			(void)renameat(root, "d", root, "was");
			(void)renameat(root, "l", root, "d");
			(void)renameat(root, "d", root, "l");
			(void)renameat(root, "was", root, "d");
		}
	}
	/* With one processor the other process may stop at a link for long. */
	for (unsigned i = 0; i < ROUNDS || (in == 0 && i < 1000 * ROUNDS);
	     i++) {
		fd = path_walk(root, i % 2 == 0 ? "d/f" : "d/e/../f",
			       O_RDONLY | O_CLOEXEC, 0, false);
		if (fd < 0) {
			other++;
			continue;
		}
		fstat(fd, &st);
		out += st.st_ino == secret.st_ino;
		in += st.st_ino == mine.st_ino;
		close(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# opened %u times, refused or missing %u times\n", in, other);
	is_int(out, 0, "a link that comes and goes: never outside");
	ok(in > 0, "and sometimes inside");
	close(root);
}

/* --- Trusted links (33.11) --- */

/* Does `up/over/f` open, and if it exists through `up` beneath, strictly? */
static void
test_trust(const char *scratch)
{
	static const struct {
		mode_t mode;		   /* of the root, which has the link */
		uid_t root, link, over, f; /* owners */
		int error;		   /* of path_walk() */
		const char *what;
	} v[] = {
		{ 0755, 0, 0, 0, 0, 0, "the owner's link" },
		{ 0775, 0, 0, 0, 0, EXDEV, "the group may write there" },
		{ 01777, 0, 0, 0, 0, EXDEV, "all may" },
		{ 0755, 0, 1, 0, 0, EXDEV, "somebody's link" },
		{ 0755, 1, 2, 1, 1, EXDEV, "another user's link" },
		{ 0755, 1, 0, 2, 2, 0, "root's link" },
		{ 0755, 1, 1, 1, 1, 0, "a user's link to files of the user" },
		{ 0755, 1, 1, 1, 0, EXDEV, "... to a file of another" },
		{ 0755, 1, 1, 0, 1, 0, "... in a directory of another" },
	};
	const char *top = fmt("%s/trust", scratch);
	const bool gives = may_give();
	char base[160];
	auto_fd int root = -1;

	snprintf(base, sizeof(base), "%s", top);
	must(mkdir(base, 0755) == 0 && mkdir(fmt("%s/root", base), 0755) == 0 &&
	     mkdir(fmt("%s/over", base), 0755) == 0);
	write_text(fmt("%s/over/f", base), "f");
	must(symlink("../over", fmt("%s/root/rel", base)) == 0 &&
	     symlink(fmt("%s/over", base), fmt("%s/root/abs", base)) == 0 &&
	     symlink("rel", fmt("%s/root/twice", base)) == 0);
	root = open(fmt("%s/root", base), O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < COUNT(v); i++) {
		static const char *const to[] = { "rel", "abs", "twice" };

		if (!gives && i > 2)
			break;
		for (int k = 0; k < 3; k++) {
			const char *rel = fmt("%s/f", to[k]);
			int fd = -1, error = 0;

			if (gives)
				must(fchown(root, v[i].root, -1) == 0 &&
				     fchownat(root, to[k], v[i].link, -1,
					      AT_SYMLINK_NOFOLLOW) == 0 &&
				     chown(fmt("%s/over", base), v[i].over,
					   -1) == 0 &&
				     chown(fmt("%s/over/f", base), v[i].f,
					   -1) == 0);
			must(fchmod(root, v[i].mode) == 0);
			fd = path_walk(root, rel, O_RDONLY, 0, false);
			error = fd < 0 ? errno : 0;
			is_int(error, v[i].error,
			       fmt("%s: %s", rel, v[i].what));
			if (fd >= 0)
				close(fd);
		}
	}
}

int
main(void)
{
	char scratch[128] = "";

	umask(0); /* others may make links, so none leads out */
	scratch_dir(scratch, sizeof(scratch));
	test_trust(scratch);
	if (kernel_open(AT_FDCWD, ".", O_PATH, 0) >= 0) {
		test_trees(scratch);
		test_edges(scratch);
	} else {
		skip("as openat2()", "there is none");
	}
	test_race(scratch);
	return tap_done();
}
