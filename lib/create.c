/* SPDX-License-Identifier: BSD-3-Clause */
#include "create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "fast.h"
#include "io.h"

/* Directories of metadata in each other: PREFIX/.scr/scr.dataset.N/.scr. */
#define LEVELS 3

struct owner
create_owner(int dirfd)
{
	static const char *const dirs[LEVELS + 1] = { ".", "..", "../..",
						      "../../.." };
	static const char *const metas[LEVELS] = { "../.scr", "../../.scr",
						   "../../../.scr" };
	struct stat dir, meta;
	struct owner o = { .set = false };

	if (geteuid() != 0 || fstatat(dirfd, ".", &dir, 0) < 0)
		return o;
	o = (struct owner){ true, dir.st_uid, dir.st_gid };
	for (int i = 0; i < LEVELS; i++) {
		const bool in = fstatat(dirfd, metas[i], &meta,
					AT_SYMLINK_NOFOLLOW) == 0 &&
				meta.st_dev == dir.st_dev &&
				meta.st_ino == dir.st_ino;

		if (fstatat(dirfd, dirs[i + 1], &dir, 0) < 0)
			break;
		if (in) {
			o.uid = dir.st_uid;
			o.gid = dir.st_gid;
		}
	}
	o.set = o.uid != 0 || o.gid != 0;
	return o;
}

bool
create_may_change(int dirfd, int fd)
{
	struct owner owner;
	struct stat st;

	if (geteuid() != 0 || fstat(fd, &st) < 0 || st.st_nlink < 2)
		return true;
	owner = create_owner(dirfd);
	return !owner.set || owner.uid == st.st_uid;
}

int
create_give(int fd, struct owner owner)
{
	if (!owner.set || fchown(fd, owner.uid, owner.gid) == 0)
		return 0;
	/* A file server may not trust our root, nor know the owner: then the
	 * file stays as it is. */
	return errno == EPERM || errno == EINVAL ? 0 : -1;
}

/* create_give() for a file that was just created, and is removed on failure. */
static int
give_new(int dirfd, const char *name, int fd, int unlink_flags,
	 struct owner owner)
{
	int saved = 0;

	if (create_give(fd, owner) == 0)
		return 0;
	saved = errno;
	(void)unlinkat(dirfd, name, unlink_flags);
	errno = saved;
	return -1;
}

int
create_file(int dirfd, const char *name, int flags, mode_t mode,
	    struct owner owner)
{
	int fd = -1;

	flags |= O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	if (fast_files != NULL)
		fd = fast_files->create(dirfd, name, flags, mode);
	if (fd < 0)
		fd = dir_open_file(dirfd, name, flags, mode);
	if (fd >= 0 && give_new(dirfd, name, fd, 0, owner) < 0) {
		io_close(fd);
		return -1;
	}
	return fd;
}

int
create_dir(int dirfd, const char *name, mode_t mode, struct owner owner)
{
	int fd = -1, rc = 0;

	if (mkdirat(dirfd, name, mode) < 0)
		return -1;
	if (!owner.set)
		return 0;
	fd = dir_open_plain(dirfd, name);
	rc = fd < 0 ? -1 : give_new(dirfd, name, fd, AT_REMOVEDIR, owner);
	io_close(fd);
	return rc;
}

int
create_dir_path(const char *path, mode_t mode)
{
	char up[PATH_MAX], name[NAME_MAX + 1];
	size_t len = strlen(path), dir = 0;
	int fd = -1, rc = -1;

	if (access(path, F_OK) == 0) { /* also "/" and "." */
		errno = EEXIST;
		return -1;
	}
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (dir = len; dir > 0 && path[dir - 1] != '/';)
		dir--;
	if (dir >= sizeof(up) || len - dir >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(up, sizeof(up), "%.*s", (int)dir, path);
	snprintf(name, sizeof(name), "%.*s", (int)(len - dir), path + dir);
	fd = dir_open(AT_FDCWD, dir > 0 ? up : ".");
	if (fd < 0)
		return -1;
	rc = create_dir(fd, name, mode, create_owner(fd));
	io_close(fd);
	return rc;
}
