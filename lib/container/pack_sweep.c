/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_sweep.c - remove files that no map lists: after a switch, or left by an
 * interrupted run.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "dir.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "str.h"
#include "temp.h"

#define PART_STEM "rank2file."

struct sweeping {
	struct map *named;
	int dirfd;
	bool dry_run; /* only count */
	size_t *count;
};

static int
name_all(struct map *named, const struct segmap *m)
{
	for (size_t i = 0; m != NULL && i < m->ncontainers; i++)
		if (map_put(named, m->containers[i].name, 0) < 0)
			return -1;
	return 0;
}

static int
sweep_name(void *arg, const char *name, struct error *err)
{
	struct sweeping *s = arg;
	char full[NAME_MAX + sizeof(SEGMAP_DIR) + 2];

	if (!segmap_is_container(name) && !temp_is(name))
		return 0;
	snprintf(full, sizeof(full), SEGMAP_DIR "/%s", name);
	if (map_get(s->named, full) != MAP_NONE)
		return 0;
	if (!s->dry_run && unlinkat(s->dirfd, name, 0) < 0)
		return errno == ENOENT || errno == EISDIR
			       ? 0
			       : error_sys(err, "%s: cannot remove", full);
	if (s->count != NULL && !temp_is(name))
		++*s->count;
	return 0;
}

int
pack_sweep(const struct packed *p, const struct segmap *data,
	   const struct segmap *red, bool dry_run, size_t *count,
	   struct error *err)
{
	struct sweeping s = {
		.named = map_new(),
		.dry_run = dry_run,
		.count = count,
	};
	int rc = -1;

	s.dirfd = dir_open_plain(p->root_fd, SEGMAP_DIR);
	if (s.dirfd < 0) {
		map_free(s.named);
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot open", SEGMAP_DIR);
	}
	if (s.named == NULL || name_all(s.named, data) < 0 ||
	    name_all(s.named, red) < 0)
		error_no_memory(err);
	else
		rc = dir_each(s.dirfd, SEGMAP_DIR, sweep_name, &s, err);
	close(s.dirfd);
	map_free(s.named);
	return rc;
}

/* --- Parts of rank2file --- */

/* Is this the name of a part: "rank2file.0.1", in layout 1
 * "rank2file.0.1.scr"? */
static bool
is_part(const struct packed *p, const char *name)
{
	const char *end = NULL;
	uint64_t n = 0;

	if (!str_starts(name, PART_STEM))
		return false;
	end = value_scan(name + strlen(PART_STEM), INT64_MAX, &n);
	if (end == NULL || *end != '.')
		return false;
	end = value_scan(end + 1, INT64_MAX, &n);
	return end != NULL && str_eq(end, p->layout == 1 ? ".scr" : "");
}

/* Add the name of a part.  The top file gives its end only; in layout 1, its
 * path from the dataset's directory. */
static int
name_part(struct map *named, const struct packed *p, const char *file)
{
	const char *name =
		p->layout == 1 ? path_base(file)
			       : arena_printf(p->arena, "%s%s", p->base, file);

	return name == NULL ? -1 : map_put(named, name, 0);
}

struct parts {
	const struct packed *p;
	struct map *named; /* NULL: unknown */
};

static int
sweep_part(void *arg, const char *name, struct error *err)
{
	const struct parts *s = arg;
	char first[NAME_MAX + 1];
	const bool copy = dataset_dir_is_copy(name, first);
	bool stale = s->named != NULL && is_part(s->p, first) &&
		     map_get(s->named, first) == MAP_NONE;

	/* Only packed datasets have copies. */
	if (copy && !s->p->is_packed &&
	    (is_part(s->p, first) || str_eq(first, s->p->base)))
		stale = true;

	if ((!stale && !temp_is(name)) ||
	    unlinkat(s->p->meta_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return error_sys(err, "%s: cannot remove", name);
}

int
pack_sweep_parts(const struct packed *p, struct error *err)
{
	struct parts s = { .p = p, .named = map_new() };
	const struct kvtree *k = NULL;
	uint64_t level = 0;
	int rc = 0;

	if (s.named == NULL)
		return error_no_memory(err);
	kvtree_foreach (k, kvtree_get(p->r2f.top, "RANK")) {
		const char *file = kvtree_value(k, "FILE");

		if (rc == 0 && file != NULL)
			rc = name_part(s.named, p, file);
	}
	/* If there are more levels, which only LLNL's library writes, the top
	 * file does not name all parts: remove none. */
	if (kvtree_u64(p->r2f.top, "LEVEL", INT64_MAX, &level, NULL) < 0 ||
	    level != 1) {
		map_free(s.named);
		s.named = NULL;
	}
	if (rc < 0)
		error_no_memory(err);
	else if (dir_each(p->meta_fd, p->dir, sweep_part, &s, err) < 0 ||
		 hidden_sweep(p->meta_fd, &p->r2f, err) < 0)
		rc = -1;
	map_free(s.named);
	return rc;
}
