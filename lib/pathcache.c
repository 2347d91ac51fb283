/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pathcache.c - the cache of open directories declared in path.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "map.h"
#include "mem.h"
#include "path.h"

/* Most descriptors held: far below the usual limit of 1024 per process. */
#define SLOTS 128
/* The same for a cache in a pathcache_pair, of which each thread has one. */
#define SLOTS_SMALL 16

struct slot {
	char *dir; /* the part of `rel` before its last slash */
	size_t len;
	uint64_t hash; /* of dir */
	uint64_t used; /* time of the last use, by `clock` */
	int fd;
	bool closed; /* its owner may not search it */
};

struct pathcache {
	int rootfd;
	size_t max;	    /* most slots used */
	size_t count, last; /* slots filled; the slot used last */
	uint64_t clock;
	char *asked; /* the last directory given to pathcache_absent() */
	size_t asked_len;
	enum { ASKED_ONCE, LISTED, NOT_LISTED } asked_state;
	struct map *names;   /* in it, if it is LISTED */
	struct arena *arena; /* of the names */
	struct slot slots[SLOTS];
};

struct pathcache *
pathcache_new(int rootfd)
{
	struct pathcache *c = mem_calloc(1, sizeof(*c));

	if (c != NULL) {
		c->rootfd = rootfd;
		c->max = SLOTS;
	}
	return c;
}

static void
forget_all(struct pathcache *c)
{
	while (c->count > 0) {
		c->count--;
		mem_free(c->slots[c->count].dir);
		close(c->slots[c->count].fd);
	}
	c->last = 0;
}

static void
forget_names(struct pathcache *c)
{
	mem_free(c->asked);
	map_free(c->names);
	arena_free(c->arena);
	c->asked = NULL;
	c->names = NULL;
	c->arena = NULL;
}

void
pathcache_free(struct pathcache *c)
{
	if (c == NULL)
		return;
	forget_all(c);
	forget_names(c);
	mem_free(c);
}

static bool
is_dir(const struct slot *s, const char *dir, size_t len)
{
	return s->len == len && memcmp(s->dir, dir, len) == 0;
}

/* Open the parent of `rel` and add it to the cache. */
static int
add(struct pathcache *c, const char *rel, size_t len, uint64_t hash,
    struct error *err)
{
	struct error why = ERROR_INIT;
	const char *base = NULL;
	char *dir = NULL;
	struct stat st;
	int fd = path_open_parent(c->rootfd, rel, false, 0, &base, &why);

	if (fd < 0 && (why.errnum == EMFILE || why.errnum == ENFILE)) {
		forget_all(c); /* descriptors ran out: give up ours */
		fd = path_open_parent(c->rootfd, rel, false, 0, &base, &why);
	}
	if (fd < 0)
		return error_pass(err, &why);
	dir = mem_alloc(len + 1, 1);
	if (dir == NULL) {
		close(fd);
		return error_no_memory(err);
	}
	memcpy(dir, rel, len);
	dir[len] = '\0';
	if (fstat(fd, &st) < 0)
		st.st_mode = S_IXUSR;
	/* A free slot, or the least recently used one. */
	if (c->count < c->max) {
		c->last = c->count++;
	} else {
		c->last = 0;
		for (size_t i = 1; i < c->max; i++)
			if (c->slots[i].used < c->slots[c->last].used)
				c->last = i;
		mem_free(c->slots[c->last].dir);
		close(c->slots[c->last].fd);
	}
	c->slots[c->last] = (struct slot){
		.dir = dir,
		.len = len,
		.hash = hash,
		.used = ++c->clock,
		.fd = fd,
		.closed = (st.st_mode & S_IXUSR) == 0,
	};
	return fd;
}

int
pathcache_parent(struct pathcache *c, const char *rel, const char **base,
		 struct error *err)
{
	uint64_t hash = 0;
	size_t len = 0, i = 0;

