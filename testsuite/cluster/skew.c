/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skew.c - preloaded into all programs of one node, sets its clock back.  Each
 * program reads the number of seconds from /etc/skew when it starts.
 *
 * Covered: the time of day, and the times of files on the node's own storage,
 * which the kernel of a real node would take from that clock.  Those on /pfs
 * are the same for all nodes.  Not covered: absolute deadlines, which end at
 * once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../shim/calls.h"

static long behind;
static dev_t shared;

__attribute__((constructor)) static void
init(void)
{
	FILE *f = fopen("/etc/skew", "re");
	struct stat st;

	if (f == NULL)
		return;
	if (REAL(syscall)(SYS_newfstatat, AT_FDCWD, "/pfs", &st, 0) == 0)
		shared = st.st_dev;
	if (fscanf(f, "%ld", &behind) != 1)
		behind = 0;
	fclose(f);
}

/* --- The clock --- */

int
clock_gettime(clockid_t clock, struct timespec *to)
{
	const int rc = (int)REAL(syscall)(SYS_clock_gettime, clock, to);

	if (rc == 0 && (clock == CLOCK_REALTIME ||
			clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
		to->tv_sec -= behind;
	return rc;
}

int
gettimeofday(struct timeval *restrict to, void *restrict zone)
{
	struct timespec now;
	const int rc = clock_gettime(CLOCK_REALTIME, &now);

	(void)zone;
	*to = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return rc;
}

int
timespec_get(struct timespec *to, int base)
{
	return clock_gettime(CLOCK_REALTIME, to) == 0 ? base : 0;
}

time_t
time(time_t *to)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (to != NULL)
		*to = now.tv_sec;
	return now.tv_sec;
}

/* --- Times of files --- */

#define SHIFT(st) \
	do { \
		if ((st)->st_dev != shared) { \
			(st)->st_atim.tv_sec -= behind; \
			(st)->st_mtim.tv_sec -= behind; \
			(st)->st_ctim.tv_sec -= behind; \
		} \
	} while (0)

#define WRAP(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		const type rc = REAL(name) args; \
\
		if (rc == 0) \
			SHIFT(st); \
		return rc; \
	}

CALLS_STAT(WRAP, )
CALLS_STAT(WRAP, 64)

int
futimens(int fd, const struct timespec times[2])
{
	struct timespec own[2];
	struct stat st;

	if (times == NULL || REAL(syscall)(SYS_fstat, fd, &st) != 0 ||
	    st.st_dev == shared)
		return REAL(futimens)(fd, times);
	for (int i = 0; i < 2; i++) {
		own[i] = times[i];
		own[i].tv_sec += behind; /* ignored beside UTIME_NOW */
	}
	return REAL(futimens)(fd, own);
}
