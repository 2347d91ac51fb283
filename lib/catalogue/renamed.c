/* SPDX-License-Identifier: BSD-3-Clause */
/* renamed.c - find directories that somebody renamed by hand: their files are
 * not lost. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/dataset.h"
#include "meta/summary.h"
#include "num.h"
#include "path.h"
#include "rescue/plan.h"
#include "str.h"

/* Limits: files looked for in each directory beside a missing one, directories
 * that match, and files looked for by all plans of a catalogue. */
#define PROBES 4
#define CANDIDATES_MAX ((size_t)64)
#define LOOKS_MAX ((size_t)1 << 18)

/* --- Metadata directories --- */

/* A directory in .scr that no dataset has by its name. */
struct stray {
	const char *name;
	int64_t id; /* of the dataset, by its summary or by its name */
};

struct catalogue_strays {
	struct arena *arena;
	struct stray *list;
	size_t count, cap;
};

void
catalogue_strays_free(struct catalogue_strays *s)
{
	if (s == NULL)
		return;
	mem_free(s->list);
	arena_free(s->arena);
	mem_free(s);
}

/* "x.scr.dataset.4.old" -> 4; -1: no such name. */
static int64_t
id_in_name(const char *name)
{
	const char *at = strstr(name, DATASET_DIR_STEM);
	int64_t id = -1;
	size_t n = 0;

	if (at == NULL)
		return -1;
	at += strlen(DATASET_DIR_STEM);
	n = strspn(at, "0123456789");
	return n < NUM_TEXT && num_i64(str_printed(NUM_TEXT, "%.*s", (int)n,
						   at),
				       1, DATASET_ID_MAX, &id, NULL) == 0
		       ? id
		       : -1;
}

/* List them. */
static int
find_strays(const struct catalogue *c, struct catalogue_strays *s,
	    struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, c->scr_fd, SCR_DIR, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		struct dataset d = { .id = -1 };
		struct kvtree *tree = NULL;
		struct summary sum;
		struct stat st;
		int fd = -1;

		if (dataset_dir_id(name) >= 0 ||
		    dir_stat(c->scr_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		fd = path_open_beneath(c->scr_fd, name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
				       NULL);
		if (fd < 0)
			continue;
		tree = summary_load(fd, SUMMARY_FILE, NULL, &sum, NULL);
		if (tree == NULL || dataset_read(sum.desc, &d, NULL) < 0 ||
		    d.id <= 0)
			d.id = id_in_name(name);
		kvtree_free(tree);
		close(fd);
		if (d.id <= 0)
			continue;
		name = arena_strdup(s->arena, name);
		if (name == NULL || !MEM_ROOM(s->list, s->count, s->cap))
			rc = error_no_memory(err);
		else
			s->list[s->count++] = (struct stray){ name, d.id };
	}
	return dir_done(&w, rc, err);
}

int
catalogue_renamed_meta(struct catalogue *c, int64_t id, const char **name,
		       struct error *err)
{
	struct catalogue_strays *s = c->strays;
	int rc = 0;

	/* List them once: a check of many datasets asks for each. */
	if (s == NULL) {
		s = mem_calloc(1, sizeof(*s));
		if (s == NULL)
			return error_no_memory(err);
		s->arena = arena_new();
		if (c->scr_fd >= 0)
			rc = find_strays(c, s, err);
		if (rc < 0) {
			catalogue_strays_free(s);
			return -1;
		}
		c->strays = s;
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].id == id) {
			*name = s->list[i].name;
			return 1;
		}
	return 0;
}

/* --- Directories of data --- */

/* Is the file that is missing there? */
enum likeness {
	UNLIKE,
	SIMILAR, /* its size is, but not its time */
	SAME,	 /* its size and, if recorded, its time are */
};

/* A directory beside the missing one. */
struct candidate {
	const char *to;	  /* the directory */
	const char *file; /* a missing file in it */
	enum likeness how;
	bool alike;  /* its name resembles that of the missing one */
	bool barred; /* it does, and this user may not look into it */
};

/* A directory that is missing, and its missing files. */
struct astray {
	const char *from;
	struct plan_file *const *files;
	size_t nfiles;
};

struct lookalike {
	struct catalogue *c;
	const struct catalogue_renamed *r;
	const struct astray *a;
	const struct map *ours; /* directories with present files of the plan */
	const char *parent;	/* of the missing directory; "": the prefix */
	const char *name;	/* of the missing directory */
	struct arena *arena;
	struct candidate list[CANDIDATES_MAX];
	size_t count;
	bool tired; /* not all was looked at */
};

/*
 * Renaming a directory changes neither size nor time of its files.  If no time
 * is recorded, the size is enough; for files that can be computed (`sure`), the
 * name of the directory has to resemble the missing one, too.
 */
