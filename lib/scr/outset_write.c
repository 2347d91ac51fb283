/* SPDX-License-Identifier: BSD-3-Clause */
/* outset_write.c - the filemap of a rank (formats.md 4.2). */
#include "dir.h"
#include "scr/outset_impl.h"

#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/filemap.h"
#include "path.h"
#include "scr/run.h"
#include "team/newfile.h"

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
			.has_crc = !o->level->bypass || o->owned[i].has_crc,
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
	int fd = t == NULL ? -1 : outset_meta(o, err);
	int rc = -1;

	*map = (struct redundancy_file){ .crc = 0 };
	filemap_name(name, sizeof(name), o->run->world.rank);
	map->path = arena_printf(o->arena, "%s/%s", o->meta, name);
	if (map->path == NULL)
		error_no_memory(err);
	else if (fd >= 0)
		rc = newfile_tree(fd, name, t, o->level->store->global, err);
	if (rc == 0 && dir_stat(fd, name, &st, 0) < 0)
		rc = error_sys(err, "%s", map->path);
	if (rc == 0)
		attr_from_stat(&map->attr, &st);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", o->meta) : 0;
}
