/* SPDX-License-Identifier: BSD-3-Clause */
/* io_tree.c - files and directories with all their contents. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "fast.h"
#include "io.h"

/* Recursion is bounded: each level holds a descriptor, so a hostile tree ends
 * with EMFILE long before the stack is exhausted. */
int
io_remove_tree(int dirfd, const char *name, struct error *err)
{
	const char *entry = NULL;
	struct dir_walk w;
	int fd = -1, rc = 0;

	if ((fast_files != NULL && fast_files->unlink(dirfd, name)) ||
	    unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* For a directory POSIX specifies EPERM, Linux returns EISDIR. */
	if (errno != EISDIR && errno != EPERM)
		return error_sys(err, "%s: cannot remove", name);
	fd = dir_open_plain(dirfd, name);
	if (fd < 0 && errno == ENOENT)
		return 0; /* somebody else removes it, too */
	if (fd < 0)
		return error_sys(err, "%s: cannot remove", name);
	rc = dir_walk(&w, fd, name, err);
	while (rc == 0 && (entry = dir_next(&w)) != NULL)
		rc = io_remove_tree(fd, entry, err);
	rc = dir_done(&w, rc, err);
	close(fd);
	if (rc < 0)
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_sys(err, "%s: cannot remove", name);
	return 0;
}

int
io_tree_size(int dirfd, const char *name, uint64_t *bytes, struct error *err)
{
	const char *entry = NULL;
	struct dir_walk w;
	struct stat st;
	int fd = -1, rc = 0;

	if (dir_stat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "%s: cannot read", name);
	if (S_ISREG(st.st_mode))
		*bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = dir_open_plain(dirfd, name);
	if (fd < 0)
		return error_sys(err, "%s: cannot read", name);
	rc = dir_walk(&w, fd, name, err);
	while (rc == 0 && (entry = dir_next(&w)) != NULL)
		rc = io_tree_size(fd, entry, bytes, err);
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}
