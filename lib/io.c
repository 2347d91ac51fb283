/* SPDX-License-Identifier: BSD-3-Clause */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "fast.h"
#include "mem.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "temp.h"

/* A rest of the file below this size is left to fsync(2). */
#define BEHIND_MIN 65536

/* Holes begin and end at pages; shorter ones are not worth a call. */
#define HOLE_PAGE 4096
#define HOLE_MIN ((size_t)4 * HOLE_PAGE)

/* Fill *st.  ERROR_CORRUPT: not a regular file. */
static int
stat_regular(int fd, const char *name, struct stat *st, struct error *err)
{
	if (fstat(fd, st) < 0)
		return error_sys(err, "%s: cannot stat", name);
	if (!S_ISREG(st->st_mode))
		return error_set(err, ERROR_CORRUPT, "%s: not a regular file",
				 name);
	return 0;
}

static int
stat_bounded(int fd, const char *name, size_t max, struct stat *st,
	     struct error *err)
{
	if (stat_regular(fd, name, st, err) < 0)
		return -1;
	if ((uint64_t)st->st_size > max)
		return error_set(err, ERROR_CORRUPT,
				 "%s: %" PRIu64 " bytes long, the limit is %zu",
				 name, (uint64_t)st->st_size, max);
	return 0;
}

int
io_open_read(int dirfd, const char *name, struct error *err)
{
	/* O_NONBLOCK: do not block on a FIFO. */
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;
	int fd = -1;

	if (dirfd != AT_FDCWD) {
		fd = path_open_beneath(dirfd, name, flags, 0, err);
	} else {
		fd = dir_open_file(AT_FDCWD, name, flags, 0);
		if (fd < 0)
			error_sys(err, "%s: cannot open", name);
	}
	if (fd < 0 || stat_regular(fd, name, &st, err) == 0)
		return fd;
	close(fd);
	return -1;
}

int
io_read_file(int dirfd, const char *name, size_t max, struct buf *out,
	     struct error *err)
{
	int fd = io_open_read(dirfd, name, err);
	int rc = -1;

	buf_clear(out);
	if (fd < 0)
		return -1;
	rc = io_read_fd(fd, name, max, out, err);
	close(fd);
	return rc;
}

/* Read to the end of the file.  It may have grown since `size` was taken, and
 * files below /proc have no size. */
static int
read_all(int fd, const char *name, size_t max, size_t size, struct buf *out,
	 struct error *err)
{
	size_t room = 0;
	ssize_t got = 0;

	for (;;) {
		if (buf_reserve(out, 1) < 0)
			return error_no_memory(err);
		room = out->cap - 1 - out->len;
		got = pread(fd, out->data + out->len, room, (off_t)out->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err, "%s: cannot read", name);
		if (got == 0)
			break;
		out->len += (size_t)got;
		if (out->len > max)
			return error_set(err, ERROR_CORRUPT,
					 "%s: longer than the limit of %zu "
					 "bytes",
					 name, max);
		/* A short read at the expected size is the end.  This saves a
		 * call for each of many small files. */
		if (size > 0 && out->len == size && (size_t)got < room)
			break;
	}
	out->data[out->len] = '\0';
	return 0;
}

int
io_read_fd(int fd, const char *name, size_t max, struct buf *out,
	   struct error *err)
{
	struct stat st;

	buf_clear(out);
	if (stat_bounded(fd, name, max, &st, err) < 0)
		return -1;
	/* One byte more, so that the read that finds the end fits, too; and
	 * some for a decoder, so that it need not move the contents. */
	if (buf_reserve(out, (size_t)st.st_size + 1 + IO_SPARE) < 0)
		return error_no_memory(err);
	if (read_all(fd, name, max, (size_t)st.st_size, out, err) < 0) {
		buf_clear(out);
		return -1;
	}
	return 0;
}

/* Does a transfer of `len` bytes at `off` stay within off_t? */
static bool
in_range(uint64_t off, size_t len)
{
	return off <= INT64_MAX && len <= INT64_MAX - off;
}

int
io_pread(int fd, const char *name, void *data, size_t len, uint64_t off,
	 struct error *err)
{
	char *p = data;
	ssize_t got = 0;

