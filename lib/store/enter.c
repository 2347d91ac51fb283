/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.c - the stores of a process, and which one a name is in (file.h). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "libc.h"
#include "mem.h"
#include "path.h"
#include "store/file.h"
#include "store/store_impl.h"

#define STORES 8

/* The stores of this process. */
LIBC_HOT_DATA _Atomic unsigned store_in_use;
static struct store *stores[STORES];

int
store_use(const char *dir, struct error *err)
{
	const unsigned n = atomic_load(&store_in_use);
	struct store *s = NULL;

	for (unsigned i = 0; i < n; i++)
		if (strcmp(dir, stores[i]->given) == 0)
			return 0;
	if (n == STORES)
		return error_set(err, ERROR_USAGE, "%s: more than %d stores",
				 dir, STORES);
	s = store_open(dir, err);
	if (s == NULL)
		return -1;
	stores[n] = s;
	s->given = mem_strdup(dir);
	if (s->given == NULL)
		s->given = s->dir;
	atomic_store(&store_in_use, n + 1);
	store_moved();
	return 0;
}

struct store *
store_at(unsigned i)
{
	return i < atomic_load(&store_in_use) ? stores[i] : NULL;
}

/* The working directory: in none of the stores, and none is in it?  Its lowest
 * two bits are the answer, the others count changes of it. */
enum { UNKNOWN, APART, NEAR };
static _Atomic unsigned working;

void
store_moved(void)
{
	unsigned was = atomic_load(&working);

	while (!atomic_compare_exchange_weak(&working, &was, (was | 3) + 1))
		continue;
}

static bool
works_apart(void)
{
	unsigned was = atomic_load(&working), is = APART;
	const struct store *s = NULL;
	char dir[PATH_MAX];

	if ((was & 3) != UNKNOWN)
		return (was & 3) == APART;
	if (getcwd(dir, sizeof(dir)) == NULL)
		return false;
	for (unsigned i = 0; (s = store_at(i)) != NULL; i++)
		if (path_below(dir, s->dir) != NULL ||
		    path_below(s->dir, dir) != NULL)
			is = NEAR;
	(void)atomic_compare_exchange_strong(&working, &was, was + is);
	return is == APART;
}

bool
store_seems(int dirfd, const char *path)
{
	const struct store *s = NULL;

	if (path[0] != '/') {
		if (dirfd != AT_FDCWD || !works_apart())
			return true;
		while (*path != '\0' && (path[0] != '.' || path[1] != '.'))
			path++;
		return *path != '\0';
	}
	for (unsigned i = 0; (s = store_at(i)) != NULL; i++)
		if (path_below(path, s->dir) != NULL ||
		    path_below(path, s->given) != NULL)
			return true;
	return false;
}

int
store_enter(int dirfd, const char *path, char base[NAME_MAX + 1],
	    struct store **in)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	const size_t up = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	char dir[PATH_MAX], link[40];
	struct store *s = NULL;
	ssize_t len = 0;
	int fd = -1;

	if (!store_seems(dirfd, path) || up >= sizeof(dir) || name[0] == '\0' ||
	    strlen(name) > NAME_MAX)
		return -1;
	memcpy(dir, path, up);
	memcpy(dir + up, ".", 2);
	fd = openat(dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, dir, sizeof(dir) - 1);
	for (unsigned i = 0; len > 0 && (s = store_at(i)) != NULL; i++) {
		const char *rest = NULL;

		dir[len] = '\0';
		rest = path_below(dir, s->dir);
		if (rest == NULL || path_below(rest, STORE_META) != NULL)
			continue;
		memcpy(base, name, strlen(name) + 1);
		*in = s;
		return fd;
	}
	close(fd);
	return -1;
}
