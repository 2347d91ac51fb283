/* SPDX-License-Identifier: BSD-3-Clause */
/* io_tree.c - files and directories with all their contents. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"

static int
remove_entry(void *dirfd, const char *name, struct error *err)
{
	return io_remove_tree(*(const int *)dirfd, name, err);
}

/* Recursion is bounded: each level holds a descriptor, so a hostile tree ends
 * with EMFILE long before the stack is exhausted. */
int
io_remove_tree(int dirfd, const char *name, struct error *err)
{
	int fd = -1, rc = 0;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* For a directory POSIX specifies EPERM, Linux returns EISDIR. */
	if (errno != EISDIR && errno != EPERM)
		return error_sys(err, "%s: cannot remove", name);
	fd = dir_open_plain(dirfd, name);
	if (fd < 0 && errno == ENOENT)
		return 0; /* somebody else removes it, too */
	if (fd < 0)
		return error_sys(err, "%s: cannot remove", name);
	rc = dir_each(fd, name, remove_entry, &fd, err);
	close(fd);
	if (rc < 0)
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_sys(err, "%s: cannot remove", name);
	return 0;
}

struct sizing {
	int fd;
	uint64_t *bytes;
};

static int
size_entry(void *arg, const char *name, struct error *err)
{
	const struct sizing *s = arg;

	return io_tree_size(s->fd, name, s->bytes, err);
}

int
io_tree_size(int dirfd, const char *name, uint64_t *bytes, struct error *err)
{
	struct sizing s = { .bytes = bytes };
	struct stat st;
	int rc = 0;

	if (dir_stat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "%s: cannot read", name);
	if (S_ISREG(st.st_mode))
		*bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode))
		return 0;
	s.fd = dir_open_plain(dirfd, name);
	if (s.fd < 0)
		return error_sys(err, "%s: cannot read", name);
	rc = dir_each(s.fd, name, size_entry, &s, err);
	close(s.fd);
	return rc;
}
