/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue/catalogue_impl.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "mem.h"
#include "meta/summary.h"
#include "num.h"
#include "path.h"

/* --- The prefix --- */

struct catalogue *
catalogue_open(const char *path, struct error *err)
{
	struct catalogue *c = mem_calloc(1, sizeof(*c));
	struct error why = ERROR_INIT;

	if (c == NULL)
		return error_no_memory_null(err);
	c->scr_fd = -1;
	c->path = mem_strdup(path);
	c->prefix_fd = dir_open(AT_FDCWD, path);
	if (c->prefix_fd < 0)
		error_sys(err, "%s: cannot open the prefix directory", path);
	else if (c->path == NULL)
		error_no_memory(err);
	else if (catalogue_open_scr(c, false, &why) == 0 ||
		 why.kind == ERROR_ABSENT)
		return c;
	else
		error_pass(err, &why);
	catalogue_close(c);
	return NULL;
}

void
catalogue_close(struct catalogue *c)
{
	if (c == NULL)
		return;
	io_close(c->scr_fd);
	io_close(c->prefix_fd);
	catalogue_strays_free(c->strays);
	catalogue_unnamed_free(c->unnamed);
	buf_free(&c->notice);
	mem_free(c->path);
	mem_free(c);
}

void
catalogue_stop_on(struct catalogue *c, bool (*stop)(void))
{
	c->stop = stop;
}

const char *
catalogue_path(const struct catalogue *c)
{
	return c->path;
}

int
catalogue_prefix_fd(const struct catalogue *c)
{
	return c->prefix_fd;
}

int
catalogue_scr_fd(const struct catalogue *c)
{
	return c->scr_fd;
}

const char *
catalogue_notice(const struct catalogue *c)
{
	return c->notice.len > 0 ? c->notice.data : NULL;
}

bool
catalogue_damaged(const struct catalogue *c)
{
	return c->damaged;
}

int
catalogue_open_scr(struct catalogue *c, bool make, struct error *err)
{
	if (c->scr_fd < 0)
		c->scr_fd =
			dataset_dir_open_scr(c->prefix_fd, c->path, make, err);
	return c->scr_fd < 0 ? -1 : 0;
}

/* --- Dataset directories --- */

int
catalogue_dir_open(struct catalogue *c, int64_t id, struct catalogue_dir *d,
		   struct error *err)
{
	struct error why = ERROR_INIT;

	d->id = id;
	d->fd = d->lock = -1;
	snprintf(d->name, sizeof(d->name), DATASET_DIR_FMT, id);
	/* The owner may have moved it to another file system, with a link in
	 * its place. */
	if (c->scr_fd >= 0)
		d->fd = path_open_dir(c->scr_fd, d->name, &why);
	if (d->fd >= 0)
		return 0;
	if (c->scr_fd < 0 || why.kind == ERROR_ABSENT)
		return error_set(err, ERROR_ABSENT, "%s/%s/%s: no such dataset",
				 c->path, SCR_DIR, d->name);
	return error_as(err, &why, "%s/%s/%s", c->path, SCR_DIR, why.text);
}

int
catalogue_dir_lock(struct catalogue *c, struct catalogue_dir *d,
		   const struct catalogue_options *o, struct error *err)
{
	struct error why = ERROR_INIT;

	d->lock = lock_take(d->fd, d->name, &o->work, &why);
	if (d->lock != -1)
		return 0;
	return error_as(err, &why, "%s/%s/%s", c->path, SCR_DIR, why.text);
}

void
catalogue_dir_close(struct catalogue_dir *d)
{
	lock_give(d->fd, d->lock);
	io_close(d->fd);
	d->fd = d->lock = -1;
}

int
catalogue_dir_unlink(const struct catalogue_dir *d, const char *name,
		     struct error *err)
{
	if (unlinkat(d->fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* A directory of this name is not ours; an empty one is nobody's. */
	if (errno == EISDIR) {
		(void)unlinkat(d->fd, name, AT_REMOVEDIR);
		return 0;
	}
	return error_sys(err, "%s/%s: cannot remove", d->name, name);
}

int
catalogue_dir_clear(const struct catalogue_dir *d, unsigned kinds,
		    struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, d->fd, d->name, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if ((kinds >> dataset_dir_kind(name, NULL) & 1) != 0)
			rc = catalogue_dir_unlink(d, name, err);
	return dir_done(&w, rc, err);
}

int64_t *
catalogue_dirs(struct catalogue *c, size_t *count, struct error *err)
{
	const char *name = NULL;
	int64_t *ids = NULL, id = -1;
	size_t n = 0, cap = 0;
	struct dir_walk w;
	int rc = 0;

	*count = 0;
	if (c->scr_fd < 0)
		return NULL;
	rc = dir_walk(&w, c->scr_fd, SCR_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		id = dataset_dir_id(name);
		if (id >= 0 && !MEM_ROOM(ids, n, cap))
			rc = error_no_memory(err);
		else if (id >= 0)
			ids[n++] = id;
	}
	if (dir_done(&w, rc, err) < 0) {
		error_wrap(err, "%s", c->path);
		mem_free(ids);
		*count = (size_t)-1;
		return NULL;
	}
	if (n > 0)
		qsort(ids, n, sizeof(*ids), num_by_id);
	*count = n;
	return ids;
}

/* --- Helpers --- */

struct kvtree *
catalogue_summary(struct catalogue *c, int64_t id, struct summary *out,
		  struct stat *st, struct error *err)
{
	return summary_load(
		c->scr_fd,
		str_printed(64, DATASET_DIR_FMT "/" SUMMARY_FILE, id), st, out,
		err);
}