	if (!in_range(off, len)) {
		errno = EOVERFLOW;
		return error_sys(err, "%s: cannot read at byte %" PRIu64, name,
				 off);
	}
	while (len > 0) {
		got = pread(fd, p, len, (off_t)off);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err,
					 "%s: cannot read at byte %" PRIu64,
					 name, off);
		if (got == 0)
			return error_set(err, ERROR_CORRUPT,
					 "%s: ends at byte %" PRIu64
					 ", expected %zu more",
					 name, off, len);
		p += got;
		off += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

bool
io_has(int fd, const void *data, size_t len, uint64_t off)
{
	char piece[16384];
	size_t n = 0;

	for (size_t at = 0; at < len; at += n) {
		n = len - at < sizeof(piece) ? len - at : sizeof(piece);
		if (io_pread(fd, "", piece, n, off + at, NULL) < 0 ||
		    memcmp((const char *)data + at, piece, n) != 0)
			return false;
	}
	return true;
}

const char *
io_read_arena(int fd, const char *name, size_t max, struct arena *arena,
	      size_t *len, struct error *err)
{
	struct stat st;
	char *to = NULL;

	if (stat_bounded(fd, name, max, &st, err) < 0)
		return NULL;
	*len = (size_t)st.st_size;
	to = arena_alloc(arena, *len, 1);
	if (to == NULL)
		error_no_memory(err);
	else if (io_pread(fd, name, to, *len, 0, err) == 0)
		return to;
	return NULL;
}

/* Bytes that are not whole blocks cannot be written with O_DIRECT: write these
 * and what follows without. */
static bool
is_buffered(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_DIRECT) != 0 &&
	       fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

int
io_pwrite(int fd, const char *name, const void *data, size_t len, uint64_t off,
	  struct error *err)
{
	const char *p = data;
	ssize_t put = 0;

