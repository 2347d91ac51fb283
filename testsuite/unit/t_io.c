/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "scratch.h"
#include "tap.h"
#include "temp.h"

static bool
temp_exists(int dir, const char *name)
{
	char temp[TEMP_NAME_MAX];

	return exists_at(dir, temp_name(temp, name));
}

static void
test_read(int dir)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	int fd = -1;

	put_file(dir, "f", "0123456789");
	is_int(io_read_file(dir, "f", 10, &b, &err), 0, "io_read_file()");
	is_str(b.data, "0123456789", "gives the contents");
	is_int((int64_t)b.len, 10, "and their length");
	is_int(io_read_file(dir, "f", 9, &b, &err), -1, "one byte too long");
	is_int(err.kind, ERROR_CORRUPT, "is ERROR_CORRUPT");
	is_str(err.text, "f: 10 bytes long, the limit is 9", "and says so");
	is_int((int64_t)b.len, 0, "and leaves nothing of the old contents");
	put_file(dir, "empty", "");
	is_int(io_read_file(dir, "empty", 0, &b, &err), 0, "an empty file");
	is_str(b.data, "", "is an empty string");
	is_int(io_read_file(dir, "none", 9, &b, &err), -1, "no file");
	is_int(err.kind, ERROR_ABSENT, "is ERROR_ABSENT");
	is_str(err.text, "none: cannot open: No such file or directory",
	       "and says so");
	mkdirat(dir, "d", 0777);
	is_int(io_read_file(dir, "d", 9, &b, &err), -1, "a directory");
	is_str(err.text, "d: not a regular file", "is refused");
	is_int(err.kind, ERROR_CORRUPT, "as ERROR_CORRUPT");
	mkfifoat(dir, "fifo", 0666);
	is_int(io_read_file(dir, "fifo", 9, &b, &err), -1,
	       "a FIFO does not stop us");
	is_int(err.kind, ERROR_CORRUPT, "but is refused");
	/* The kernel reports size 0 for this file. */
	is_int(io_read_file(AT_FDCWD, "/proc/self/status", 1 << 20, &b, &err),
	       0, "a file of /proc");
	ok(b.len > 100 && strncmp(b.data, "Name:", 5) == 0 &&
		   b.data[b.len] == '\0',
	   "is read to its end");
	is_int(io_read_file(AT_FDCWD, "/proc/self/status", 100, &b, &err), -1,
	       "the limit is for it, too");
	is_int(err.kind, ERROR_CORRUPT, "and is ERROR_CORRUPT");
	fd = openat(dir, "f", O_RDONLY);
	lseek(fd, 5, SEEK_SET);
	is_int(io_read_fd(fd, "f", 100, &b, &err), 0, "io_read_fd()");
	is_str(b.data, "0123456789", "reads from the start");
	close(fd);
	is_int(io_read_fd(fd, "f", 100, &b, &err), -1, "of a closed one");
	is_int(err.errnum, EBADF, "is EBADF");
	fd = openat(dir, "f", O_WRONLY);
	is_int(io_read_fd(fd, "f", 100, &b, &err), -1, "of a write-only one");
	is_int(err.errnum, EBADF, "is EBADF");
	close(fd);
	is_int(io_read_fd(fd, "f", 100, &b, NULL), -1, "no struct to tell");
	buf_free(&b);
	mem_fail_after(0);
	is_int(io_read_file(dir, "f", 10, &b, &err), -1, "without memory");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	mem_fail_after(1);
	is_int(io_read_file(AT_FDCWD, "/proc/self/status", 1 << 20, &b, &err),
	       -1, "without memory for more than was expected");
	is_int(err.kind, ERROR_NOMEM, "is ERROR_NOMEM");
	mem_fail_after(-1);
	buf_free(&b);
}

