/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls [CASE] - carry out a case in the new directory CASE; without an
 * argument list all of them, "fast" behind those that must have used files of
 * the pool.
 */
#include "calls.h"

#include <dlfcn.h>
#include <stdarg.h>

static struct call_case *first, **last = &first;

void
calls_add(struct call_case *c)
{
	*last = c;
	last = &c->next;
}

void
say(const char *format, ...)
{
	char text[4096];
	va_list args;
	int n = 0;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	text[n++] = '\n';
	syscall(SYS_write, 1, text, (size_t)n);
}

long
said(const char *what, long got)
{
	const int e = errno;

	say("%s = %ld%s%s", what, got, got == -1 ? " " : "",
	    got == -1 ? strerror(e) : "");
	return got;
}

int
fd_said(const char *what, int fd)
{
	const int e = errno;

	say("%s: %s", what, fd >= 0 ? "open" : strerror(e));
	return fd;
}

const char *
data(int seed, size_t n)
{
	static char *buf[8];
	static unsigned turn;
	char **to = &buf[turn++ % 8];
	uint32_t x = (uint32_t)seed * 2654435761u + 1;

	*to = realloc(*to, n + 4);
	for (size_t i = 0; i < n; i += 4) {
		x = x * 1664525 + 1013904223;
		memcpy(*to + i, &x, 4);
	}
	return *to;
}

/* Sum of `n` bytes, which goes on from `sum`. */
static uint64_t
add_up(uint64_t sum, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * 1099511628211u;
	return sum;
}

void
look_at(int fd, const char *what)
{
	static unsigned char buf[1 << 16];
	uint64_t sum = 14695981039346656037u;
	struct stat is;
	char name[32];
	off_t off = 0;
	long n = 0;

	if (fstat(fd, &is) < 0) {
		say("%s: %s", what, strerror(errno));
		return;
	}
	/* It may not be open for reading. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	fd = S_ISREG(is.st_mode)
		     ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY)
		     : -1;
	while (fd >= 0 &&
	       (n = syscall(SYS_pread64, fd, buf, sizeof(buf), off)) > 0) {
		sum = add_up(sum, buf, (size_t)n);
		off += n;
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	say("%s: %o %lu links %u:%u %ld bytes, %ld read: %016lx", what,
	    is.st_mode, (unsigned long)is.st_nlink, is.st_uid, is.st_gid,
	    S_ISREG(is.st_mode) ? (long)is.st_size : 0, (long)off, sum);
}

void
look(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		say("%s: %s", path, strerror(errno));
	else
		look_at(fd, path);
	syscall(SYS_close, fd);
}

int
made(const char *path, int seed, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	ssize_t got = n == 0 ? 0 : write(fd, data(seed, n), n);

	if (fd < 0 || got != (ssize_t)n)
		say("%s: write: %zd: %s", path, got, strerror(errno));
	return fd;
}

void
ended(pid_t pid)
{
	int how = -1;

	if (waitpid(pid, &how, 0) != pid)
		say("waitpid: %s", strerror(errno));
	else if (WIFSIGNALED(how))
		say("child: signal %d", WTERMSIG(how));
	else
		say("child: status %d", WEXITSTATUS(how));
}

void *
call_of(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	if (f == NULL)
		say("no %s", name);
	return f;
}

int
main(int argc, char **argv)
{
	for (const struct call_case *c = first; c != NULL; c = c->next) {
		if (argc < 2) {
			printf("%s%s\n", c->name, c->fast ? " fast" : "");
		} else if (strcmp(argv[1], c->name) == 0) {
			alarm(60);
			umask(022);
			if (mkdir(c->name, 0755) < 0 || chdir(c->name) < 0)
				return 1;
			c->run();
			return 0;
		}
	}
	return argc >= 2;
}
