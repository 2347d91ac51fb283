/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fault shim.  This program runs itself as a worker with the shim
 * preloaded.  The worker makes eight operations (seven if no write is cut
 * short) and reports how far it came.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/openat2.h"
#include "tap.h"

/* --- The worker --- */

/* The worker's exit status: 0, or 100 + the errno that stopped it. */
static int
work(const char *dir)
{
	struct openat2_how how = { .flags = O_RDONLY | O_CLOEXEC };
	const char *data = "0123456789";
	size_t left = 10;
	ssize_t put = 0;
	int fd = -1;

	if (chdir(dir) < 0 || mkdir("d", 0777) < 0) /* operation 1 */
		return 100 + errno;
	fd = open("d/temp", O_WRONLY | O_CREAT | O_EXCL, 0666); /* 2 */
	if (fd < 0)
		return 100 + errno;
	for (; left > 0; data += put, left -= (size_t)put) {
		put = write(fd, data, left); /* 3, and 4 if 3 was short */
		if (put < 0)
			return 100 + errno;
	}
	if (fsync(fd) < 0 || close(fd) < 0) /* 4 */
		return 100 + errno;
	if (rename("d/temp", "d/final") < 0) /* 5 */
		return 100 + errno;
	fd = openat2_call(AT_FDCWD, "d/final", &how); /* 6 */
	if (fd < 0)
		return errno == ENOSYS ? 0 : 100 + errno;
	close(fd);
	return unlink("d/final") < 0 ? 100 + errno : 0; /* 7 */
}

/* --- The tests --- */

static char scratch[512];

/*
 * Run the worker with the `count` settings given, e.g. "SHIM_FAIL_AT=3".
 * Returns its wait status; *operations receives its count, or -1.
 */
static int
run(const char *self, const char *const *settings, long *operations)
{
	char counts[600], work_dir[600], command[700];
	int status = -1;
	FILE *f = NULL;
	pid_t pid;

	snprintf(counts, sizeof(counts), "%s/count", scratch);
	snprintf(work_dir, sizeof(work_dir), "%s/w", scratch);
	if (mkdir(work_dir, 0777) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", getenv("SHIM"), 1);
		setenv("SHIM_COUNT_FILE", counts, 1);
		for (; *settings != NULL; settings++)
			putenv((char *)*settings);
		execl(self, self, "--work", work_dir, (char *)NULL);
		_exit(126);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	*operations = -1;
	f = fopen(counts, "r");
	if (f != NULL) {
		if (fscanf(f, "%ld", operations) != 1)
			*operations = -1;
		fclose(f);
	}
	unlink(counts);
	snprintf(command, sizeof(command), "rm -rf '%s'", work_dir);
	return system(command) == 0 ? status : -1;
}

#define RUN(...) run(self, (const char *[]){ __VA_ARGS__, NULL }, &n)

static void
test_failures(const char *self)
{
	char at[32];
	long n = 0;
	int status = RUN("SHIM_NOTHING=1");

	is_int(status, 0, "the worker succeeds when nothing is asked for");
	is_int(n, 7, "and makes seven operations");
	for (int i = 1; i <= 7; i++) {
		snprintf(at, sizeof(at), "SHIM_FAIL_AT=%d", i);
		status = RUN(at, "SHIM_ERRNO=ENOSPC");
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 100 + ENOSPC,
		   "operation i fails with ENOSPC");
		is_int(n, i, "and is the last one");
	}
	status = RUN("SHIM_FAIL_AT=4");
	is_int(WEXITSTATUS(status), 100 + EIO, "without SHIM_ERRNO: EIO");
	status = RUN("SHIM_FAIL_AT=8");
	is_int(status, 0, "a failure behind the last operation: none");
	status = RUN("SHIM_FAIL_AT=3", "SHIM_SHORT=1");
	is_int(status, 0, "a short write is made up for");
	is_int(n, 8, "by one write more");
	status = RUN("SHIM_FAIL_AT=3", "SHIM_SHORT=1", "SHIM_STICKY=1",
		     "SHIM_ERRNO=ENOSPC");
	is_int(WEXITSTATUS(status), 100 + ENOSPC, "unless the disk stays full");
	is_int(n, 4, "so that the second write fails");
}

static void
test_kills_and_filters(const char *self)
{
	char at[32];
	long n = 0;
	int status = 0;

	for (int i = 1; i <= 7; i++) {
		snprintf(at, sizeof(at), "SHIM_KILL_AT=%d", i);
		status = RUN(at);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		   "killed before operation i");
		is_int(n, -1, "and nothing runs at exit");
		snprintf(at, sizeof(at), "SHIM_KILL_AFTER=%d", i);
		status = RUN(at);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		   "killed after operation i");
	}
	status = RUN("SHIM_PATH=d/final");
	is_int(n, 3, "on d/final: rename, openat2, unlink");
	status = RUN("SHIM_START=d/temp");
	is_int(n, 6, "from d/temp on: all but mkdir");
	status = RUN("SHIM_PATH=d/temp", "SHIM_FAIL_AT=2");
	is_int(WEXITSTATUS(status), 100 + EIO, "the filter decides the number");
	is_int(n, 2, "so the second on d/temp failed, the write");
	status = RUN("SHIM_PATH=nowhere", "SHIM_KILL_AT=1");
	is_int(status, 0, "no operation matches: nothing happens");
	is_int(n, 0, "and none is counted");
}

int
main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	char self[512];
	ssize_t len = 0;

	if (argc == 3 && strcmp(argv[1], "--work") == 0)
		return work(argv[2]);
#if SANITIZED
	skip("fault shim", "its preloading and a sanitizer's do not mix");
	return tap_done();
#endif
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (getenv("SHIM") == NULL || access(getenv("SHIM"), R_OK) < 0 ||
	    len < 0) {
		skip("fault shim", "SHIM does not name it");
		return tap_done();
	}
	self[len] = '\0';
	snprintf(scratch, sizeof(scratch), "%s/t_shim.XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	if (!ok(mkdtemp(scratch) != NULL, "scratch directory"))
		return tap_done();
	test_failures(self);
	test_kills_and_filters(self);
	ok(rmdir(scratch) == 0, "nothing is left behind");
	return tap_done();
}
