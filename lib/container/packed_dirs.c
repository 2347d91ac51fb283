/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_dirs.c - the directories of a dataset's files.  Packing leaves them in
 * place, but changes their times when it removes the files: the previous times
 * are recorded (hidden.h).
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "container/packed.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "par.h"
#include "path.h"

struct dir {
	const char *path;
	bool is; /* a directory, with these attributes */
	struct attr attr;
};

struct dirs {
	int rootfd;
	bool may_miss;
	const struct hidden *hidden;
	struct arena *arena;
	struct map *known;
	struct dir *list;
	size_t count, cap;
};

/* Add the directory given by the first `len` bytes of `path`, and those above
 * it. */
static int
add(struct dirs *d, const char *path, size_t len, struct error *err)
{
	while (len > 0) {
		const char *dir = arena_strndup(d->arena, path, len);

		if (dir != NULL && map_get(d->known, dir) != MAP_NONE)
			return 0;
		if (dir == NULL || !MEM_ROOM(d->list, d->count, d->cap) ||
		    map_put(d->known, dir, 0) < 0)
			return error_no_memory(err);
		d->list[d->count++] = (struct dir){ .path = dir };
		while (len > 0 && path[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	return 0;
}

static int
look(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct dirs *d = arg;
	struct dir *at = &d->list[i];
	const struct attr *was = NULL;
	struct error why = ERROR_INIT;
	struct stat st;

	(void)worker;
	at->is = path_stat_beneath(d->rootfd, at->path, &st, &why) == 0 &&
		 S_ISDIR(st.st_mode);
	if (!d->may_miss && why.errnum != ENOTDIR &&
	    (why.kind == ERROR_SYSTEM || why.kind == ERROR_NOMEM))
		return error_pass(err, &why);
	if (!at->is)
		return 0;
	attr_from_stat(&at->attr, &st);
	was = hidden_dir(d->hidden, at->path);
	if (was != NULL && was->has_times) {
		at->attr.atime = was->atime;
		at->attr.mtime = was->mtime;
	}
	return 0;
}

int
packed_each_dir(const struct packed *p, const bool *only, struct par *par,
		int (*fn)(void *arg, const char *path, const struct attr *attr,
			  struct error *err),
		void *arg, struct error *err)
{
	struct dirs d = {
		.rootfd = p->file_fd,
		.may_miss = only != NULL,
		.hidden = &p->hidden,
		.arena = arena_new(),
		.known = map_new(),
	};
	const char *last = "";
	size_t last_len = 0;
	int rc = d.arena == NULL || d.known == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < p->map.nfiles && rc == 0; i++) {
		const char *path = p->map.files[i].path;
		size_t len = (size_t)(path_base(path) - path);

		len -= len > 0;
		if ((only != NULL && !only[i]) ||
		    (len == last_len && memcmp(path, last, len) == 0))
			continue;
		rc = add(&d, path, len, err);
		last = path;
		last_len = len;
	}
	if (rc == 0)
		rc = par_for(par, d.count, 0, look, &d, err);
	for (size_t i = 0; i < d.count && rc == 0; i++)
		if (d.list[i].is)
			rc = fn(arg, d.list[i].path, &d.list[i].attr, err);
	mem_free(d.list);
	map_free(d.known);
	arena_free(d.arena);
	return rc;
}
