/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outset_write.c - the metadata of a dataset in cache: the filemap of each
 * rank, and the state and the lists of files of a directory (formats.md 4.2 and
 * 7).
 */
#include "scr/outset_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "meta/filemap.h"
#include "meta/kvtree.h"
#include "meta/value.h"
#include "path.h"
#include "scr/newfile.h"
#include "scr/run.h"

#define STEM_DATA "reddesc.er"
#define STEM_MAP "reddescmap.er"
#define STATE_ENCODED "2"

static int
open_meta(const struct outset *o, struct error *err)
{
	int fd = open(o->meta, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_sys(err, "%s", o->meta) : fd;
}

/* --- Filemap --- */

/* The last file first, as LLNL's library writes them. */
static struct kvtree *
filemap_tree(const struct outset *o, struct error *err)
{
	struct kvtree *t = kvtree_new(err);

	for (size_t i = o->nowned; t != NULL && i-- > 0;) {
		const struct outset_file *from = &o->files[o->routed[i]];
		const char *base = path_base(from->path);
		struct filemap_file f = {
			.cache_path = from->to,
			.orig = from->orig,
			.name = base,
			.attr = o->owned[i].attr,
			.complete = true,
			.ranks = o->run->world.size,
			.has_crc = !o->level->bypass,
			.crc = o->owned[i].crc,
		};

		f.dir = arena_strndup(o->arena, from->path,
				      (size_t)(base - from->path - 1));
		if (f.dir == NULL || filemap_add(t, &f, err) < 0) {
			if (f.dir == NULL)
				error_no_memory(err);
			kvtree_free(t);
			return NULL;
		}
	}
	return t;
}

int
outset_write_filemap(struct outset *o, struct redundancy_file *map,
		     struct error *err)
{
	char name[64];
	struct kvtree *t = filemap_tree(o, err);
	struct stat st;
	int fd = t == NULL ? -1 : open_meta(o, err);
	int rc = -1;

	*map = (struct redundancy_file){ .crc = 0 };
	filemap_name(name, sizeof(name), o->run->world.rank);
	map->path = arena_printf(o->arena, "%s/%s", o->meta, name);
	if (map->path == NULL)
		error_no_memory(err);
	else if (fd >= 0)
		rc = newfile_tree(fd, name, t, o->level->store->global, err);
	if (rc == 0 && fstatat(fd, name, &st, 0) < 0)
		rc = error_sys(err, "%s", map->path);
	if (rc == 0)
		attr_from_stat(&map->attr, &st);
	if (fd >= 0)
		close(fd);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", o->meta) : 0;
}

/* --- What the ranks of a directory have in common --- */

/* Add the list of this rank: RANK, its number, FILES and FILE. */
static int
add_list(struct kvtree *t, const struct outset *o,
	 const struct redundancy_job *j, struct error *err)
{
	char key[VALUE_NUMBER], name[REDUNDANCY_NAME];
	struct kvtree *rank = NULL, *files = NULL;
	struct buf path = BUF_INIT;
	int rc = 0;

	t = kvtree_put(t, j->map ? STEM_MAP : STEM_DATA, err);
	t = t == NULL ? NULL : kvtree_put(t, "RANK", err);
	if (t != NULL)
		rank = kvtree_put(t, value_text(key, o->run->world.rank), err);
	if (rank == NULL ||
	    kvtree_set_u64(rank, "FILES", j->nfiles + 2, err) < 0)
		return -1;
	files = kvtree_put(rank, "FILE", err);
	for (size_t i = 0; files != NULL && rc == 0 && i < j->nfiles; i++)
		if (kvtree_put(files, j->files[i].path, err) == NULL)
			rc = -1;
	for (int d = 1; files != NULL && rc == 0 && d >= 0; d--)
		if (path_join(&path, o->meta, redundancy_name(j, d, name),
			      err) < 0 ||
		    kvtree_put(files, path.data, err) == NULL)
			rc = -1;
	buf_free(&path);
	return files == NULL ? -1 : rc;
}

/* No two ranks may have the same file: one has overwritten that of the
 * other. */
static int
check_lists(const struct kvtree *t, struct error *err)
{
	const struct kvtree *rank = NULL, *file = NULL;
	struct map *seen = map_new();
	int rc = seen == NULL ? error_no_memory(err) : 0;

	kvtree_foreach (rank, kvtree_get(t, "RANK"))
		kvtree_foreach (file, kvtree_get(rank, "FILE")) {
			if (rc < 0)
				continue;
			if (map_get(seen, kvtree_key(file)) != MAP_NONE)
				rc = error_set(
					err, ERROR_USAGE,
					"%s: two ranks of a node have files of "
					"this name in different directories: "
					"give them different names, or set "
					"SCR_CACHE_BYPASS=1",
					kvtree_key(file));
			else if (map_put(seen, kvtree_key(file), 0) < 0)
				rc = error_no_memory(err);
		}
	map_free(seen);
	return rc;
}

static int
write_list(const struct outset *o, int dirfd, const char *stem,
	   const struct kvtree *lists, struct error *err)
{
	char name[64];

	if (check_lists(lists, err) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s.shuffile", stem);
	return newfile_tree(dirfd, name, lists, o->level->store->global, err);
}

/* The state.  The data and the filemaps have the same one: it is one file, if
 * the device has links. */
static int
write_state(const struct outset *o, int dirfd, bool data, struct error *err)
{
	const bool sync = o->level->store->global;
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : kvtree_set(t, "STATE", STATE_ENCODED, err);

	if (rc == 0 && data)
		rc = newfile_tree(dirfd, STEM_DATA ".er", t, sync, err);
	if (rc == 0 && (!data || linkat(dirfd, STEM_DATA ".er", dirfd,
					STEM_MAP ".er", 0) < 0))
		rc = newfile_tree(dirfd, STEM_MAP ".er", t, sync, err);
	kvtree_free(t);
	return rc;
}

/* A cache of a node is synced at once, with the files of the application.  On
 * a device that nodes share, which has files of others, each file was synced,
 * and the directories are left. */
static int
sync_all(const struct outset *o, int dirfd, struct error *err)
{
	int fd = -1, rc = 0;

	if (!o->level->store->global)
		return syncfs(dirfd) < 0 ? error_sys(err, "%s", o->dir) : 0;
	fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "%s", o->dir);
	rc = io_sync_dir(dirfd, o->meta, err);
	if (rc == 0)
		rc = io_sync_dir(fd, o->dir, err);
	close(fd);
	return rc;
}

/* The leader: gather the lists that came, and write. */
static int
write_lists(const struct outset *o, const struct team_mail *in,
	    struct error *err)
{
	struct kvtree *all = kvtree_new(err);
	const struct kvtree *stem = NULL;
	int fd = all == NULL ? -1 : open_meta(o, err);
	int rc = fd < 0 ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < in->count; i++) {
		struct kvtree *one = kvtree_decode(in->notes[i].data,
						   in->notes[i].len, NULL, err);

		rc = one == NULL ? -1 : kvtree_merge(all, one, err);
		kvtree_free(one);
	}
	kvtree_foreach (stem, all)
		if (rc == 0)
			rc = write_list(o, fd, kvtree_key(stem), stem, err);
	if (rc == 0)
		rc = write_state(o, fd, kvtree_get(all, STEM_DATA) != NULL,
				 err);
	if (rc == 0)
		rc = sync_all(o, fd, err);
	if (fd >= 0)
		close(fd);
	kvtree_free(all);
	return rc;
}

int
outset_write_common(struct outset *o, const struct redundancy_job *data,
		    const struct redundancy_job *map, struct error *err)
{
	const struct team *team = &o->level->store->sharers;
	struct team_note note = { .rank = 0 };
	struct team_mail out = { 1, &note }, in = { 0, NULL };
	struct kvtree *t = kvtree_new(err);
	struct buf image = BUF_INIT;
	int rc = t == NULL ? -1 : 0;

	if (rc == 0 && !o->level->bypass)
		rc = add_list(t, o, data, err);
	if (rc == 0)
		rc = add_list(t, o, map, err);
	if (rc == 0)
		rc = kvtree_encode(t, &image, err);
	kvtree_free(t);
	note.data = image.data;
	note.len = image.len;
	rc = team_agree(team, rc, err);
	if (rc == 0)
		rc = team_notes(team, &out, o->arena, &in, err);
	if (rc == 0 && team->rank == 0)
		rc = write_lists(o, &in, err);
	buf_free(&image);
	return team_agree(&o->run->world, rc, err);
}
