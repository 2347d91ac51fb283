/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/metas.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "fti/posix.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "path.h"

/* Directories above that of the execution that may be the common one: a copy
 * may be in <copy>/<host>/<a path of the host>. */
#define UP 6

/* A list of strings in the arena. */
struct strings {
	char **list;
	size_t count, room;
};

/* A directory of metadata, or one file; what is read of it at the first
 * look-up. */
struct dir {
	const char *path;
	bool single;
	int fd;		      /* -1: read, or a single file */
	struct strings names; /* of the files to read */
	struct fti_posix **read;
	size_t nread, room;
	/* Name of a checkpoint file -> number of the ini, times
	 * FTI_POSIX_MEMBERS, plus the member. */
	struct map *by;
	/* Of the first file that cannot be read. */
	const char *problem;
	enum error_kind kind;
};

/* Where the files of a directory may have their metadata. */
struct place {
	size_t *dirs;
	size_t count, room;
};

struct fti_metas {
	struct arena *arena;
	struct dir *dirs;
	size_t ndirs, room_dirs;
	struct map *dirs_by; /* path -> its number */
	struct place *places;
	size_t nplaces, room_places;
	struct map *places_by; /* directory of checkpoint files -> number */
};

/* --- Places --- */

const char *
fti_location_cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL || slash == path)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

int
fti_location_of(const char *path, struct fti_location *out, struct error *err)
{
	struct buf given = BUF_INIT, dir = BUF_INIT;
	int rc = 0;

	*out = (struct fti_location){ .level = FTI_NO_LEVEL };
	buf_add(&given, path, (size_t)(path_base(path) - path));
	buf_add_char(&given, '.');
	rc = path_real(given.data, &dir, NULL);
	if (rc < 0)
		rc = path_absolute(given.data, &dir, err);
	buf_free(&given);
	if (rc < 0) {
		buf_free(&dir);
		return -1;
	}
	out->dir = mem_strdup(dir.data);
	out->above = mem_strdup(dir.data);
	buf_add_char(&dir, '/');
	if (fti_location_cut(out->above) != NULL)
		out->level = fti_level_of(dir.data);
	if (out->level != FTI_NO_LEVEL)
		out->exec = fti_location_cut(out->above);
	buf_free(&dir);
	if (out->exec == NULL) {
		mem_free(out->above);
		out->above = NULL;
	}
	return 0;
}

void
fti_location_fini(struct fti_location *p)
{
	mem_free(p->dir);
	mem_free(p->above);
	*p = (struct fti_location){ .level = FTI_NO_LEVEL };
}

/* --- The cache --- */

struct fti_metas *
fti_metas_new(void)
{
	struct fti_metas *m = mem_calloc(1, sizeof(*m));

	m->arena = arena_new();
	m->dirs_by = map_new();
	m->places_by = map_new();
	return m;
}

void
fti_metas_free(struct fti_metas *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->ndirs; i++) {
		struct dir *d = &m->dirs[i];

		for (size_t k = 0; k < d->nread; k++)
			fti_posix_free(d->read[k]);
		mem_free(d->read);
		mem_free(d->names.list);
		map_free(d->by);
		io_close(d->fd);
	}
	for (size_t i = 0; i < m->nplaces; i++)
		mem_free(m->places[i].dirs);
	mem_free(m->dirs);
	mem_free(m->places);
	map_free(m->dirs_by);
	map_free(m->places_by);
	arena_free(m->arena);
	mem_free(m);
}

/* --- Names in directories --- */

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* List the names that `take` wants, in order.  A directory that cannot be read
 * has none. */
static void
list_names(struct fti_metas *m, int fd, bool (*take)(const char *name),
	   struct strings *to)
{
	struct dir_walk w;
	const char *name = NULL;

	if (dir_walk(&w, fd, "directory", NULL) < 0)
		return;
	while ((name = dir_next(&w)) != NULL)
		if (take(name)) {
			(void)MEM_ROOM(to->list, to->count, to->room);
			to->list[to->count++] = arena_strdup(m->arena, name);
		}
	(void)dir_done(&w, 0, NULL);
	if (to->count > 0)
		qsort(to->list, to->count, sizeof(*to->list), by_text);
}

