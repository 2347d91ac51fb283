/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/segmap.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"
#include "temp.h"

struct ctr {
	int fd;
	size_t left; /* segments to be written */
};

struct joint {
	int dir; /* of the containers */
	const struct segmap *m;
	struct joint_how how;
	struct owner owner; /* of new files */
	struct ctr *list;   /* by container of the map */
	pthread_mutex_t lock;
};

/* Does the file belong to who may have made it? */
static bool
is_ours(int root_fd, const struct stat *is)
{
	const struct owner owner = create_owner(root_fd);

	return is->st_uid == geteuid() ||
	       (owner.set && is->st_uid == owner.uid);
}

static int
open_dir(int root_fd, struct error *err)
{
	const int fd = dir_open_plain(root_fd, SEGMAP_DIR);

	return fd < 0 ? error_sys(err, "%s: cannot open", SEGMAP_DIR) : fd;
}

/* The temporary directory of a layout. */
#define LAYOUT_DIR(layout) temp_number((char[TEMP_NAME_MAX]){ 0 }, layout)

/* Open that of the containers: the temporary one, unless they are placed. */
static int
open_joint(int root_fd, struct joint_how how, struct error *err)
{
	const int dir = open_dir(root_fd, err);
	int fd = dir;

	if (dir < 0 || how.placed)
		return dir;
	fd = dir_open_plain(dir, LAYOUT_DIR(how.layout));
	close(dir);
	return fd < 0 ? error_sys(err,
				  "%s: cannot open its temporary directory",
				  SEGMAP_DIR)
		      : fd;
}

/* --- Before and after --- */

static bool
has_begun(int root_fd)
{
	return faccessat(root_fd, temp_str(JOINT_MARK), F_OK,
			 AT_SYMLINK_NOFOLLOW) == 0;
}

bool
joint_is_unfinished(int root_fd)
{
	return has_begun(root_fd) &&
	       dir_access(root_fd, RANK2FILE_FILE, F_OK) < 0 && errno == ENOENT;
}

/* Is this the name of a container of the map? */
static bool
is_named(const struct kvtree *ctr, const char *name)
{
	const char *path = str_printed(NAME_MAX + sizeof(SEGMAP_DIR) + 1,
				       SEGMAP_DIR "/%s", name);

	/* Without a table: perhaps. */
	return (ctr != NULL && kvtree_get(ctr, "FILE") == NULL) ||
	       kvtree_get2(ctr, "FILE", path) != NULL ||
	       kvtree_get2(kvtree_get(ctr, "RED"), "FILE", path) != NULL;
}

/* An interrupted run had put it in its place: take it up, if it is a file of
 * ours. */
static int
take_up(int root_fd, int fd, const char *name, uint64_t layout,
	struct error *err)
{
	const char *to = str_printed(NAME_MAX + TEMP_NAME_MAX, "%s/%s",
				     LAYOUT_DIR(layout), name);
	struct stat is;