	if (!path_is_clean(rel)) /* fails, with the error set */
		return path_open_parent(c->rootfd, rel, false, 0, base, err);
	*base = path_base(rel);
	if (*base == rel)
		return c->rootfd;
	len = (size_t)(*base - rel) - 1;
	/* Lists are mostly sorted: try the last directory first. */
	if (c->count > 0 && is_dir(&c->slots[c->last], rel, len))
		return c->slots[c->last].fd;
	hash = fnv_bytes(rel, len);
	for (i = 0; i < c->count; i++) {
		if (c->slots[i].hash != hash || !is_dir(&c->slots[i], rel, len))
			continue;
		c->slots[i].used = ++c->clock;
		c->last = i;
		return c->slots[i].fd;
	}
	return add(c, rel, len, hash, err);
}

int
pathcache_lstat(struct pathcache *c, const char *rel, struct stat *st,
		struct error *err)
{
	const char *base = NULL;
	int fd = pathcache_parent(c, rel, &base, err);

	if (fd < 0 && fd != AT_FDCWD) /* the root may be AT_FDCWD */
		return -1;
	if (dir_stat(fd, base, st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "%s: cannot stat", rel);
	return 0;
}

int
pathcache_stat(struct pathcache *c, const char *rel, struct stat *st,
	       struct error *err)
{
	if (pathcache_lstat(c, rel, st, err) < 0)
		return -1;
	if (path_base(rel) != rel && c->slots[c->last].closed) {
		errno = EACCES;
		return error_sys(err, "%s: cannot stat", rel);
	}
	if (S_ISLNK(st->st_mode))
		return path_stat_beneath(c->rootfd, rel, st, err);
	return 0;
}

/* List the directory of `rel`. */
static void
list(struct pathcache *c, const char *rel)
{
	struct error why = ERROR_INIT;
	const char *base = NULL, *name = NULL;
	int parent = pathcache_parent(c, rel, &base, &why), rc = 0;
	struct dir_walk w;

	c->asked_state = NOT_LISTED;
	c->names = map_new();
	c->arena = arena_new();
	if (parent < 0 && parent != AT_FDCWD) {
		if (why.kind == ERROR_ABSENT) /* nor is anything in it */
			c->asked_state = LISTED;
		return;
	}
	rc = dir_walk(&w, parent, rel, NULL);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		name = arena_strdup(c->arena, name);
		rc = name == NULL ? -1 : map_put(c->names, name, 0);
	}
	if (dir_done(&w, rc, NULL) == 0)
		c->asked_state = LISTED;
}

bool
pathcache_absent(struct pathcache *c, const char *rel)
{
	const char *base = path_base(rel);
	const size_t len = (size_t)(base - rel);

	if (c->asked == NULL || c->asked_len != len ||
	    memcmp(c->asked, rel, len) != 0) {
		forget_names(c);
		c->asked = mem_alloc(len + 1, 1);
		if (c->asked != NULL)
			memcpy(c->asked, rel, len);
		c->asked_len = len;
		c->asked_state = ASKED_ONCE;
		return false;
	}
	if (c->asked_state == ASKED_ONCE)
		list(c, rel);
	return c->asked_state == LISTED && map_get(c->names, base) == MAP_NONE;
}

int
pathcache_look(struct pathcache *c, const char *rel, struct stat *st,
	       struct error *err)
{
	struct error why = ERROR_INIT;

	if (pathcache_absent(c, rel))
		return 0;
	if (pathcache_lstat(c, rel, st, &why) == 0)
		return 1;
	return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
}

struct pathcache *
pathcache_pair_at(struct pathcache_pair *c, int rootfd)
{
	unsigned i = 0;

	for (i = 0; i < 2; i++)
		if (c->list[i] != NULL && c->list[i]->rootfd == rootfd)
			return c->list[i];
	i = c->next++ % 2;
	pathcache_free(c->list[i]);
	c->list[i] = pathcache_new(rootfd);
	if (c->list[i] != NULL)
		c->list[i]->max = SLOTS_SMALL;
	return c->list[i];
}

void
pathcache_pair_fini(struct pathcache_pair *c)
{
	pathcache_free(c->list[0]);
	pathcache_free(c->list[1]);
	*c = (struct pathcache_pair){ .next = 0 };
}
