/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_process.c - descriptors, children, threads, signals, locks, limits. */
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "calls.h"

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

/* Whoever opens and reads files that are being closed, deleted and replaced waits
 * for nobody, and nobody dies of it. */
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

/* --- Threads and signals --- */

enum { RECORD = 1 << 20, RECORDS = 12, THREADS = 4 };

static int shared_fd;

/* Records whose words are all the same. */
static void *
write_records(void *arg)
{
	const unsigned me = (unsigned)(uintptr_t)arg;
	uint32_t *record = malloc(RECORD);
	const int n = RECORDS / THREADS;

	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < RECORD / 4; k++)
			record[k] = me * 1000 + (unsigned)i;
		if (write(shared_fd, record, RECORD) != RECORD)
			say("write: %s", strerror(errno));
	}
	free(record);
	return arg;
}

/* Each record is there once, and whole. */
static void
count_records(const char *path)
{
	static uint32_t record[RECORD / 4];
	int fd = open(path, O_RDONLY), seen[THREADS][16] = { { 0 } };
	unsigned mixed = 0, once = 0;

	while (read(fd, record, RECORD) == RECORD) {
		const uint32_t is = record[0];

		for (size_t k = 1; k < RECORD / 4; k++)
			mixed += record[k] != is;
		if (is / 1000 < THREADS && is % 1000 < 16)
			once += ++seen[is / 1000][is % 1000] == 1;
	}
	close(fd);
	say("%s: %u records, %u words mixed", path, once, mixed);
}

CASE(threads, true)
{
	static const int flags[] = { 0, O_APPEND };
	pthread_t t[THREADS];
	char name[20];

	for (int round = 0; round < 12; round++) {
		snprintf(name, sizeof(name), "by.%s",
			 round < 10 ? "threads" : "append");
		unlink(name);
		shared_fd = open(name, O_CREAT | O_WRONLY | flags[round >= 10],
				 0644);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&t[i], NULL, write_records,
				       (void *)(uintptr_t)i);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		close(shared_fd);
		count_records(name);
		unlink(name); /* in any order */
	}
}

CASE(processes, false)
{
	for (int round = 0; round < 6; round++) {
		pid_t pid[THREADS];

		unlink("by.processes");
		shared_fd = open("by.processes", O_CREAT | O_WRONLY, 0644);
		for (uintptr_t i = 0; i < THREADS; i++) {
			pid[i] = fork();
			if (pid[i] == 0) {
				write_records((void *)i);
				exit(0);
			}
		}
		/* While they write. */
		if (round % 2 == 1)
			close(shared_fd);
		for (int i = 0; i < THREADS; i++)
			ended(pid[i]);
		count_records("by.processes");
		unlink("by.processes");
	}
}

static sigjmp_buf jump;
static int writes_in_handler;

static void
interrupt(int number)
{
	const int saved = errno;

	(void)number;
	if (shared_fd < 0)
		siglongjmp(jump, 1);
	if (write(shared_fd, "0123456789abcdef", 16) == 16)
		writes_in_handler++;
	errno = saved;
}

static void
every(long microseconds)
{
	const struct timeval t = { 0, microseconds };

	setitimer(ITIMER_REAL, &(struct itimerval){ t, t }, NULL);
}

CASE(signals, true)
{
	static char record[1 << 20];
	int fd = open("file", O_CREAT | O_RDWR, 0644), bad = 0;
	static volatile int n;
	struct stat is;

	memset(record, 'r', sizeof(record));
	signal(SIGALRM, interrupt);
	shared_fd = fd;
	every(300);
	while (writes_in_handler < 50 && n < 2000) {
		if (pwrite(fd, record, sizeof(record), 1 << 20) != 1 << 20 ||
		    lseek(fd, 0, SEEK_END) < 0)
			bad++;
		n++;
	}
	every(0);
	R(fstat(fd, &is));
	say("%d bad, %d", bad, is.st_size >= 2 << 20);
	R(unlink("file"));
	/* A handler that does not return: the write may be done or not. */
	fd = open("left", O_CREAT | O_RDWR, 0644);
	shared_fd = -1;
	n = 0;
	if (sigsetjmp(jump, 1) == 0 || n < 100) {
		n++;
		every(400);
		for (;;)
			(void)!pwrite(fd, record, sizeof(record), 0);
	}
	every(0);
	R(write(fd, record, sizeof(record)));
	R(lseek(fd, 1 << 20, SEEK_SET));
	R(write(fd, record, sizeof(record)));
	R(write(fd, record, sizeof(record)));
	R(close(fd));
	look("left");
}

/* A write that grows the file is left, repeated, and stays. */
CASE(left_and_repeated, true)
{
	static char record[2 << 20];
	static volatile int n;
	static int fd;

	memset(record, 's', sizeof(record));
	signal(SIGALRM, interrupt);
	shared_fd = -1;
	for (n = 0; n < 60;) {
		char name[20];

		n++;
		snprintf(name, sizeof(name), "again%c", 'a' + n % 20);
		fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
		if (sigsetjmp(jump, 1) == 0) {
			every(100 + 40 * n);
			for (int k = 0; k < 4; k++)
				(void)!pwrite(fd, record, sizeof(record),
					      k << 21);
		}
		every(0);
		for (int k = 0; k < 4; k++)
			if (pwrite(fd, record, sizeof(record), k << 21) !=
			    sizeof(record))
				say("pwrite: %s", strerror(errno));
		close(fd);
	}
	for (n = 0; n < 20; n++) {
		char name[20];

		snprintf(name, sizeof(name), "again%c", 'a' + n);
		look(name);
	}
}

static void *
write_for_ever(void *arg)
{
	static char record[2 << 20];

	for (off_t off = 0;; off = off < 8 << 20 ? off + (1 << 20) : 0)
		(void)!pwrite(shared_fd, record, sizeof(record), off);
	return arg;
}

CASE(cancelled, true)
{
	static char record[4 << 20];
	pthread_t t;

	memset(record, 'c', sizeof(record));
	for (int i = 0; i < 10; i++) {
		void *how = NULL;

		unlink("file");
		shared_fd = open("file", O_CREAT | O_RDWR, 0644);
		pthread_create(&t, NULL, write_for_ever, NULL);
		usleep(3000);
		R(pthread_cancel(t));
		R(pthread_join(t, &how));
		R(how == PTHREAD_CANCELED);
		R(ftruncate(shared_fd, 0));
		R(write(shared_fd, record, sizeof(record)));
		R(pwrite(shared_fd, record, sizeof(record), 4 << 20));
		R(close(shared_fd));
		look("file");
	}
}

/* One thread forks, and its children close and end, while another writes. */
CASE(forks_meanwhile, true)
{
	pthread_t t;
	int fd = open("file", O_CREAT | O_RDWR, 0644);

	shared_fd = fd;
	pthread_create(&t, NULL, write_records, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(fd);
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	pthread_join(t, NULL);
	close(fd);
	count_records("file");
}
