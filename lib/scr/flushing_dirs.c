/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing_dirs.c - the directories of a flush.  The leader of a node collects
 * those of its ranks.  Then each directory is sent to one rank, selected by its
 * hash, which makes it.  So the file system gets one request per directory, not
 * one per rank.
 */
#include "scr/flushing_impl.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "scr/run.h"

#define DIR_MODE 0777

/* Distinct directories. */
struct dirs {
	struct arena *arena;
	struct map *seen;
	size_t count, cap;
	struct team_path *list;
};

/* Add the directory `path` of `len` bytes below the prefix ("": the prefix). */
static int
add(struct dirs *d, const char *path, size_t len, uint32_t ranks)
{
	const char *copy = arena_strndup(d->arena, path, len);

	if (copy == NULL)
		return -1;
	if (len == 0 || map_get(d->seen, copy) != MAP_NONE)
		return 0;
	if (!MEM_ROOM(d->list, d->count, d->cap) ||
	    map_put(d->seen, copy, d->count) < 0)
		return -1;
	d->list[d->count] =
		(struct team_path){ team_home(copy, ranks), d->count, copy };
	d->count++;
	return 0;
}

static int
begin(struct dirs *d, struct arena *a, struct error *err)
{
	*d = (struct dirs){ .arena = a, .seen = map_new() };
	return d->seen == NULL ? error_no_memory(err) : 0;
}

static void
end(struct dirs *d)
{
	map_free(d->seen);
	mem_free(d->list);
}

/* Send the directories `d` of this rank, and receive `got`; `rc` as for
 * team_notes().  The result is that of this rank. */
static int
pass(const struct flushing *f, const struct team *t, int rc, struct dirs *d,
     struct dirs *got, struct error *err)
{
	struct team_mail out = { 0, NULL }, in = { 0, NULL };
	const uint32_t ranks = f->run->world.size;

	/* The leader of a node gets all of them. */
	for (size_t i = 0; t == &f->run->node && i < d->count; i++)
		d->list[i].home = 0;
	if (rc == 0)
		rc = team_paths(d->list, d->count, f->arena, &out, err);
	if (rc == 0)
		rc = begin(got, f->arena, err);
	if (team_notes(t, rc, &out, f->arena, &in, err) < 0)
		return -1;
	for (size_t i = 0; i < in.count; i++) {
		const char *at = in.notes[i].data;
		const char *stop = at + in.notes[i].len;

		for (; at < stop; at += strlen(at) + 1)
			if (add(got, at, strlen(at), ranks) < 0)
				return error_no_memory(err);
	}
	return 0;
}

/* Make the parent directory of `path`; with `sync`, also sync it. */
static int
make_parent(int prefix_fd, const char *path, bool sync, struct error *err)
{
	const char *base = NULL;
	const int fd =
		path_open_parent(prefix_fd, path, true, DIR_MODE, &base, err);
	const int rc = fd < 0 ? -1 : !sync ? 0 : io_sync_dir(fd, path, err);

	io_close(fd);
	return rc;
}

/* Make a directory and those above it, and sync their names. */
static int
make_dir(int prefix_fd, const char *dir, struct error *err)
{
	struct buf path = BUF_INIT;
	int rc = path_join(&path, dir, "x", err);

	if (rc == 0)
		rc = make_parent(prefix_fd, path.data, false, err);
	while (rc == 0 && strchr(path.data, '/') != NULL) {
		*strrchr(path.data, '/') = '\0';
		rc = make_parent(prefix_fd, path.data, true, err);
	}
	buf_free(&path);
	return rc;
}

int
flushing_make_dirs(struct flushing *f, struct error *err)
{
	const struct run *run = f->run;
	struct dirs own = { .count = 0 }, node = own, mine = own;
	int rc = begin(&own, f->arena, err);

	for (size_t i = 0; rc == 0 && i < f->nfiles; i++) {
		const char *rel = f->files[i].rel, *base = path_base(rel);

		if (base > rel && add(&own, rel, (size_t)(base - rel - 1),
				      run->world.size) < 0)
			rc = error_no_memory(err);
	}
	rc = pass(f, &run->node, rc, &own, &node, err);
	rc = pass(f, &run->world, rc, &node, &mine, err);
	for (size_t i = 0; rc == 0 && i < mine.count; i++)
		rc = make_dir(f->prefix_fd, mine.list[i].path, err);
	rc = team_agree(&run->world, rc, err);
	end(&own);
	end(&node);
	end(&mine);
	return rc;
}
