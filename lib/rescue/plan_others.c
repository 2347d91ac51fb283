/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_others.c - does a path that the metadata name belong to another dataset
 * of the prefix?  Then these metadata are that dataset's, put here by mistake.
 *
 * Most datasets have a directory of their name.  So only a path below a
 * directory that has the name of another dataset is doubted, and only that
 * dataset is asked: its rank2file or the filemap of the rank must name the
 * path, too.  A dataset whose files lie below its own name costs a comparison
 * for each directory.
 *
 * And ranks whose filemap is lost and whose files nothing names: may these
 * files be on the prefix nevertheless?  They would lie where those of the other
 * ranks lie.  A file there that no rank claims may be one of them, so it is
 * unknown whether data are lost.  They are lost only if there is none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

struct plan_others {
	/* Who has which name: the index, and below it flush.scr.  NULL: not
	 * read yet, or not usable. */
	struct index *own;
	const struct index *index;
	struct kvtree *flush;
	bool read;
	/* The directory asked about last, with its '/', and the dataset that
	 * has its name. */
	struct buf dir;
	int64_t named;
	/* The dataset that was asked last, its directory, and its files. */
	int64_t asked;
	int fd;
	struct rank2file ranks;
	struct plan_paths paths;
};

static void
forget_asked(struct plan_others *o)
{
	io_close(o->fd);
	rank2file_free(&o->ranks);
	plan_paths_free(&o->paths);
	memset(&o->ranks, 0, sizeof(o->ranks));
	memset(&o->paths, 0, sizeof(o->paths));
	o->asked = 0;
	o->fd = -1;
}

void
plan_others_free(struct plan_others *o)
{
	if (o == NULL)
		return;
	forget_asked(o);
	index_free(o->own);
	kvtree_free(o->flush);
	buf_free(&o->dir);
	mem_free(o);
}

/* --- Names --- */

/* What cannot be read names nobody. */
static int
read_names(const struct planner *w, struct plan_others *o, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;

	o->read = true;
	o->index = w->o->index;
	if (o->index == NULL)
		t = kvtree_read_beneath(w->p.places[0].root_fd,
					SCR_DIR "/" INDEX_FILE, NULL, &why);
	if (t != NULL)
		o->index = o->own = index_from_tree(t, &why);
	if (why.kind != ERROR_NOMEM)
		o->flush =
			kvtree_read_beneath(w->p.places[0].root_fd,
					    SCR_DIR "/" FLUSH_FILE, NULL, &why);
	return why.kind == ERROR_NOMEM ? error_no_memory(err) : 0;
}

/* The dataset of this name; 0: none. */
static int64_t
find_name(const struct plan_others *o, const char *name)
{
	struct index_entry e = { .id = 0 };
	struct flush_entry *list = NULL;
	size_t count = 0;

	if (o->index != NULL && index_find_name(o->index, name, &e, NULL) == 0)
		return e.id;
	list = o->flush == NULL ? NULL : flush_entries(o->flush, &count, NULL);
	for (size_t i = 0; list != NULL && i < count; i++)
		if (list[i].name != NULL && str_eq(list[i].name, name))
			e.id = list[i].id;
	mem_free(list);
	return e.id;
}

/* Set o->named to the dataset that has the name of directory o->dir, of one
 * above it, or of their path.  0: this dataset, or none. */
static int
find_dir(const struct planner *w, struct plan_others *o, struct error *err)
{
	const char *mine = w->owner.is.name;
	char *const dir = o->dir.data;

	o->named = 0;
	for (int pass = mine == NULL; pass < 2; pass++)
		for (char *part = dir, *end = NULL;
		     (end = strchr(part, '/')) != NULL; part = end + 1) {
			int64_t id = 0;

			if (pass > 0 && !o->read && read_names(w, o, err) < 0)
				return -1;
			*end = '\0';
			if (pass == 0 &&
			    (str_eq(dir, mine) || str_eq(part, mine)))
				id = w->p.id;
			else if (pass > 0)
				id = find_name(o, dir);
			if (pass > 0 && id == 0 && part > dir)
				id = find_name(o, part);
			*end = '/';
			if (id == w->p.id) {
				o->named = 0;
				return 0;
			}
			o->named = id != 0 ? id : o->named;
		}
	return 0;
}

/* --- What another dataset says --- */

/* Does the filemap of the rank there name the path? */
static int
in_filemap(const struct plan_others *o, uint32_t rank, const char *path,
	   bool *named, struct error *err)
{
	const size_t len = strlen(path);
	struct arena *arena = arena_new();
	struct buf full = BUF_INIT;
	struct error why = ERROR_INIT;
	struct kvtree *t = NULL;
	struct filemap m = { .nfiles = 0 };
	int rc = 0;

	t = kvtree_read_beneath(o->fd, filemap_str(rank), NULL, &why);
	if (t != NULL && filemap_read(t, arena, &m, &why) < 0)
		m.nfiles = 0;
	for (size_t i = 0; i < m.nfiles && !*named && rc == 0; i++) {
		const struct filemap_file *f = &m.files[i];

		buf_clear(&full);
		if (f->dir == NULL || f->name == NULL)
			continue;
		rc = path_join(&full, f->dir, f->name, NULL);
		*named = rc == 0 && full.len > len &&
			 full.data[full.len - len - 1] == '/' &&
			 memcmp(full.data + full.len - len, path, len) == 0;
	}
	kvtree_free(t);
	buf_free(&full);
	arena_free(arena);
	return rc < 0 || why.kind == ERROR_NOMEM ? error_no_memory(err) : 0;
}

