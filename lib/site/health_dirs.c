/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * health_dirs.c - the part of a health check that runs on the node.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "room.h"
#include "site/health.h"
#include "str.h"

/* What is wrong with a directory, as a state and as a clause. */
struct finding {
	enum health_state state;
	char why[256];
};

static int
found(struct finding *f, enum health_state state, int errnum)
{
	f->state = state;
	snprintf(f->why, sizeof(f->why), "%s", strerror(errnum));
	return -1;
}

/* The state for the errno of a failed write. */
static enum health_state
state_of(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
		return HEALTH_FULL;
	case ENOENT:
	case ENOTDIR:
		return HEALTH_MISSING;
	default:
		return HEALTH_UNWRITABLE;
	}
}

static int
have_dir(const char *path, struct finding *f)
{
	struct stat st;
	int why = ENOTDIR;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (io_make_dirs(path, 0700, NULL) < 0)
		why = errno;
	else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return found(
		f, state_of(why) == HEALTH_FULL ? HEALTH_FULL : HEALTH_MISSING,
		why);
}

static int
large_enough(const char *path, uint64_t bytes, bool spare, struct finding *f)
{
	char have[32], want[32];
	struct statvfs fs;
	double size = 0;

	if (bytes == 0)
		return 0;
	if (statvfs(path, &fs) < 0)
		return found(f, HEALTH_MISSING, errno);
	size = (double)fs.f_frsize *
	       (double)(spare ? fs.f_bavail : fs.f_blocks);
	if (size >= (double)bytes)
		return 0;
	f->state = spare ? HEALTH_FULL : HEALTH_SMALL;
	snprintf(f->why, sizeof(f->why), "%s%s, %s needed",
		 str_bytes(have, sizeof(have), (uint64_t)size),
		 spare ? " free" : "", str_bytes(want, sizeof(want), bytes));
	return -1;
}

static int
try_write(int dir, struct finding *f)
{
	struct error why = ERROR_INIT;

	if (room_try(dir, &why) == 0)
		return 0;
	return found(f, state_of(why.errnum), why.errnum);
}

static void
test_dir(const struct health_test *t, const struct health_dir *d,
	 struct finding *f)
{
	int fd = -1;

	f->state = HEALTH_OK;
	if (d->path[0] != '/') {
		found(f, HEALTH_MISSING, ENOENT);
		snprintf(f->why, sizeof(f->why), "not an absolute path");
		return;
	}
	if (t->use == HEALTH_RUN && have_dir(d->path, f) < 0)
		return;
	fd = dir_open(AT_FDCWD, d->path);
	if (fd < 0) {
		found(f, HEALTH_MISSING, errno);
		return;
	}
	/* Check for too small first: that is worse than full. */
	if (t->use == HEALTH_RUN &&
	    large_enough(d->path, d->bytes, false, f) == 0 &&
	    try_write(fd, f) == 0 && t->free)
		(void)large_enough(d->path, d->bytes, true, f);
	close(fd);
}

enum health_state
health_test_dir(const struct health_test *t, const struct health_dir *d,
		struct buf *out)
{
	struct finding f;

	test_dir(t, d, &f);
	if (f.state != HEALTH_OK)
		buf_printf(out, HEALTH_FAIL "%s: %s: %s\n",
			   health_word(f.state), d->path, f.why);
	return f.state;
}