static bool
is_sector(const char *name)
{
	return fti_name_parse(name).kind == FTI_NAME_SECTOR;
}

static bool
is_visible(const char *name)
{
	return name[0] != '.';
}

/* --- Directories of metadata --- */

/* Read an ini file below `fd`.  One that cannot be read is a problem. */
static void
read_ini(struct fti_metas *m, struct dir *d, int fd, const char *name)
{
	struct error why = ERROR_INIT;
	struct fti_posix *p = fti_posix_read(fd, name, &why);

	if (p == NULL) {
		if (d->problem == NULL) {
			d->problem = arena_strdup(m->arena, why.text);
			d->kind = why.kind;
		}
		return;
	}
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].name != NULL &&
		    map_get(d->by, p->files[i].name) == MAP_NONE)
			map_put(d->by, p->files[i].name,
				d->nread * FTI_POSIX_MEMBERS + i);
	(void)MEM_ROOM(d->read, d->nread, d->room);
	d->read[d->nread++] = p;
}

/* The number of the directory `path`, or of the file if `fd` is negative.  `fd`
 * is taken. */
static size_t
add_dir(struct fti_metas *m, const char *path, int fd)
{
	size_t i = map_get(m->dirs_by, path);
	struct dir *d = NULL;

	if (i != MAP_NONE) {
		io_close(fd);
		return i;
	}
	(void)MEM_ROOM(m->dirs, m->ndirs, m->room_dirs);
	i = m->ndirs++;
	d = &m->dirs[i];
	*d = (struct dir){
		.path = arena_strdup(m->arena, path),
		.single = fd < 0,
		.fd = fd,
	};
	map_put(m->dirs_by, d->path, i);
	if (!d->single)
		list_names(m, fd, is_sector, &d->names);
	return i;
}

/* Read its files, unless that was done. */
static void
read_dir(struct fti_metas *m, struct dir *d)
{
	if (d->by != NULL)
		return;
	d->by = map_new();
	if (d->single)
		read_ini(m, d, AT_FDCWD, d->path);
	for (size_t k = 0; k < d->names.count; k++)
		read_ini(m, d, d->fd, d->names.list[k]);
	io_close(d->fd);
	d->fd = -1;
}

/* Add the directory to the place, if it has metadata.  `fd` is taken. */
static void
add_to_place(struct fti_metas *m, struct place *p, const char *path, int fd)
{
	const size_t i = add_dir(m, path, fd);

	if (m->dirs[i].names.count == 0)
		return;
	(void)MEM_ROOM(p->dirs, p->count, p->room);
	p->dirs[p->count++] = i;
}

/* --- A file --- */

/* Do the metadata of the directory, or the file that the user gave, describe
 * the file with this base name? */
static bool
look_up(struct fti_metas *m, struct dir *d, const char *name,
	struct fti_described *out)
{
	struct fti_name n = fti_name_parse(name);
	const enum fti_name_kind kind = n.kind;
	const struct fti_posix *p = NULL;
	size_t at = 0, i = 0;

	read_dir(m, d);
	if (kind == FTI_NAME_COPY || kind == FTI_NAME_PARITY)
		n.kind = FTI_NAME_RANK;
	at = map_get(d->by, n.kind == kind ? name : fti_name_str(&n));
	if (at == MAP_NONE)
		return false;
	p = d->read[at / FTI_POSIX_MEMBERS];
	i = at % FTI_POSIX_MEMBERS;
	/* A copy is that of the left neighbour's file (fti-format(5)). */
	if (kind == FTI_NAME_COPY)
		i = (i + p->nfiles - 1) % p->nfiles;
	out->posix = p;
	out->file = &p->files[i];
	out->copy = kind == FTI_NAME_COPY;
	out->parity = kind == FTI_NAME_PARITY;
	out->path = d->single
			    ? d->path
			    : arena_printf(m->arena, "%s/%s", d->path, p->name);
	return true;
}

/* --- The directories near a file --- */

/* Add root/rel to the place, if it is a directory with metadata. */
static void
try_dir(struct fti_metas *m, struct place *p, int fd, const char *root,
	const char *rel)
{
	struct buf path = BUF_INIT;
	const int in = path_open_dir(fd, rel, NULL);

	if (in < 0)
		return;
	path_join(&path, root, rel, NULL);
	add_to_place(m, p, path.data, in);
	buf_free(&path);
}

