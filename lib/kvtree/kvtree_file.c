/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_file.c - read and write files that hold one tree.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"

struct kvtree *
kvtree_read_file(int dirfd, const char *name, struct error *err)
{
	return kvtree_read_beneath(dirfd, name, NULL, err);
}

struct kvtree *
kvtree_read_beneath(int dirfd, const char *rel, struct stat *st,
		    struct error *err)
{
	struct kvtree *t = NULL;
	struct buf raw = BUF_INIT;
	const int fd = io_open_read(dirfd, rel, err);

	if (fd < 0)
		return NULL;
	if (st != NULL && fstat(fd, st) < 0)
		error_sys(err, "%s: cannot stat", rel);
	else if (io_read_fd(fd, rel, KVTREE_MAX_ENCODED, &raw, err) == 0 &&
		 (t = kvtree_decode_buf(&raw, err)) == NULL)
		error_wrap(err, "%s", rel);
	close(fd);
	buf_free(&raw);
	return t;
}

int
kvtree_read_sound(int dirfd, const char *name, struct buf *out,
		  struct error *err)
{
	size_t len = 0;

	if (io_read_file(dirfd, name, KVTREE_MAX_ENCODED, out, err) < 0)
		return -1;
	return kvtree_body(out->data, out->len, &len, err) == NULL
		       ? error_wrap(err, "%s", name)
		       : 0;
}

int
kvtree_write(const struct kvtree *t, int dirfd, const char *name, bool lazy,
	     struct error *err)
{
	struct buf image = BUF_INIT;
	int rc = kvtree_encode(t, &image, err);

	if (rc < 0)
		error_wrap(err, "%s", name);
	else
		rc = (lazy ? io_replace_lazy : io_replace)(
			dirfd, name, image.data, image.len, 0666, err);
	buf_free(&image);
	return rc;
}

int
kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		  struct error *err)
{
	return kvtree_write(t, dirfd, name, false, err);
}
