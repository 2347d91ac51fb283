/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fault shim.  This program runs itself as a worker with the shim
 * preloaded.  The worker makes eight operations (seven if no write is cut
 * short) and reports how far it came.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "scratch.h"
#include "shim/openat2.h"

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

static char self[512];

/*
 * Run the worker with these settings, "SHIM_FAIL_AT=3 SHIM_SHORT=1".  Returns its exit
 * status, or minus the signal that killed it; *operations receives its count,
 * or -1.
 */
static int
run(char *settings, long *operations)
{
	const char *counts = here("count");
	const char *work_dir = here("w");
	char *word = NULL;
	int status = -1;
	FILE *f = NULL;
	pid_t pid;

	must(mkdir(work_dir, 0777) == 0);
	pid = fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", getenv("SHIM"), 1);
		setenv("SHIM_COUNT_FILE", counts, 1);
		while ((word = strsep(&settings, " ")) != NULL)
			putenv(word);
		execl(self, self, "--work", work_dir, (char *)NULL);
		_exit(126);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid);
	*operations = -1;
	f = fopen(counts, "r");
	if (f != NULL) {
		must(fscanf(f, "%ld", operations) == 1);
		fclose(f);
	}
	unlink(counts);
	remove_tree(work_dir);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static const struct {
	const char *what, *settings;
	int status; /* minus the signal */
	long count; /* of operations; -1: none is told */
} cases[] = {
	{ "nothing is asked for", "SHIM_NOTHING=1", 0, 7 },
	{ "without SHIM_ERRNO: EIO", "SHIM_FAIL_AT=4", 100 + EIO, 4 },
	{ "behind the last operation", "SHIM_FAIL_AT=8", 0, 7 },
	{ "a short write is made up for by one more",
	  "SHIM_FAIL_AT=3 SHIM_SHORT=1", 0, 8 },
	{ "unless the disk stays full",
	  "SHIM_FAIL_AT=3 SHIM_SHORT=1 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC",
	  100 + ENOSPC, 4 },
	{ "on d/final: rename, openat2, unlink", "SHIM_PATH=d/final", 0, 3 },
	{ "from d/temp on: all but mkdir", "SHIM_START=d/temp", 0, 6 },
	{ "the second on d/temp, the write", "SHIM_PATH=d/temp SHIM_FAIL_AT=2",
	  100 + EIO, 2 },
	{ "no operation matches", "SHIM_PATH=nowhere SHIM_KILL_AT=1", 0, 0 },
};

/* Fail at operation `i`, be killed before it, be killed after it. */
static void
test_each(void)
{
	long n = 0;

	for (int i = 1; i <= 7; i++) {
		ok(run(fmt("SHIM_FAIL_AT=%d SHIM_ERRNO=ENOSPC", i), &n) ==
				   100 + ENOSPC &&
			   n == i,
		   fmt("operation %d fails with ENOSPC, and is the last", i));
		ok(run(fmt("SHIM_KILL_AT=%d", i), &n) == -SIGKILL && n == -1,
		   "killed before it, and nothing runs at exit");
		is_int(run(fmt("SHIM_KILL_AFTER=%d", i), &n), -SIGKILL,
		       "killed after it");
	}
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--work") == 0)
		return work(argv[2]);
	if (SANITIZED || getenv("SHIM") == NULL ||
	    access(getenv("SHIM"), R_OK) < 0 ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		skip("fault shim", "a sanitizer, or SHIM does not name it");
		return tap_done();
	}
	scratch_new();
	test_each();
	each (c, cases) {
		long n = 0;

		is_int(run(fmt("%s", c->settings), &n), c->status, c->what);
		is_int(n, c->count, "... after so many operations");
	}
	ok(rmdir(scratch_root) == 0, "nothing is left behind");
	return tap_done();
}
