/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen_halt_update - rewrite a halt file in a loop, as the library in a running
 * job does after each checkpoint (formats.md 1.5, 3.6): open, take a shared
 * lock, read, decrement CheckpointsLeft, write from the start, truncate,
 * unlock, sync.
 *
 * It writes in two halves with a pause between them, so that a reader without
 * the lock sees an incomplete file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/haltfile.h"
#include "opt.h"

struct settings {
	uint64_t rounds, pause;
	bool fcntl;
};

/* The library can be built with either kind of lock. */
static int
lock(const struct settings *s, int fd, bool on)
{
	struct flock whole = {
		.l_type = (short)(on ? F_RDLCK : F_UNLCK),
		.l_whence = SEEK_SET,
	};

	return s->fcntl ? fcntl(fd, F_SETLKW, &whole)
			: flock(fd, on ? LOCK_SH : LOCK_UN);
}

/* Change the file's contents as the library does. */
static int
decrement(struct buf *raw, struct error *err)
{
	struct kvtree *t = kvtree_decode(raw->data, raw->len, NULL, err);
	int64_t left = 0;
	int rc = -1;

	buf_clear(raw);
	if (t != NULL && halt_read_checkpoints(t, &left, err) == 0 &&
	    halt_set_number(t, "CheckpointsLeft", left > 0 ? left - 1 : 0,
			    err) == 0)
		rc = kvtree_encode(t, raw, err);
	kvtree_free(t);
	return rc;
}

static int
update(const struct settings *s, const char *file, struct buf *raw,
       struct error *err)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666), rc = -1;
	size_t half = 0;

	if (fd < 0 || lock(s, fd, true) < 0) {
		error_sys(err, "%s", file);
	} else if (io_read_fd(fd, file, 1 << 20, raw, err) == 0 &&
		   decrement(raw, err) == 0) {
		half = raw->len / 2;
		rc = io_pwrite(fd, file, raw->data, half, 0, err);
		usleep((useconds_t)s->pause);
		if (rc == 0)
			rc = io_pwrite(fd, file, raw->data + half,
				       raw->len - half, half, err);
		if (rc == 0 && ftruncate(fd, (off_t)raw->len) < 0)
			rc = error_sys(err, "%s", file);
		lock(s, fd, false);
		if (rc == 0)
			rc = io_fsync(fd, file, err);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int
main(int argc, char **argv)
{
	static const struct app_info info = {
		.name = "gen_halt_update",
		.summary = "rewrite a halt file as a running job does",
		.usage = "[OPTION]... FILE",
	};
	struct settings s = { .rounds = 1, .pause = 300 };
	const struct opt opts[] = {
		OPT_U64(0, "rounds", &s.rounds, "N", 1, 1000000,
			"how often (default once)"),
		OPT_U64(0, "pause", &s.pause, "US", 0, 1000000,
			"microseconds between the halves, and the rounds"),
		OPT_FLAG(0, "fcntl", &s.fcntl, "lock by fcntl(), not flock()"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct buf raw = BUF_INIT;
	int count = 0, status = 0;

	argv = app_start(&info, argc, argv, opts, &count);
	if (count != 1)
		app_usage("no file given");
	for (uint64_t i = 0; i < s.rounds && status == 0; i++) {
		if (update(&s, argv[0], &raw, &err) < 0)
			status = app_report(STATUS_OK, &err);
		usleep((useconds_t)s.pause);
	}
	buf_free(&raw);
	return app_finish(status);
}
