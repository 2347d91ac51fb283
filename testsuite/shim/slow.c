/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow.c - preloaded into a command: makes each call on a file as slow as on a
 * parallel file system, and counts the calls.  Environment:
 *
 *   SLOW_PATH=TEXT         only calls on a path that contains TEXT
 *   SLOW_USEC=N            each of them sleeps for N microseconds
 *   SLOW_COUNT_FILE=PATH   at exit, append a line "CALL NUMBER" for each kind
 *   SLOW_ALONE_FILE=PATH   the same, only calls that slept while no other did
 *
 * All calls that may send a request to a file server are counted.  Two groups
 * are not: sync_file_range and posix_fadvise, which are hints to the local
 * kernel; and reading directories, which the C library does internally.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "calls.h"
#include "openat2.h"

/* The kinds of calls that are counted. */
#define NAME(name) #name,
static const char *const names[] = { KINDS(NAME) };

static atomic_ulong counted[NKINDS], alone[NKINDS], asleep;

static void
write_numbers(const char *path, const atomic_ulong numbers[NKINDS])
{
	FILE *file = path != NULL ? fopen(path, "ae") : NULL;

	if (file == NULL)
		return;
	for (int i = 0; i < NKINDS; i++)
		if (numbers[i] > 0)
			fprintf(file, "%s %lu\n", names[i], numbers[i]);
	fclose(file);
}

__attribute__((destructor)) static void
write_counts(void)
{
	write_numbers(getenv("SLOW_COUNT_FILE"), counted);
	write_numbers(getenv("SLOW_ALONE_FILE"), alone);
}

static void
wait_for(enum kind kind, const struct timespec *t)
{
	const bool first = atomic_fetch_add(&asleep, 1) == 0;

	nanosleep(t, NULL);
	if (atomic_fetch_sub(&asleep, 1) == 1 && first)
		atomic_fetch_add(&alone[kind], 1);
}

/* Does a call on `name` below `fd` (NULL: on fd itself) count? */
static bool
counts(int fd, const char *name)
{
	char path[2 * PATH_MAX];
	const char *only = getenv("SLOW_PATH");

	if (only == NULL)
		return true;
	calls_path(path, fd, name);
	return strstr(path, only) != NULL;
}

static void
enter(enum kind kind, int fd, const char *name)
{
	const char *text = getenv("SLOW_USEC");
	long usec = text != NULL ? strtol(text, NULL, 10) : 0;
	const struct timespec t = { usec / 1000000, usec % 1000000 * 1000 };
	int saved = errno;

	if (counts(fd, name)) {
		atomic_fetch_add(&counted[kind], 1);
		if (usec > 0)
			wait_for(kind, &t);
	}
	errno = saved;
}

#define WRAP(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		enter(KIND_##kind, fd, path); \
		return REAL(name) args; \
	}

#define OPENS(name, params, args, fd) \
	int name params \
	{ \
		const mode_t mode = MODE_AFTER(flags); \
\
		enter(KIND_open, fd, path); \
		return REAL(name) args; \
	}

CALLS_OPEN(OPENS)
CALLS_READ(WRAP)
CALLS_PREAD(WRAP)
CALLS_WRITE(WRAP)
CALLS_PLAIN(WRAP)
WRAP(int, close, (int fd), (fd), close, fd, NULL)

/* openat2 has no wrapper in the C library, so its callers use syscall().  Other
 * system calls pass through. */
long
syscall(long number, ...)
{
	long a[6];

	SYSCALL_ARGUMENTS(number, a);
	if (number == SYS_openat2)
		enter(KIND_open, (int)a[0], (const char *)a[1]);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
