/* SPDX-License-Identifier: BSD-3-Clause */
/* Many nodes, some of them dead, and a machine with scarce resources. */
#include <pthread.h>

#include "libc.h"
#include "remotetest.h"

/* --- Leaks --- */

static size_t
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	must(dir != NULL);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 3; /* without ".", ".." and its own */
}

static bool
no_children(void)
{
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

/* Do the `len` bytes of a process's environment contain this variable? */
static bool
holds(const char *env, size_t len, const char *variable)
{
	return memmem(env, len, variable, strlen(variable) + 1) != NULL;
}

/* Is a process for this node running that this test started? */
static bool
is_running(const char *node)
{
	const char *log = fmt("STUB_LOG=%s", getenv("STUB_LOG"));
	const char *name = fmt("NODE=%s", node);
	DIR *dir = opendir("/proc");
	struct dirent *e = NULL;
	bool found = false;

	must(dir != NULL);
	while (!found && (e = readdir(dir)) != NULL) {
		char text[8192];
		ssize_t n = 0;
		int fd = -1;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		fd = open(fmt("/proc/%s/environ", e->d_name),
			  O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text));
		close(fd);
		found = n > 0 && holds(text, (size_t)n, log) &&
			holds(text, (size_t)n, name);
	}
	closedir(dir);
	return found;
}

/* The same, after some time to exit. */
static bool
is_gone(const char *node)
{
	const struct timespec step = { .tv_nsec = 50000000 };

	for (int i = 0; i < 100; i++) {
		if (!is_running(node))
			return true;
		nanosleep(&step, NULL);
	}
	printf("# %s is running\n", node);
	return false;
}

/* --- Dead nodes --- */

static struct trial {
	const char *name;
	struct scene_run s;
	pthread_t thread;
	int rc;
} trials[] = { { .name = "ssh" }, { .name = "pdsh" } };

#define TRIALS (COUNT(trials))

static void *
try_dead(void *arg)
{
	struct trial *t = arg;

	t->rc = run_line(&t->s, "dead[0-2],ok[0-7]", "echo hi");
	return NULL;
}

static void
check_dead(struct trial *t)
{
	size_t done = 0, late = 0;

	is_int(t->rc, 0, t->name);
	for (size_t i = 0; i < t->s.nodes.count; i++) {
		const struct remote_result *r = &t->s.r[i];

		if (str_starts(t->s.nodes.names[i], "ok"))
			done += came(r, REMOTE_DONE, 0, NULL) &&
				strcmp(out_of(r), "hi\n") == 0;
		else
			late += came(r, REMOTE_TIMEOUT, -1, "no answer");
	}
	is_int(done, 8, "all that live did it");
	is_int(late, 3, "the dead are known");
	ok(t->s.seconds < 10, "soon");
}

/* All living nodes run the command, although dead ones occupy all slots
 * first. */
TEST(dead)
{
	const size_t count = have_pdsh() ? TRIALS : 1;
	const size_t before = open_files();

	for (size_t i = 0; i < count; i++) {
		trials[i].s.o = (struct remote_options){ .fanout = 3,
							 .connect = 1.2,
							 .polite = 0.3 };
		must(remote_choose(trials[i].name, &trials[i].s.o, NULL) == 0);
		must(pthread_create(&trials[i].thread, NULL, try_dead,
				    &trials[i]) == 0);
	}
	for (size_t i = 0; i < count; i++) {
		must(pthread_join(trials[i].thread, NULL) == 0);
		check_dead(&trials[i]);
	}
	if (count < TRIALS)
		skip("dead nodes with pdsh", "pdsh is not installed");
	ok(no_children(), "no child is left");
	ok(open_files() == before, "no file is left open");
	for (int i = 0; i < 3; i++)
		ok(is_gone(fmt("dead%d", i)), "who ignores TERM is killed");
}

/* --- Time limit --- */