static void
test_pread(int dir)
{
	static const char text[] = "0123456789";
	struct error err = ERROR_INIT;
	bool got = true, ends = true;
	char data[32], want[64];
	size_t off = 0, len = 0;
	int fd = -1, rc = -1;

	put_file(dir, "f", text);
	fd = openat(dir, "f", O_RDWR);
	for (off = 0; off < 12; off++) {
		for (len = 0; len < 14; len++) {
			memset(data, '#', sizeof(data));
			error_clear(&err);
			rc = io_pread(fd, "f", data, len, off, &err);
			if (off + len <= 10 || len == 0) {
				got = got && rc == 0 && data[len] == '#' &&
				      memcmp(data, &text[off > 10 ? 0 : off],
					     len) == 0;
				continue;
			}
			snprintf(want, sizeof(want),
				 "f: ends at byte %zu, expected %zu more",
				 off > 10 ? off : 10,
				 off > 10 ? len : off + len - 10);
			ends = ends && rc == -1 && err.kind == ERROR_CORRUPT &&
			       strcmp(err.text, want) == 0;
		}
	}
	ok(got, "io_pread() of every part");
	ok(ends, "every truncation is ERROR_CORRUPT, and says where");
	is_int(io_pread(fd, "f", data, 1, UINT64_MAX, &err), -1,
	       "an offset above off_t");
	is_int(err.errnum, EOVERFLOW, "is EOVERFLOW");
	is_int(io_pread(fd, "f", data, 1, INT64_MAX - 1, &err), -1,
	       "the last offset");
	is_int(err.kind, ERROR_CORRUPT, "is behind the end");
	is_int(io_pread(fd, "f", data, 2, INT64_MAX, &err), -1,
	       "an end above off_t");
	is_int(err.errnum, EOVERFLOW, "is EOVERFLOW");
	is_int(io_pwrite(fd, "f", data, 2, INT64_MAX, &err), -1,
	       "and so for io_pwrite()");
	is_int(err.errnum, EFBIG, "is EFBIG");
	is_int(io_pwrite(fd, "f", "AB", 2, 9, &err), 0, "io_pwrite()");
	is_int(io_pwrite(fd, "f", "", 0, 99, &err), 0, "of nothing");
	ok(holds_at(dir, "f", "012345678AB"), "writes where it is told");
	is_int(io_fsync(fd, "f", &err), 0, "io_fsync()");
	close(fd);
	is_int(io_pread(fd, "f", data, 1, 0, &err), -1, "a closed file");
	is_str(err.text, "f: cannot read at byte 0: Bad file descriptor",
	       "is told by io_pread()");
	is_int(io_pwrite(fd, "f", data, 1, 5, &err), -1, "a closed file");
	is_str(err.text, "f: cannot write at byte 5: Bad file descriptor",
	       "is told by io_pwrite()");
	is_int(io_fsync(fd, "f", &err), -1, "a closed file");
	is_str(err.text, "f: cannot sync: Bad file descriptor",
	       "is told by io_fsync()");
}

static void
test_temp_name(void)
{
	static const char *const others[] = {
		"",
		".scrkit-",
		".scrkit-.tmp",
		".scrkit-0123456789abcde.tmp",
		".scrkit-0123456789abcdef0.tmp",
		".scrkit-0123456789ABCDEF.tmp",
		".scrkit-0123456789abcdef.tmp2",
		".scrkit-0123456789abcdef",
		"a.scrkit-0123456789abcdef.tmp",
		"scrkit-0123456789abcdef.tmp",
	};
	char to[TEMP_NAME_MAX], other[TEMP_NAME_MAX];
	size_t i = 0;

	ok(temp_name(to, "index.scr") == to && temp_is(to),
	   "temp_is() knows what temp_name() makes");
	is_int((int64_t)strlen(to), 28, "which has 28 bytes");
	is_str(temp_name(other, "index.scr"), to, "always the same");
	is_str(temp_name(other, "a/b/index.scr"), to, "whatever the directory");
	ok(strcmp(temp_name(other, "index.scs"), to) != 0,
	   "another for another name");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!temp_is(others[i]), others[i]);
}

