/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/attr.h"
#include "path.h"
#include "progress.h"
#include "transfer/pump.h"
#include "transfer/put.h"
#include "work.h"

/* A file to be copied. */
struct copy {
	const struct fti_clone *file;
	struct stat st;
	struct attr attr;
	struct put_file *put;
	uint32_t crc;
	bool back; /* it is in place, and read back */
};

struct copying {
	const struct fti_cloning *c;
	struct copy *list;
	size_t count;
	const struct work *w;
};

bool
fti_clone_same(const struct stat *from, const struct stat *to)
{
	return S_ISREG(to->st_mode) && from->st_size == to->st_size &&
	       from->st_mtim.tv_sec == to->st_mtim.tv_sec &&
	       from->st_mtim.tv_nsec == to->st_mtim.tv_nsec;
}

/* --- Links --- */

/* Returns 1: linked or in place; 0: to be copied. */
static int
link_one(struct fti_cloning *c, const struct fti_clone *f, struct stat *st,
	 struct error *err)
{
	const char *from = NULL, *to = NULL;
	int fromfd = path_open_parent(c->fromfd, f->from, false, 0, &from, err);
	int tofd = fromfd < 0 ? -1
			      : path_open_parent(c->tofd, f->to, true, 0777,
						 &to, err);
	struct stat is;
	int rc = -1;
	bool copy = c->copy;

	if (tofd < 0)
		goto out;
	if (dir_stat(fromfd, from, st, AT_SYMLINK_NOFOLLOW) < 0)
		error_sys(err, "%s/%s", c->from, f->from);
	else if (!S_ISREG(st->st_mode))
		error_set(err, ERROR_UNSAFE, "%s/%s: not a regular file",
			  c->from, f->from);
	else if (dir_stat(tofd, to, &is, AT_SYMLINK_NOFOLLOW) == 0) {
		rc = fti_clone_same(st, &is)
			     ? 1
			     : error_set(err, ERROR_USAGE,
					 "%s/%s: another file has this name",
					 c->to, f->to);
	} else if (!copy && linkat(fromfd, from, tofd, to, 0) == 0) {
		c->linked++;
		rc = io_sync_dir(tofd, c->to, err) < 0 ? -1 : 1;
	} else {
		/* Where there may be no link, a copy is possible. */
		copy = copy || errno == EXDEV || errno == EPERM ||
		       errno == EMLINK || errno == EOPNOTSUPP ||
		       errno == ENOSYS;
		rc = copy ? 0
			  : error_sys(err, "%s/%s: cannot link", c->to, f->to);
	}
out:
	io_close(tofd);
	io_close(fromfd);
	return rc;
}

/* --- Copies --- */

static uint64_t
size_of(void *arg, size_t i)
{
	return (uint64_t)((struct copying *)arg)->list[i].st.st_size;
}

static int
open_copy(void *arg, size_t i, struct pump *p, struct error *err)
{
	const struct copying *k = arg;
	struct copy *f = &k->list[i];
	const int dirfd = f->back ? k->c->tofd : k->c->fromfd;

	*p = (struct pump){
		.name = f->back ? f->file->to : f->file->from,
		.size = (uint64_t)f->st.st_size,
		.has_crc = f->back,
		.crc = f->crc,
		.to = -1,
		.put = f->back ? NULL : f->put,
	};
	if (work_go_on(k->w, err) < 0)
		return -1;
	p->from = path_open_beneath(dirfd, p->name, O_RDONLY | O_NOFOLLOW, 0,
				    err);
	if (p->from < 0)
		return -1;
	if (!f->back)
		p->to = put_open(f->put, err);
	if (f->back || p->to >= 0)
		return 1;
	close(p->from);
	return -1;
}

static int
close_copy(void *arg, size_t i, const struct pump *p, int rc, struct error *err)
{
	const struct copying *k = arg;
	struct copy *f = &k->list[i];

	close(p->from);
	f->crc = p->crc;
	progress_add(k->w->progress, (uint64_t)f->st.st_size);
	if (f->back)
		return rc;
	if (rc != 1)
		put_drop(f->put);
	else if (put_wrote(f->put, (uint64_t)f->st.st_size, err) < 0)
		return -1;
	return rc;
}

static int
run(struct copying *k, struct error *err)
{
	const struct pump_list l = {
		.par = k->w->par,
		.count = k->count,
		.size = size_of,
		.open = open_copy,
		.close = close_copy,
		.arg = k,
	};

	return pump_each(&l, err) == 1 ? 0 : -1;
}

int
fti_clone(struct fti_cloning *c, const struct fti_clone *list, size_t count,
	  const struct work *w, struct error *err)
{
	struct copying k = { .c = c, .w = work_or_default(w) };
	const struct put_options o = { .par = k.w->par, .work = k.w };
	struct put *put = NULL;
	struct error why = ERROR_INIT;
	int rc = 0;

	k.list = mem_calloc(count + 1, sizeof(*k.list));

	for (size_t i = 0; rc >= 0 && i < count; i++) {
		struct copy *f = &k.list[k.count];

		f->file = &list[i];
		rc = work_go_on(w, err) < 0
			     ? -1
			     : link_one(c, &list[i], &f->st, err);
		k.count += rc == 0;
		c->bytes += rc == 0 ? (uint64_t)f->st.st_size : 0;
	}
	c->copied = k.count;
	put = put_new(&o, NULL);
	for (size_t i = 0; rc >= 0 && i < k.count; i++) {
		struct copy *f = &k.list[i];

		attr_from_stat(&f->attr, &f->st);
		f->put = put_add(put,
				 &(struct put_what){
					 .dirfd = c->tofd,
					 .path = f->file->to,
					 .size = (uint64_t)f->st.st_size,
					 .attr = &f->attr,
				 },
				 NULL);
	}
	if (rc >= 0 && k.count > 0 &&
	    (put_clear(put, err) < 0 || put_check_room(put, c->to, err) < 0 ||
	     run(&k, err) < 0 || put_commit(put, err) < 0))
		rc = -1;
	put_free(put);
	for (size_t i = 0; i < k.count; i++)
		k.list[i].back = true;
	/* Read the copies back.  A wrong one does not stay. */
	if (rc >= 0 && k.count > 0 && run(&k, &why) < 0) {
		rc = error_pass(err, &why);
		for (size_t i = 0; why.kind == ERROR_DAMAGED && i < k.count;
		     i++) {
			const char *base = NULL;
			const int fd =
				path_open_parent(c->tofd, k.list[i].file->to,
						 false, 0, &base, NULL);

			if (fd >= 0)
				(void)unlinkat(fd, base, 0);
			io_close(fd);
		}
	}
	mem_free(k.list);
	return rc < 0 ? -1 : 0;
}
