/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "scratch.h"

static int dir = -1; /* open on it */

static bool
temp_exists(const char *name)
{
	char temp[TEMP_NAME_MAX];

	return exists_at(dir, temp_name(temp, name));
}

TEST(read)
{
	static const struct {
		const char *name;
		size_t limit;
		enum error_kind kind; /* ERROR_NONE: read */
		const char *want;     /* the beginning, or the sentence */
	} cases[] = {
		{ "f", 10, ERROR_NONE, "0123456789" },
		{ "f", 9, ERROR_CORRUPT, "f: 10 bytes long, the limit is 9" },
		{ "empty", 0, ERROR_NONE, "" },
		{ "none", 9, ERROR_ABSENT,
		  "none: cannot open: No such file or directory" },
		{ "d", 9, ERROR_CORRUPT, "d: not a regular file" },
		{ "fifo", 9, ERROR_CORRUPT, "fifo: not a regular file" },
		/* The kernel reports size 0 for this file. */
		{ "/proc/self/status", 1 << 20, ERROR_NONE, "Name:" },
		{ "/proc/self/status", 100, ERROR_CORRUPT,
		  "limit of 100 bytes" },
	};
	struct error err = ERROR_INIT;
	auto_buf b = BUF_INIT;
	int fd = -1;

	put_file(dir, "f", "0123456789");
	put_file(dir, "empty", "");
	mkdirat(dir, "d", 0777);
	mkdirat(dir, "d/full", 0777);
	mkfifoat(dir, "fifo", 0666);
	each (c, cases) {
		const char *want = c->want;
		int rc = io_read_file(c->limit > 10 ? AT_FDCWD : dir, c->name,
				      c->limit, &b, &err);

		ok(c->kind == ERROR_NONE
			   ? rc == 0 && b.len == strlen(b.data) &&
				     (b.len == strlen(want) || b.len > 100) &&
				     strncmp(b.data, want, strlen(want)) == 0
			   : b.len == 0 && fails_as(rc, &err, c->kind, want),
		   fmt("%s: %s", c->name, want));
	}
	fd = openat(dir, "f", O_RDONLY);
	lseek(fd, 5, SEEK_SET);
	is_int(io_read_fd(fd, "f", 100, &b, &err), 0, "io_read_fd()");
	is_str(b.data, "0123456789", "reads from the start");
	close(fd);
	is_error(io_read_fd(fd, "f", 100, &b, &err), &err, -EBADF, NULL,
		 "a closed one");
	fd = openat(dir, "f", O_WRONLY);
	is_error(io_read_fd(fd, "f", 100, &b, &err), &err, -EBADF, NULL,
		 "a write-only one");
	close(fd);
	is_int(io_read_fd(fd, "f", 100, &b, NULL), -1, "no struct to tell");
	/* Memory for nothing; not for more than was expected. */
	for (int n = 0; n < 2; n++) {
		buf_free(&b);
		mem_fail_after(n);
		is_error(io_read_file(n ? AT_FDCWD : dir,
				      n ? "/proc/self/status" : "f", 1 << 20,
				      &b, &err),
			 &err, ERROR_NOMEM, NULL, "without memory");
		mem_fail_after(-1);
	}
}

