/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_process.c - descriptors, children, locks, limits. */
#include <spawn.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "calls.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

extern char **environ;

/* --- Numbers that are used again, behind the back of whoever counts --- */

/* `fd` is another file now: write to it, the file of the store stays. */
static void
is_other(int fd, int seed, const char *before)
{
	R(lseek(fd, 0, SEEK_SET));
	R(write(fd, data(seed, BIG), BIG));
	R(pwrite(fd, data(seed + 1, BIG), BIG, 1 << 20));
	look_at(fd, "other");
	look(before);
}

static int
other(int number)
{
	int fd = (int)syscall(SYS_memfd_create, "other", 0);

	if (fd != number) {
		syscall(SYS_dup2, fd, number);
		syscall(SYS_close, fd);
	}
	return number;
}

CASE(numbers_again, true)
{
	int (*range)(unsigned, unsigned, int) = call_of("close_range");
	void (*from)(int) = call_of("closefrom");
	int fd = made("raw.close", 1, BIG), ends[2], null = -1;

	syscall(SYS_close, fd);
	is_other(other(fd), 1, "raw.close");
	fd = made("raw.dup", 2, BIG);
	is_other(other(fd), 2, "raw.dup");
	fd = made("range", 3, BIG);
	syscall(SYS_close_range, fd, ~0U, 0);
	is_other(other(fd), 3, "range");
	fd = made("dup2", 4, BIG);
	null = open("plain", O_CREAT | O_RDWR | O_APPEND, 0644);
	R(dup2(null, fd) == fd);
	is_other(fd, 4, "dup2");
	fd = made("dup3", 5, BIG);
	R(dup3(null, fd, O_CLOEXEC) == fd);
	is_other(fd, 5, "dup3");
	fd = made("close_range", 6, BIG);
	if (range != NULL)
		R(range((unsigned)fd, (unsigned)fd, 0));
	is_other(other(fd), 6, "close_range");
	/* By another file of the store. */
	fd = made("one", 7, BIG);
	null = made("two", 8, BIG);
	R(dup2(null, fd) == fd);
	R(write(fd, data(9, BIG), BIG));
	R(close(null));
	R(write(fd, data(10, BIG), BIG));
	look("one");
	look("two");
	syscall(SYS_close, fd);
	fd = made("three", 11, BIG);
	is_other(other(fd), 12, "three");
	fd = made("piped", 13, BIG);
	R(pipe(ends));
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	R(dup2(ends[1], fd) == fd);
	R(write(fd, data(14, BIG), BIG) > 0);
	look("piped");
	fd = made("from", 15, BIG);
	if (from != NULL)
		from(3);
	R(fcntl(fd, F_GETFD));
	is_other(other(fd), 16, "from");
	/* All files of the process are closed: it still works. */
	for (fd = 3; fd < 1000; fd++)
		close(fd);
	fd = made("after.all", 17, BIG);
	R(write(fd, data(18, BIG), BIG));
	R(rename("after.all", "from"));
	R(unlink("one"));
	look("from");
}

CASE(dups, true)
{
	int fd = made("file", 1, BIG);
	int d[5] = { dup(fd), dup2(fd, 50), dup3(fd, 51, O_CLOEXEC),
		     fcntl(fd, F_DUPFD, 60), fcntl(fd, F_DUPFD_CLOEXEC, 70) };

	R(dup2(fd, fd) == fd);
	R(dup3(fd, fd, 0));
	R(dup2(-1, fd));
	R(dup2(fd, -1));
	for (int i = 0; i < 5; i++) {
		R(write(d[i], data(2 + i, BIG), BIG));
		R(fcntl(d[i], F_GETFD));
		R(close(i == 0 ? fd : d[i - 1]));
	}
	look_at(d[4], "by the last");
	R(write(d[4], data(9, BIG), BIG));
	R(close(d[4]));
	R(write(d[4], data(9, BIG), BIG));
	look("file");
}

CASE(sent, true)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 'x';
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int fd = made("file", 1, BIG), ends[2];

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	R(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	R(sendmsg(ends[0], &m, 0));
	R(close(fd));
	R(recvmsg(ends[1], &m, 0));
	memcpy(&fd, CMSG_DATA(&c.head), sizeof(fd));
	R(write(fd, data(2, BIG), BIG));
	R(close(fd));
	look("file");
}

/* --- Children --- */

