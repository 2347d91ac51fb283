/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "mem.h"
#include "store/spill.h"
#include "store/store_impl.h"
#include "str.h"

/* List what is in the directory `base` of `up`. */
static int
list_dir(struct names *to, int up, const char *base, struct name *n,
	 struct error *err)
{
	const struct stat dir = n->is;
	const char *above = n->path, *name = NULL;
	const uint64_t part[] = { to->seal, dir.st_ino,
				  (uint64_t)dir.st_ctim.tv_sec,
				  (uint64_t)dir.st_ctim.tv_nsec };
	int fd = dir_open_plain(up, base), rc = 0;
	char link[PATH_MAX];
	struct dir_walk w;
	ssize_t len = 0;

	to->seal = fnv_bytes((const char *)part, sizeof(part));
	if (to->newest < dir.st_ctim.tv_sec)
		to->newest = dir.st_ctim.tv_sec;
	if (fd < 0)
		return errno == ENOENT ? 0 : error_sys(err, "%s", base);
	rc = dir_walk(&w, fd, base, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		if (above[0] == '\0' && str_eq(name, STORE_META))
			continue;
		*n = (struct name){ .trusted = spill_trusts(&dir) };
		n->path = arena_printf(to->arena, "%s%s%s", above,
				       above[0] == '\0' ? "" : "/", name);
		if (n->path == NULL || !MEM_ROOM(to->list, to->count, to->cap))
			rc = error_no_memory(err);
		else if (dir_stat(fd, name, &n->is, AT_SYMLINK_NOFOLLOW) < 0)
			rc = errno == ENOENT ? 0
					     : error_sys(err, "%s", n->path);
		else if (n->is.st_dev != dir.st_dev)
			;
		else if (S_ISDIR(n->is.st_mode))
			rc = list_dir(to, fd, name, n, err);
		else {
			len = S_ISLNK(n->is.st_mode)
				      ? readlinkat(fd, name, link, sizeof(link))
				      : 0;
			if (len > 0)
				n->link = arena_strndup(to->arena, link,
							(size_t)len);
			to->list[to->count++] = *n;
			if (S_ISREG(n->is.st_mode))
				to->bytes += (uint64_t)n->is.st_blocks * 512;
			rc = len > 0 && n->link == NULL ? error_no_memory(err)
							: 0;
		}
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

int
names_list(const struct store *s, struct names *to, struct error *err)
{
	struct name top = { .path = "" };

	*to = (struct names){ .arena = arena_new() };
	if (to->arena == NULL)
		return error_no_memory(err);
	if (stat(s->dir, &top.is) < 0)
		return error_sys(err, "%s", s->dir);
	return list_dir(to, AT_FDCWD, s->dir, &top, err);
}

void
names_free(struct names *n)
{
	arena_free(n->arena);
	mem_free(n->list);
}

const struct slot *
names_slot(const struct store *s, ino_t ino)
{
	const struct slot *l = s->state->slot, *end = l + STORE_SLOTS;

	while (l < end &&
	       (slot_is(l) != SLOT_TAKEN || atomic_load(&l->ino) != ino))
		l++;
	return l < end ? l : NULL;
}