TEST(limit)
{
	struct scene_run s = {
		.o = { .kind = REMOTE_SSH, .idle = 5, .limit = 0.8 },
	};

	is_int(run_line(&s, "a,b",
			"[ $NODE = a ] || while :; do echo; sleep 0.1; done"),
	       0, "a node works for ever");
	ok(came(&s.r[0], REMOTE_DONE, 0, NULL), "the other does not");
	ok(came(&s.r[1], REMOTE_TIMEOUT, -1, "not done within 0.8 s"),
	   "its time is over");
	ok(s.r[1].seconds >= 0.8 && s.seconds < 4, "at once");
	ok(strstr(out_of(&s.r[1]), "\n\n") != NULL, "it did say things");
}

static void
test_stop(enum remote_kind kind)
{
	struct scene_run s = { .o = { .kind = kind,
				      .fanout = 3,
				      .polite = 0.3,
				      .stop = is_stopped } };
	const size_t before = open_files();
	struct sigaction usual;

	stop_after = 6;
	is_int(run_line(&s, "ok1,stop2,dead3,mute4,ok5,ok6",
			"[ $NODE != stop2 ] || sleep 20"),
	       -1, remote_kind_name(kind));
	ok(s.err.kind == ERROR_SYSTEM && s.err.errnum == EINTR, "stopped");
	ok(came(&s.r[1], REMOTE_KILLED, -1, "stopped"), "in the middle");
	ok(came(&s.r[2], REMOTE_KILLED, -1, "stopped"), "before it began");
	ok(s.seconds < 6, "soon");
	ok(no_children() && open_files() == before, "nothing is left");
	ok(is_gone("dead3") && is_gone("stop2"), "no process either");

	stop_after = 0;
	is_int(run_line(&s, "a,b", "echo"), -1, "at once");
	ok(came(&s.r[0], REMOTE_NOT_STARTED, -1, "stopped"), "nothing begins");
	sigaction(SIGCHLD, NULL, &usual);
	ok(usual.sa_handler == SIG_DFL, "signals are as they were");
}

/* --- Scarce resources --- */

/* With few descriptors, nodes wait for a slot.  With hardly any, nodes fail,
 * and are reported as such. */
static void
test_files(rlim_t more)
{
	struct scene_run s = { .o = { .kind = REMOTE_LOCAL, .fanout = 32 } };
	const size_t have = open_files();
	struct rlimit old, few;
	size_t done = 0, failed = 0;

	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few = old;
	few.rlim_cur = have + more;
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	is_int(run_line(&s, "n[1-12]", "sleep 0.05; echo hi"), 0,
	       fmt("%d files", (int)more));
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	for (size_t i = 0; i < s.nodes.count; i++) {
		done += s.r[i].state == REMOTE_DONE &&
			strcmp(out_of(&s.r[i]), "hi\n") == 0;
		failed += s.r[i].state == REMOTE_NOT_STARTED &&
			  strstr(s.r[i].why, "Too many open files") != NULL;
	}
	if (more > 5)
		is_int(done, 12, "all of them, one after the other");
	else
		is_int(failed, 12, "none can be started");
	ok(open_files() == have && no_children(), "nothing is left");
}

/* No processes can be created.  Not as root, for whom the limit does not
 * apply. */
