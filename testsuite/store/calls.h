/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h - what programs do with files, as a transcript that is the same in
 * every directory: results, errors, sizes, modes, links, sums of bytes.
 */
#ifndef STORE_CALLS_H
#define STORE_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Large enough for a file of the pool and for a mapped copy, at no border; what
 * is copied by the kernel; what no file of the pool can take. */
#define BIG ((3 << 20) + 77)
#define SMALL 1000
#define HUGE_FILE (20 << 20)

/* A case runs in a process and a directory of its own.  `fast`: files of the
 * pool must have been written past the cache in it. */
struct call_case {
	const char *name;
	bool fast;
	void (*run)(void);
	struct call_case *next;
};

void calls_add(struct call_case *c);

#define CASE(title, is_fast) \
	static void case_##title(void); \
	__attribute__((constructor)) static void add_##title(void) \
	{ \
		static struct call_case me = { #title, is_fast, case_##title, \
					       NULL }; \
\
		calls_add(&me); \
	} \
	static void case_##title(void)

/* Print a line, by a system call that nobody intercepts. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Print what a call returned, and its error. */
long said(const char *what, long got);
#define R(call) said(#call, (errno = 0, (long)(call)))

/* The same of a descriptor, whose number is not printed, and of a pointer. */
int fd_said(const char *what, int fd);
#define FD(call) fd_said(#call, (errno = 0, (call)))
#define P(call) (errno = 0, (void)said(#call " != 0", (call) != NULL))

/* `n` bytes that depend on `seed`, in one of eight buffers used in turn. */
const char *data(int seed, size_t n);

/* Print type, mode, links and size of a file, its owner, and the sum of its
 * bytes; by system calls alone. */
void look(const char *path);
void look_at(int fd, const char *what);

/* A new file with `n` bytes of `seed`, which is open. */
int made(const char *path, int seed, size_t n);

/* Wait for a child; prints how it ended. */
void ended(pid_t pid);

/* A function of libc that this version may not have, or only so called. */
void *call_of(const char *name);

#endif /* STORE_CALLS_H */
