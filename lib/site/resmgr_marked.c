/* SPDX-License-Identifier: BSD-3-Clause */
/* resmgr_marked.c - which processes of this machine a launcher has started. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "io.h"
#include "site/resmgr.h"
#include "str.h"

/* Most bytes of an environment that is searched. */
#define ENVIRON_MAX ((size_t)8 << 20)

/* Bytes of a /proc/PID/stat, far above the real size, and fields of it. */
#define STAT_MAX 4096
#define STAT_VSIZE 23
#define STAT_ENV_END 51

/* Looks at a process within exec(2), 1 ms apart. */
#define EXEC_LOOKS 1000

/* Is the process within exec(2), where it has memory, but no environment? */
static bool
in_exec(const char *pid)
{
	struct buf raw = BUF_INIT;
	char path[64];
	const char *at = NULL;
	unsigned long memory = 0, environment = 1;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	if (io_read_file(AT_FDCWD, path, STAT_MAX, &raw, NULL) == 0 &&
	    raw.len > 0)
		/* The name in parentheses may contain ')'. */
		at = strrchr(raw.data, ')');
	for (int field = 2; at != NULL && field <= STAT_ENV_END; field++) {
		if (field == STAT_VSIZE)
			memory = strtoul(at, NULL, 10);
		else if (field == STAT_ENV_END)
			environment = strtoul(at, NULL, 10);
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	buf_free(&raw);
	return memory > 0 && environment == 0;
}

bool
resmgr_marked(const char *pid, const char *mark)
{
	const struct timespec look = { .tv_nsec = 1000000 };
	struct buf raw = BUF_INIT;
	char path[64];
	size_t before = SIZE_MAX;
	bool ours = false;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	/* An exec(2) takes the environment away under the reader: "no" is what
	 * two looks say. */
	for (int i = 0; i < EXEC_LOOKS && !ours; i++) {
		if (io_read_file(AT_FDCWD, path, ENVIRON_MAX, &raw, NULL) < 0)
			break;
		for (size_t k = 0; k < raw.len && !ours;
		     k += strlen(raw.data + k) + 1)
			ours = str_eq(raw.data + k, mark);
		if (in_exec(pid))
			nanosleep(&look, NULL);
		else if (raw.len == before)
			break;
		before = raw.len;
	}
	buf_free(&raw);
	return ours;
}
