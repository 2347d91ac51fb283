/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "io.h"

/* Bytes of an answer. */
#define SAID_MAX ((size_t)64 << 20)

static const int caught[] = { SIGTERM, SIGINT,	SIGHUP,	 SIGQUIT,
			      SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD };

int
run_signals_open(struct run_signals *s, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(&set, caught[i]);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0 || sigprocmask(SIG_BLOCK, &set, &s->before) < 0)
		return error_sys(err, "cannot read signals");
	return 0;
}

void
run_signals_close(struct run_signals *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* In the child: become argv.  The error is written to `report`. */
static void
become(const char *const *argv, enum run_child_kind kind, int out, int report,
       pid_t parent, const sigset_t *mask)
{
	int null = -1, sent = 0;

	/* Else nobody would end the ranks of a wrapper that was killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (kind != RUN_CHILD_PROGRAM) {
		/* Not in the terminal's foreground: ^C is for the program. */
		(void)setpgid(0, 0);
		null = open("/dev/null", O_RDWR);
		if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
		    dup2(kind == RUN_CHILD_ASK ? out : STDERR_FILENO,
			 STDOUT_FILENO) < 0 ||
		    (kind == RUN_CHILD_ASK && dup2(null, STDERR_FILENO) < 0))
			_exit(1);
	}
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], (char *const *)argv);
	sent = errno;
	(void)!write(report, &sent, sizeof(sent));
	_exit(127);
}

int
run_child_start(struct run_child *c, const char *const *argv,
		enum run_child_kind kind, const struct run_signals *s,
		struct error *err)
{
	const pid_t parent = getpid();
	int report[2] = { -1, -1 }, out[2] = { -1, -1 }, failure = 0;
	ssize_t n = 0;

	*c = (struct run_child)RUN_CHILD_INIT;
	if (pipe2(report, O_CLOEXEC) < 0 ||
	    (kind == RUN_CHILD_ASK && pipe2(out, O_CLOEXEC) < 0) ||
	    (c->pid = fork()) < 0) {
		error_sys(err, "%s: cannot start it", argv[0]);
		c->pid = 0;
		goto out;
	}
	if (c->pid == 0)
		become(argv, kind, out[1], report[1], parent, &s->before);
	io_close(report[1]);
	report[1] = -1;
	do
		n = read(report[0], &failure, sizeof(failure));
	while (n < 0 && errno == EINTR);
	if (n == sizeof(failure)) {
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
		c->pid = 0;
		errno = failure;
		error_sys(err, "%s: cannot execute it", argv[0]);
	} else if (kind == RUN_CHILD_ASK) {
		c->out = out[0];
		out[0] = -1;
		(void)fcntl(c->out, F_SETFL, O_NONBLOCK);
	}
out:
	for (int i = 0; i < 2; i++) {
		io_close(report[i]);
		io_close(out[i]);
	}
	return c->pid > 0 ? 0 : -1;
}

static void
read_answer(struct run_child *c)
{
	char data[4096];
	ssize_t n = 0;

	while (c->out >= 0 && (n = read(c->out, data, sizeof(data))) > 0)
		if (c->said.len < SAID_MAX)
			buf_add(&c->said, data, (size_t)n);
	if (c->out >= 0 && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
		io_close(c->out);
		c->out = -1;
	}
}

bool
run_child_poll(struct run_child *c)
{
	int status = 0;

	if (c->pid <= 0 || c->ended)
		return true;
	read_answer(c);
	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return false;
	read_answer(c);
	c->ended = true;
	c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					: WEXITSTATUS(status);
	return true;
}

bool
run_child_wait(const struct run_signals *s, const struct run_child *c,
	       double seconds, struct run_signal *got)
{
	struct pollfd fds[] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = c != NULL ? c->out : -1, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	if (poll(fds, 2, (int)(seconds * 1000) + 1) <= 0 ||
	    (fds[0].revents & POLLIN) == 0 ||
	    read(s->fd, &info, sizeof(info)) != sizeof(info) ||
	    info.ssi_signo == SIGCHLD)
		return false;
	*got = (struct run_signal){
		.number = (int)info.ssi_signo,
		.terminal = info.ssi_code == SI_KERNEL,
	};
	return true;
}

void
run_child_kill(const struct run_child *c, int signal)
{
	if (c->pid > 0 && !c->ended)
		(void)kill(c->pid, signal);
}

void
run_child_free(struct run_child *c)
{
	io_close(c->out);
	buf_free(&c->said);
	*c = (struct run_child)RUN_CHILD_INIT;
}
