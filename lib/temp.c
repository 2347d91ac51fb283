/* SPDX-License-Identifier: BSD-3-Clause */
#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"
#include "dir.h"
#include "fnv.h"
#include "io.h"
#include "path.h"

#define PREFIX ".scrkit-"
#define SUFFIX ".tmp"
#define DIGITS 16

char *
temp_number(char *to, uint64_t number)
{
	snprintf(to, TEMP_NAME_MAX, PREFIX "%016" PRIx64 SUFFIX, number);
	return to;
}

char *
temp_name(char *to, const char *base)
{
	const char *p = path_base(base);
	uint64_t h = fnv_text(p);

	/* FNV's high bits are weak for short names: mix (MurmurHash3). */
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return temp_number(to, h ^ h >> 33);
}

bool
temp_is(const char *name)
{
	const size_t prefix = sizeof(PREFIX) - 1;

	return strncmp(name, PREFIX, prefix) == 0 &&
	       strspn(name + prefix, "0123456789abcdef") == DIGITS &&
	       strcmp(name + prefix + DIGITS, SUFFIX) == 0;
}

int
temp_make(int dirfd, const char *base, mode_t mode, struct owner owner)
{
	char temp[TEMP_NAME_MAX];
	int fd = create_file(dirfd, temp_name(temp, base), O_WRONLY, mode,
			     owner);

	if (fd < 0 && errno == EEXIST && io_remove_tree(dirfd, temp, NULL) == 0)
		fd = create_file(dirfd, temp, O_WRONLY, mode, owner);
	return fd;
}

int
temp_open(int dirfd, const char *base, bool reads)
{
	return dir_open_file(dirfd, temp_str(base),
			     (reads ? O_RDWR : O_WRONLY) | O_NOFOLLOW |
				     O_NONBLOCK | O_CLOEXEC,
			     0);
}

int
temp_resume(int dirfd, const char *base, struct owner owner)
{
	const uid_t uid = owner.set ? owner.uid : geteuid();
	int fd = temp_open(dirfd, base, true);
	struct stat is;

	if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) &&
	    is.st_nlink == 1 && is.st_uid == uid &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	io_close(fd);
	return -1;
}

bool
temp_is_file(int dirfd, const char *base, dev_t dev, ino_t ino)
{
	struct stat there;

	return fstatat(dirfd, temp_str(base), &there, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       there.st_dev == dev && there.st_ino == ino;
}

bool
temp_is_same(int dirfd, const char *base, int fd)
{
	struct stat ours;

	return fstat(fd, &ours) == 0 &&
	       temp_is_file(dirfd, base, ours.st_dev, ours.st_ino);
}

int
temp_commit(int dirfd, const char *base)
{
	return io_rename(dirfd, temp_str(base), base);
}

int
temp_remove(int dirfd, const char *base)
{
	if (unlinkat(dirfd, temp_str(base), 0) < 0 && errno != ENOENT)
		return -1;
	return 0;
}
