/* SPDX-License-Identifier: BSD-3-Clause */
#include "dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "str.h"

int
dir_open_file(int dir, const char *name, int flags, mode_t mode)
{
	int fd = openat(dir, name, flags, mode);

	if (fd < 0 && errno == ESTALE)
		fd = openat(dir, name, flags, mode);
	return fd;
}

int
dir_open(int dir, const char *name)
{
	return dir_open_file(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int
dir_open_plain(int dir, const char *name)
{
	return dir_open_file(
		dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

int
dir_stat(int dir, const char *name, struct stat *st, int flags)
{
	const int rc = fstatat(dir, name, st, flags);

	return rc < 0 && errno == ESTALE ? fstatat(dir, name, st, flags) : rc;
}

int
dir_access(int dir, const char *name, int mode)
{
	const int rc = faccessat(dir, name, mode, 0);

	return rc < 0 && errno == ESTALE ? faccessat(dir, name, mode, 0) : rc;
}

int
dir_each(int fd, const char *what,
	 int (*fn)(void *arg, const char *name, struct error *err), void *arg,
	 struct error *err)
{
	/* Not dup(): the offset would be shared. */
	int own = dir_open(fd, ".");
	struct dirent *de = NULL;
	DIR *dir = NULL;
	int rc = 0;

	if (own < 0)
		return error_sys(err, "%s: cannot open", what);
	dir = fdopendir(own);
	if (dir == NULL) {
		error_sys(err, "%s: cannot read", what);
		close(own);
		return -1;
	}
	errno = 0;
	while (rc == 0 && (de = readdir(dir)) != NULL) {
		if (!str_eq(de->d_name, ".") && !str_eq(de->d_name, ".."))
			rc = fn(arg, de->d_name, err);
		errno = 0;
	}
	if (rc == 0 && errno != 0)
		rc = error_sys(err, "%s: cannot read", what);
	closedir(dir);
	return rc;
}

static int
stop_at_first(void *arg, const char *name, struct error *err)
{
	(void)arg;
	(void)name;
	(void)err;
	return 1;
}

bool
dir_is_empty(int fd)
{
	return dir_each(fd, "", stop_at_first, NULL, NULL) == 0;
}
