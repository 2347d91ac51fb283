/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spare.c - write index.scr, also on a full file system.
 *
 * An index is replaced by a new file, which needs room.  Therefore each change
 * leaves a reserve, index.spare, with as many blocks as the index and some for
 * growth.  If there is no room for a new file, the reserve is overwritten,
 * synced and renamed to index.scr; then the blocks of the old index make the
 * next reserve.  This is as atomic as the normal way.
 *
 * Without a reserve (the file system was full before our first change), an
 * index of one page is overwritten in place by one write(2), which a signal
 * cannot interrupt.  Readers ignore bytes after the image (formats.md 1.1), so
 * a shorter index is cut to its length afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue/catalogue_impl.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/index.h"
#include "room.h"

#define SPARE_FILE "index.spare"
#define PAGE ((size_t)4096)

/* Bytes of the reserve for an index of `len` bytes: whole pages, with one more
 * for an entry that grows. */
static off_t
spare_size(size_t len)
{
	return (off_t)((len / PAGE + 2) * PAGE);
}

/* Open `name` for writing if it is a regular file with this name only, of `min`
 * to `max` bytes.  Returns a descriptor, or -1: ENOSPC. */
static int
open_plain(int dirfd, const char *name, size_t min, size_t max,
	   struct error *err)
{
	struct stat st;
	int fd = dir_open_file(
		dirfd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_nlink == 1 && (size_t)st.st_size >= min &&
	    (size_t)st.st_size <= max)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = ENOSPC;
	return error_sys(err, "%s: cannot replace", name);
}

/* Overwrite the file, sync it and close it. */
static int
overwrite(int fd, const char *name, const struct buf *image, struct error *err)
{
	int rc = io_rewrite(fd, name, image->data, image->len, err);

	if (close(fd) < 0 && rc == 0)
		rc = error_sys(err, "%s: cannot close", name);
	return rc;
}

/* Make or enlarge the reserve.  A failure is ignored: the reserve is not needed
 * yet. */
static void
keep_spare(int dirfd, size_t len)
{
	struct stat st;
	int fd = -1;

	if (dir_stat(dirfd, SPARE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!S_ISREG(st.st_mode) ||
	     st.st_size >= spare_size(len) - (off_t)PAGE))
		return;
	fd = open_plain(dirfd, SPARE_FILE, 0, SIZE_MAX, NULL);
	if (fd < 0)
		fd = create_file(dirfd, SPARE_FILE, O_WRONLY, 0666,
				 create_owner(dirfd));
	if (fd < 0)
		return;
	(void)posix_fallocate(fd, 0, spare_size(len));
	close(fd);
}

/* Overwrite the reserve and rename it.  `index`: the old index, or mode 0. */
static int
use_spare(int dirfd, const struct buf *image, const struct stat *index,
	  struct error *err)
{
	int fd = open_plain(dirfd, SPARE_FILE, image->len, SIZE_MAX, err);

	if (fd >= 0 && index->st_mode != 0) {
		(void)!fchown(fd, index->st_uid, index->st_gid);
		(void)!fchmod(fd, index->st_mode & 0777);
	}
	if (fd < 0 || overwrite(fd, SPARE_FILE, image, err) < 0)
		return -1;
	if (renameat(dirfd, SPARE_FILE, dirfd, INDEX_FILE) < 0)
		return error_sys(err, INDEX_FILE ": cannot replace");
	return io_sync_dir(dirfd, INDEX_FILE, err);
}

int
catalogue_write_in_place(int dirfd, const char *name, const struct buf *image,
			 struct error *err)
{
	const size_t most = image->len <= PAGE ? PAGE : 0;
	int fd = open_plain(dirfd, name, 1, most, err);

	return fd < 0 ? -1 : overwrite(fd, name, image, err);
}

static int
write_full(int dirfd, const struct buf *image, struct error *err)
{
	struct stat st = { .st_mode = 0 };
	struct error why = ERROR_INIT;

	if (dir_stat(dirfd, INDEX_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		st.st_mode = 0;
	if (use_spare(dirfd, image, &st, &why) == 0 ||
	    catalogue_write_in_place(dirfd, INDEX_FILE, image, &why) == 0)
		return 0;
	if (!room_is_short(&why))
		return error_pass(err, &why);
	return room_explain(dirfd, image->len, err);
}

int
catalogue_write_index(struct catalogue *c, const struct kvtree *tree,
		      bool locked, struct error *err)
{
	struct buf image = BUF_INIT;
	struct error why = ERROR_INIT;
	int rc = kvtree_encode(tree, &image, &why);

	if (rc == 0)
		rc = io_replace(c->scr_fd, INDEX_FILE, image.data, image.len,
				0666, &why);
	/* Without a lock, two processes would write the same reserve. */
	if (rc < 0 && locked && room_is_short(&why))
		rc = write_full(c->scr_fd, &image, &why);
	else if (rc < 0)
		room_explain(c->scr_fd, image.len, &why);
	if (rc == 0 && locked)
		keep_spare(c->scr_fd, image.len);
	buf_free(&image);
	if (rc < 0) {
		error_pass(err, &why);
		return error_wrap(err, "%s/.scr", c->path);
	}
	return 0;
}
