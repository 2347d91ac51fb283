/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "create.h"
#include "error.h"
#include "fast.h"
#include "io.h"
#include "kvtree/kvtree.h"

#define MODE_FILE 0666

int
newfile_open(int dirfd, const char *name, struct error *err)
{
	const struct owner same = { .set = false };
	int fd = create_file(dirfd, name, O_WRONLY, MODE_FILE, same);

	if (fd < 0 && errno == EEXIST && unlinkat(dirfd, name, 0) == 0)
		fd = create_file(dirfd, name, O_WRONLY, MODE_FILE, same);
	return fd < 0 ? error_sys(err, "%s", name) : fd;
}

int
newfile_close(int fd, const char *name, bool sync, int rc, struct error *err)
{
	if (rc == 0 && sync)
		rc = io_fsync(fd, name, err);
	if (fast_files != NULL)
		fast_files->closing(fd);
	if (close(fd) < 0 && rc == 0)
		rc = error_sys(err, "%s", name);
	return rc;
}

int
newfile_tree(int dirfd, const char *name, const struct kvtree *t, bool sync,
	     struct error *err)
{
	struct buf image = BUF_INIT;
	int fd = -1, rc = -1;

	if (kvtree_encode(t, &image, err) == 0)
		fd = newfile_open(dirfd, name, err);
	if (fd >= 0) {
		rc = io_pwrite(fd, name, image.data, image.len, 0, err);
		rc = newfile_close(fd, name, sync, rc, err);
	}
	buf_free(&image);
	return rc;
}
