/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache_dir.c - the directory of one dataset in a cache.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scavenge/nodecache.h"

/* Larger filemaps are rejected: no rank has a million files. */
#define MAP_MAX ((size_t)256 << 20)

/* --- Metadata files by rank --- */

/* One name in .scr that belongs to a rank. */
struct name {
	int64_t rank;
	const char *red; /* NULL: the filemap */
};

struct names {
	struct arena *arena;
	size_t count, cap;
	struct name *list;
};

static int
add_name(void *arg, const char *name, struct error *err)
{
	struct names *n = arg;
	uint32_t rank = 0;
	const enum dataset_dir_kind kind = dataset_dir_kind(name, &rank);
	struct name new = { .rank = rank };

	if (kind != DATASET_DIR_FILEMAP && kind != DATASET_DIR_REDUNDANCY &&
	    kind != DATASET_DIR_DESCRIPTOR)
		return 0;
	if (kind != DATASET_DIR_FILEMAP)
		new.red = arena_strdup(n->arena, name);
	if ((kind != DATASET_DIR_FILEMAP && new.red == NULL) ||
	    !MEM_ROOM(n->list, n->count, n->cap))
		return error_no_memory(err);
	n->list[n->count++] = new;
	return 0;
}

static int
compare_name(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->red == NULL || b->red == NULL)
		return (a->red != NULL) - (b->red != NULL);
	return strcmp(a->red, b->red);
}

/* Group the sorted names into one slot for each rank. */
static int
make_slots(struct nodecache_dir *d, const struct names *n)
{
	const char **red = arena_alloc(d->arena, n->count + 1, sizeof(*red));

	d->slots = arena_alloc(d->arena, n->count + 1, sizeof(*d->slots));
	if (red == NULL || d->slots == NULL)
		return -1;
	for (size_t i = 0; i < n->count; i++) {
		const struct name *name = &n->list[i];
		struct nodecache_slot *s = &d->slots[d->count];

		if (i == 0 || n->list[i - 1].rank != name->rank) {
			*s = (struct nodecache_slot){ .rank = name->rank,
						      .red = red };
			d->count++;
		} else {
			s = &d->slots[d->count - 1];
		}
		if (name->red == NULL) {
			s->map = true;
		} else {
			*red++ = name->red;
			s->nred++;
		}
	}
	return 0;
}

int
nodecache_dir_open(struct nodecache_dir *d, const char *path, struct error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct names names = { .arena = arena_new() };
	const char *meta = NULL;
	int rc = -1;

	*d = (struct nodecache_dir){ .fd = -1, .meta = -1 };
	d->arena = names.arena;
	if (d->arena != NULL)
		meta = arena_printf(d->arena, "%s/" SCR_DIR, path);
	if (meta == NULL)
		return error_no_memory(err);
	d->fd = open(path, flags);
	if (d->fd < 0)
		return error_sys(err, "%s: cannot open", path);
	d->meta = openat(d->fd, SCR_DIR, flags | O_NOFOLLOW);
	if (d->meta < 0)
		return error_sys(err, "%s: cannot open", meta);
	if (dir_each(d->meta, meta, add_name, &names, err) == 0) {
		if (names.count > 0)
			qsort(names.list, names.count, sizeof(*names.list),
			      compare_name);
		rc = make_slots(d, &names) < 0 ? error_no_memory(err) : 0;
	}
	mem_free(names.list);
	return rc;
}

void
nodecache_dir_close(struct nodecache_dir *d)
{
	io_close(d->meta);
	io_close(d->fd);
	arena_free(d->arena);
	*d = (struct nodecache_dir){ .fd = -1, .meta = -1 };
}

/* --- Files --- */

int
nodecache_dir_regular(int dirfd, const char *name, struct stat *st,
		      struct error *err)
{
	int fd = io_open(dirfd, name, O_RDONLY, 0, err);

	if (fd < 0 || fstat(fd, st) == 0)
		return fd;
	error_sys(err, "%s: cannot stat", name);
	close(fd);
	return -1;
}

int
nodecache_dir_map(int meta, int64_t rank, const struct nodecache_map *to,
		  struct error *err)
{
	char name[64];
	struct stat st;
	int fd = -1, rc = -1;

	fd = nodecache_dir_regular(meta, filemap_name(name, sizeof(name), rank),
				   &st, err);
	if (fd < 0)
		return -1;
	if (io_read_fd(fd, name, MAP_MAX, to->raw, err) == 0) {
		rc = filemap_decode(to->raw->data, to->raw->len, to->arena,
				    to->out, err);
		if (rc < 0)
			error_wrap(err, "%s", name);
	}
	close(fd);
	return rc;
}

bool
nodecache_dir_bypass(const struct filemap_file *f)
{
	size_t len = f->dir == NULL ? 0 : strlen(f->dir);

	return len > 0 && strncmp(f->cache_path, f->dir, len) == 0 &&
	       f->cache_path[len] == '/' &&
	       strchr(f->cache_path + len + 1, '/') == NULL;
}

int
nodecache_dir_file(const struct nodecache_dir *d, const struct filemap_file *f,
		   struct error *err)
{
	const char *base = path_base(f->cache_path);
	struct stat st = { .st_size = 0 };
	int fd = -1;

	if (!f->complete)
		return error_set(err, ERROR_DAMAGED, "%s: was never completed",
				 base);
	if (!f->attr.has_size)
		return error_set(err, ERROR_DAMAGED, "%s: no SIZE recorded",
				 base);
	if (!path_is_clean(base))
		return error_set(err, ERROR_UNSAFE,
				 "%s: no path of a file in a cache",
				 f->cache_path);
	/* A file in cache lies in the dataset directory under its base name
	 * (formats.md 2); a bypass file lies at its recorded path. */
	fd = nodecache_dir_bypass(f)
		     ? nodecache_dir_regular(AT_FDCWD, f->cache_path, &st, err)
		     : nodecache_dir_regular(d->fd, base, &st, err);
	if (fd < 0)
		return -1;
	if ((uint64_t)st.st_size == f->attr.size)
		return fd;
	close(fd);
	return error_set(err, ERROR_DAMAGED,
			 "%s: %" PRIu64 " bytes, expected %" PRIu64, base,
			 (uint64_t)st.st_size, f->attr.size);
}
