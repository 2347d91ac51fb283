/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/halt.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "lock.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "room.h"
#include "str.h"

#define BACKUP HALT_FILE ".bak"

/* Upper bound of the size of a halt file, far above any real one. */
#define HALT_MAX ((size_t)1 << 20)

/* Seconds that a reader waits for the lock.  A reader without the lock that
 * finds the file damaged reads it again, READ_TRIES times in all, after a
 * pause. */
#define READ_WAIT 1
#define READ_TRIES 5
#define READ_PAUSE 20000000 /* ns */

/* Pass an error whose sentence begins with the file's name: put the prefix
 * before it. */
static int
give_file(struct error *err, const char *prefix, const struct error *why)
{
	return error_as(err, why, "%s/" SCR_DIR "/%s", prefix, why->text);
}

/* --- States --- */

void
halt_state_free(struct halt_state *s)
{
	kvtree_free(s->tree);
	buf_free(&s->path);
	*s = (struct halt_state){ .exists = false };
}

static int
state_init(struct halt_state *s, const char *prefix, struct error *err)
{
	*s = (struct halt_state){ .exists = false };
	s->tree = kvtree_new(err);
	if (s->tree == NULL)
		return -1;
	/* The prefix may be named as ".". */
	if ((path_real(prefix, &s->path, NULL) < 0
		     ? path_join(&s->path, prefix, SCR_DIR "/" HALT_FILE, err)
	     : buf_add_str(&s->path, "/" SCR_DIR "/" HALT_FILE) < 0
		     ? error_no_memory(err)
		     : 0) < 0 ||
	    halt_read(s->tree, &s->is, err) < 0) {
		halt_state_free(s);
		return -1;
	}
	return 0;
}

/* --- Directories --- */

/* Open PREFIX/.scr, created if `make`.  *dir is -1 after an error, and if the
 * directory is missing and `make` is false. */
static int
open_scr(const char *prefix, bool make, int *dir, struct error *err)
{
	struct error why = ERROR_INIT;
	int top = dir_open(AT_FDCWD, prefix);

	*dir = -1;
	if (top < 0)
		return error_sys(err, "%s: cannot open the prefix directory",
				 prefix);
	*dir = dataset_dir_open_scr(top, prefix, make, &why);
	close(top);
	if (*dir >= 0 || (!make && why.kind == ERROR_ABSENT))
		return 0;
	return error_pass(err, &why);
}

/* --- Reading --- */

/* Read and decode the open file once; damage is recorded in *s.  Bytes after
 * the image are left from a longer image (kvtree(5)). */
static int
read_once(int fd, struct halt_state *s, struct buf *raw, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;

	if (io_read_fd(fd, s->path.data, HALT_MAX, raw, &why) < 0) {
		if (why.kind != ERROR_CORRUPT)
			return error_pass(err, &why);
		s->exists = s->damaged = true;
		s->why = why;
		return 0;
	}
	s->exists = true;
	s->damaged = false;
	if (raw->len > 0) {
		t = kvtree_decode(raw->data, raw->len, NULL, &s->why);
		s->damaged = t == NULL || halt_read(t, &s->is, &s->why) < 0;
		if (s->damaged && s->why.kind == ERROR_NOMEM) {
			kvtree_free(t);
			return error_no_memory(err);
		}
	}
	if (t == NULL || s->damaged) {
		kvtree_free(t);
		t = kvtree_new(err);
	}
	kvtree_free(s->tree);
	s->tree = t;
	return t == NULL ? -1 : halt_read(t, &s->is, err);
}

int
halt_load(const char *prefix, struct halt_state *out, struct error *err)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	const struct timespec pause = { .tv_nsec = READ_PAUSE };
	struct error why = ERROR_INIT;
	struct buf raw = BUF_INIT;
	int dir = -1, fd = -1, rc = -1;

	if (state_init(out, prefix, err) < 0)
		return -1;
	rc = open_scr(prefix, false, &dir, err);
	if (dir >= 0) {
		fd = io_open_locked(dir, HALT_FILE, false, READ_WAIT, &why);
		if (fd >= 0)
			rc = read_once(fd, out, &raw, err);
		else if (why.kind != ERROR_SYSTEM && why.kind != ERROR_ABSENT)
			rc = give_file(err, prefix, &why);
	}
	if (dir >= 0 && fd < 0 && why.kind == ERROR_SYSTEM) {
		/* Read the file without its lock.  It may be in the middle of a
		 * rewrite, so it counts as damaged only if it stays so. */
		fd = dir_open_file(dir, HALT_FILE, flags, 0);
		if (fd < 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot open", out->path.data);
		for (int i = 0; fd >= 0 && rc == 0 && i < READ_TRIES; i++) {
			rc = read_once(fd, out, &raw, err);
			if (!out->damaged)
				break;
			nanosleep(&pause, NULL);
		}
	}
	io_close(fd);
	io_close(dir);
	buf_free(&raw);
	if (rc < 0)
		halt_state_free(out);
	return rc;
}

/* --- Changing --- */