	if (!in_range(off, len)) {
		errno = EFBIG;
		return error_sys(err, "%s: cannot write at byte %" PRIu64, name,
				 off);
	}
	while (len > 0) {
		put = fast_files == NULL
			      ? FAST_KERNEL
			      : fast_files->pwrite(fd, p, len, (off_t)off);
		if (put == FAST_KERNEL)
			put = pwrite(fd, p, len, (off_t)off);
		if (put < 0 &&
		    (errno == EINTR || (errno == EINVAL && is_buffered(fd)) ||
		     (errno == ENOSPC && fast_files != NULL &&
		      fast_files->make_room(fd, len))))
			continue;
		if (put == 0) /* not expected, but would loop forever */
			errno = EIO;
		if (put <= 0)
			return error_sys(err,
					 "%s: cannot write at byte %" PRIu64,
					 name, off);
		p += put;
		off += (uint64_t)put;
		len -= (size_t)put;
	}
	return 0;
}

int
io_pwrite_sparse(int fd, const char *name, const void *data, size_t len,
		 uint64_t off, struct error *err)
{
	const unsigned char *p = data;
	size_t from = 0, at = (size_t)(-off % HOLE_PAGE);
	int holes = 0;

	while (at < len) {
		size_t zeros = 0; /* bytes of the pages of zeros from `at` on */

		while (len - at - zeros >= HOLE_PAGE && p[at + zeros] == 0 &&
		       memcmp(p + at + zeros, p + at + zeros + 1,
			      HOLE_PAGE - 1) == 0)
			zeros += HOLE_PAGE;
		if (zeros < HOLE_MIN) {
			at += zeros > 0 ? zeros : HOLE_PAGE;
			continue;
		}
		if (io_pwrite(fd, name, p + from, at - from, off + from, err) <
		    0)
			return -1;
		holes = 1;
		at += zeros;
		from = at;
	}
	if (from < len &&
	    io_pwrite(fd, name, p + from, len - from, off + from, err) < 0)
		return -1;
	return holes;
}

void
io_write_behind(int fd, uint64_t off, size_t len, bool last)
{
	const uint64_t from = off / IO_BEHIND * IO_BEHIND, end = off + len;
	const uint64_t to = last ? end : end / IO_BEHIND * IO_BEHIND;

	if (from + (last ? BEHIND_MIN : 1) <= to)
		(void)sync_file_range(fd, (off64_t)from, (off64_t)(to - from),
				      SYNC_FILE_RANGE_WRITE);
}

static int
sync_fd(int fd)
{
	int rc = 0;

	do
		rc = fsync(fd);
	while (rc < 0 && errno == EINTR);
	return rc;
}

int
io_fsync(int fd, const char *name, struct error *err)
{
	if (sync_fd(fd) < 0)
		return error_sys(err, "%s: cannot sync", name);
	return 0;
}

void
io_close(int fd)
{
	const int saved = errno;

	if (fd >= 0 && fast_files != NULL)
		fast_files->closing(fd);
	if (fd >= 0)
		close(fd);
	errno = saved;
}

static int
sync_dir_fd(int fd)
{
	/* Some network file systems cannot do it: their renames are durable
	 * without it. */
	return sync_fd(fd) == 0 || errno == EINVAL || errno == ENOSYS ||
			       errno == EOPNOTSUPP
		       ? 0
		       : -1;
}

/* fsync the directory `dir` below dirfd. */
static int
sync_dir_at(int dirfd, const char *dir)
{
	int fd = dir_open(dirfd, dir);
	int rc = -1;

	if (fd < 0)
		return -1;
	rc = sync_dir_fd(fd);
	io_close(fd);
	return rc;
}

int
io_sync_dir(int dirfd, const char *name, struct error *err)
{
	int rc = -1;

	errno = EBADF;
	if (dirfd != AT_FDCWD)
		rc = sync_dir_fd(dirfd);
	if (rc < 0 && errno == EBADF) /* cwd, or opened with O_PATH */
		rc = sync_dir_at(dirfd, ".");
	if (rc < 0)
		return error_sys(err, "%s: cannot sync the directory", name);
	return 0;
}

/* Give `fd` the owner, if permitted, and the mode of the file it replaces. */
static int
copy_owner(int fd, const struct stat *old)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	/* If root repairs a user's metadata, the user must stay the owner.  A
	 * file of root goes to the user.  Other users may get EPERM, which
	 * does not matter. */
	if (old->st_uid != 0 &&
	    (old->st_uid != st.st_uid || old->st_gid != st.st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM)
		return -1;
	if ((old->st_mode & 0777) == (st.st_mode & 07777))
		return 0;
	return fchmod(fd, old->st_mode & 0777);
}

/* Does the open file still have a name? */
static bool
is_linked(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

int
io_rename(int dirfd, const char *from, const char *to)
{
	int rc = renameat(dirfd, from, dirfd, to);

	if (rc < 0 && errno == EISDIR) {
		if (unlinkat(dirfd, to, AT_REMOVEDIR) == 0)
			rc = renameat(dirfd, from, dirfd, to);
		else
			errno = EISDIR;
	}
	return rc;
}

/* Say what the file system of the file's directory lacks. */
static int
explain(int dirfd, const char *name, uint64_t need, struct error *err)
{
	const char *dir = str_printed(PATH_MAX, "%.*s.",
				      (int)(path_base(name) - name), name);
	const int fd = openat(dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	room_explain(fd, need, err);
	io_close(fd);
	return -1;
}

int
io_replace_lazy(int dirfd, const char *name, const void *data, size_t len,
		mode_t mode, struct error *err)
{
	const size_t dir = (size_t)(path_base(name) - name);
	const struct owner owner = create_owner(dirfd);
	char temp[PATH_MAX];
	struct stat old;
	bool replaces = false;
	int fd = -1, rc = -1;

	if (dir + TEMP_NAME_MAX > PATH_MAX) {
		errno = ENAMETOOLONG;
		return error_sys(err, "%s", name);
	}
	memcpy(temp, name, dir);
	temp_name(temp + dir, name);
	replaces = dir_stat(dirfd, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
		   S_ISREG(old.st_mode);
	if (replaces)
		mode = old.st_mode & 0777;
	/* A file left by a crash is removed first, never opened: it could be a
	 * symbolic link that somebody planted. */
	fd = create_file(dirfd, temp, O_WRONLY, mode, owner);
	if (fd < 0 && errno == EEXIST && unlinkat(dirfd, temp, 0) == 0)
		fd = create_file(dirfd, temp, O_WRONLY, mode, owner);
	if (fd < 0) {
		error_sys(err, "%s: cannot create a temporary file", name);
		return explain(dirfd, temp, len, err);
	}
	if (replaces && copy_owner(fd, &old) < 0) {
		error_sys(err, "%s: cannot set the mode", name);
		goto out;
	}
	if (io_pwrite(fd, name, data, len, 0, err) < 0 ||
	    io_fsync(fd, name, err) < 0)
		goto out;
	if (!is_linked(fd)) {
		/* Another writer without a lock removed our file and took its
		 * name: a rename would publish its half-written file. */
		errno = EBUSY;
		error_sys(err, "%s: another process writes it", name);
		goto out;
	}
	rc = close(fd);
	fd = -1;
	if (rc < 0)
		error_sys(err, "%s: cannot close", name);
	else if (io_rename(dirfd, temp, name) < 0)
		rc = error_sys(err, "%s: cannot replace", name);
out:
	if (rc < 0)
		explain(dirfd, temp, len, err);
	if (rc < 0 && (fd < 0 || is_linked(fd)))
		unlinkat(dirfd, temp, 0);
	io_close(fd);
	return rc < 0 ? -1 : 0;
}

int
io_replace(int dirfd, const char *name, const void *data, size_t len,
	   mode_t mode, struct error *err)
{
	const size_t up = (size_t)(path_base(name) - name);
	char dir[PATH_MAX];

	if (io_replace_lazy(dirfd, name, data, len, mode, err) < 0)
		return -1;
	if (up == 0)
		return io_sync_dir(dirfd, name, err);
	memcpy(dir, name, up); /* it fits, as the temporary name did */
	dir[up] = '\0';
	return sync_dir_at(dirfd, dir) < 0
		       ? error_sys(err, "%s: cannot sync the directory", name)
		       : 0;
}

int
io_check_output(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: not a regular file: give another name, or - for "
			 "standard output",
			 path);
}

int
io_open(int dirfd, const char *name, int flags, mode_t mode, struct error *err)
{
	const int how = flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	struct stat st;
	int fd = -1;

	/* A missing file is created for its owner; another process may create
	 * or remove it meanwhile. */
	do {
		fd = dir_open_file(dirfd, name, how & ~O_CREAT, 0);
		if (fd >= 0 || errno != ENOENT || (flags & O_CREAT) == 0)
			break;
		fd = create_file(dirfd, name, how, mode, create_owner(dirfd));
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0 && errno == ELOOP)
		return error_set(err, ERROR_UNSAFE, "%s: is a symbolic link",
				 name);
	/* ENXIO: a FIFO or device */
	if (fd < 0 && errno == ENXIO)
		return error_set(err, ERROR_CORRUPT, "%s: not a regular file",
				 name);
	if (fd < 0)
		return error_sys(err, "%s: cannot open", name);
	if (stat_regular(fd, name, &st, err) == 0) {
		if ((flags & O_ACCMODE) == O_RDONLY ||
		    create_may_change(dirfd, fd))
			return fd;
		error_set(err, ERROR_UNSAFE,
			  "%s: a link to a file of another user", name);
	}
	close(fd);
	return -1;
}

int
io_rewrite(int fd, const char *name, const void *data, size_t len,
	   struct error *err)
{
	if (io_pwrite(fd, name, data, len, 0, err) < 0)
		return -1;
	if (ftruncate(fd, (off_t)len) < 0)
		return error_sys(err, "%s: cannot truncate", name);
	return io_fsync(fd, name, err);
}

int
io_make_dirs(const char *path, mode_t mode, struct error *err)
{
	char *copy = mem_strdup(path);
	int rc = -1;

	if (copy == NULL) {
		errno = ENOMEM;
		return error_no_memory(err);
	}
	for (char *p = copy + (*copy == '/');; p++) {
		const char end = *p;

		if (end != '/' && end != '\0')
			continue;
		*p = '\0';
		rc = create_dir_path(copy, mode);
		if (rc < 0 && errno == EEXIST)
			rc = 0;
		*p = end;
		if (end == '\0')
			break;
	}
	if (rc < 0)
		error_sys(err, "%s: cannot create", path);
	mem_free(copy);
	return rc;
}
