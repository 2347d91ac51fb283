/* SPDX-License-Identifier: BSD-3-Clause */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "create.h"
#include "error.h"
#include "str.h"

/* Buffer size for the name of a file system in a message. */
#define NAME_MAX_SHOWN 256

/* Bytes of the test file: a page, as memory file systems allocate pages. */
#define TRY_BYTES 4096

bool
room_is_short(const struct error *err)
{
	return err != NULL && err->kind == ERROR_SYSTEM &&
	       (err->errnum == ENOSPC || err->errnum == EDQUOT);
}

/* Write the mount point of the file system of `fd`: its topmost directory on
 * the same device. */
static const char *
mount_point(int fd, char to[static NAME_MAX_SHOWN])
{
	char link[64], path[PATH_MAX], *slash = NULL;
	struct stat st, up;
	ssize_t len = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0 || fstat(fd, &st) < 0)
		return "the file system";
	path[len] = '\0';
	while (path[1] != '\0' && (slash = strrchr(path, '/')) != NULL) {
		char *cut = slash == path ? slash + 1 : slash;
		const char kept = *cut;

		*cut = '\0';
		if (stat(path, &up) < 0 || up.st_dev != st.st_dev) {
			*cut = kept;
			break;
		}
	}
	return str_printable(to, NAME_MAX_SHOWN, path);
}

#define OVER_QUOTA "the quota is used up"

/* Write "/scratch: 10 GB needed[ for WHAT], 1.2 GB free[, no inode free]". */
static void
describe(int fd, uint64_t need, const char *what, char *to, size_t size)
{
	char name[NAME_MAX_SHOWN], a[32], b[32];
	struct statvfs fs = { .f_favail = 1 };
	int n = snprintf(to, size, "%s: ", mount_point(fd, name));

	if (need > 0)
		n += snprintf(to + n, size - (size_t)n, "%s needed%s%s, ",
			      str_bytes(a, sizeof(a), need),
			      what != NULL ? " for " : "",
			      what != NULL ? what : "");
	if (fstatvfs(fd, &fs) == 0)
		str_bytes(b, sizeof(b), (uint64_t)fs.f_bavail * fs.f_frsize);
	else
		snprintf(b, sizeof(b), "?");
	snprintf(to + n, size - (size_t)n, "%s free%s", b,
		 fs.f_files > 0 && fs.f_favail == 0 ? ", no inode free" : "");
}

int
room_check(int fd, uint64_t need, const char *what, struct error *err)
{
	char text[2 * NAME_MAX_SHOWN];
	struct statvfs fs;

	/* Some file systems report no size. */
	if (fstatvfs(fd, &fs) < 0 || fs.f_blocks == 0 ||
	    (uint64_t)fs.f_bavail * fs.f_frsize >= need)
		return 0;
	describe(fd, need, what, text, sizeof(text));
	errno = ENOSPC;
	return error_sys(err, "%s", text);
}

int
room_explain(int fd, uint64_t need, struct error *err)
{
	char text[2 * NAME_MAX_SHOWN];

	if (!room_is_short(err) || strstr(err->text, " free") != NULL ||
	    strstr(err->text, OVER_QUOTA) != NULL)
		return -1;	   /* another error, or explained before */
	if (err->errnum == EDQUOT) /* what is free is not ours */
		return error_wrap(err, "%s: " OVER_QUOTA,
				  mount_point(fd, text));
	describe(fd, need, NULL, text, sizeof(text));
	return error_wrap(err, "%s", text);
}

int
room_try(int dirfd, struct error *err)
{
	char name[HOST_NAME_MAX + 64], host[HOST_NAME_MAX + 1] = "";
	char page[TRY_BYTES];
	int fd = -1, bad = 0;

	(void)gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), ".scr_check.%s.%ld", host, (long)getpid());
	fd = create_file(dirfd, name, O_WRONLY, 0600, create_owner(dirfd));
	if (fd < 0)
		return error_sys(err, "cannot write here");
	/* Write a page.  Some file systems report only at fsync that they are
	 * full. */
	memset(page, 'x', sizeof(page));
	for (size_t done = 0; bad == 0 && done < sizeof(page);) {
		const ssize_t n = write(fd, page, sizeof(page) - done);

		if (n <= 0)
			bad = n < 0 ? errno : ENOSPC;
		else
			done += (size_t)n;
	}
	if (bad == 0 && fsync(fd) < 0 && errno != EINVAL)
		bad = errno;
	if (close(fd) < 0 && bad == 0)
		bad = errno;
	if (unlinkat(dirfd, name, 0) < 0 && bad == 0)
		bad = errno;
	errno = bad;
	return bad == 0 ? 0 : error_sys(err, "cannot write here");
}