int
plan_other_of(struct planner *w, uint32_t rank, const char *path, int64_t *id,
	      struct error *err)
{
	const size_t len = path == NULL ? 0 : (size_t)(path_base(path) - path);
	struct plan_others *o = w->others;
	struct error why = ERROR_INIT;
	bool named = false;

	*id = 0;
	if (w->record == NULL || len == 0)
		return 0;
	if (o == NULL) {
		w->others = o = mem_calloc(1, sizeof(*o));
		if (o == NULL)
			return error_no_memory(err);
		o->fd = -1;
	}
	if (o->dir.len != len || memcmp(o->dir.data, path, len) != 0) {
		buf_clear(&o->dir);
		if (buf_add(&o->dir, path, len) < 0 ||
		    buf_add_str(&o->dir, "") < 0)
			return error_no_memory(err);
		if (find_dir(w, o, err) < 0)
			return -1;
	}
	if (o->named == 0)
		return 0;
	if (o->asked != o->named) {
		forget_asked(o);
		o->asked = o->named;
		o->fd = path_open_dir(
			w->p.places[0].root_fd,
			str_printed(64, SCR_DIR "/" DATASET_DIR_FMT, o->asked),
			NULL);
		if (o->fd >= 0 &&
		    rank2file_load_left(o->fd, &o->ranks, &why) == 0 &&
		    plan_paths(&o->ranks, &o->paths, err) < 0)
			return -1;
		if (why.kind == ERROR_NOMEM)
			return error_no_memory(err);
	}
	if (o->paths.by_path != NULL)
		named = map_get(o->paths.by_path, path) != MAP_NONE;
	else if (o->fd >= 0 && in_filemap(o, rank, path, &named, err) < 0)
		return -1;
	*id = named ? o->named : 0;
	return 0;
}

/* --- Files that no rank claims --- */

/* More names than this, beyond those of the known files, are not looked at. */
#define NAMES_MAX 65536

/* Deeper directories are not looked at. */
#define DEPTH_MAX 16

struct search {
	const struct planner *w;
	struct map *claimed; /* paths of known files */
	struct buf path;     /* of the directory, with '/' at its end; or "" */
	bool below;	     /* look at its directories, too */
	unsigned depth;
	size_t names; /* that may still be looked at */
	const char *found;
};

/* Look in directory `fd`, whose path is s->path.  1: found. */
static int
look_in(struct search *s, int fd, struct error *err)
{
	const size_t len = s->path.len;
	struct error why = ERROR_INIT;
	const char *name = NULL;
	struct dir_walk w;
	struct stat st;
	int rc = 0, below = -1;

	if (fd < 0) {
		s->found = arena_printf(s->w->p.arena, "%s cannot be read",
					str_shown(s->path.data));
		return s->found != NULL ? 1 : error_no_memory(err);
	}
	s->depth++;
	rc = dir_walk(&w, fd, s->path.data, &why);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		if (s->names-- == 0) {
			s->found = "too many files to look at";
			rc = 1;
			break;
		}
		if (buf_add_str(&s->path, name) < 0) {
			rc = error_no_memory(&why);
			break;
		}
		st.st_mode = 0; /* a name that has vanished is none */
		if (dir_stat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) &&
		    map_get(s->claimed, s->path.data) == MAP_NONE &&
		    dataset_dir_is_data(s->path.data)) {
			s->found = arena_printf(s->w->p.arena,
						"%s may be one of them",
						str_shown(s->path.data));
			rc = s->found != NULL ? 1 : error_no_memory(&why);
		} else if (s->below && S_ISDIR(st.st_mode) &&
			   s->depth < DEPTH_MAX) {
			below = dir_open_plain(fd, name);
			rc = buf_add_char(&s->path, '/') < 0
				     ? error_no_memory(&why)
				     : look_in(s, below, &why);
			io_close(below);
		}
		s->path.len = len;
		s->path.data[len] = '\0';
	}
	rc = dir_done(&w, rc, &why);
	s->depth--;
	return rc < 0 ? error_pass(err, &why) : rc;
}

int
plan_ask_unclaimed(struct planner *w, struct error *err)
{
	struct plan *p = &w->p;
	struct search s = {
		.w = w,
		.claimed = map_new(),
		.names = p->nfiles + NAMES_MAX,
	};
	struct map *looked = map_new();
	int fd = -1;
	int rc = 0;

	/* A filemap that is lost, or that of another dataset, claims none. */
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		if (p->ranks[p->files[i].rank].map.fate != FATE_LOST &&
		    map_put(s.claimed, p->files[i].path, i) < 0)
			rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const char *path = p->files[i].path, *dir = NULL;
		const size_t len = strcspn(path, "/");

		/* Look in the directory, on the way to the file, that is
		 * directly below the prefix, and in all below it; or in the
		 * prefix alone. */
		buf_clear(&s.path);
		s.below = path[len] == '/';
		if ((s.below && buf_add(&s.path, path, len + 1) < 0) ||
		    buf_add_str(&s.path, "") < 0)
			rc = error_no_memory(err);
		if (rc < 0 || map_get(looked, s.path.data) != MAP_NONE)
			continue;
		dir = arena_strndup(p->arena, path, len);
		if (dir == NULL || map_put(looked, s.path.data, 0) < 0) {
			rc = error_no_memory(err);
			continue;
		}
		fd = path_open_dir(p->places[0].root_fd, s.below ? dir : ".",
				   NULL);
		rc = look_in(&s, fd, err);
		io_close(fd);
	}
	if (rc == 0 && p->nfiles == 0)
		s.found = "nothing says where they are";
	p->unclaimed = s.found;
	map_free(s.claimed);
	map_free(looked);
	buf_free(&s.path);
	return rc < 0 ? -1 : 0;
}
