/* SPDX-License-Identifier: BSD-3-Clause */
/* io_tree.c - remove directory trees. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "io.h"

static int
empty(int fd, const char *name, struct error *err)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *e = NULL;
	int rc = 0;

	if (dir == NULL) {
		error_sys(err, "%s: cannot read", name);
		close(fd);
		return -1;
	}
	for (errno = 0; rc == 0 && (e = readdir(dir)) != NULL; errno = 0)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = io_remove_tree(dirfd(dir), e->d_name, err);
	if (rc == 0 && errno != 0)
		rc = error_sys(err, "%s: cannot read", name);
	closedir(dir);
	return rc;
}

/* Recursion is bounded: each level holds a descriptor, so a hostile tree ends
 * with EMFILE long before the stack is exhausted. */
int
io_remove_tree(int dirfd, const char *name, struct error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* For a directory POSIX specifies EPERM, Linux returns EISDIR. */
	if (errno != EISDIR && errno != EPERM)
		return error_sys(err, "%s: cannot remove", name);
	fd = openat(dirfd, name, flags);
	if (fd < 0)
		return error_sys(err, "%s: cannot remove", name);
	if (empty(fd, name, err) < 0)
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_sys(err, "%s: cannot remove", name);
	return 0;
}
