/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c - a process that serves a node: start it, read its output, end it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "libc.h"
#include "mem.h"
#include "remote/remote_impl.h"

/* Seconds from one look at all processes to the next, and so the interval at
 * which stop() is polled; shorter if a process has closed its output, and is
 * about to end. */
#define WAIT 0.1
#define WAIT_END 0.005

/* About so many processes with open output are asked at each look whether they
 * have ended: what the rest of them costs does not grow with their number. */
#define ASKED 256

/* Streams with output that are asked for at a time. */
#define READY 256

/* Reads of one stream per turn: a node that prints without end must not block
 * the others. */
#define TURN 4

/* Reads after its end.  They are limited as another process may hold the pipe
 * and print on. */
#define REST 64

/* Bytes of a list of children. */
#define CHILDREN ((size_t)4 << 10)

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Close a stream.  Events do not end with its close alone: a process that
 * another thread is starting has the descriptor, too, until its exec. */
static void
close_stream(const struct remote_run *run, struct remote_stream *s)
{
	if (s->fd >= 0)
		epoll_ctl(run->events, EPOLL_CTL_DEL, s->fd, NULL);
	close_fd(&s->fd);
}

void
remote_proc_free(const struct remote_run *run, struct remote_proc *p)
{
	close_stream(run, &p->out);
	close_stream(run, &p->err);
	buf_free(&p->out.part);
	buf_free(&p->err.part);
	mem_free(p);
}

/* --- Starting --- */

/* Make a pipe.  Our end, fds[0], does not block.  Neither end is 0, 1 or 2,
 * which the child replaces. */
static int
make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		int fd = fds[i];

		if (fd > STDERR_FILENO)
			continue;
		fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(fd);
	}
	if (fds[0] >= 0 && fds[1] >= 0 &&
	    fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0)
		return 0;
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	return -1;
}

/*
 * The child reads nothing, and gets its own process group.  Signals that end a
 * process are unblocked and reset.  Our callers' descriptors are not passed to
 * hundreds of children.
 */
static int
spawn(struct remote_proc *p, const char **argv, int out, int err)
{
	char **env = p->way->env != NULL ? p->way->env : environ;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	int rc = posix_spawn_file_actions_init(&files);

	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc != 0)
		goto out_files;
	rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
					      O_RDONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, out,
						      STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, err,
						      STDERR_FILENO);
#if LIBC_GLIBC(2, 34)
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(
			&files, STDERR_FILENO + 1);
#endif
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGTERM);
	sigaddset(&usual, SIGCHLD);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&attr, &none);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(&attr, &usual);
	if (rc == 0)
		rc = posix_spawnattr_setpgroup(&attr, 0);
	if (rc == 0)
		rc = posix_spawnattr_setflags(
			&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
				       POSIX_SPAWN_SETSIGDEF);
	if (rc == 0)
		rc = posix_spawnp(&p->pid, argv[0], &files, &attr,
				  (char *const *)argv, env);
	posix_spawnattr_destroy(&attr);
out_files:
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

int
remote_proc_start(struct remote_run *run, struct remote_node *n)
{
	const struct remote_way *way = &run->ways[n->way];
	const char **argv = remote_command_argv(run, way, n);
	struct remote_proc *p = mem_calloc(1, sizeof(*p));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = p };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int rc = 0;

	if (p == NULL || argv == NULL) {
		mem_free(p);
		run->failed = true;
		return ENOMEM;
	}
	*p = (struct remote_proc){ .node = n, .way = way };
	if (make_pipe(out) < 0 || make_pipe(err) < 0 ||
	    epoll_ctl(run->events, EPOLL_CTL_ADD, out[0], &event) < 0 ||
	    epoll_ctl(run->events, EPOLL_CTL_ADD, err[0], &event) < 0)
		rc = errno;
	else
		rc = spawn(p, argv, out[1], err[1]);
	close_fd(&out[1]);
	close_fd(&err[1]);
	p->out.fd = out[0];
	p->err.fd = err[0];
	if (rc != 0) {
		remote_proc_free(run, p);
		return rc;
	}
	n->proc = p;
	p->next = run->procs;
	run->procs = p;
	run->nprocs++;
	return 0;
}

/* --- Reading --- */

static void
give(struct remote_run *run, const struct remote_proc *p, bool err, char *text,
     size_t len, bool whole)
{
	struct remote_node *n = p->node;

	if (n->proc != p)
		return; /* it is asked in another way by now */
	if (err)
		remote_node_err(run, n, text, len, whole);
	else
		remote_node_out(run, n, text, len, whole);
}

/* Pass on the complete lines in these bytes, and keep the rest. */
static void
take(struct remote_run *run, struct remote_proc *p, struct remote_stream *s,
     char *data, size_t len)
{
	const size_t max = run->keep + REMOTE_TOKEN; /* with the marker */

	while (len > 0 && !run->failed) {
		char *nl = memchr(data, '\n', len);
		size_t n = nl != NULL ? (size_t)(nl - data) : len;
		size_t room = max > s->part.len ? max - s->part.len : 0;

		if (n > room)
			s->cut = true;
		if (nl != NULL && s->part.len == 0 && n <= room) {
			*nl = '\0';
			give(run, p, s == &p->err, data, n, true);
		} else if (buf_add(&s->part, data, n < room ? n : room) < 0) {
			run->failed = true;
		} else if (nl != NULL) {
			give(run, p, s == &p->err, s->part.data, s->part.len,
			     true);
			buf_clear(&s->part);
			s->cut = false;
		}
		n += nl != NULL;
		data += n;
		len -= n;
	}
}