static enum likeness
compare(const struct catalogue_renamed *r, const char *path,
	const struct attr *attr, bool alike, struct error *why)
{
	struct stat st;
	bool same = alike || !r->sure;

	if (path_stat_beneath(r->asks.catalogue->prefix_fd, path, &st, why) <
		    0 ||
	    !S_ISREG(st.st_mode) || (!alike && !attr->has_size) ||
	    (attr->has_size && (uint64_t)st.st_size != attr->size))
		return UNLIKE;
	if (attr->has_times)
		same = st.st_mtim.tv_sec == attr->mtime.tv_sec &&
		       st.st_mtim.tv_nsec == attr->mtime.tv_nsec;
	return same ? SAME : alike ? SIMILAR : UNLIKE;
}

/* "ckpt.4.old" and "old-ckpt.4" resemble "ckpt.4"; "ckpt.40" and "xckpt.4" do
 * not. */
static bool
resembles(const char *name, const char *was)
{
	const char *at = strstr(name, was);

	return at != NULL && !str_is_digit(at[strlen(was)]) &&
	       (at == name || strchr(".-_ ", at[-1]) != NULL);
}

/* Does the directory `name` contain the missing files? */
static int
try_name(void *arg, const char *name, struct error *err)
{
	struct lookalike *l = arg;
	const struct astray *a = l->a;
	const size_t probes = a->nfiles < PROBES ? a->nfiles : PROBES;
	struct candidate k = { .alike = resembles(name, l->name) };

	if (str_eq(name, SCR_DIR) || str_eq(name, l->name))
		return 0;
	k.to = arena_printf(l->arena, "%s%s%s", l->parent,
			    l->parent[0] != '\0' ? "/" : "", name);
	if (k.to == NULL)
		return error_no_memory(err);
	if (map_get(l->ours, k.to) != MAP_NONE)
		return 0;
	for (size_t i = 0; i < probes && k.how < SAME; i++) {
		const struct plan_file *f =
			a->files[probes < PROBES
					 ? i
					 : i * (a->nfiles - 1) / (PROBES - 1)];
		const char *file = arena_printf(l->arena, "%s%s", k.to,
						f->path + strlen(a->from));
		struct error why = ERROR_INIT;
		enum likeness how = UNLIKE;

		if (file == NULL)
			return error_no_memory(err);
		l->tired =
			l->c->looks >= LOOKS_MAX || l->count == CANDIDATES_MAX;
		if (l->tired)
			return 1;
		l->c->looks++;
		how = compare(l->r, file, &f->attr, k.alike, &why);
		k.barred = k.barred || (k.alike && why.errnum == EACCES);
		if (how > k.how || k.file == NULL)
			k.file = file;
		k.how = how > k.how ? how : k.how;
	}
	if (k.how > UNLIKE || k.barred)
		l->list[l->count++] = k;
	return 0;
}

/* The candidate whose file belongs to no other dataset; preferably one that has
 * the same file, and with a similar name.  NULL: none. */
