/* SPDX-License-Identifier: BSD-3-Clause */
#include "dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "error.h"
#include "str.h"

int
dir_each(int fd, const char *what,
	 int (*fn)(void *arg, const char *name, struct error *err), void *arg,
	 struct error *err)
{
	/* Not dup(): the offset would be shared. */
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