int
halt_update(const char *prefix, unsigned flags,
	    int (*fn)(struct kvtree *t, void *arg, struct error *err),
	    void *arg, struct halt_state *out, struct error *err)
{
	const bool make = (flags & HALT_CREATE) != 0;
	const bool dry = (flags & HALT_DRY_RUN) != 0;
	struct error why = ERROR_INIT;
	struct buf old = BUF_INIT, raw = BUF_INIT;
	bool damaged = false, fresh = false;
	int dir = -1, fd = -1, rc = 0;

	if ((dry ? halt_load(prefix, out, err) : state_init(out, prefix, err)) <
	    0)
		return -1;
	if (!dry)
		rc = open_scr(prefix, make, &dir, err);
	if (dir >= 0) {
		fd = io_open_locked(dir, HALT_FILE, make, HALT_WAIT, &why);
		out->unlocked = fd < 0 && lock_unsupported(&why);
		if (out->unlocked) {
			error_clear(&why);
			fd = io_open(dir, HALT_FILE,
				     O_RDWR | (make ? O_CREAT : 0), 0666, &why);
		}
		if (fd < 0)
			room_explain(dir, 0, &why);
		if (fd >= 0)
			rc = read_once(fd, out, &old, err);
		else if (make || why.kind != ERROR_ABSENT)
			rc = give_file(err, prefix, &why);
	}
	/* Apply fn() to the contents. */
	damaged = out->damaged;
	fresh = rc == 0 && fd >= 0 && old.len == 0 && !damaged;
	if (rc == 0 && damaged && (flags & HALT_FORCE) == 0) {
		rc = error_set(err, ERROR_CORRUPT,
			       "%s: damaged, so it is not changed: %s",
			       out->path.data, out->why.text);
	} else if (rc == 0 && (dry ? make || out->exists : fd >= 0)) {
		out->damaged = false;
		out->exists = true;
		if (fn(out->tree, arg, err) < 0 ||
		    halt_read(out->tree, &out->is, err) < 0)
			rc = -1;
	}
	/* A file too large to read has no bytes here and gets no backup. */
	if (rc == 0 && damaged && old.len > 0)
		rc = io_replace(dir, BACKUP, old.data, old.len, 0666, err);
	if (rc == 0 && fd >= 0) {
		out->created = fresh;
		rc = kvtree_encode(out->tree, &raw, err);
	}
	/* If it cannot be written, restore the old contents. */
	if (rc == 0 && fd >= 0) {
		rc = io_rewrite(fd, out->path.data, raw.data, raw.len, err);
		if (rc < 0)
			room_explain(dir, raw.len, err);
		if (rc < 0 && old.len > 0)
			(void)io_rewrite(fd, HALT_FILE, old.data, old.len,
					 NULL);
	}
	if (rc == 0 && fd >= 0 && old.len == 0)
		rc = io_sync_dir(dir, out->path.data, err);
	/* On failure remove a file that was just created, under its lock.
	 * LLNL's library uses SCR_HALT_SECONDS only if there is no file. */
	if (rc < 0 && fresh)
		(void)unlinkat(dir, HALT_FILE, 0);
	if (fd >= 0 && close(fd) < 0 && rc == 0) {
		rc = error_sys(err, "%s: cannot close", out->path.data);
		if (fresh)
			(void)unlinkat(dir, HALT_FILE, 0);
	}
	io_close(dir);
	buf_free(&old);
	buf_free(&raw);
	if (rc < 0)
		halt_state_free(out);
	return rc;
}

static int
forget_finish(struct kvtree *t, void *was, struct error *err)
{
	struct halt h;

	if (halt_read(t, &h, err) < 0)
		return -1;
	*(bool *)was = h.reason != NULL && str_eq(h.reason, HALT_FINISHED);
	return *(bool *)was ? halt_set_reason(t, NULL, err) : 0;
}

int
halt_begin(const char *prefix, bool dry_run, bool *was, struct error *err)
{
	struct halt_state s;

	*was = false;
	if (halt_load(prefix, &s, err) < 0)
		return -1;
	/* Usually there is nothing to change, so do not write. */
	if (s.exists && !s.damaged && s.is.reason != NULL &&
	    str_eq(s.is.reason, HALT_FINISHED)) {
		halt_state_free(&s);
		if (halt_update(prefix, dry_run ? HALT_DRY_RUN : 0,
				forget_finish, was, &s, err) < 0)
			return -1;
	}
	halt_state_free(&s);
	return 0;
}

int
halt_remove(const char *prefix, bool dry_run, bool *was, struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;
	int dir = -1, fd = -1, rc = open_scr(prefix, false, &dir, err);

	*was = false;
	if (dir < 0)
		return rc;
	*was = dir_stat(dir, HALT_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*was && errno != ENOENT)
		rc = error_sys(err, "%s/" SCR_DIR "/" HALT_FILE, prefix);
	if (*was && !dry_run) {
		/* Under the lock if possible, so that a concurrent change is
		 * not lost half-way. */
		fd = io_open_locked(dir, HALT_FILE, false, HALT_WAIT, &why);
		if (why.errnum == EWOULDBLOCK)
			rc = give_file(err, prefix, &why);
		else if (unlinkat(dir, HALT_FILE, 0) < 0 && errno != ENOENT)
			rc = error_sys(err,
				       "%s/" SCR_DIR "/" HALT_FILE
				       ": cannot remove",
				       prefix);
		if (rc == 0)
			rc = io_sync_dir(dir, prefix, err);
	}
	io_close(fd);
	close(dir);
	return rc;
}
