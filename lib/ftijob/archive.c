/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "ftijob/set.h"
#include "io.h"
#include "mem.h"
#include "meta/attr.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/pump.h"
#include "transfer/put.h"
#include "work.h"

#define NEW FTI_OURS "new."
#define OLD FTI_OURS "old."

/* --- Where files belong --- */

const char *
fti_archive_home(const char *path, struct arena *a)
{
	const char *l4 = fti_levels[FTI_L4].dir;
	char *to = arena_alloc(a, strlen(path) + 2, 1);
	char name[FTI_NAME_MAX];
	size_t len = 0, before = 0; /* of `to`, at the archive's directory */
	bool own = false;

	for (const char *at = path; *at != '\0'; at += *at == '/') {
		const char *begin = at;
		size_t n = strcspn(at, "/");

		at += n;
		snprintf(name, sizeof(name), "%.*s", (int)n, begin);
		if (str_eq(name, FTI_ARCHIVE_DIR)) {
			before = len;
		} else if (str_eq(name, fti_levels[FTI_ARCHIVE].dir)) {
			own = true;
			begin = l4;
			n = strlen(l4);
		} else if (fti_name_archived(name) != 0) {
			len = own ? len : before;
			n = 0;
		}
		if (n == 0)
			continue;
		if (len > 0)
			to[len++] = '/';
		memcpy(to + len, begin, n);
		len += n;
	}
	to[len] = '\0';
	return to;
}

/* --- Keeping --- */

/* A checkpoint to keep. */
struct keeping {
	const struct fti_tree *t;
	struct fti_clone *list; /* its files, by their names below the root */
	size_t count;
	int dirfd; /* of the execution, in the archive */
	char name[FTI_NAME_MAX];
};

/* Remove what interrupted runs left in the directory of an execution. */
static int
clean(int fd, const char *exec, struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, fd, exec, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (str_starts(name, NEW) || str_starts(name, OLD))
			rc = io_remove_tree(fd, name, err);
	return dir_done(&w, rc, err);
}

/* Open the directory of an execution.  -2: it is missing, and not made. */
static int
open_exec(const struct fti_archive *a, const char *exec, bool make,
	  struct error *err)
{
	int root = -1, fd = -1;

	if (!path_is_clean(exec) || strchr(exec, '/') != NULL)
		return error_set(err, ERROR_UNSAFE,
				 "%s: not an id of an execution", exec);
	if (make && io_make_dirs(a->name, 0777, err) < 0)
		return -1;
	root = dir_open(AT_FDCWD, a->name);
	if (root < 0)
		return errno == ENOENT
			       ? -2
			       : error_sys(err, "%s: cannot open", a->name);
	if (make && create_dir(root, exec, 0777, create_owner(root)) < 0 &&
	    errno != EEXIST)
		error_sys(err, "%s/%s: cannot make the directory", a->name,
			  exec);
	else
		fd = dir_open_plain(root, exec);
	if (fd < 0 && errno == ENOENT && !make)
		fd = -2;
	else if (fd < 0)
		error_sys(err, "%s/%s: cannot open", a->name, exec);
	close(root);
	return fd;
}

static int
fill(struct fti_archive *a, const struct keeping *k, const struct work *w,
     struct error *err)
{
	struct fti_cloning c = { .fromfd = k->t->fd,
				 .from = k->t->root,
				 .to = a->name,
				 .copy = a->copy };
	char new[sizeof(NEW) + FTI_NAME_MAX];
	int rc = 0;

	snprintf(new, sizeof(new), NEW "%s", k->name);
	if (create_dir(k->dirfd, new, 0777, create_owner(k->dirfd)) < 0)
		return error_sys(err, "%s/%s: cannot make the directory",
				 a->name, new);
	c.tofd = dir_open(k->dirfd, new);
	if (c.tofd < 0)
		return error_sys(err, "%s/%s: cannot open", a->name, new);
	rc = fti_clone(&c, k->list, k->count, w, err);
	close(c.tofd);
	a->linked = c.linked;
	a->copied = c.copied;
	a->bytes = c.bytes;
	if (rc == 0 && renameat(k->dirfd, new, k->dirfd, k->name) < 0)
		rc = error_sys(err, "%s/%s: cannot rename it to %s", a->name,
			       new, k->name);
	return rc < 0 ? -1 : io_sync_dir(k->dirfd, a->name, err);
}

