/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_lost.c - is the map of a packed dataset lost?
 */
#include <errno.h>
#include <unistd.h>

#include "container/packed.h"
#include "dir.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "path.h"
#include "str.h"

/* 1: a container. */
static int
is_container(void *arg, const char *name, struct error *err)
{
	(void)arg;
	(void)err;
	return segmap_is_container(name);
}

bool
packed_any_container(int dirfd)
{
	return dir_each(dirfd, SEGMAP_DIR, is_container, NULL, NULL) == 1;
}

/* 1: a readable file of rank2file.  Then not all files are lost, or another
 * program has written a map without containers. */
static int
is_sound(void *arg, const char *name, struct error *err)
{
	const int *meta_fd = arg;
	struct kvtree *t = NULL;

	(void)err;
	if (str_starts(name, RANK2FILE_FILE))
		t = kvtree_read_beneath(*meta_fd, name, NULL, NULL);
	kvtree_free(t);
	return t != NULL;
}

bool
packed_has_containers(int root_fd)
{
	int fd = path_open_dir(root_fd, SEGMAP_DIR, NULL);
	bool any = false;

	if (fd >= 0) {
		any = packed_any_container(fd);
		close(fd);
	}
	return any;
}

static bool
is_damage(const struct error *why)
{
	return (why->kind == ERROR_ABSENT || why->kind == ERROR_CORRUPT) &&
	       why->errnum != EIO;
}

bool
packed_map_lost(int meta_fd, struct error *why)
{
	if (!is_damage(why) ||
	    dir_each(meta_fd, "metadata", is_sound, &meta_fd, NULL) != 0 ||
	    !packed_has_containers(meta_fd))
		return false;
	error_set(why, ERROR_LOST,
		  RANK2FILE_FILE
		  ", its copy, its parts and packed.N.scr are lost; they "
		  "record where the files lie in the containers: restore one "
		  "from a backup");
	return true;
}

/* In layout 1 no other program writes maps. */
bool
packed_old_map_lost(const struct packed *p, struct error *why)
{
	struct error was = *why;

	if (p->layout != 1 || !is_damage(why) ||
	    !packed_has_containers(p->root_fd))
		return false;
	error_set(
		why, ERROR_LOST,
		"%s: it records where the files lie in the containers: restore "
		"rank2file*.scr in %s from a backup",
		was.text, p->dir);
	return true;
}
