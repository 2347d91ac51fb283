/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind_run.c - carry out the steps of a restart, and undo them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/ini.h"
#include "ftijob/archive.h"
#include "ftijob/rewind.h"
#include "ftijob/rewind_impl.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "str.h"
#include "temp.h"
#include "work.h"

#define NANO INT64_C(1000000000)

/* lstat(2) below the root.  1; 0: it is missing; -1. */
static int
look(const struct fti_rewind *r, const char *path, struct stat *st,
     struct error *err)
{
	struct error why = ERROR_INIT;
	const char *base = NULL;
	int fd = path_open_parent(r->fd, path, false, 0, &base, &why);
	int rc = 1;

	if (fd < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	if (dir_stat(fd, base, st, AT_SYMLINK_NOFOLLOW) < 0)
		rc = errno == ENOENT ? 0
				     : error_sys(err, "%s/%s", r->root, path);
	close(fd);
	return rc;
}

/* Rename, and sync both directories.  A directory may take the place of an
 * empty one. */
static int
move(const struct fti_rewind *r, const char *from, const char *to,
     struct error *err)
{
	const char *source = NULL, *target = NULL;
	int in = path_open_parent(r->fd, from, false, 0, &source, err);
	int out =
		in < 0 ? -1
		       : path_open_parent(r->fd, to, true, 0777, &target, err);
	int rc = out < 0 ? -1 : 0;

	if (rc == 0 && renameat(in, source, out, target) < 0)
		rc = error_sys(err, "%s/%s: cannot rename it to %s", r->root,
			       from, to);
	if (rc < 0 || io_sync_dir(out, r->root, err) < 0 ||
	    io_sync_dir(in, r->root, err) < 0)
		rc = -1;
	io_close(in);
	io_close(out);
	return rc;
}

/* --- Configuration --- */

/* Read config.fti, and its old and new text.  1: a backup exists; 0; -1. */
struct texts {
	struct buf now, old, new;
	bool missing;
};

static int
read_texts(const struct fti_rewind *r, struct texts *t, struct error *err)
{
	struct stat st;
	const int has = look(r, r->backup, &st, err);
	const int is = has < 0 ? -1 : look(r, r->config, &st, err);
	int rc = is;

	t->missing = is == 0;
	if (is == 1)
		rc = io_read_file(r->fd, r->config, FTI_INI_MAX, &t->now, err);
	if (rc >= 0 && (has == 1 || is == 1))
		rc = io_read_file(r->fd, has == 1 ? r->backup : r->config,
				  FTI_INI_MAX, &t->old, err);
	if (rc >= 0)
		rc = rewind_config_text(r, &t->old, &t->new, err);
	return rc < 0 ? -1 : has;
}

static void
free_texts(struct texts *t)
{
	buf_free(&t->now);
	buf_free(&t->old);
	buf_free(&t->new);
}

static int
changed(const struct fti_rewind *r, const char *path, struct error *err)
{
	return error_set(err, ERROR_USAGE,
			 "%s/%s: was changed since the restart was prepared",
			 r->root, path);
}

/* --- Doing --- */

int
fti_rewind_apply(struct fti_rewind *r, int fromfd, const struct work *w,
		 struct error *err)
{
	struct fti_clone *list = mem_calloc(r->count + 1, sizeof(*list));
	struct fti_cloning c = {
		.fromfd = r->outside ? fromfd : r->fd,
		.tofd = r->fd,
		.from = r->outside ? "the archive" : r->root,
		.to = r->root,
	};
	const struct fti_clone backup = { r->config, r->backup };
	struct fti_cloning config = {
		.fromfd = r->fd, .tofd = r->fd, .from = r->root, .to = r->root
	};
	struct texts t = { .now = BUF_INIT, .old = BUF_INIT, .new = BUF_INIT };
	const char *base = NULL;
	size_t n = 0;
	int rc = 0, has = 0, fd = -1;

