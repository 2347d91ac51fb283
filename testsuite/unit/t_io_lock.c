/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_io_lock.c - file locks; t_io.c has the rest of io.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "scratch.h"

static int dir = -1; /* open on it */

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