static const struct candidate *
choose(const struct lookalike *l, struct owners_guard *asks)
{
	const char *paths[CANDIDATES_MAX];
	bool owned[CANDIDATES_MAX] = { false };
	const struct candidate *best = NULL;

	for (size_t i = 0; i < l->count; i++)
		paths[i] = l->list[i].file;
	if (l->count == 0 ||
	    owners_keep(asks, paths, l->count, owned, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < l->count; i++) {
		const struct candidate *k = &l->list[i];

		if (!owned[i] &&
		    (best == NULL || k->how > best->how ||
		     (k->how == best->how && k->alike && !best->alike)))
			best = k;
	}
	return best;
}

/* Find what the missing directory is called now. */
static int
look_beside(struct catalogue_renamed *r, const struct astray *a,
	    const struct map *ours, struct error *err)
{
	struct catalogue *c = r->asks.catalogue;
	struct lookalike l = { .c = c,
			       .r = r,
			       .a = a,
			       .ours = ours,
			       .parent = "",
			       .name = path_base(a->from),
			       .arena = arena_new() };
	const struct candidate *k = NULL;
	size_t same = 0, similar = 0;
	int fd = -1, rc = -1;

	if (l.name > a->from) {
		l.parent = arena_printf(l.arena, "%.*s",
					(int)(l.name - a->from - 1), a->from);
		if (l.parent == NULL)
			goto out;
	}
	fd = l.parent[0] == '\0' ? c->prefix_fd
				 : path_open_dir(c->prefix_fd, l.parent, NULL);
	/* On failure, nothing is found. */
	if (fd >= 0 && dir_each(fd, l.parent, try_name, &l, NULL) >= 0)
		k = choose(&l, &r->asks);
	if (l.parent[0] != '\0')
		io_close(fd);
	r->tired = r->tired || l.tired;
	r->barred = r->barred || (k != NULL && k->barred);
	for (size_t i = 0; k != NULL && i < a->nfiles; i++) {
		struct plan_file *f = a->files[i];
		const char *to = arena_printf(l.arena, "%s%s", k->to,
					      f->path + strlen(a->from));
		enum likeness how = UNLIKE;

		if (to == NULL)
			goto out;
		how = compare(r, to, &f->attr, k->alike, NULL);
		f->astray = how == SAME;
		same += how == SAME;
		similar += how == SIMILAR;
		r->lost += how == SAME && f->fate == FATE_LOST;
	}
	rc = 0;
	if (k != NULL && (r->from == NULL || (r->files == 0 && same > 0))) {
		r->from = arena_strdup(r->arena, a->from);
		r->to = arena_strdup(r->arena, k->to);
		rc = r->from == NULL || r->to == NULL ? -1 : 0;
	}
	r->files += same;
	r->similar += similar;
out:
	arena_free(l.arena);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* The topmost directory of the path that is missing, or is the last one and
 * empty; in the arena.  NULL: none, or no memory. */
static const char *
missing_dir(const struct catalogue *c, const char *path, struct arena *arena)
{
	char *dir = arena_strdup(arena, path), *slash = dir;
	bool gone = false;
	int fd = -1;

	while (slash != NULL && !gone && (slash = strchr(slash, '/')) != NULL) {
		struct error why = ERROR_INIT;
		struct stat st;

		*slash = '\0';
		gone = path_stat_beneath(c->prefix_fd, dir, &st, &why) < 0;
		if (gone && why.kind != ERROR_ABSENT)
			return NULL;
		if (!gone && strchr(path + (slash - dir) + 1, '/') == NULL) {
			fd = path_open_dir(c->prefix_fd, dir, NULL);
			gone = fd >= 0 && dir_is_empty(fd);
			io_close(fd);
		}
		if (!gone)
			*slash++ = '/';
	}
	return gone ? dir : NULL;
}

/* Add the directories of the path to the map. */
static int
add_dirs(struct map *dirs, const char *path, struct arena *arena)
{
	char *dir = arena_strdup(arena, path), *slash = NULL;

	while (dir != NULL && (slash = strrchr(dir, '/')) != NULL) {
		*slash = '\0';
		if (map_get(dirs, dir) != MAP_NONE)
			return 0;
		if (map_put(dirs, dir, 0) < 0)
			return -1;
	}
	return dir == NULL ? -1 : 0;
}

static int
by_path(const void *a, const void *b)
{
	const struct plan_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

int
catalogue_find_renamed(struct plan *p, struct catalogue_renamed *r,
		       struct error *err)
{
	struct plan_file **files = mem_alloc(p->nfiles + 1, sizeof(*files));
	struct arena *arena = arena_new();
	struct map *ours = map_new();
	const char *base = "";
	struct astray a;
	size_t n = 0, last = 0;
	int rc = files == NULL ? -1 : 0;

	r->arena = p->arena;
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];

		if (f->path == NULL || f->nsegs > 0 || !path_is_clean(f->path))
			continue;
		if (f->state == FILE_MISSING) {
			files[n++] = f;
			continue;
		}
		/* Mostly in one directory. */
		if (strncmp(f->path, base, last) == 0 &&
		    (size_t)(path_base(f->path) - f->path) == last)
			continue;
		base = f->path;
		last = (size_t)(path_base(base) - base);
		rc = add_dirs(ours, base, arena);
	}
	if (rc == 0)
		qsort(files, n, sizeof(*files), by_path);
	base = "";
	for (size_t i = 0; rc == 0 && i < n; i += a.nfiles) {
		const char *path = files[i]->path;
		size_t dir = (size_t)(path_base(path) - path);

		a = (struct astray){ .files = files + i, .nfiles = 1 };
		/* A directory that is there was asked for its first file. */
		if (strlen(base) == dir && memcmp(base, path, dir) == 0)
			continue;
		a.from = missing_dir(r->asks.catalogue, path, arena);
		if (a.from == NULL) {
			base = arena_printf(arena, "%.*s", (int)dir, path);
			rc = base == NULL ? -1 : 0;
			continue;
		}
		dir = strlen(a.from);
		while (i + a.nfiles < n &&
		       strncmp(files[i + a.nfiles]->path, a.from, dir) == 0 &&
		       files[i + a.nfiles]->path[dir] == '/')
			a.nfiles++;
		rc = look_beside(r, &a, ours, err);
	}
	map_free(ours);
	arena_free(arena);
	mem_free(files);
	return rc < 0 ? error_no_memory(err) : 0;
}