TEST(pread)
{
	static const char text[] = "0123456789";
	bool got = true, ends = true;
	char data[32];
	int fd = -1, rc = -1;

	put_file(dir, "f", text);
	fd = openat(dir, "f", O_RDWR);
	for (size_t off = 0; off < 12; off++) {
		for (size_t len = 0; len < 14; len++) {
			const size_t end = off > 10 ? off : 10;

			memset(data, '#', sizeof(data));
			rc = io_pread(fd, "f", data, len, off, &why);
			if (off + len <= 10 || len == 0)
				got = got && rc == 0 && data[len] == '#' &&
				      memcmp(data, &text[off > 10 ? 0 : off],
					     len) == 0;
			else
				ends = ends &&
				       fails_as(rc, &why, ERROR_CORRUPT,
						fmt("f: ends at byte %zu, "
						    "expected %zu more",
						    end, off + len - end));
		}
	}
	ok(got, "io_pread() of every part");
	ok(ends, "every truncation is ERROR_CORRUPT, and says where");
	ok(fails_as(io_pread(fd, "f", data, 1, UINT64_MAX, &why), &why,
		    -EOVERFLOW, NULL) &&
		   fails_as(io_pread(fd, "f", data, 2, INT64_MAX, &why), &why,
			    -EOVERFLOW, NULL),
	   "an offset or end above off_t");
	refuses(io_pread(fd, "f", data, 1, INT64_MAX - 1, &why), ERROR_CORRUPT,
		NULL, "the last offset is behind the end");
	refuses(io_pwrite(fd, "f", data, 2, INT64_MAX, &why), -EFBIG, NULL,
		"and so for io_pwrite()");
	is_int(io_pwrite(fd, "f", "AB", 2, 9, &why), 0, "io_pwrite()");
	is_int(io_pwrite(fd, "f", "", 0, 99, &why), 0, "of nothing");
	ok(holds_at(dir, "f", "012345678AB"), "writes where it is told");
	is_int(io_fsync(fd, "f", &why), 0, "io_fsync()");
	close(fd);
	ok(fails_as(io_pread(fd, "f", data, 1, 0, &why), &why, ERROR_SYSTEM,
		    "f: cannot read at byte 0: Bad file descriptor") &&
		   fails_as(io_pwrite(fd, "f", data, 1, 5, &why), &why,
			    ERROR_SYSTEM,
			    "f: cannot write at byte 5: Bad file descriptor") &&
		   fails_as(io_fsync(fd, "f", &why), &why, ERROR_SYSTEM,
			    "f: cannot sync: Bad file descriptor"),
	   "a closed file");
}

TEST(temp_name)
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

	ok(temp_name(to, "index.scr") == to && temp_is(to) && strlen(to) == 28,
	   "temp_is() knows what temp_name() makes");
	is_str(temp_name(other, "a/b/index.scr"), to, "whatever the directory");
	ok(strcmp(temp_name(other, "index.scs"), to) != 0, "not of another");
	each (o, others)
		ok(!temp_is(*o), *o);
}

/* Does io_replace() write this text? */
static bool
replaces(int at, const char *name, const char *text)
{
	return io_replace(at, name, *text != '\0' ? text : NULL, strlen(text),
			  0666, NULL) == 0 &&
	       holds_at(at, name, text);
}

TEST(replace)
{
	char long_name[NAME_MAX + 1];
	mode_t old = umask(027);
	int path = -1, cwd = open(".", O_RDONLY | O_DIRECTORY);

	ok(replaces(dir, "r", "one"), "io_replace() of nothing");
	is_int(mode_of(dir, "r"), 0640, "with mode and umask");
	fchmodat(dir, "r", 0606, 0);
	ok(replaces(dir, "r", "two"), "io_replace() of a file");
	is_int(mode_of(dir, "r"), 0606, "keeps its mode");
	ok(replaces(dir, "r", ""), "with nothing: empties it");
	mkdirat(dir, "sub", 0777);
	ok(replaces(dir, "sub/r", "three"), "a name with a directory");
	path = openat(dir, "sub", O_PATH | O_DIRECTORY);
	ok(io_replace(path, "r", "four", 4, 0666, &why) == 0 &&
		   holds_at(dir, "sub/r", "four"),
	   "below an O_PATH descriptor");
	ok(io_sync_dir(path, "sub", &why) == 0 &&
		   io_sync_dir(dir, "dir", &why) == 0 &&
		   io_sync_dir(AT_FDCWD, ".", &why) == 0,
	   "io_sync_dir() of one, of another, of the working directory");
	close(path);
	refuses(io_sync_dir(-1, "x", &why), ERROR_SYSTEM,
		"x: cannot sync the directory: Bad file descriptor",
		"io_sync_dir() of nothing");
	memset(long_name, 'n', NAME_MAX);
	long_name[NAME_MAX] = '\0';
	ok(replaces(dir, long_name, "x"), "the longest name there may be");
	ok(!temp_exists("r") && !temp_exists(long_name),
	   "no temporary file is left");
	umask(old);
	must(cwd >= 0 && fchdir(dir) == 0);
	ok(replaces(AT_FDCWD, "c", "one") &&
		   replaces(AT_FDCWD, "sub/c", "two") &&
		   replaces(AT_FDCWD, "./c", "four") &&
		   holds_at(dir, "c", "four"),
	   "in the working directory, below it, and with a dot");
	must(fchdir(cwd) == 0);
	close(cwd);
}

