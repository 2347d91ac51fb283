/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_unclaimed.c - ranks whose filemap is lost and whose files nothing names:
 * may these files be on the prefix nevertheless?
 *
 * They would lie where those of the other ranks lie.  A file there that no rank
 * claims may be one of them, so it is unknown whether data are lost.  They are
 * lost only if there is none.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* More names than this, beyond those of the known files, are not looked at. */
#define NAMES_MAX 65536

/* Deeper directories are not looked at. */
#define DEPTH_MAX 16

struct search {
	const struct planner *w;
	struct map *claimed; /* paths of known files */
	struct buf path;     /* of the directory, with '/' at its end; or "" */
	int fd;		     /* of the directory */
	bool below;	     /* look at its directories, too */
	unsigned depth;
	size_t names; /* that may still be looked at */
	const char *found;
};

static int look_in(struct search *s, int fd, struct error *err);

/* 1: found. */
static int
look_at(void *arg, const char *name, struct error *err)
{
	struct search *s = arg;
	const size_t len = s->path.len;
	struct stat st;
	int rc = 0, fd = -1;

	if (s->names-- == 0) {
		s->found = "too many files to look at";
		return 1;
	}
	if (buf_add_str(&s->path, name) < 0)
		return error_no_memory(err);
	if (dir_stat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) &&
	    map_get(s->claimed, s->path.data) == MAP_NONE &&
	    dataset_dir_is_data(s->path.data)) {
		s->found = arena_printf(s->w->p.arena, "%s may be one of them",
					str_shown(s->path.data));
		rc = s->found != NULL ? 1 : error_no_memory(err);
	} else if (s->below && S_ISDIR(st.st_mode) && s->depth < DEPTH_MAX) {
		fd = dir_open_plain(s->fd, name);
		rc = buf_add_char(&s->path, '/') < 0 ? error_no_memory(err) : 0;
		if (rc == 0)
			rc = look_in(s, fd, err);
		io_close(fd);
	}
	s->path.len = len;
	s->path.data[len] = '\0';
	return rc;
}

/* Look in directory `fd`, whose path is s->path. */
static int
look_in(struct search *s, int fd, struct error *err)
{
	const int above = s->fd;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (fd < 0) {
		s->found = arena_printf(s->w->p.arena, "%s cannot be read",
					str_shown(s->path.data));
		return s->found != NULL ? 1 : error_no_memory(err);
	}
	s->fd = fd;
	s->depth++;
	rc = dir_each(fd, s->path.data, look_at, s, &why);
	s->depth--;
	s->fd = above;
	return rc < 0 ? error_pass(err, &why) : rc;
}

/* Look in the directory, on the way to file `path`, that is directly below the
 * prefix, and in all below it; or in the prefix alone. */
static int
look_near(struct search *s, const char *path, struct map *looked,
	  struct error *err)
{
	const size_t len = strcspn(path, "/");
	const char *dir = NULL;
	int fd = -1, rc = 0;

	buf_clear(&s->path);
	s->below = path[len] == '/';
	if ((s->below && buf_add(&s->path, path, len + 1) < 0) ||
	    buf_add_str(&s->path, "") < 0)
		return error_no_memory(err);
	if (map_get(looked, s->path.data) != MAP_NONE)
		return 0;
	if (map_put(looked, s->path.data, 0) < 0)
		return error_no_memory(err);
	dir = arena_strndup(s->w->p.arena, path, len);
	if (dir == NULL)
		return error_no_memory(err);
	fd = path_open_dir(s->w->p.places[0].root_fd, s->below ? dir : ".",
			   NULL);
	rc = look_in(s, fd, err);
	io_close(fd);
	return rc;
}

int
plan_ask_unclaimed(struct planner *w, struct error *err)
{
	struct plan *p = &w->p;
	struct search s = {
		.w = w,
		.claimed = map_new(),
		.fd = -1,
		.names = p->nfiles + NAMES_MAX,
	};
	struct map *looked = map_new();
	int rc = s.claimed == NULL || looked == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		if (map_put(s.claimed, p->files[i].path, i) < 0)
			rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		rc = look_near(&s, p->files[i].path, looked, err);
	if (rc == 0 && p->nfiles == 0)
		s.found = "nothing says where they are";
	p->unclaimed = s.found;
	map_free(s.claimed);
	map_free(looked);
	buf_free(&s.path);
	return rc < 0 ? -1 : 0;
}