TEST(processes)
{
	const struct rlimit none = { 0, 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct scene_run s = { .o = { .kind = REMOTE_LOCAL } };

		become_nobody();
		must(setrlimit(RLIMIT_NPROC, &none) == 0);
		if (run_line(&s, "a,b", "echo") != 0 ||
		    !came(&s.r[1], REMOTE_NOT_STARTED, -1, "cannot start"))
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("no processes", "cannot give up root's rights");
	else
		is_int(status, 0, "no processes: an error of the node");
}

TEST(sigchld)
{
	struct scene_run s = { .o = { .kind = REMOTE_LOCAL } };
	struct sigaction now;

	signal(SIGCHLD, SIG_IGN);
	is_int(run_line(&s, "a", "exit 7"), 0, "SIGCHLD is ignored");
	ok(came(&s.r[0], REMOTE_DONE, 7, NULL), "the status is known");
	sigaction(SIGCHLD, NULL, &now);
	ok(now.sa_handler == SIG_IGN, "it still is ignored");
	signal(SIGCHLD, SIG_DFL);
}

/* Children have default signal handling and none of our descriptors. */
TEST(surroundings)
{
	struct scene_run s = { .o = { .kind = REMOTE_LOCAL } };
	auto_fd int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
	sigset_t mask, old;

	/* A shell may start this test in the background with signals
	 * ignored. */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &old);
	signal(SIGPIPE, SIG_IGN);
	is_int(run_line(&s, "a",
			"sed -nE 's/^(Sig(Blk|Ign):).*(.{7})$/\\1\\3/p' "
			"/proc/self/status; "
			"ls /proc/self/fd | grep -v '^[0-3]$'"),
	       0, "look around");
	if (LIBC_GLIBC(2, 34))
		is_str(out_of(&s.r[0]), "SigBlk:0000000\nSigIgn:0000000\n",
		       "signals and files");
	else
		ok(strstr(out_of(&s.r[0]),
			  "SigBlk:0000000\nSigIgn:0000000\n") != NULL,
		   "signals; files are passed on, with this C library");
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, SIG_DFL);
}

/* libscr runs commands of this machine so, and must not end the program. */
TEST(no_memory)
{
	static const char *const argv[] = { "/bin/sh", "-c",
					    "echo hi; echo oh >&2; "
					    "printf half",
					    NULL };
	const char *list[] = { "a", "b2" };
	const struct hostlist nodes = { .names = list, .count = 2 };

	without_memory (m, 2, "local") {
		struct remote_options o = { .kind = REMOTE_LOCAL };
		struct remote_result r[2];

		m.rc = remote_run(&nodes, argv, &o, r, &m.err);
		if (m.rc == 0)
			must(strcmp(out_of(&r[1]), "hi\nhalf") == 0);
		remote_results_free(r, 2);
	}
	ok(no_children(), "no child is left");
}

/* A mock ssh that costs almost nothing.  Its last two arguments are the node
 * and the command. */
static const char fast_ssh[] =
	"#!/bin/sh\n"
	"shift $(($# - 2))\n"
	"case $1 in dead*) trap '' TERM; while :; do sleep 20; done ;; esac\n"
	"NODE=$1; export NODE\n"
	"eval \"$2\"\n";

/* A thousand nodes, ten of them dead. */
static void
test_thousand(enum remote_kind kind)
{
	static const char *const argv[] = { "printenv", "NODE", NULL };
	struct scene_run s = {
		.o = { .kind = kind, .connect = 5, .idle = 10 }
	};
	auto_buf b = BUF_INIT;
	size_t done = 0;

	remote_play("ssh", fast_ssh);
	for (int i = 0; i < 1000; i++)
		must(buf_printf(&b, "%s%d,", i % 100 == 0 ? "dead" : "n", i) ==
		     0);
	is_int(run_on(&s, b.data, argv), 0, "a thousand nodes");
	for (size_t i = 0; i < s.nodes.count; i++)
		done += s.r[i].state == REMOTE_DONE &&
			strcmp(out_of(&s.r[i]),
			       fmt("%s\n", s.nodes.names[i])) == 0;
	is_int(done, 990, "all but the dead");
	ok(s.seconds < s.o.connect + 10, "within the limit and ten seconds");
	printf("# %s: %.1f s\n", remote_kind_name(kind), s.seconds);
	remote_play_no_more("ssh");
}

TEST(loads)
{
	test_stop(REMOTE_SSH);
	if (have_pdsh())
		test_stop(REMOTE_PDSH);
	test_files(16);
	if (getenv("SCRKIT_VALGRIND") == NULL) /* valgrind needs descriptors */
		test_files(1);
	if (getenv("SCRKIT_SLOW") != NULL) {
		test_thousand(REMOTE_SSH);
		if (have_pdsh())
			test_thousand(REMOTE_PDSH);
	}
}

int
main(void)
{
	remote_setup();
	return tap_run();
}