/* A stale or foreign file in place of the temporary file. */
TEST(stale)
{
	char temp[TEMP_NAME_MAX];

	temp_name(temp, "s");
	put_file(dir, "s", "old");
	put_file(dir, temp, "half written, and longer");
	fchmodat(dir, temp, 0, 0);
	ok(replaces(dir, "s", "new"), "over a left-over temporary file");
	put_file(dir, "victim", "safe");
	symlinkat("victim", dir, temp);
	ok(replaces(dir, "s", "newer") && !exists_at(dir, temp) &&
		   holds_at(dir, "victim", "safe"),
	   "a symbolic link in its place is not followed");
	symlinkat("victim", dir, "link");
	ok(replaces(dir, "link", "x") && holds_at(dir, "victim", "safe"),
	   "a file that is a symbolic link is replaced itself");
	mkdirat(dir, temp, 0777);
	ok(fails_as(io_replace(dir, "s", "x", 1, 0666, &why), &why,
		    ERROR_SYSTEM, "s: cannot create a temporary file: ") &&
		   holds_at(dir, "s", "newer"),
	   "a directory in its place is an error");
	unlinkat(dir, temp, AT_REMOVEDIR);
}

TEST(replace_fails)
{
	static char name[NAME_MAX + 2], path[PATH_MAX + 1];
	const struct {
		const char *what, *name;
		int how;
	} cases[] = {
		{ "a directory", "d", -EISDIR },
		{ "in no directory", "none/f", ERROR_ABSENT },
		{ "in a file", "f/x", -ENOTDIR },
		{ "a name longer than NAME_MAX", name, -ENAMETOOLONG },
		{ "a path longer than PATH_MAX", path, -ENAMETOOLONG },
	};
	int rc = 0;
	struct rlimit limit, small;
	void (*old)(int) = SIG_DFL;

	memset(name, 'n', NAME_MAX + 1);
	memset(path, '/', PATH_MAX);
	each (c, cases) {
		refuses(io_replace(dir, c->name, "x", 1, 0666, &why), c->how,
			NULL, c->what);
		ok(!temp_exists(c->name), "... no temporary file");
	}
	refuses(io_replace(dir, "d", "x", 1, 0666, &why), ERROR_SYSTEM,
		"d: cannot replace: Is a directory", "... is told");
	is_int(io_replace(dir, "d", "x", 1, 0666, NULL), -1, "... or not");
	refuses(io_replace(-1, "f", "x", 1, 0666, &why), -EBADF, NULL,
		"in nothing");

	/* A file size limit stands for a full disk. */
	put_file(dir, "q", "old");
	old = signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = 4;
	setrlimit(RLIMIT_FSIZE, &small);
	rc = io_replace(dir, "q", "12345678", 8, 0666, &why);
	/* Report after the limit is lifted: standard output may be a file. */
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, old);
	ok(fails_as(rc, &why, -EFBIG,
		    "q: cannot write at byte 4: File too large") &&
		   holds_at(dir, "q", "old") && !temp_exists("q"),
	   "too large a file, after a short write");
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
TEST(two_writers)
{
	static char data[2][4096];
	struct remover r = { .dir = dir };
	auto_buf got = BUF_INIT;
	pthread_t thread;
	bool whole = true;
	int now = 0, done = 0;

	memset(data[0], '0', sizeof(data[0]));
	memset(data[1], '1', sizeof(data[1]));
	io_replace(dir, "two", data[now], 4096, 0666, &why);
	must(pthread_create(&thread, NULL, remove_temp, &r) == 0);
	for (int i = 0; i < 50; i++) {
		if (io_replace(dir, "two", data[!now], 4096, 0666, &why) == 0) {
			now = !now;
			done++;
		} else {
			whole = whole && (why.errnum == EBUSY ||
					  why.kind == ERROR_ABSENT);
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
}

TEST(lock)
{
	mode_t old = umask(022);
	int a = io_lock(dir, "lock", true, NULL, &why), b = -1, c = -1;

	ok(a >= 0 && mode_of(dir, "lock") == 0644, "io_lock() makes the file");
	ok(fcntl(a, F_GETFD) == FD_CLOEXEC, "closed on exec");
	refuses(io_trylock(dir, "lock", true, &why), -EWOULDBLOCK, NULL,
		"a second writer would have to wait");
	refuses(io_trylock(dir, "lock", false, &why), ERROR_SYSTEM, NULL,
		"a reader, too");
	close(a);
	b = io_trylock(dir, "lock", false, &why);
	c = io_lock(dir, "lock", false, NULL, &why);
	ok(b >= 0 && c >= 0, "two readers");
	is_int(io_trylock(dir, "lock", true, &why), -1, "and no writer");
	close(b);
	is_int(io_trylock(dir, "lock", true, &why), -1, "nor with one reader");
	close(c);
	a = io_trylock(dir, "lock", true, &why);
	ok(a >= 0, "but then");
	close(a);
	symlinkat("planted", dir, "lock_link");
	refuses(io_lock(dir, "lock_link", true, NULL, &why), ERROR_UNSAFE, NULL,
		"a symbolic link");
	ok(!exists_at(dir, "planted"), "and is not followed");
	refuses(io_lock(dir, "none/lock", true, NULL, &why), ERROR_ABSENT, NULL,
		"no directory");
	mkdirat(dir, "d", 0777);
	refuses(io_lock(dir, "d", true, NULL, &why), -EISDIR, NULL,
		"a directory");
	is_int(io_lock(dir, "d", true, NULL, NULL), -1, "no struct to tell");
	umask(old);
}

static int
wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Another user's lock file that we may only read. */
TEST(foreign_lock)
{
	pid_t pid = -1;
	int rc = -1;

	put_file(dir, "foreign", "");
	fchmodat(dir, "foreign", 0444, 0);
	pid = fork();
	if (pid == 0) {
		become_nobody();
		_exit(io_lock(dir, "foreign", true, NULL, &why) < 0 ||
		      io_trylock(dir, "foreign", true, &why) >= 0);
	}
	rc = wait_for(pid);
	if (rc == 77)
		skip("a lock file that can only be read", "no other user");
	else
		is_int(rc, 0, "a lock file that can only be read");
}

static void
tick(int signal)
{
	(void)signal;
}

/* Wait for a lock held by a child, interrupted by signals. */
TEST(wait)
{
	struct sigaction act = { .sa_handler = tick };
	struct itimerval often = { .it_interval.tv_usec = 2000,
				   .it_value.tv_usec = 2000 };
	struct itimerval off = { .it_interval.tv_usec = 0 };
	int pipes[2] = { -1, -1 }, fd = -1;
	char byte = 0;
	pid_t pid = -1;

	if (pipe(pipes) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		fd = io_lock(dir, "wait", true, NULL, NULL);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		usleep(50000);
		put_file(dir, "released", "x");
		_exit(fd < 0);
	}
	is_int(read(pipes[0], &byte, 1), 1, "a child holds the lock");
	/* The handler is not removed: under valgrind, a last signal can arrive
	 * after the timer is off. */
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	fd = io_lock(dir, "wait", true, NULL, &why);
	ok(fd >= 0 && exists_at(dir, "released"),
	   "io_lock() waits despite signals");
	setitimer(ITIMER_REAL, &off, NULL);
	is_int(wait_for(pid), 0, "the child is done");
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(rewrite)
{
	static const char *const texts[] = { "long text", "text", "" };
	struct stat a, b;
	mode_t old = umask(022);
	int fd = io_open_locked(dir, "halt", true, 10, &why);

	ok(fd >= 0 && mode_of(dir, "halt") == 0644, "makes the file");
	is_int(io_trylock(dir, "halt", false, &why), -1, "and locks it");
	fstat(fd, &a);
	for (size_t i = 0; i < 3; i++)
		ok(io_rewrite(fd, "halt", i < 2 ? texts[i] : NULL,
			      strlen(texts[i]), &why) == 0 &&
			   holds_at(dir, "halt", texts[i]),
		   "io_rewrite(): a text, a shorter one, nothing");
	ok(fstatat(dir, "halt", &b, 0) == 0 && a.st_ino == b.st_ino,
	   "it is the same file all the time");
	close(fd);
	is_int(io_rewrite(fd, "halt", "x", 1, &why), -1, "a closed file");
	refuses(io_rewrite(fd, "halt", "x", 0, &why), ERROR_SYSTEM,
		"halt: cannot truncate: Bad file descriptor", "to truncate");
	refuses(io_open_locked(dir, "lock_link", true, 10, &why), ERROR_UNSAFE,
		NULL, "a symbolic link");
	mkfifoat(dir, "fifo", 0666);
	refuses(io_open_locked(dir, "fifo", true, 10, &why), ERROR_CORRUPT,
		NULL, "a FIFO is no regular file");
	umask(old);
}

/* The file is removed while a process waits for its lock.  The lock must then
 * be that of the new file with this name. */
TEST(removed)
{
	struct stat a, b;
	int fd = io_open_locked(dir, "gone", true, 10, &why);
	pid_t pid = fork();

	if (pid == 0) {
		close(fd);
		fd = io_open_locked(dir, "gone", true, 10, NULL);
		_exit(fd < 0 || fstat(fd, &a) < 0 ||
		      fstatat(dir, "gone", &b, 0) < 0 || a.st_ino != b.st_ino);
	}
	usleep(50000);
	unlinkat(dir, "gone", 0);
	close(fd);
	is_int(wait_for(pid), 0, "a file removed meanwhile is opened anew");
}

/* A process never releases its lock, of either kind. */
TEST(give_up)
{
	struct flock read = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = -1, held = -1;

	refuses(io_open_locked(dir, "none", false, 0, &why), ERROR_ABSENT, NULL,
		"a file that is not there, not to be made");
	ok(!exists_at(dir, "none"), "and stays so");
	put_file(dir, "held", "x");
	held = io_lock(dir, "held", false, NULL, &why);
	refuses(io_open_locked(dir, "held", true, 0.05, &why), -EWOULDBLOCK,
		NULL, "a shared flock() of somebody else");
	close(held);
	held = openat(dir, "held", O_RDWR | O_CLOEXEC);
	must(fcntl(held, F_OFD_SETLK, &read) == 0);
	refuses(io_open_locked(dir, "held", true, 0.05, &why), -EWOULDBLOCK,
		NULL, "a shared fcntl() lock, too");
	fd = io_lock(dir, "held", true, NULL, &why);
	ok(fd >= 0, "flock() is not kept meanwhile");
	close(fd);
	close(held);
	fd = io_open_locked(dir, "held", false, 0, &why);
	ok(fd >= 0, "but then");
	close(fd);
}

int
main(void)
{
	dir = scratch_fd();
	must(chmod(scratch_root, 0755) == 0);
	return tap_run();
}
