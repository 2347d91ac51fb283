/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_sweep.c - away with what nothing names any more: after a switch, or
 * left by a run that was interrupted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dataset/catalogue_impl.h"
#include "dataset/pack_impl.h"
#include "error.h"
#include "map.h"

struct sweeping {
	struct map *named;
	int dirfd;
	size_t *count;
};

static int
name_all(struct map *named, const struct segmap *m)
{
	for (size_t i = 0; i < m->ncontainers; i++)
		if (map_put(named, m->containers[i].name, 0) < 0)
			return -1;
	return 0;
}

static int
sweep_name(void *arg, const char *name, struct error *err)
{
	struct sweeping *s = arg;
	char full[NAME_MAX + sizeof(SEGMAP_DIR) + 2];

	if (!segmap_is_container(name))
		return 0;
	snprintf(full, sizeof(full), SEGMAP_DIR "/%s", name);
	if (map_get(s->named, full) != MAP_NONE)
		return 0;
	if (unlinkat(s->dirfd, name, 0) < 0)
		return errno == ENOENT || errno == EISDIR
			       ? 0
			       : error_sys(err, "%s: cannot remove", full);
	if (s->count != NULL)
		++*s->count;
	return 0;
}

int
pack_sweep(const struct packed *p, const struct segmap *data,
	   const struct segmap *red, size_t *count, struct error *err)
{
	struct sweeping s = { .named = map_new(), .count = count };
	int rc = -1;

	s.dirfd = openat(p->root_fd, SEGMAP_DIR,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s.dirfd < 0) {
		map_free(s.named);
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot open", SEGMAP_DIR);
	}
	if (s.named == NULL || name_all(s.named, data) < 0 ||
	    name_all(s.named, red) < 0)
		pack_no_memory(err);
	else
		rc = catalogue_each_name(s.dirfd, SEGMAP_DIR, sweep_name, &s,
					 err);
	close(s.dirfd);
	map_free(s.named);
	return rc;
}