CASE(children, true)
{
	char name[60];
	char *const shell[] = { (char *)"sh", (char *)"-c", name, NULL };
	posix_spawn_file_actions_t acts;
	int fd = made("file", 1, BIG), old = -1;
	pid_t pid = fork();

	if (pid == 0) {
		R(write(fd, data(2, BIG), BIG));
		R(lseek(fd, 0, SEEK_CUR));
		close(made("x", 2, BIG));
		R(close(fd));
		exit(3);
	}
	ended(pid);
	R(lseek(fd, 0, SEEK_CUR)); /* the child has moved it */
	R(write(fd, data(3, BIG), BIG));
	look_at(fd, "by both");
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0) {
			usleep(20000);
			/* Its parent is gone. */
			R(write(fd, data(4, BIG), BIG));
			R(unlink("x"));
			_exit(4);
		}
		ended(pid);
		_exit(R(pwrite(fd, data(5, BIG), BIG, 0)) != BIG);
	}
	R(close(fd));
	ended(pid);
	look("file");
	/* A child of vfork() has its own descriptors, in our memory. */
	fd = made("vfork", 6, BIG);
	old = dup(fd);
	pid = vfork();
	if (pid == 0) {
		close(fd);
		close(old);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	ended(pid);
	R(write(fd, data(7, BIG), BIG));
	R(close(old));
	R(write(fd, data(8, BIG), BIG));
	look("vfork");
	pid = vfork();
	if (pid == 0) {
		dup2(1, fd);
		execl("/bin/sh", "sh", "-c", "exit 5", NULL);
		_exit(1);
	}
	ended(pid);
	R(write(fd, data(9, BIG), BIG));
	look("vfork");
	/* It is inherited by a program. */
	snprintf(name, sizeof(name), "echo text >&%d; cat file >&%d", fd, fd);
	R(posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ));
	ended(pid);
	R(write(fd, data(10, BIG), BIG));
	look("vfork");
	R(system("cat file file >two; exec 3>three; cat two >&3; rm file") !=
	  0);
	look("two");
	look("three");
	posix_spawn_file_actions_init(&acts);
	posix_spawn_file_actions_addopen(&acts, 9, "opened", O_CREAT | O_WRONLY,
					 0644);
	posix_spawn_file_actions_adddup2(&acts, fd, 1);
	posix_spawn_file_actions_addclose(&acts, fd);
	strcpy(name, "cat two >&9; echo spawned");
	R(posix_spawnp(&pid, "sh", &acts, NULL, shell, environ));
	ended(pid);
	look("opened");
	look("vfork");
	/* execve() that fails: the program goes on. */
	R(execl("/missing", "missing", NULL));
	R(write(fd, data(11, BIG), BIG));
	look("vfork");
	strcpy(name, "cat two >&9; exit 6");
	R(dup2(fd, 9) == 9);
	pid = fork();
	if (pid == 0)
		execv("/bin/sh", shell);
	ended(pid);
	look("vfork");
}

/* A program is written, closed, and run at once, also while a child lives that
 * was there before. */
CASE(programs_written, true)
{
	static char text[4 << 20];
	struct stat is;
	int from = open("/bin/true", O_RDONLY), fd = -1, ends[2];
	pid_t pid = 0, child = 0;

	R(fstat(from, &is));
	(void)!read(from, text, (size_t)is.st_size);
	for (int i = 0; i < 2; i++) {
		fd = open("run", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
		R(pipe(ends));
		R(write(fd, text, sizeof(text)));
		child = i == 0 ? -1 : fork();
		if (child == 0) {
			close(fd);
			close(ends[1]);
			_exit((int)read(ends[0], text, 1));
		}
		if (child > 0)
			usleep(50000);
		R(close(fd));
		pid = fork();
		if (pid == 0) {
			execl("./run", "run", NULL);
			_exit(errno);
		}
		ended(pid);
		/* Nobody has it open. */
		fd = open("run", O_RDWR);
		R(fcntl(fd, F_SETLEASE, F_WRLCK));
		R(fcntl(fd, F_SETLEASE, F_UNLCK));
		close(ends[1]);
		if (child > 0)
			ended(child);
		close(fd);
		unlink("run");
	}
}

/* --- Locks --- */

/* What a child may lock. */
static void
lockable(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct flock l = { .l_type = F_WRLCK }, o = l;
		int fd = open(path, O_RDWR);

		R(fcntl(fd, F_GETLK, &l));
		say("%s locked", l.l_type == F_UNLCK ? "not" : "is");
		R(fcntl(fd, F_OFD_SETLK, &o));
		R(flock(fd, LOCK_EX | LOCK_NB));
		_exit(0);
	}
	ended(pid);
}