	r->state = FTI_REWIND_BEGUN;
	rc = rewind_journal_write(r, err);
	for (size_t i = 0; rc == 0 && i < r->count; i++) {
		const struct fti_step *s = &r->steps[i];
		struct stat st;

		if (s->kind == FTI_STEP_PUT)
			list[n++] = (struct fti_clone){ s->from, s->to };
		rc = work_go_on(w, err);
		if (rc < 0 || s->kind != FTI_STEP_HIDE)
			continue;
		rc = look(r, s->to, &st, err);
		if (rc == 0)
			rc = move(r, s->from, s->to, err);
		rc = rc < 0 ? -1 : 0;
	}
	if (rc == 0 && n > 0 && c.fromfd < 0)
		rc = error_set(err, ERROR_USAGE,
			       "%s: the checkpoint comes from another "
			       "directory, which was not given",
			       r->root);
	if (rc == 0)
		rc = fti_clone(&c, list, n, w, err);
	mem_free(list);
	has = rc < 0 || r->config == NULL ? rc : read_texts(r, &t, err);
	rc = has < 0 ? -1 : 0;
	if (rc == 0 && r->config != NULL && !buf_equal(&t.now, &t.new)) {
		if (has == 0)
			rc = fti_clone(&config, &backup, 1, w, err);
		else if (!buf_equal(&t.now, &t.old))
			rc = changed(r, r->config, err);
		fd = rc < 0 ? -1
			    : path_open_parent(r->fd, r->config, false, 0,
					       &base, err);
		rc = fd < 0 ? -1
			    : io_replace(fd, base, t.new.data, t.new.len, 0666,
					 err);
		io_close(fd);
	}
	free_texts(&t);
	if (rc < 0)
		return -1;
	r->state = FTI_REWIND_DONE;
	return rewind_journal_write(r, err);
}

/* --- Undoing --- */

/* What was hidden may have a new directory in its place.  May it be removed:
 * has it only files that were put there? */
static int
check_hidden(const struct fti_rewind *r, const struct fti_step *s,
	     struct error *err)
{
	struct stat st;
	struct dir_walk w;
	const char *name = NULL;
	const size_t len = strlen(s->from);
	int rc = look(r, s->to, &st, err), fd = -1;

	if (rc == 1)
		rc = look(r, s->from, &st, err);
	if (rc != 1)
		return rc;
	if (!s->dir || !S_ISDIR(st.st_mode))
		return changed(r, s->from, err);
	fd = path_open_beneath(r->fd, s->from,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, err);
	if (fd < 0)
		return -1;
	rc = dir_walk(&w, fd, s->from, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		bool put = temp_is(name);

		for (size_t i = 0; i < r->count && !put; i++) {
			const char *to = r->steps[i].to;

			put = r->steps[i].kind == FTI_STEP_PUT &&
			      strncmp(to, s->from, len) == 0 &&
			      to[len] == '/' && str_eq(to + len + 1, name);
		}
		if (!put)
			rc = changed(r, s->from, err);
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

/* Has the directory of a file that was put the old files again?  1, 0, -1. */
static int
is_restored(const struct fti_rewind *r, const struct fti_step *s,
	    struct error *err)
{
	const size_t len = rewind_dir_len(s->to) - 1;
	struct stat st;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->count; i++) {
		const struct fti_step *h = &r->steps[i];

		if (h->kind != FTI_STEP_HIDE || !h->dir ||
		    strlen(h->from) != len || strncmp(h->from, s->to, len) != 0)
			continue;
		rc = look(r, h->to, &st, err);
		return rc < 0 ? -1 : rc == 0;
	}
	return rc;
}

/* Before anything is undone: was anything changed since? */
static int
check_all(const struct fti_rewind *r, struct error *err)
{
	struct texts t = { .now = BUF_INIT, .old = BUF_INIT, .new = BUF_INIT };
	struct stat st;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->count; i++) {
		const struct fti_step *s = &r->steps[i];

