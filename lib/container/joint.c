/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/segmap.h"
#include "create.h"
#include "dir.h"
#include "error.h"
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
	struct ctr *list; /* by container of the map */
	pthread_mutex_t lock;
};

static int
open_dir(int root_fd, struct error *err)
{
	const int fd = dir_open_plain(root_fd, SEGMAP_DIR);

	return fd < 0 ? error_sys(err, "%s: cannot open", SEGMAP_DIR) : fd;
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

/* Take up what may be taken up: a container gets its temporary name again, and
 * what is no file of ours under such a name is removed. */
static int
take_up(int fd, const char *name, bool *left, struct error *err)
{
	struct stat is;

	if (fstatat(fd, name, &is, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, SEGMAP_DIR "/%s", name);
	if (!S_ISREG(is.st_mode) || is.st_nlink > 1)
		return io_remove_tree(fd, name, err);
	*left = true;
	return temp_is(name) || io_rename(fd, name, temp_str(name)) == 0
		       ? 0
		       : error_sys(err, SEGMAP_DIR "/%s: cannot rename", name);
}

/* What an interrupted run left: take it up (`left` is set), or remove what the
 * map does not name. */
static int
sweep(int root_fd, const struct kvtree *ctr, bool *left, struct error *err)
{
	const int fd = open_dir(root_fd, err);
	const char *name = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return -1;
	rc = dir_walk(&w, fd, SEGMAP_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (segmap_is_container(name) ? !is_named(ctr, name)
					      : temp_is(name))
			rc = left != NULL ? take_up(fd, name, left, err)
					  : io_remove_tree(fd, name, err);
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

int
joint_begin(int root_fd, bool resume, bool *left, struct error *err)
{
	const struct owner owner = create_owner(root_fd);
	const bool begun = resume && has_begun(root_fd);
	const int fd = temp_make(root_fd, JOINT_MARK, 0666, owner);
	int rc = 0;

	*left = false;
	if (fd < 0)
		return error_sys(err, "%s: cannot make", JOINT_MARK);
	close(fd);
	if (create_dir(root_fd, SEGMAP_DIR, 0777, owner) < 0)
		rc = errno != EEXIST
			     ? error_sys(err, "%s: cannot make", SEGMAP_DIR)
			     : sweep(root_fd, NULL, begun ? left : NULL, err);
	return rc < 0 ? -1 : io_sync_dir(root_fd, SEGMAP_DIR, err);
}

void
joint_end(int root_fd, const struct kvtree *ctr)
{
	(void)sweep(root_fd, ctr, NULL, NULL);
	if (ctr == NULL)
		(void)unlinkat(root_fd, SEGMAP_DIR, AT_REMOVEDIR);
	(void)temp_remove(root_fd, JOINT_MARK);
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
	j->dir = open_dir(root_fd, err);
	j->list = mem_calloc(m->ncontainers + 1, sizeof(*j->list));
	if (j->list == NULL)
		error_no_memory(err);
	if (j->list == NULL || j->dir < 0) {
		joint_free(j);
		return NULL;
	}
	for (size_t i = 0; i < m->ncontainers; i++)
		j->list[i].fd = -1;
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

/* Open a container, or its temporary file, which is made with `mode` (0: it
 * exists).  Several processes do it at the same time.  What has the name may
 * have been put there by anybody. */
static int
open_file(int dir, const char *name, bool placed, unsigned mode,
	  struct error *err)
{
	const int fd =
		dir_open_file(dir, placed ? path_base(name) : temp_str(name),
			      (mode != 0 ? O_CREAT : 0) | O_RDWR | O_NOFOLLOW |
				      O_NONBLOCK | O_CLOEXEC,
			      mode);
	struct stat is;

	if (fd < 0)
		return error_sys(err, "%s: cannot open its file", name);
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink == 1 &&
	    (is.st_uid == geteuid() || geteuid() == 0))
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
				  j->how.placed,
				  j->how.placed ? 0 : j->how.mode, err);
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
joint_place(int root_fd, const char *name, bool placed, uint64_t size,
	    const struct attr *attr, struct error *err)
{
	const struct owner owner = create_owner(root_fd);
	const int dir = open_dir(root_fd, err);
	int fd = -1, rc = -1;

	if (dir < 0)
		return -1;
	fd = open_file(dir, name, placed, 0, err);
	if (fd >= 0)
		/* It may end in a hole, or have been longer. */
		rc = ftruncate(fd, (off_t)size) < 0
			     ? error_sys(err, "%s: cannot set its size", name)
			     : 0;
	if (rc == 0 && !attr->has_owner && create_give(fd, owner) < 0)
		rc = error_sys(err, "%s: cannot change the owner", name);
	if (rc == 0 && attr_apply(attr, fd, name, owner, NULL, err) < 0)
		rc = -1;
	if (rc == 0)
		rc = io_fsync(fd, name, err);
	if (rc == 0 && !placed && temp_commit(dir, path_base(name)) < 0)
		rc = error_sys(err, "%s: cannot rename its file", name);
	io_close(fd);
	close(dir);
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