CASE(locks, true)
{
	struct flock l = { .l_type = F_WRLCK };
	int fd = made("file", 1, BIG), other = -1;

	R(fcntl(fd, F_SETLK, &l));
	R(write(fd, data(2, BIG), BIG));
	lockable("file");
	/* None of these closes it. */
	R(link("file", "twin"));
	R(unlink("file"));
	lockable("twin");
	close(made("new", 3, BIG));
	R(rename("twin", "second"));
	R(link("second", "third"));
	R(rename("new", "second"));
	lockable("third");
	R(unlink("second"));
	R(rename("third", "fourth"));
	lockable("fourth");
	R(write(fd, data(2, BIG), BIG));
	close(made("new", 3, BIG));
	other = open("fourth", O_PATH);
	R(rename("new", "fourth"));
	{
		char name[40];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", other);
		lockable(name);
		lockable("fourth");
	}
	R(flock(fd, LOCK_EX));
	R(fcntl(fd, F_OFD_SETLK, &l));
	R(close(fd));
	fd = made("last", 4, BIG);
	R(flock(fd, LOCK_SH));
	R(lockf(fd, F_TLOCK, 10));
	R(write(fd, data(5, BIG), BIG));
	lockable("last");
	R(close(open("last", O_RDONLY))); /* POSIX: all of them are gone */
	lockable("last");
}

CASE(leases, true)
{
	int fd = made("file", 1, BIG);

	R(fcntl(fd, F_SETSIG, SIGUSR1));
	R(write(fd, data(2, BIG), BIG));
	R(fcntl(fd, F_GETSIG));
	R(close(fd));
	fd = FD(open("file", O_RDONLY));
	R(fcntl(fd, F_SETLEASE, F_RDLCK));
	R(fcntl(fd, F_GETLEASE));
	R(unlink("file"));
	R(fcntl(fd, F_GETLEASE));
}

/* Whoever opens and reads files that are being closed, deleted and replaced
 * waits for nobody, and nobody dies of it. */
CASE(opened_meanwhile, true)
{
	long opened = 0, refused = 0;
	int how = 0;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGURG, SIG_DFL);
		for (int i = 0; i < 40; i++) {
			int fd = made("file", i, BIG);

			close(fd);
			fd = made("next", i, BIG);
			close(fd);
			rename("next", "file");
			if (i % 3 == 0)
				unlink("file");
		}
		exit(0);
	}
	while (waitpid(pid, &how, WNOHANG) == 0) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, "file",
				      O_RDONLY | O_NONBLOCK);

		opened += fd >= 0;
		refused += fd < 0 && errno != ENOENT && errno != EWOULDBLOCK;
		if (fd >= 0)
			syscall(SYS_close, fd);
	}
	say("%d %d %ld", how, opened > 0, refused);
	look("file");
}

/* --- Limits --- */

static _Atomic int signals;

static void
count(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

CASE(limit_size, true)
{
	struct rlimit most = { (2 << 20) + 10, (2 << 20) + 10 };
	int fd = made("file", 1, SMALL);

	signal(SIGXFSZ, count);
	R(setrlimit(RLIMIT_FSIZE, &most));
	R(write(fd, data(2, BIG), BIG)); /* a part */
	R(write(fd, data(3, BIG), BIG));
	R(pwrite(fd, data(4, 1 << 20), 1 << 20, 1 << 20));
	R(pwrite(fd, data(5, BIG), BIG, 3 << 20));
	R(ftruncate(fd, 3 << 20));
	say("%d signals", signals);
	look_at(fd, "limited");
}

CASE(limit_files, true)
{
	struct rlimit most = { 0, 4096 };
	int fd = open("/", O_PATH);

	for (int left = 0; left < 6; left++) {
		int got = -1;

		most.rlim_cur = (rlim_t)(fd + 1 + left);
		setrlimit(RLIMIT_NOFILE, &most);
		for (int k = 0; k < 7; k++) {
			char name[20];

			snprintf(name, sizeof(name), "file%c%c", 'a' + left,
				 'a' + k);
			got = FD(open(name, O_CREAT | O_RDWR, 0644));
			R(write(got, data(k, BIG), BIG));
			look(name);
		}
		R(unlink("filefa"));
		for (int k = 0; k < 7; k++)
			close(fd + 1 + k);
	}
}

CASE(limit_memory, false)
{
	struct rlimit most;
	const char *bytes = data(1, BIG);
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	int fd = -1;

	(void)!fscanf(f, "%ld", &pages);
	most.rlim_cur = most.rlim_max = (rlim_t)pages * 4096 + (1 << 20);
	R(setrlimit(RLIMIT_AS, &most));
	fd = FD(open("file", O_CREAT | O_RDWR, 0644));
	R(write(fd, bytes, BIG));
	look_at(fd, "file");
}
