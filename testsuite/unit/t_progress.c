/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include "scratch.h"

#define KIB ((uint64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

static const struct {
	uint64_t done, total;
	double seconds;
	const char *want; /* behind "copy" */
} lines[] = {
	{ 0, 0, 0, " 0 B" },
	{ 0, 3 * GIB, 0, "   0 % 0 B of 3.0 GiB" },
	{ 0, 3 * GIB, 5, "   0 % 0 B of 3.0 GiB" },
	{ 3 * GIB / 2, 3 * GIB, 2,
	  "  50 % 1.5 GiB of 3.0 GiB, 768.0 MiB/s, 2 s left" },
	{ GIB - 1, GIB, 1, "  99 % 1.0 GiB of 1.0 GiB, 1.0 GiB/s, 1 s left" },
	{ GIB, GIB, 4, " 100 % 1.0 GiB of 1.0 GiB, 256.0 MiB/s" },
	{ 2 * GIB, GIB, 4, " 100 % 2.0 GiB of 1.0 GiB, 512.0 MiB/s" },
	{ 6 * MIB, 0, 3, " 6.0 MiB, 2.0 MiB/s" },
	{ MIB, 61 * MIB, 1,
	  "   1 % 1.0 MiB of 61.0 MiB, 1.0 MiB/s, 1 min 0 s left" },
	{ MIB, 201 * MIB, 1,
	  "   0 % 1.0 MiB of 201.0 MiB, 1.0 MiB/s, 3 min 20 s left" },
	{ MIB, 3901 * MIB, 1,
	  "   0 % 1.0 MiB of 3.8 GiB, 1.0 MiB/s, 1 h 5 min left" },
	{ MIB, 183601 * MIB, 1,
	  "   0 % 1.0 MiB of 179.3 GiB, 1.0 MiB/s, 2 d 3 h left" },
	{ KIB, UINT64_MAX, 1,
	  "   0 % 1.0 KiB of 16.0 EiB, 1.0 KiB/s, over 1000 d left" },
	/* clocks that went backwards or stopped */
	{ GIB, 2 * GIB, -1, "  50 % 1.0 GiB of 2.0 GiB" },
	{ GIB, 2 * GIB, NAN, "  50 % 1.0 GiB of 2.0 GiB" },
	{ GIB, 2 * GIB, INFINITY, "  50 % 1.0 GiB of 2.0 GiB" },
	{ UINT64_MAX, UINT64_MAX, 1e-300, " 100 % 16.0 EiB of 16.0 EiB" },
};

TEST(text)
{
	static const char what[] = "ab\xc3\xa4", all[] = "ab\xc3\xa4 6 B";
	char to[256];
	bool good = true;

	each (l, lines) {
		int n = progress_text("copy", l->done, l->total, l->seconds, to,
				      sizeof(to));

		is_str(to, fmt("copy%s", l->want), "a line");
		is_int(n, strlen(to), "its length");
	}
	progress_text("a\nb\033[2J", 1, 0, 0, to, sizeof(to));
	is_str(to, "a\\nb\\x1b[2J 1 B", "no control characters");
	for (unsigned size = 1; size <= sizeof(all); size++) {
		int n = 0;

		memset(to, 'x', sizeof(to));
		n = progress_text(what, 6, 0, 0, to, size);
		good = good && n >= 0 && (unsigned)n < size && to[n] == '\0' &&
		       to[size] == 'x';
	}
	ok(good, "never longer than there is room for");
	is_str(to, all, "and whole if there is enough");
	progress_text(what, 6, 0, 0, to, sizeof(all) - 1);
	is_str(to, "ab 6 B", "characters are not cut in two");
	progress_text(what, 6, 0, 0, to, 5);
	is_str(to, " 6 B", "the name is cut first");
}

/* Read from fd until `want` appears, or nothing for `ms` milliseconds. */
static const char *
read_until(int fd, char *text, size_t size, const char *want, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	text[0] = '\0';
	while (n > 0 && len + 1 < size &&
	       (want == NULL || !strstr(text, want)) && poll(&p, 1, ms) > 0) {
		n = read(fd, text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	return text;
}

/* Replace stderr by `fd`; returns the argument for the next call. */
static int
swap_stderr(int fd)
{
	int old = dup(STDERR_FILENO);

	dup2(fd, STDERR_FILENO);
	close(fd);
	return old;
}

static bool
is_usr1_blocked(void)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, SIGUSR1) == 1;
}

static void *
add_some(void *arg)
{
	for (int i = 0; i < 1000; i++)
		progress_add(arg, 1024);
	return NULL;
}

