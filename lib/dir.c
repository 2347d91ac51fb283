/* SPDX-License-Identifier: BSD-3-Clause */
#include "dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "str.h"

/* With O_NONBLOCK, a file that a process has a lease of is not waited for.  We
 * have one for some microseconds (store_impl.h), or while a file is spilled,
 * which ends as soon as somebody asks. */
#define AGAIN_MAX 10000
#define AGAIN_AT_ONCE 100

bool
dir_again(unsigned *times)
{
	const struct timespec wait = { .tv_nsec = 1000000 };

	if (errno != EAGAIN || ++*times > AGAIN_MAX)
		return false;
	if (*times > AGAIN_AT_ONCE)
		(void)nanosleep(&wait, NULL);
	errno = EAGAIN;
	return true;
}

int
dir_open_file(int dir, const char *name, int flags, mode_t mode)
{
	unsigned again = 0, stale = 0;
	int fd = -1;

	do
		fd = openat(dir, name, flags, mode);
	while (fd < 0 &&
	       ((errno == ESTALE && stale++ == 0) || dir_again(&again)));
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
dir_walk(struct dir_walk *w, int fd, const char *what, struct error *err)
{
	/* Not dup(): the offset would be shared. */
	const int own = dir_open(fd, ".");

	*w = (struct dir_walk){ .what = what };
	if (own < 0)
		return error_sys(err, "%s: cannot open", what);
	w->dir = fdopendir(own);
	if (w->dir != NULL)
		return 0;
	error_sys(err, "%s: cannot read", what);
	close(own);
	return -1;
}

const char *
dir_next(struct dir_walk *w)
{
	const struct dirent *de = NULL;

	do {
		errno = 0;
		de = readdir(w->dir);
	} while (de != NULL &&
		 (str_eq(de->d_name, ".") || str_eq(de->d_name, "..")));
	w->errnum = de == NULL ? errno : 0;
	return de != NULL ? de->d_name : NULL;
}

int
dir_done(struct dir_walk *w, int rc, struct error *err)
{
	if (w->dir != NULL)
		closedir(w->dir);
	errno = w->errnum;
	if (rc == 0 && errno != 0)
		rc = error_sys(err, "%s: cannot read", w->what);
	return rc;
}

int
dir_each(int fd, const char *what,
	 int (*fn)(void *arg, const char *name, struct error *err), void *arg,
	 struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, fd, what, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL)
		rc = fn(arg, name, err);
	return dir_done(&w, rc, err);
}

bool
dir_is_empty(int fd)
{
	struct dir_walk w;
	int rc = dir_walk(&w, fd, "", NULL);

	if (rc == 0 && dir_next(&w) != NULL)
		rc = 1;
	return dir_done(&w, rc, NULL) == 0;
}