		if (s->kind == FTI_STEP_HIDE)
			rc = check_hidden(r, s, err);
		if (s->kind != FTI_STEP_PUT)
			continue;
		rc = is_restored(r, s, err);
		if (rc == 1) {
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = look(r, s->to, &st, err);
		if (rc == 1 && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == s->size &&
		    st.st_mtim.tv_sec * NANO + st.st_mtim.tv_nsec == s->mtime)
			rc = 0;
		if (rc == 1)
			rc = changed(r, s->to, err);
	}
	if (rc < 0 || r->config == NULL)
		return rc;
	rc = read_texts(r, &t, err);
	if (rc == 1 && !t.missing && !buf_equal(&t.now, &t.old) &&
	    !buf_equal(&t.now, &t.new))
		rc = changed(r, r->config, err);
	free_texts(&t);
	return rc < 0 ? -1 : 0;
}

/* Remove a file, which may be missing, and temporary ones of it. */
static int
remove_file(const struct fti_rewind *r, const char *path, struct error *err)
{
	struct error why = ERROR_INIT;
	const char *base = NULL;
	int fd = path_open_parent(r->fd, path, false, 0, &base, &why), rc = 0;

	if (fd < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	if ((unlinkat(fd, base, 0) < 0 && errno != ENOENT) ||
	    temp_remove(fd, base) < 0)
		rc = error_sys(err, "%s/%s: cannot remove", r->root, path);
	if (rc == 0)
		rc = io_sync_dir(fd, r->root, err);
	close(fd);
	return rc;
}

/* Remove a directory of our own if it is empty; `len`: of its path. */
static void
remove_empty(const struct fti_rewind *r, const char *path, size_t len)
{
	const char *base = NULL, *dir = arena_strndup(r->arena, path, len);
	const int fd = path_open_parent(r->fd, dir, false, 0, &base, NULL);

	if (fd >= 0)
		(void)unlinkat(fd, base, AT_REMOVEDIR);
	io_close(fd);
}

/* Remove the journal, and temporary files of an interrupted run. */
static int
end(const struct fti_rewind *r, struct error *err)
{
	const char *name = rewind_journal_str(r), *base = NULL;
	int fd = -1;

	if (r->config != NULL)
		fd = path_open_parent(r->fd, r->config, false, 0, &base, NULL);
	if (fd >= 0) {
		(void)temp_remove(fd, base);
		(void)temp_remove(fd, path_base(r->backup));
		close(fd);
	}
	(void)temp_remove(r->fd, name);
	if (unlinkat(r->fd, name, 0) < 0 && errno != ENOENT)
		return error_sys(err, "%s/%s: cannot remove", r->root, name);
	return io_sync_dir(r->fd, r->root, err);
}

void
fti_rewind_forget(const struct fti_rewind *r)
{
	(void)temp_remove(r->fd, rewind_journal_str(r));
}

int
fti_rewind_undo(struct fti_rewind *r, const struct work *w, struct error *err)
{
	struct stat st;
	int rc = check_all(r, err);

	if (rc == 0) {
		r->state = FTI_REWIND_UNDOING;
		rc = rewind_journal_write(r, err);
	}
	if (rc == 0 && r->config != NULL) {
		rc = look(r, r->backup, &st, err);
		/* If both are links to one file, the renaming does nothing. */
		if (rc == 1)
			rc = move(r, r->backup, r->config, err) < 0
				     ? -1
				     : remove_file(r, r->backup, err);
	}
	for (size_t n = 3 * r->count; rc >= 0 && n-- > 0;) {
		const struct fti_step *s = &r->steps[n % r->count];
		const char *own = NULL, *slash = NULL;

		/* First all PUT, then MAKE, then HIDE. */
		if ((size_t)s->kind != n / r->count)
			continue;
		rc = work_go_on(w, err);
		if (rc == 0 && s->kind == FTI_STEP_PUT) {
			rc = is_restored(r, s, err);
			if (rc == 0)
				rc = remove_file(r, s->to, err);
		} else if (rc == 0 && s->kind == FTI_STEP_MAKE) {
			remove_empty(r, s->to, strlen(s->to));
		} else if (rc == 0) {
			rc = look(r, s->to, &st, err);
			if (rc == 1)
				rc = move(r, s->to, s->from, err);
			/* Remove the directories that hid something:
			 * .../scr_fti.hidden.1, and below it that of a level if
			 * only files of it were hidden. */
			own = strstr(s->to, HIDDEN);
			slash = own == NULL ? NULL : strchr(own, '/');
			if (rc >= 0 && slash != NULL && !s->dir)
				remove_empty(r, s->to,
					     rewind_dir_len(s->to) - 1);
			if (rc >= 0 && slash != NULL)
				remove_empty(r, s->to, (size_t)(slash - s->to));
		}
	}
	return rc < 0 ? -1 : end(r, err);
}