/* Read at most `times` buffers, and close the stream at its end. */
static void
read_stream(struct remote_run *run, struct remote_proc *p,
	    struct remote_stream *s, int times)
{
	if (run->failed)
		close_stream(run, s); /* else epoll_wait() would not */
	while (s->fd >= 0 && times-- > 0 && !run->failed) {
		ssize_t n = read(s->fd, run->buffer, REMOTE_BUFFER);

		if (n > 0) {
			take(run, p, s, run->buffer, (size_t)n);
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			close_stream(run, s);
		} else if (errno == EAGAIN) {
			break;
		}
	}
}

/* Pass on the rest after the last newline, and close the stream. */
static void
flush_stream(struct remote_run *run, struct remote_proc *p,
	     struct remote_stream *s)
{
	if (s->part.len > 0 && !run->failed)
		give(run, p, s == &p->err, s->part.data, s->part.len, false);
	close_stream(run, s);
}

/* Read the available output, and check whether the process ended. */
static void
read_proc(struct remote_run *run, struct remote_proc *p)
{
	siginfo_t info = { .si_pid = 0 };
	const int rc =
		waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	const bool ended = rc != 0 || info.si_pid != 0;
	const int times = ended ? REST : TURN;

	if (ended) {
		/* If it was being killed, kill the rest of its group, before it
		 * is reaped: until then its id is not reused. */
		if (rc == 0 && p->pushed > 0)
			kill(-p->pid, SIGKILL);
		p->exited = true;
		if (waitpid(p->pid, &p->status, WNOHANG) != p->pid)
			p->status = -1; /* another part of the program did */
	}
	read_stream(run, p, &p->err, times);
	read_stream(run, p, &p->out, times);
	if (!ended)
		return;
	flush_stream(run, p, &p->err);
	flush_stream(run, p, &p->out);
	if (p->node->proc == p && !run->failed)
		remote_node_lost(run, p->node, p->status);
}

void
remote_proc_wait(struct remote_run *run)
{
	const double now = clock_seconds();
	double wait = run->look > now ? run->look - now : 0;
	struct epoll_event ready[READY];
	int n = READY;

	/* All that is there, before a limit is held against it. */
	while (n == READY) {
		n = epoll_wait(run->events, ready, READY,
			       (int)(wait * 1000 + 0.999));
		for (int i = 0; i < n; i++)
			if (!((struct remote_proc *)ready[i].data.ptr)->exited)
				read_proc(run, ready[i].data.ptr);
		wait = 0;
	}
}

bool
remote_proc_look(struct remote_run *run, double now)
{
	double wait = WAIT;

	if (now < run->look)
		return false;
	for (struct remote_proc *p = run->procs; p != NULL; p = p->next) {
		const bool closed = p->out.fd < 0 && p->err.fd < 0;

		if (!p->exited && (closed || now >= p->look)) {
			read_proc(run, p);
			p->look =
				now + WAIT * (double)(1 + run->nprocs / ASKED);
		}
		if (closed && !p->exited)
			wait = WAIT_END;
	}
	run->look = now + wait;
	return true;
}

/* --- Ending --- */

/* Signal the processes in this list of /proc, and their groups.  A number
 * without a blank after it may be truncated and is ignored. */
static int
signal_list(int dir, const char *name, int sig)
{
	char path[300], text[CHILDREN + 1], *end = NULL;
	ssize_t len = 0;
	int fd = -1, count = 0;

	snprintf(path, sizeof(path), "%s/children", name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, CHILDREN);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	for (char *p = text;; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p || *end != ' ' || pid <= 1)
			return count;
		if (kill((pid_t)-pid, sig) < 0)
			kill((pid_t)pid, sig);
		count++;
	}
}

/* Signal a process. pdsh waits for its children, so they are signalled first,
 * and pdsh itself only if it has none or `itself`.  They have their own
 * sessions, and pdsh cannot pass on KILL. */
static void
push(struct remote_proc *p, int sig, bool itself)
{
	struct dirent *e = NULL;
	char name[64];
	DIR *dir = NULL;
	int count = 0;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)p->pid);
	if (p->way->kind == REMOTE_PDSH)
		dir = opendir(name);
	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.')
			count += signal_list(dirfd(dir), e->d_name, sig);
	if (dir != NULL)
		closedir(dir);
	if (count == 0 || itself)
		kill(-p->pid, sig);
}

void
remote_proc_push(const struct remote_run *run, struct remote_proc *p,
		 double now)
{
	const bool first = p->pushed == 0;

	if (p->push_at <= 0 || now < p->push_at || p->exited)
		return;
	if (p->pushed < 3)
		push(p, first ? SIGTERM : SIGKILL, p->pushed == 2);
	else /* hangs in the kernel: do not wait */
		p->exited = true;
	p->push_at = now + (first ? run->polite : REMOTE_FINAL);
	p->pushed++;
}
