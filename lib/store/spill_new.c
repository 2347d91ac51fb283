/* SPDX-License-Identifier: BSD-3-Clause */
/* spill_new.c - names of spilled files, and new files that begin as such: what
 * any program needs, without the libraries that copying takes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/spill.h"
#include "store/store_impl.h"

char *
spill_dir(const struct store *s, char to[static PATH_MAX])
{
	char link[STORE_ROOM];
	ssize_t n = 0;

	snprintf(link, sizeof(link), "%s/" STORE_META "/spill", s->dir);
	n = readlink(link, to, PATH_MAX - 1);
	to[n < 0 ? 0 : n] = '\0';
	return to;
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

	return size != UINT64_MAX && s->state->spill[0] != '\0' &&
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