int
fti_archive_keep(struct fti_archive *a, const struct fti_tree *t,
		 const struct fti_set *set, const struct work *w,
		 struct error *err)
{
	struct keeping k = { .t = t, .dirfd = -2 };
	const struct fti_entry **own = fti_set_files(set, t, &k.count);
	const bool dry = work_or_default(w)->dry_run;
	struct stat from, to;
	int rc = 0, fd = -1;

	a->files = a->linked = a->copied = 0;
	a->bytes = 0;
	snprintf(k.name, sizeof(k.name), FTI_ARCHIVED "%" PRIu32, set->id);
	k.list = mem_calloc(k.count + t->count, sizeof(*k.list));
	for (size_t i = 0; i < k.count; i++)
		k.list[i] = (struct fti_clone){ own[i]->path, own[i]->path };
	mem_free(own);
	for (size_t i = 0; i < t->count; i++) {
		const struct fti_entry *e = &t->list[i];

		if (e->name.kind == FTI_NAME_TOPOLOGY &&
		    str_eq(e->exec, set->exec) && e->name.id == 0)
			k.list[k.count++] =
				(struct fti_clone){ e->path, e->path };
	}
	for (size_t i = 0; rc == 0 && i < k.count; i++)
		if (strchr(k.list[i].from, '/') == NULL)
			rc = error_set(err, ERROR_USAGE,
				       "%s: is a directory of one level; give "
				       "the directory that all directories of "
				       "FTI are in",
				       t->root);
	if (rc == 0)
		k.dirfd = open_exec(a, set->exec, !dry, err);
	if (k.dirfd == -1 ||
	    (rc == 0 && !dry && clean(k.dirfd, set->exec, err) < 0))
		rc = -1;
	a->files = k.count;
	if (rc == 0 && k.dirfd >= 0)
		fd = dir_open_plain(k.dirfd, k.name);
	if (rc == 0 && k.dirfd >= 0 && fd < 0 && errno != ENOENT)
		rc = error_sys(err, "%s/%s: cannot open", a->name, k.name);
	else if (rc == 0 && fd < 0)
		rc = dry || fill(a, &k, w, err) == 0 ? 1 : -1;
	/* Does the archive have these files already? */
	for (size_t i = 0; rc == 0 && fd >= 0 && i < k.count; i++)
		if (path_stat_beneath(t->fd, k.list[i].from, &from, err) < 0)
			rc = -1;
		else if (path_stat_beneath(fd, k.list[i].to, &to, NULL) < 0 ||
			 !fti_clone_same(&from, &to))
			rc = error_set(err, ERROR_USAGE,
				       "%s: has another checkpoint %s; rename "
				       "its directory, or remove it",
				       a->name, k.name);
	io_close(fd);
	io_close(k.dirfd);
	mem_free(k.list);
	return rc;
}

/* --- Removing --- */

int
fti_archive_remove(const struct fti_archive *a, const char *exec, uint32_t id,
		   struct error *err)
{
	char name[FTI_NAME_MAX], old[sizeof(OLD) + FTI_NAME_MAX];
	const int fd = open_exec(a, exec, false, err);
	int rc = 0;

	if (fd < 0)
		return fd == -2 ? 0 : -1;
	snprintf(name, sizeof(name), FTI_ARCHIVED "%" PRIu32, id);
	snprintf(old, sizeof(old), OLD "%s", name);
	rc = io_remove_tree(fd, old, err);
	if (rc == 0 && renameat(fd, name, fd, old) < 0)
		rc = error_sys(err, "%s/%s/%s: cannot rename", a->name, exec,
			       name);
	if (rc < 0 || io_remove_tree(fd, old, err) < 0 ||
	    io_sync_dir(fd, a->name, err) < 0)
		rc = -1;
	close(fd);
	return rc;
}

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
		.work = k->w,
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