static void
test_pipe(bool quiet)
{
	static const char line[] =
		"copy: dataset 5, copying 100 % 3.9 MiB of 3.9 MiB, ";
	char text[512];
	pthread_t threads[4];
	struct progress *p = NULL;
	int fds[2], old;

	must(pipe(fds) == 0);
	old = swap_stderr(fds[1]);
	p = progress_start("copy", quiet, NULL);
	ok(is_usr1_blocked(), "SIGUSR1 is blocked");
	progress_subject(p, "dataset %d", 5);
	progress_phase(p, "counting", 1);
	progress_add(p, KIB);
	progress_phase(p, "copying", 4 * 1000 * KIB);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add_some, p);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	kill(getpid(), SIGUSR1);
	read_until(fds[0], text, sizeof(text), "\n", 5000);
	ok(strncmp(text, line, sizeof(line) - 1) == 0 &&
		   strchr(text, '\n') == text + strlen(text) - 1,
	   "SIGUSR1: one line");
	progress_end(p);
	ok(!is_usr1_blocked(), "SIGUSR1 is not blocked any more");
	swap_stderr(old);
	is_str(read_until(fds[0], text, sizeof(text), NULL, 100), "",
	       "nothing else in a pipe");
	close(fds[0]);
}

/* A signal at any moment of a short-lived progress is harmless. */
TEST(end)
{
	int old = swap_stderr(open("/dev/null", O_WRONLY));

	for (int i = 0; i < 200; i++) {
		struct progress *p = progress_start("copy", false, NULL);

		kill(getpid(), SIGUSR1);
		progress_add(p, 1);
		if (i % 2 > 0)
			kill(getpid(), SIGUSR1);
		progress_end(p);
	}
	swap_stderr(old);
	ok(!is_usr1_blocked(), "SIGUSR1 at the end does not kill");
}

static void
test_terminal(const char *term, bool quiet, bool drawn)
{
	const struct winsize narrow = { .ws_row = 24, .ws_col = 24 };
	struct progress *p = NULL;
	char text[512];
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1, old;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0) {
		skip("a terminal", "no pseudo terminal to be had");
		return;
	}
	ioctl(slave, TIOCSWINSZ, &narrow);
	setenv("TERM", term, 1);
	old = swap_stderr(slave);
	p = progress_start("a long name", quiet, NULL);
	progress_phase(p, "half", 2 * KIB);
	progress_add(p, KIB);
	if (drawn) {
		/* 23 of 24 columns, because the last would wrap */
		read_until(master, text, sizeof(text), "\033[K\r", 5000);
		is_str(text, "\r  50 % 1.0 KiB of 2.0 K\033[K\r",
		       "after a second");
	} else {
		is_str(read_until(master, text, sizeof(text), NULL, 1100), "",
		       "no line");
	}
	kill(getpid(), SIGUSR1);
	read_until(master, text, sizeof(text), drawn ? "\033[K\r" : "\n", 5000);
	ok(strstr(text, " 50 % 1.0 KiB of 2.0 K") != NULL, "SIGUSR1: at once");
	progress_end(p);
	read_until(master, text, sizeof(text), drawn ? "K" : NULL, 50);
	is_str(text, drawn ? "\r\033[K" : "", "erased at the end");
	swap_stderr(old);
	close(master);
}

TEST(no_memory)
{
	without_memory (m, 1, "NULL without memory") {
		struct progress *p = progress_start("copy", true, NULL);

		progress_end(p);
		m.rc = p != NULL ? 0 : error_no_memory(&m.err);
	}
	progress_add(NULL, 1);
	progress_subject(NULL, "nothing");
	progress_phase(NULL, "nothing", 1);
	progress_end(NULL);
	ok(!is_usr1_blocked(), "NULL is ignored");
}

/* Cases that must print nothing wait a second, in parallel to the others. */
static pid_t
start_silent(const char *term, bool quiet)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (freopen("/dev/null", "w", stdout) == NULL)
		_exit(1);
	tap_restart();
	test_terminal(term, quiet, false);
	_exit(tap_has_failed());
}

TEST(terminals)
{
	int status[2] = { -1, -1 };
	pid_t quiet, dumb;

	test_pipe(false);
	test_pipe(true);
	quiet = start_silent("xterm", true);
	dumb = start_silent("dumb", false);
	test_terminal("xterm", false, true);
	waitpid(quiet, &status[0], 0);
	waitpid(dumb, &status[1], 0);
	is_int(status[0], 0, "quiet on a terminal: no line, until SIGUSR1");
	is_int(status[1], 0, "nor on one that cannot erase");
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return tap_run();
}
