/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_file.c - read and write files that hold one tree.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "path.h"

struct kvtree *
kvtree_decode(const void *data, size_t len, size_t *used, struct error *err)
{
	struct kvtree *t = kvtree_new(err);

	if (t != NULL && kvtree_decode_into(t, data, len, used, err) < 0) {
		kvtree_free(t);
		t = NULL;
	}
	return t;
}

struct kvtree *
kvtree_read_file(int dirfd, const char *name, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct buf scratch = BUF_INIT;

	if (t != NULL &&
	    kvtree_read_file_into(t, dirfd, name, &scratch, err) < 0) {
		kvtree_free(t);
		t = NULL;
	}
	buf_free(&scratch);
	return t;
}

struct kvtree *
kvtree_read_beneath(int dirfd, const char *rel, struct stat *st,
		    struct error *err)
{
	struct kvtree *tree = kvtree_new(err);
	struct buf raw = BUF_INIT;
	int rc = -1;
	/* O_NONBLOCK: do not wait if the name is that of a FIFO. */
	int fd = tree == NULL
			 ? -1
			 : path_open_beneath(dirfd, rel, O_RDONLY | O_NONBLOCK,
					     0, err);

	if (fd < 0)
		goto out;
	if (st != NULL && fstat(fd, st) < 0)
		error_sys(err, "%s: cannot stat", rel);
	else if (io_read_fd(fd, rel, KVTREE_MAX_ENCODED, &raw, err) == 0 &&
		 (rc = kvtree_decode_buf(tree, &raw, err)) < 0)
		error_wrap(err, "%s", rel);
	close(fd);
out:
	buf_free(&raw);
	if (rc == 0)
		return tree;
	kvtree_free(tree);
	return NULL;
}

int
kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		  struct error *err)
{
	struct buf image = BUF_INIT;
	int rc = kvtree_encode(t, &image, err);

	if (rc < 0)
		error_wrap(err, "%s", name);
	else
		rc = io_replace(dirfd, name, image.data, image.len, 0666, err);
	buf_free(&image);
	return rc;
}