	if (fstatat(fd, name, &is, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, SEGMAP_DIR "/%s", name);
	if (!S_ISREG(is.st_mode) || is.st_nlink > 1 || !is_ours(root_fd, &is))
		return io_remove_tree(fd, name, err);
	return io_rename(fd, name, to) == 0
		       ? 0
		       : error_sys(err, SEGMAP_DIR "/%s: cannot rename", name);
}

/* What an interrupted run left: take up that of `keep`, which has a directory,
 * and remove what the map does not name. */
static int
sweep(int root_fd, const struct kvtree *ctr, const uint64_t *keep,
      struct error *err)
{
	const int fd = open_dir(root_fd, err);
	const char *name = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return -1;
	rc = dir_walk(&w, fd, SEGMAP_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (segmap_is_container(name) && keep != NULL)
			rc = take_up(root_fd, fd, name, *keep, err);
		else if (segmap_is_container(name)
				 ? !is_named(ctr, name)
				 : temp_is(name) &&
					   (keep == NULL ||
					    !str_eq(name, LAYOUT_DIR(*keep))))
			rc = io_remove_tree(fd, name, err);
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

/* Is there a directory of the layout, which only its owner, one of us, may
 * change? */
static bool
has_layout(int root_fd, uint64_t layout)
{
	const int fd = open_joint(root_fd,
				  (struct joint_how){ .layout = layout }, NULL);
	struct stat is;
	const bool has = fd >= 0 && fstat(fd, &is) == 0 &&
			 is_ours(root_fd, &is) && (is.st_mode & 0022) == 0;

	io_close(fd);
	return has;
}

uint64_t
joint_layout(uint64_t a, uint64_t b, uint64_t c)
{
	const char *text =
		str_printed(64, "%" PRIx64 " %" PRIx64 " %" PRIx64, a, b, c);

	return fnv_text(text);
}

int
joint_begin(int root_fd, uint64_t layout, bool resume, bool *left,
	    struct error *err)
{
	const struct owner owner = create_owner(root_fd);
	const bool begun = has_begun(root_fd);
	const int fd = temp_make(root_fd, JOINT_MARK, 0666, owner);
	int dir = -1, rc = 0;

	*left = false;
	if (fd < 0)
		return error_sys(err, "%s: cannot make", JOINT_MARK);
	close(fd);
	if (create_dir(root_fd, SEGMAP_DIR, 0777, owner) == 0) {
		;
	} else if (errno != EEXIST) {
		rc = error_sys(err, "%s: cannot make", SEGMAP_DIR);
	} else {
		*left = resume && begun && has_layout(root_fd, layout);
		rc = sweep(root_fd, NULL, *left ? &layout : NULL, err);
	}
	dir = rc == 0 ? open_dir(root_fd, err) : -1;
	if (dir >= 0 && !*left &&
	    create_dir(dir, LAYOUT_DIR(layout), 0700, owner) < 0)
		rc = error_sys(err, "%s: cannot make a directory in it",
			       SEGMAP_DIR);
	if (dir < 0)
		rc = -1;
	io_close(dir);
	if (rc == 0)
		rc = io_sync_dir(root_fd, SEGMAP_DIR, err);
	if (rc < 0)
		(void)temp_remove(root_fd, JOINT_MARK);
	return rc;
}

void
joint_end(int root_fd, const struct kvtree *ctr)
{
	(void)sweep(root_fd, ctr, NULL, NULL);
	if (ctr == NULL)
		(void)unlinkat(root_fd, SEGMAP_DIR, AT_REMOVEDIR);
	(void)temp_remove(root_fd, JOINT_MARK);
}

bool
joint_is_mapped(int root_fd)
{
	struct rank2file r;
	const bool is = rank2file_load(root_fd, RANK2FILE_FILE, &r, NULL) == 0;

	if (is)
		rank2file_free(&r);
	return is;
}

void
joint_give_up(int root_fd)
{
	if (joint_is_unfinished(root_fd) && !joint_is_mapped(root_fd))
		joint_end(root_fd, NULL);
}

/* --- Writing --- */

struct joint *
joint_new(int root_fd, const struct segmap *m, struct joint_how how,
	  struct error *err)
{
	struct joint *j = mem_calloc(1, sizeof(*j));

	if (j == NULL)
		return error_no_memory_null(err);
	pthread_mutex_init(&j->lock, NULL);
	j->m = m;
	j->how = how;
	j->owner = create_owner(root_fd);
	j->dir = open_joint(root_fd, how, err);
	j->list = mem_calloc(m->ncontainers + 1, sizeof(*j->list));
	for (size_t i = 0; j->list != NULL && i < m->ncontainers; i++)
		j->list[i].fd = -1;
	if (j->list == NULL)
		error_no_memory(err);
	if (j->list == NULL || j->dir < 0) {
		joint_free(j);
		return NULL;
	}
	for (size_t i = 0; i < m->nsegs; i++)
		j->list[m->segs[i].container].left++;
	return j;
}

void
joint_free(struct joint *j)
{
	if (j == NULL)
		return;
	for (size_t i = 0; j->list != NULL && i < j->m->ncontainers; i++)
		io_close(j->list[i].fd);
	io_close(j->dir);
	pthread_mutex_destroy(&j->lock);
	mem_free(j->list);
	mem_free(j);
}

/* Open a container in its directory; it is made with `mode` (0: it exists).
 * Several processes do it at the same time.  What has the name may have been
 * put there by anybody. */
static int
open_file(int dir, const char *name, unsigned mode, struct owner owner,
	  struct error *err)
{
	const int fd =
		dir_open_file(dir, path_base(name),
			      (mode != 0 ? O_CREAT : 0) | O_RDWR | O_NOFOLLOW |
				      O_NONBLOCK | O_CLOEXEC,
			      mode);
	struct stat is;

	if (fd < 0)
		return error_sys(err, "%s: cannot open its file", name);
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink == 1 &&
	    (is.st_uid == geteuid() || (owner.set && is.st_uid == owner.uid)) &&
	    create_give(fd, owner) == 0)
		return fd;
	close(fd);
	return error_set(err, ERROR_UNSAFE, "%s: its file is not the user's",
			 name);
}

int
joint_open(struct joint *j, uint32_t container, struct error *err)
{
	struct ctr *c = &j->list[container];
	int fd = -1;

	pthread_mutex_lock(&j->lock);
	if (c->fd < 0)
		c->fd = open_file(j->dir, j->m->containers[container].name,
				  j->how.placed ? 0 : j->how.mode, j->owner,
				  err);
	fd = c->fd;
	pthread_mutex_unlock(&j->lock);
	return fd;
}

int
joint_wrote(struct joint *j, uint32_t container, struct error *err)
{
	struct ctr *c = &j->list[container];
	const char *name = j->m->containers[container].name;
	bool last = false;
	int fd = -1, rc = 0;

	pthread_mutex_lock(&j->lock);
	fd = c->fd;
	last = --c->left == 0;
	if (last)
		c->fd = -1;
	pthread_mutex_unlock(&j->lock);
	if (!last)
		return 0;
	rc = io_fsync(fd, name, err);
	/* File servers may report only here that bytes could not be written. */
	if (close(fd) < 0 && rc == 0)
		rc = error_sys(err, "%s: cannot close", name);
	return rc;
}

/* --- In place --- */

int
joint_place(int root_fd, const char *name, struct joint_how how, uint64_t size,
	    const struct attr *attr, struct error *err)
{
	const struct owner owner = create_owner(root_fd);
	const int from = open_joint(root_fd, how, err);
	const int to = from < 0 ? -1 : open_dir(root_fd, err);
	int fd = -1, rc = -1;

	if (to >= 0)
		fd = open_file(from, name, 0, owner, err);
	if (fd >= 0)
		/* It may end in a hole, or have been longer. */
		rc = ftruncate(fd, (off_t)size) < 0
			     ? error_sys(err, "%s: cannot set its size", name)
			     : 0;
	if (rc == 0 && attr_apply(attr, fd, name, owner, NULL, err) < 0)
		rc = -1;
	if (rc == 0)
		rc = io_fsync(fd, name, err);
	if (rc == 0 && !how.placed &&
	    io_rename(to,
		      str_printed(NAME_MAX + TEMP_NAME_MAX, "%s/%s",
				  LAYOUT_DIR(how.layout), path_base(name)),
		      path_base(name)) < 0)
		rc = error_sys(err, "%s: cannot put it in its place", name);
	io_close(fd);
	io_close(to);
	io_close(from);
	return rc;
}

int
joint_sync(int root_fd, struct error *err)
{
	const int dir = open_dir(root_fd, err);
	const int rc = dir < 0 ? -1 : io_sync_dir(dir, SEGMAP_DIR, err);

	io_close(dir);
	return rc;
}