static void
test_replace(int dir)
{
	char long_name[NAME_MAX + 1];
	struct error err = ERROR_INIT;
	mode_t old = umask(027);
	int path = -1;

	is_int(io_replace(dir, "r", "one", 3, 0666, &err), 0,
	       "io_replace() of nothing");
	ok(holds_at(dir, "r", "one"), "writes a new file");
	is_int(mode_of(dir, "r"), 0640, "with mode and umask");
	fchmodat(dir, "r", 0606, 0);
	is_int(io_replace(dir, "r", "two", 3, 0600, &err), 0,
	       "io_replace() of a file");
	ok(holds_at(dir, "r", "two"), "replaces it");
	is_int(mode_of(dir, "r"), 0606, "and keeps its mode");
	is_int(io_replace(dir, "r", NULL, 0, 0600, &err), 0, "with nothing");
	ok(holds_at(dir, "r", ""), "empties it");
	mkdirat(dir, "sub", 0777);
	is_int(io_replace(dir, "sub/r", "three", 5, 0666, &err), 0,
	       "a name with a directory");
	ok(holds_at(dir, "sub/r", "three"), "is written there");
	path = openat(dir, "sub", O_PATH | O_DIRECTORY);
	is_int(io_replace(path, "r", "four", 4, 0666, &err), 0,
	       "below an O_PATH descriptor");
	ok(holds_at(dir, "sub/r", "four"), "works, too");
	is_int(io_sync_dir(path, "sub", &err), 0, "io_sync_dir() of one");
	close(path);
	is_int(io_sync_dir(dir, "dir", &err), 0, "io_sync_dir()");
	is_int(io_sync_dir(AT_FDCWD, ".", &err), 0,
	       "io_sync_dir() of the working directory");
	is_int(io_sync_dir(-1, "x", &err), -1, "io_sync_dir() of nothing");
	is_str(err.text, "x: cannot sync the directory: Bad file descriptor",
	       "says so");
	memset(long_name, 'n', NAME_MAX);
	long_name[NAME_MAX] = '\0';
	is_int(io_replace(dir, long_name, "x", 1, 0666, &err), 0,
	       "the longest name there may be");
	ok(holds_at(dir, long_name, "x"), "is written");
	ok(!temp_exists(dir, "r") && !temp_exists(dir, long_name),
	   "no temporary file is left");
	umask(old);
}

static void
test_cwd(int dir)
{
	struct error err = ERROR_INIT;
	int cwd = open(".", O_RDONLY | O_DIRECTORY);

	if (cwd < 0 || fchdir(dir) < 0) {
		skip("in the working directory", "cannot change to it");
		return;
	}
	is_int(io_replace(AT_FDCWD, "c", "one", 3, 0666, &err), 0,
	       "in the working directory");
	is_int(io_replace(AT_FDCWD, "sub/c", "two", 3, 0666, &err), 0,
	       "and below it");
	is_int(io_replace(AT_FDCWD, "./c", "four", 4, 0666, &err), 0,
	       "with a dot");
	ok(holds_at(dir, "c", "four") && holds_at(dir, "sub/c", "two"),
	   "are both written");
	if (fchdir(cwd) < 0)
		printf("# cannot go back\n");
	close(cwd);
}

/* A stale or foreign file in place of the temporary file. */
static void
test_stale(int dir)
{
	struct error err = ERROR_INIT;
	char temp[TEMP_NAME_MAX];

	temp_name(temp, "s");
	put_file(dir, "s", "old");
	put_file(dir, temp, "half written, and longer");
	fchmodat(dir, temp, 0, 0);
	is_int(io_replace(dir, "s", "new", 3, 0666, &err), 0,
	       "over a left-over temporary file");
	ok(holds_at(dir, "s", "new"), "replaces the file");
	put_file(dir, "victim", "safe");
	symlinkat("victim", dir, temp);
	is_int(io_replace(dir, "s", "newer", 5, 0666, &err), 0,
	       "over a symbolic link in its place");
	ok(holds_at(dir, "s", "newer"), "replaces the file");
	ok(holds_at(dir, "victim", "safe"), "and does not follow the link");
	ok(!exists_at(dir, temp), "which is gone");
	symlinkat("victim", dir, "link");
	is_int(io_replace(dir, "link", "x", 1, 0666, &err), 0,
	       "a file that is a symbolic link");
	ok(holds_at(dir, "link", "x") && holds_at(dir, "victim", "safe"),
	   "is replaced itself");
	mkdirat(dir, temp, 0777);
	is_int(io_replace(dir, "s", "x", 1, 0666, &err), -1,
	       "a directory in its place");
	ok(strncmp(err.text, "s: cannot create a temporary file: ", 35) == 0,
	   "is an error");
	ok(holds_at(dir, "s", "newer"), "and the file is as it was");
	unlinkat(dir, temp, AT_REMOVEDIR);
}