/* Add the directories Ckpt_<id> of an archive. */
static void
try_archive(struct fti_metas *m, struct place *p, int fd, const char *root,
	    const char *rel)
{
	struct strings names = { .count = 0 };
	struct buf path = BUF_INIT;
	const int in = path_open_dir(fd, rel, NULL);

	if (in >= 0)
		list_names(m, in, is_visible, &names);
	for (size_t i = 0; i < names.count; i++) {
		path_join(&path, rel, names.list[i], NULL);
		try_dir(m, p, fd, root, path.data);
	}
	io_close(in);
	mem_free(names.list);
	buf_free(&path);
}

/* Add the directories of all levels in root/exec: the name of a checkpoint file
 * has its id, so only one describes it. */
static void
try_exec(struct fti_metas *m, struct place *p, int fd, const char *root,
	 const char *exec)
{
	static const enum fti_level levels[] = {
		FTI_L1, FTI_L2, FTI_L3, FTI_L4, FTI_TMP, FTI_ARCHIVE,
	};
	struct stat st;
	struct buf rel = BUF_INIT;

	if (path_stat_beneath(fd, exec, &st, NULL) < 0 || !S_ISDIR(st.st_mode))
		return;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		path_join(&rel, exec, fti_levels[levels[i]].dir, NULL);
		(levels[i] == FTI_ARCHIVE ? try_archive
					  : try_dir)(m, p, fd, root, rel.data);
	}
	buf_free(&rel);
}

/* Look for <any>/<exec> in the directory `root`. */
static void
try_root(struct fti_metas *m, struct place *p, const char *root,
	 const char *exec)
{
	struct strings names = { .count = 0 };
	struct buf rel = BUF_INIT;
	const int fd = dir_open(AT_FDCWD, root);

	if (fd < 0)
		return;
	list_names(m, fd, is_visible, &names);
	try_exec(m, p, fd, root, exec);
	for (size_t i = 0; i < names.count; i++) {
		path_join(&rel, names.list[i], exec, NULL);
		try_exec(m, p, fd, root, rel.data);
	}
	close(fd);
	mem_free(names.list);
	buf_free(&rel);
}

int
fti_metas_find(struct fti_metas *m, const char *path, struct fti_described *out,
	       struct error *err)
{
	struct fti_location at;
	struct place *p = NULL;
	size_t known = 0;

	*out = (struct fti_described){ .path = NULL };
	if (fti_location_of(path, &at, err) < 0)
		return -1;
	known = map_get(m->places_by, at.dir);
	if (known == MAP_NONE) {
		const int fd = dir_open(AT_FDCWD, at.dir);

		known = m->nplaces;
		(void)MEM_ROOM(m->places, m->nplaces, m->room_places);
		map_put(m->places_by, arena_strdup(m->arena, at.dir), known);
		p = &m->places[m->nplaces++];
		*p = (struct place){ .count = 0 };
		/* Beside the files, or in the nearest of the directories
		 * above. */
		if (fd >= 0)
			add_to_place(m, p, at.dir, fd);
		for (unsigned up = 0;
		     at.above != NULL && up < UP && p->count == 0; up++) {
			try_root(m, p, at.above, at.exec);
			if (fti_location_cut(at.above) == NULL)
				break;
		}
	}
	p = &m->places[known];
	for (size_t i = 0; i < p->count; i++) {
		struct dir *d = &m->dirs[p->dirs[i]];

		if (look_up(m, d, path_base(path), out))
			break;
		if (out->problem == NULL)
			out->problem = d->problem;
	}
	fti_location_fini(&at);
	return 0;
}

int
fti_metas_take(struct fti_metas *m, const char *meta, const char *path,
	       struct fti_described *out, struct error *err)
{
	const size_t i = add_dir(m, meta, dir_open(AT_FDCWD, meta));
	struct dir *d = &m->dirs[i];

	*out = (struct fti_described){ .path = NULL };
	if (look_up(m, d, path_base(path), out))
		return 0;
	if (d->problem != NULL)
		return error_set(err, d->kind, "%s", d->problem);
	return error_set(err, ERROR_ABSENT, "%s: does not describe %s", meta,
			 path_base(path));
}
