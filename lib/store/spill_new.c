/* SPDX-License-Identifier: BSD-3-Clause */
/* spill_new.c - names of spilled files, and new files that begin as such: what
 * any program needs, without the libraries that copying takes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dir.h"
#include "path.h"
#include "store/spill.h"
#include "store/store_impl.h"

/* spill_dir() of the store at `dir`. */
static char *
find_copies(const char *dir, char to[static PATH_MAX])
{
	char link[STORE_ROOM];
	ssize_t n = 0;

	snprintf(link, sizeof(link), "%s/" STORE_META "/spill", dir);
	n = readlink(link, to, PATH_MAX - 1);
	to[n < 0 ? 0 : n] = '\0';
	return to;
}

char *
spill_dir(const struct store *s, char to[static PATH_MAX])
{
	return find_copies(s->dir, to);
}

static void
forget(const char *copies, int dirfd, const char *name)
{
	char to[PATH_MAX];
	const ssize_t n = readlinkat(dirfd, name, to, sizeof(to) - 1);
	const char *rest = NULL;
	struct dir_walk w;
	int fd = -1;

	if (n > 0) {
		to[n] = '\0';
		rest = path_below(to, copies);
		if (rest != NULL && strchr(rest, '/') == NULL)
			(void)unlink(to);
		return;
	}
	fd = dir_open_plain(dirfd, name);
	if (fd < 0)
		return;
	if (dir_walk(&w, fd, name, NULL) == 0)
		while ((rest = dir_next(&w)) != NULL)
			forget(copies, fd, rest);
	(void)dir_done(&w, 0, NULL);
	close(fd);
}

void
spill_forget(const char *dir, int dirfd, const char *name)
{
	char copies[PATH_MAX];
	struct stat is;

	if (stat(dir, &is) == 0 && is.st_uid == geteuid() &&
	    find_copies(dir, copies)[0] == '/')
		forget(copies, dirfd, name);
}

bool
spill_path(char to[static PATH_MAX], const char *base)
{
	const size_t n = strlen(to);
	char unique[64];

	store_dirty_name(unique, sizeof(unique));
	return n > 0 && n + NAME_MAX < PATH_MAX &&
	       snprintf(to + n, PATH_MAX - n, "/%.180s.%s", base, unique) > 0;
}

bool
spill_trusts(const struct stat *dir)
{
	return dir->st_uid == geteuid() && (dir->st_mode & 022) == 0;
}

bool
spill_wants(const struct store *s, uint64_t size)
{
	struct store_status st;

	return size != UINT64_MAX && s->state->spill[0] == '/' &&
	       store_status(s, &st, NULL) == 0 &&
	       (size > st.free + st.clean ||
		size > atomic_load(&s->state->size));
}

int
spill_create(const struct store *s, int dir, const char *base, int flags,
	     mode_t mode)
{
	char to[PATH_MAX];
	struct stat up;
	int fd = -1, saved = 0;

	errno = ENOENT;
	if (!spill_path(spill_dir(s, to), base) || fstat(dir, &up) < 0 ||
	    !spill_trusts(&up))
		return -1;
	fd = open(to, flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	if (fd < 0 || symlinkat(to, dir, base) == 0)
		return fd;
	saved = errno;
	unlink(to);
	close(fd);
	errno = saved;
	return -1;
}