static void
test_replace_fails(int dir)
{
	int rc = 0;
	struct rlimit limit, small;
	struct error err = ERROR_INIT;
	char name[PATH_MAX + 1];
	void (*old)(int) = SIG_DFL;

	mkdirat(dir, "d", 0777);
	is_int(io_replace(dir, "d", "x", 1, 0666, &err), -1, "a directory");
	is_str(err.text, "d: cannot replace: Is a directory",
	       "cannot be replaced");
	ok(!temp_exists(dir, "d"), "the temporary file is removed");
	is_int(io_replace(dir, "none/f", "x", 1, 0666, &err), -1,
	       "in no directory");
	is_int(err.kind, ERROR_ABSENT, "is ERROR_ABSENT");
	is_int(io_replace(dir, "f/x", "x", 1, 0666, &err), -1, "in a file");
	is_int(err.errnum, ENOTDIR, "is ENOTDIR");
	is_int(io_replace(-1, "f", "x", 1, 0666, &err), -1, "in nothing");
	is_int(err.errnum, EBADF, "is EBADF");
	memset(name, 'n', NAME_MAX + 1);
	name[NAME_MAX + 1] = '\0';
	is_int(io_replace(dir, name, "x", 1, 0666, &err), -1,
	       "a name longer than NAME_MAX");
	is_int(err.errnum, ENAMETOOLONG, "is ENAMETOOLONG");
	ok(!temp_exists(dir, name), "the temporary file is removed");
	memset(name, '/', PATH_MAX);
	name[PATH_MAX] = '\0';
	is_int(io_replace(dir, name, "x", 1, 0666, &err), -1,
	       "a path longer than PATH_MAX");
	is_int(err.errnum, ENAMETOOLONG, "is ENAMETOOLONG");

	/* A file size limit stands for a full disk. */
	put_file(dir, "q", "old");
	old = signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = 4;
	setrlimit(RLIMIT_FSIZE, &small);
	rc = io_replace(dir, "q", "12345678", 8, 0666, &err);
	/* Report after the limit is lifted: standard output may be a file. */
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, old);
	is_int(rc, -1, "too large a file");
	is_int(err.errnum, EFBIG, "is EFBIG");
	is_str(err.text, "q: cannot write at byte 4: File too large",
	       "after a short write");
	ok(holds_at(dir, "q", "old"), "the file is as it was");
	ok(!temp_exists(dir, "q"), "the temporary file is removed");
	is_int(io_replace(dir, "d", "x", 1, 0666, NULL), -1,
	       "no struct to tell");
}

struct remover {
	int dir;
	atomic_bool stop;
};

static void *
remove_temp(void *arg)
{
	struct remover *r = arg;
	char temp[TEMP_NAME_MAX];

	temp_name(temp, "two");
	while (!r->stop) {
		unlinkat(r->dir, temp, 0);
		usleep(300);
	}
	return NULL;
}

/* Another process removes the temporary file at any moment: the file is
 * complete or unchanged. */
static void
test_two_writers(int dir)
{
	static char data[2][4096];
	struct remover r = { .dir = dir };
	struct error err = ERROR_INIT;
	struct buf got = BUF_INIT;
	pthread_t thread;
	bool whole = true;
	int i = 0, now = 0, done = 0;

	memset(data[0], '0', sizeof(data[0]));
	memset(data[1], '1', sizeof(data[1]));
	io_replace(dir, "two", data[now], 4096, 0666, &err);
	if (pthread_create(&thread, NULL, remove_temp, &r) != 0) {
		skip("two at once", "no thread");
		return;
	}
	for (i = 0; i < 50; i++) {
		if (io_replace(dir, "two", data[!now], 4096, 0666, &err) == 0) {
			now = !now;
			done++;
		} else {
			whole = whole && (err.errnum == EBUSY ||
					  err.kind == ERROR_ABSENT);
		}
		whole = whole &&
			io_read_file(dir, "two", 5000, &got, NULL) == 0 &&
			got.len == 4096 &&
			memcmp(got.data, data[now], 4096) == 0;
	}
	r.stop = true;
	pthread_join(thread, NULL);
	printf("# %d of 50 succeeded\n", done);
	ok(whole, "what is there is always whole, and what was promised");
	buf_free(&got);
}

int
main(void)
{
	char scratch[128] = "";
	int dir = -1;

	scratch_dir(scratch, sizeof(scratch));
	must(chmod(scratch, 0755) == 0);
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_read(dir);
	test_pread(dir);
	test_temp_name();
	test_replace(dir);
	test_cwd(dir);
	test_stale(dir);
	test_replace_fails(dir);
	test_two_writers(dir);
	close(dir);
	remove_tree(scratch);
	return tap_done();
}
