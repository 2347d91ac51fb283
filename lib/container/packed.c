/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/joint.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "lock.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "str.h"
#include "work.h"

#define RANK2FILE_OLD "rank2file.scr" /* name in layout 1 */

/* The top file of a larger map is not compared with its copy. */
#define TOP_MAX ((size_t)256 << 20)

#define NOT_OPEN .meta_fd = -1, .root_fd = -1, .file_fd = -1, .lock = -1

/* --- Open --- */

/* Is there a container in the directory? */
static bool
any_container(int dirfd)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, dirfd, SEGMAP_DIR, NULL);

	while (rc == 0 && (name = dir_next(&w)) != NULL)
		rc = segmap_is_container(name);
	return dir_done(&w, rc, NULL) == 1;
}

/* Open layout 1: PREFIX/NAME/.scr has a rank2file.scr, or containers without a
 * map. */
static int
open_old(struct packed *p, const char *dir, struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;

	if (path_is_clean(dir) && path_below(dir, ".scr") == NULL)
		p->root_fd = path_open_dir(p->prefix_fd, dir, NULL);
	if (p->root_fd >= 0)
		p->meta_fd = path_open_dir(p->root_fd, SEGMAP_DIR, &why);
	if (why.kind != ERROR_NONE && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (p->meta_fd < 0 || (dir_stat(p->meta_fd, RANK2FILE_OLD, &st,
					AT_SYMLINK_NOFOLLOW) != 0 &&
			       !any_container(p->meta_fd)))
		return error_set(err, ERROR_ABSENT, "%s: no dataset in there",
				 dir);
	p->layout = 1;
	p->base = RANK2FILE_OLD;
	p->file_fd = p->root_fd;
	p->name = p->root = arena_strdup(p->arena, dir);
	p->dir = arena_printf(p->arena, "%s/" SEGMAP_DIR, dir);
	p->id = dataset_dir_id(path_base(dir));
	if (p->id < 0)
		p->id = 0;
	return p->root == NULL || p->dir == NULL ? error_no_memory(err) : 0;
}

bool
packed_is_old(int prefix_fd, const char *name)
{
	struct packed p = { .prefix_fd = prefix_fd,
			    NOT_OPEN,
			    .arena = arena_new() };
	const bool is = open_old(&p, name, NULL) == 0;

	packed_close(&p);
	return is;
}

int
packed_renew(struct packed *p, struct error *err)
{
	struct segmap *m = &p->map;

	if (p->layout == 3)
		return 0;
	if (p->id <= 0)
		return error_set(err, ERROR_USAGE,
				 "%s: its number is not recorded", p->name);
	p->dir = arena_printf(p->arena, SCR_DIR "/" DATASET_DIR_FMT, p->id);
	p->file_fd = p->prefix_fd;
	for (size_t i = 0; i < m->nfiles && p->dir != NULL; i++) {
		m->files[i].path = arena_printf(p->arena, "%s/%s", p->root,
						m->files[i].path);
		if (m->files[i].path == NULL)
			return error_no_memory(err);
	}
	return p->dir == NULL ? error_no_memory(err) : 0;
}

/* --- Read the map --- */

bool
packed_map_flaw(const struct rank2file *r, const struct hidden *h, char *to,
		size_t size)
{
	static const char safe[] = "all data are present";

	if (r->flaw != NULL)
		snprintf(to, size, "%s: %s; %s", r->flaw, r->instead, safe);
	else if (h == NULL || h->flaw == NULL)
		return false;
	else if (!h->unread)
		snprintf(to, size, "%s: its copy was read; %s", h->flaw, safe);
	else
		snprintf(to, size, "%s: %smodes and times of files are unknown",
			 h->flaw,
			 h->incomplete ? "packed metadata are lost, " : "");
	return true;
}

static bool
is_damage(const struct error *why)
{
	return (why->kind == ERROR_ABSENT || why->kind == ERROR_CORRUPT) &&
	       why->errnum != EIO;
}

static int
load(struct packed *p, const struct packed_how *how, struct par *par,
     struct error *err)
{
	const bool all = how == NULL || how->files.wants == NULL;
	struct error why = ERROR_INIT;
	char text[ERROR_TEXT_MAX];

	if (rank2file_load_some(p->meta_fd, p->base, par,
				all ? NULL : &how->files, &p->r2f, &why) < 0) {
		/* In layout 1 no other program writes maps. */
		if (p->layout == 1 && is_damage(&why) &&
		    packed_has_containers(p->root_fd))
			return error_set(
				err, ERROR_LOST,
				"%s: %s: it records where the files lie in the "
				"containers: restore rank2file*.scr in %s from "
				"a backup",
				p->name, why.text, p->dir);
		if (packed_map_lost(p->meta_fd, &why))
			return error_set(err, ERROR_LOST, "%s: %s", p->name,
					 why.text);
		if (why.kind != ERROR_ABSENT)
			return error_as(err, &why, "%s: %s", p->dir, why.text);
		return error_set_remedy(
			err, REMEDY_INDEX, ERROR_ABSENT,
			"%s: has no %s: add it to the index first",
			str_shown(p->name), p->base);
	}
	p->is_packed = segmap_is_packed(&p->r2f);
	if (segmap_read(&p->map, &p->r2f, err) < 0 ||
	    ((all || how->attrs) &&
	     hidden_load(&p->hidden, p->meta_fd, &p->r2f, &p->map, err) < 0))
		return error_wrap(err, "%s", p->dir);
	if (!packed_map_flaw(&p->r2f, &p->hidden, text, sizeof(text)))
		return 0;
	p->flaw = arena_strdup(p->arena, text);
	return p->flaw == NULL ? error_no_memory(err) : 0;
}

int
packed_open(struct packed *p, const struct packed_where *where,
	    const struct packed_how *how, const struct work *work,
	    struct error *err)
{
	int rc = -1;

	*p = (struct packed){ .prefix_fd = where->prefix_fd,
			      NOT_OPEN,
			      .arena = arena_new() };
	if (where->old == NULL) {
		p->layout = 3;
		p->id = where->id;
		p->base = RANK2FILE_FILE;
		p->dir = p->root = arena_printf(
			p->arena, SCR_DIR "/" DATASET_DIR_FMT, p->id);
		p->name = where->name != NULL
				  ? arena_strdup(p->arena, where->name)
				  : arena_printf(p->arena, "dataset %" PRId64,
						 p->id);
		if (p->dir == NULL || p->name == NULL)
			error_no_memory(err);
		else
			p->meta_fd = path_open_dir(p->prefix_fd, p->dir, err);
		p->root_fd = p->meta_fd;
		p->file_fd = p->prefix_fd;
		rc = p->meta_fd < 0 ? -1 : 0;
	} else {
		rc = open_old(p, where->old, err);
		if (where->id > 0)
			p->id = where->id;
	}
	if (rc == 0 && how != NULL && how->lock) {
		p->lock = lock_take(p->meta_fd, p->dir, work, err);
		rc = p->lock == -1 ? -1 : 0;
	}
	if (rc == 0)
		rc = load(p, how, work->par, err);
	if (rc < 0)
		packed_close(p);
	return rc;
}

static void
forget_map(struct packed *p)
{
	hidden_free(&p->hidden);
	segmap_free(&p->map);
	if (p->r2f.arena != NULL)
		rank2file_free(&p->r2f);
	p->flaw = NULL;
}

int
packed_reload(struct packed *p, const struct work *work, struct error *err)
{
	forget_map(p);
	return load(p, NULL, work->par, err);
}

void
packed_close(struct packed *p)
{
	forget_map(p);
	if (p->meta_fd >= 0)
		lock_give(p->meta_fd, p->lock);
	if (p->root_fd >= 0 && p->root_fd != p->meta_fd)
		close(p->root_fd);
	io_close(p->meta_fd);
	arena_free(p->arena);
	*p = (struct packed){ .id = p->id, NOT_OPEN };
}

bool
packed_has_copy(const struct packed *p)
{
	const char *name = str_printed(sizeof(RANK2FILE_COPY RANK2FILE_OLD),
				       RANK2FILE_COPY "%s", p->base);
	struct buf map = BUF_INIT, copy = BUF_INIT;
	bool same = p->layout == 1;

	/* A run that was interrupted may have left an older copy. */
	if (!same &&
	    io_read_file(p->meta_fd, p->base, TOP_MAX, &map, NULL) == 0 &&
	    io_read_file(p->meta_fd, name, TOP_MAX, &copy, NULL) == 0)
		same = buf_equal(&map, &copy);
	buf_free(&copy);
	buf_free(&map);
	return same;
}

/* --- Strings --- */

uint64_t
packed_string(const struct packed *p, const struct segmap *m,
	      const struct segmap_file *f, struct stripe_part at,
	      struct stripe *out)
{
	const uint64_t start = at.start;

	at.dirfd = p->root_fd;
	for (size_t k = f->first; k < f->first + f->nsegs; k++) {
		at.path = m->containers[m->segs[k].container].name;
		at.off = m->segs[k].off;
		at.len = m->segs[k].len;
		stripe_add(out, &at);
		at.start += at.len;
		at.sum_off += at.len;
	}
	if (f->nsegs > 0 || f->size == 0)
		return at.start - start;
	at.dirfd = p->file_fd;
	at.path = f->path;
	at.len = f->size;
	stripe_add(out, &at);
	return f->size;
}

int
packed_add(const struct packed *p, const struct segmap *m,
	   const struct segmap_file *f, struct stripe_part at,
	   struct stripe *out, struct error *err)
{
	const uint64_t sum = packed_string(p, m, f, at, out);

	return sum == f->size ? 0
			      : error_set(err, ERROR_CORRUPT,
					  "%s: its segments have %" PRIu64
					  " bytes, it has %" PRIu64,
					  f->path, sum, f->size);
}

/* --- A file --- */

int
packed_measure(const struct packed *p, size_t file, struct error *err)
{
	struct segmap_file *f = &p->map.files[file];
	struct stat st;

	if (f->nsegs > 0 || f->has_size)
		return 0;
	if (path_stat_beneath(p->file_fd, f->path, &st, err) < 0)
		return -1;
	f->size = (uint64_t)st.st_size;
	f->has_size = true;
	return 0;
}

int
packed_refuse_place(const struct packed *p, size_t file, struct error *err)
{
	const char *path = p->map.files[file].path;

	if (dataset_dir_is_data(path))
		return 0;
	return error_set(err, ERROR_UNSAFE,
			 "%s: a job has no files among the metadata",
			 str_shown(path));
}

int
packed_attr(const struct packed *p, size_t file, struct pathcache *parents,
	    struct attr *out, struct error *err)
{
	const struct segmap_file *f = &p->map.files[file];
	struct error why = ERROR_INIT;
	struct stat st;

	*out = f->attr;
	if (f->nsegs == 0) {
		if ((parents != NULL
			     ? pathcache_stat(parents, f->path, &st, &why)
			     : path_stat_beneath(p->file_fd, f->path, &st,
						 &why)) == 0)
			attr_from_stat(out, &st);
		else if (why.kind != ERROR_ABSENT)
			return error_pass(err, &why);
		/* A packed dataset does not need its empty files. */
		else if (!p->is_packed || f->size > 0)
			return error_set(err, ERROR_DAMAGED, "%s", why.text);
	}
	if (out->has_size && f->has_size && out->size != f->size)
		return error_set(err, ERROR_DAMAGED,
				 "%s: %" PRIu64
				 " bytes long, should be %" PRIu64,
				 str_shown(f->path), out->size, f->size);
	return 0;
}

int
packed_file(const struct packed *p, const struct segmap *m,
	    const struct segmap_file *f, struct arena *arena,
	    struct stripe *out, struct error *err)
{
	const struct stripe_part at = { .start = 0 };

	return stripe_room(out, arena, f->nsegs + 1, err) < 0
		       ? -1
		       : packed_add(p, m, f, at, out, err);
}

/* --- Is the map lost? --- */

bool
packed_has_containers(int root_fd)
{
	const int fd = path_open_dir(root_fd, SEGMAP_DIR, NULL);
	const bool any =
		fd >= 0 && any_container(fd) && !joint_is_unfinished(root_fd);

	io_close(fd);
	return any;
}

bool
packed_map_lost(int meta_fd, struct error *why)
{
	const char *name = NULL;
	struct kvtree *t = NULL;
	struct dir_walk w;
	int rc = 0;

	if (!is_damage(why))
		return false;
	/* If a file of rank2file is readable, not all files are lost, or
	 * another program has written a map without containers. */
	rc = dir_walk(&w, meta_fd, "metadata", NULL);
	while (rc == 0 && t == NULL && (name = dir_next(&w)) != NULL)
		if (str_starts(name, RANK2FILE_FILE))
			t = kvtree_read_beneath(meta_fd, name, NULL, NULL);
	rc = dir_done(&w, rc, NULL);
	kvtree_free(t);
	if (rc != 0 || t != NULL || !packed_has_containers(meta_fd))
		return false;
	error_set(why, ERROR_LOST,
		  RANK2FILE_FILE
		  ", its copy, its parts and packed.N.scr are lost; they "
		  "record where the files lie in the containers: restore one "
		  "from a backup");
	return true;
}
