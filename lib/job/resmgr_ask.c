/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_ask.c - ask a command of the resource manager, and do not wait for it
 * longer than it is worth.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "job/resmgr_impl.h"
#include "mem.h"
#include "str.h"

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Variables that change what the commands print. */
static bool
unwanted(const char *variable)
{
	static const char *const names[] = { "SLURM_TIME_FORMAT=",
					     "SINFO_",
					     "SQUEUE_",
					     "LC_",
					     "LANG=",
					     "LANGUAGE=",
					     "PBS_DEFAULT_FORMAT=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(variable, names[i]))
			return true;
	return false;
}

/* Our environment without those, for mem_free(); NULL: no memory. */
static char **
clean_environment(void)
{
	size_t n = 0, count = 0;
	char **env = NULL;

	while (environ != NULL && environ[n] != NULL)
		n++;
	env = mem_alloc(n + 2, sizeof(*env));
	if (env == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!unwanted(environ[i]))
			env[count++] = environ[i];
	env[count++] = (char *)(uintptr_t) "LC_ALL=C"; /* not written to */
	env[count] = NULL;
	return env;
}

/* Start argv in a process group of its own, its output into `fd`: 0 or an
 * errno. */
static int
start(const char *const *argv, int fd, char **env, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, ours;
	int rc = 0;

	rc = posix_spawn_file_actions_init(&files);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc != 0)
		goto out_files;
	sigemptyset(&none);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE); /* which app ignores */
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &ours);
	(void)posix_spawnattr_setpgroup(&attr, 0);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
						      POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
					      O_RDONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, fd,
						      STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_addopen(&files, STDERR_FILENO,
						      "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &files, &attr,
				  (char *const *)argv, env);
	posix_spawnattr_destroy(&attr);
out_files:
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Take in what comes until the end or `until`: 0; 1: too late or too much, and
 * why; -1: no memory. */
static int
collect(int fd, double until, struct buf *out, const char **why)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double left = 0;
	ssize_t n = 0;
	int ready = 0;

	for (;;) {
		left = until - now();
		*why = "no answer in time";
		if (left <= 0)
			return 1;
		ready = poll(&p, 1, (int)(left * 1000) + 1);
		if (ready == 0 || (ready < 0 && errno == EINTR))
			continue;
		*why = "prints without end";
		if (out->len > RESMGR_OUTPUT_MAX)
			return 1;
		if (buf_reserve(out, (size_t)64 << 10) < 0)
			return -1;
		n = read(fd, out->data + out->len, (size_t)64 << 10);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
	return 0;
}

/*
 * Wait for the end of `pid`, but not after `until`; then end what is left of
 * its group: its status, or -1.  (Until it is reaped nobody else can get its
 * number.)
 */
static int
reap(pid_t pid, double until)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	siginfo_t info = { .si_pid = 0 };
	bool ended = false;
	int status = -1;

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
		       0 ||
	       errno == EINTR) {
		ended = info.si_pid == pid;
		if (ended || now() >= until)
			break;
		nanosleep(&step, NULL);
	}
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return ended ? status : -1;
}

/* Run it: as resmgr_ask(), but *why says what is wrong (NULL: not there). */
static int
run(const char *const *argv, char **env, double until, struct buf *out,
    const char **why)
{
	int pipe_fds[2] = { -1, -1 }, status = -1, rc = 1;
	pid_t pid = -1;

	*why = "cannot be run";
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return 1;
	rc = start(argv, pipe_fds[1], env, &pid);
	close(pipe_fds[1]);
	if (rc != 0) {
		if (rc == ENOENT)
			*why = NULL;
		rc = 1;
		goto out;
	}
	rc = collect(pipe_fds[0], until, out, why);
	status = reap(pid, rc == 0 ? until : 0);
	if (rc == 0 && status != 0) {
		*why = "failed";
		rc = 1;
	}
out:
	close(pipe_fds[0]);
	return rc;
}

int
resmgr_ask(struct resmgr *r, const char *const *argv, struct buf *out,
	   struct error *err)
{
	char **env = clean_environment();
	const char *why = NULL;
	int rc = -1;

	buf_clear(out);
	if (env == NULL)
		return error_no_memory(err);
	rc = run(argv, env, now() + (double)r->seconds, out, &why);
	mem_free(env);
	if (rc < 0)
		return error_no_memory(err);
	if (rc == 0)
		return 0;
	buf_clear(out);
	if (why != NULL)
		resmgr_note(r, "%s: %s", argv[0], why);
	return 1;
}

bool
resmgr_has(const char *command)
{
	const char *path = getenv("PATH"), *end = NULL;
	char file[PATH_MAX];
	struct stat st;
	size_t len = 0, name = strlen(command);

	for (; path != NULL; path = *end == ':' ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		len = (size_t)(end - path);
		if (len == 0 || len + name + 2 > sizeof(file))
			continue;
		memcpy(file, path, len);
		file[len] = '/';
		memcpy(file + len + 1, command, name + 1);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(file, X_OK) == 0)
			return true;
	}
	return false;
}
