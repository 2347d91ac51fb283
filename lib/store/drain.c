/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "pace.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "store/names.h"
#include "store/offload.h"
#include "store/store_impl.h"
#include "temp.h"
#include "work.h"

struct drainer {
	const struct store *s;
	struct pace *pace;
	const struct work *work;
	struct drained *d;
	int from, to; /* directories */
};

/* Open a file of the store.  False, with f->state: it is not finished. */
static bool
begin(const struct drainer *d, struct drain_file *f, struct offload *o)
{
	const struct slot *l = NULL;
	struct stat is;
	int rc = fstatat(d->from, o->name, &is, 0);

	if (rc == 0 && !S_ISREG(is.st_mode)) {
		errno = EISDIR;
		rc = -1;
	}
	/* While the file is moved to the disk, this waits. */
	if (rc == 0)
		o->from = openat(d->from, o->name,
				 O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (o->from < 0) {
		f->errnum = errno;
		f->state = errno == ENOENT && faccessat(d->from, o->name, F_OK,
							AT_SYMLINK_NOFOLLOW) < 0
				   ? DRAIN_GONE
				   : DRAIN_BAD;
		return false;
	}
	f->state = DRAIN_UNFINISHED;
	if (!offload_lease(o, F_RDLCK))
		return false;
	f->size = (uint64_t)o->is.st_size;
	l = o->is.st_dev == d->s->dev ? names_slot(d->s, o->is.st_ino) : NULL;
	return l == NULL ||
	       (slot_pid(l) == 0 && atomic_load(&l->before) == STORE_NO_WRITE);
}

/* Is the file there already?  1, 0; or -1. */
static int
is_there(const struct drainer *d, struct offload *o, struct error *err)
{
	struct offload there = *o;
	int rc = 0;

	there.leased = false;
	there.from = path_open_beneath(d->to, o->name, O_RDONLY | O_NOFOLLOW, 0,
				       NULL);
	if (there.from >= 0 && fstat(there.from, &there.is) == 0 &&
	    S_ISREG(there.is.st_mode) && there.is.st_size == o->is.st_size &&
	    there.is.st_mtim.tv_sec == o->is.st_mtim.tv_sec &&
	    offload(&there, NULL) == 1) {
		rc = offload(o, err);
		if (rc == 1 && there.crc != o->crc)
			rc = 0;
	}
	io_close(there.from);
	return rc;
}

static int
drain_one(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct drainer *d = arg;
	struct drain_file *f = &d->d->files[i];
	struct offload o = { .pace = d->pace,
			     .name = d->d->names.list[i].path,
			     .from = -1,
			     .to = -1 };
	const char *base = NULL;
	int dir = -1, rc = 0;

	(void)worker;
	if (!begin(d, f, &o))
		goto out;
	rc = is_there(d, &o, err);
	if (rc == 1)
		f->state = DRAIN_THERE;
	if (rc != 0)
		goto out;
	dir = path_open_parent(d->to, o.name, true, 0777, &base, err);
	if (dir >= 0)
		o.to = temp_make(dir, base, 0600, create_owner(dir));
	if (o.to < 0) {
		rc = dir < 0 ? -1 : error_sys(err, "%s", o.name);
		goto out;
	}
	rc = offload(&o, err);
	if (rc == 1 && temp_commit(dir, base) == 0)
		f->state = DRAIN_COPIED;
	else if (rc == 1)
		rc = error_sys(err, "%s: cannot rename its copy", o.name);
	if (rc == 1)
		rc = io_sync_dir(dir, o.name, err);
	if (f->state != DRAIN_COPIED)
		(void)temp_remove(dir, base);
out:
	if (rc < 0 && o.unread) {
		f->state = DRAIN_BAD;
		f->errnum = EIO;
		error_clear(err);
		rc = 0;
	}
	f->crc = o.crc;
	progress_add(d->work->progress, f->size);
	io_close(o.to);
	io_close(o.from);
	io_close(dir);
	return rc < 0 ? -1 : work_go_on(d->work, err);
}

/* Make and open the target. */
static int
open_target(const struct store *s, const char *to, struct error *err)
{
	struct buf real = BUF_INIT;
	int fd = -1;

	if (io_make_dirs(to, 0777, err) == 0 &&
	    path_real(to, &real, err) == 0) {
		if (path_below(real.data, s->dir) != NULL)
			error_set(err, ERROR_USAGE, "%s: in the store", to);
		else if ((fd = dir_open(AT_FDCWD, to)) < 0)
			error_sys(err, "%s", to);
	}
	buf_free(&real);
	return fd;
}

int
drain(const struct store *s, const char *to, struct pace *p,
      const struct work *w, struct drained *list, struct error *err)
{
	struct drainer d = { s, p, w, list, -1, -1 };
	uint64_t bytes = 0;
	size_t count = 0;
	int rc = -1;

	*list = (struct drained){ .files = NULL };
	d.to = open_target(s, to, err);
	if (d.to >= 0 && (d.from = dir_open(AT_FDCWD, s->dir)) < 0)
		error_sys(err, "%s", s->dir);
	else if (d.to >= 0)
		rc = names_list(s, &list->names, err);
	count = list->names.count;
	list->files = mem_calloc(count + 1, sizeof(*list->files));
	if (rc == 0 && list->files == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		list->files[i].size = (uint64_t)list->names.list[i].is.st_size;
		bytes += list->files[i].size;
	}
	if (rc == 0) {
		progress_phase(w->progress, "copying", bytes);
		rc = par_for(w->par, count, 1, drain_one, &d, err);
	}
	io_close(d.from);
	io_close(d.to);
	return rc;
}

void
drain_free(struct drained *d)
{
	names_free(&d->names);
	mem_free(d->files);
}
