/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.c - what the files contain, and where they are written: below the
 * prefix, in the cache of the rank's node, or in both; nowhere if the node is
 * lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "gen/gen.h"
#include "io.h"

/* Mix the bits of a counter (the finalizer of MurmurHash3). */
static uint64_t
mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

void
content_fill(uint64_t variant, uint32_t rank, uint32_t file, uint64_t off,
	     size_t len, unsigned char *to)
{
	uint64_t seed = mix(((uint64_t)rank << 32 | file) + 1 + mix(variant));
	uint64_t i = seed + off / 8, word = mix(i++);
	size_t skip = off % 8, part = 8 - skip < len ? 8 - skip : len;

	/* First part of a word, whole words, last part of a word. */
	memcpy(to, (const char *)&word + skip, part);
	for (to += part, len -= part; len >= 8; to += 8, len -= 8) {
		word = mix(i++);
		memcpy(to, &word, 8);
	}
	word = mix(i);
	memcpy(to, &word, len);
}

/* Make `path` below `dir`, with its missing parents. */
static int
make_path(int dir, const char *path, struct error *err)
{
	char part[PATH_MAX];

	for (const char *end = path; *end != '\0';) {
		end = strchrnul(end + 1, '/');
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
			return error_sys(err, "%s: cannot make directory",
					 part);
	}
	return 0;
}

static int
open_root(const char *path, int *fd, struct error *err)
{
	if (make_path(AT_FDCWD, path, err) < 0)
		return -1;
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? error_sys(err, "%s", path) : 0;
}

/* Format "node3/cache/genuser/scr.1000/scr.dataset.7" + `tail`. */
static void
cache_path(char to[static PATH_MAX], const struct gen *g, uint32_t node,
	   const char *tail)
{
	snprintf(to, PATH_MAX,
		 "node%" PRIu32 "/cache/" GEN_USER "/scr." GEN_JOB
		 "/scr.dataset.%" PRId64 "%s",
		 node, g->id, tail);
}

int
place_open(struct gen *g, struct error *err)
{
	char path[PATH_MAX];

	/* The prefix is always made, because flush.scr is below it. */
	snprintf(path, sizeof(path), ".scr/scr.dataset.%" PRId64, g->id);
	if (open_root(g->prefix, &g->prefix_fd, err) < 0 ||
	    make_path(g->prefix_fd, g->in_prefix ? path : ".scr", err) < 0)
		return -1;
	if (!g->in_cache)
		return 0;
	if (open_root(g->nodes_dir, &g->nodes_fd, err) < 0)
		return -1;
	for (uint32_t node = 0; node < g->nnodes; node++) {
		if (g->lost[node])
			continue;
		cache_path(path, g, node, "/.scr");
		if (make_path(g->nodes_fd, path, err) < 0)
			return -1;
	}
	return 0;
}

void
place_close(struct gen *g)
{
	if (g->prefix_fd >= 0)
		close(g->prefix_fd);
	if (g->nodes_fd >= 0)
		close(g->nodes_fd);
	g->prefix_fd = g->nodes_fd = -1;
}

/* Create `path` below `dir` as another place of `f`. */
static int
add_place(struct place_file *f, int dir, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0666);

	if (fd < 0 && errno == ENOENT && slash != NULL) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path),
			 path);
		if (make_path(dir, parent, err) < 0)
			return -1;
		fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    0666);
	}
	if (fd < 0)
		return error_sys(err, "%s", path);
	f->fd[f->n++] = fd;
	return 0;
}

int
place_create(const struct gen *g, uint32_t rank, const char *rel,
	     const char *base, struct place_file *out, struct error *err)
{
	char path[PATH_MAX], tail[NAME_MAX + 16];
	uint32_t node = g->ranks[rank].node;

	*out = (struct place_file){ .n = 0, .fd = { -1, -1 }, .name = base };
	if (g->lost[node])
		return 0;
	if (g->in_prefix) {
		snprintf(path, sizeof(path), ".scr/scr.dataset.%" PRId64 "/%s",
			 g->id, base);
		if (add_place(out, g->prefix_fd, rel != NULL ? rel : path,
			      err) < 0)
			return -1;
	}
	if (g->in_cache) {
		snprintf(tail, sizeof(tail), "/%s%s",
			 rel != NULL ? "" : ".scr/", base);
		cache_path(path, g, node, tail);
		if (add_place(out, g->nodes_fd, path, err) < 0)
			return -1;
	}
	return 0;
}

int
place_write(struct place_file *f, const void *data, size_t len, uint64_t off,
	    struct error *err)
{
	for (int i = 0; i < f->n; i++)
		if (io_pwrite(f->fd[i], f->name, data, len, off, err) < 0)
			return -1;
	return 0;
}

int
place_done(struct place_file *f, const struct attr *attr, struct error *err)
{
	int rc = 0, fd = -1;

	while (f->n > 0) {
		fd = f->fd[--f->n];
		if (rc == 0 && attr != NULL &&
		    (fchmod(fd, attr->mode & 07777) < 0 ||
		     futimens(fd, (struct timespec[]){ attr->atime,
						       attr->mtime }) < 0))
			rc = error_sys(err, "%s: cannot set mode and times",
				       f->name);
		if (close(fd) < 0 && rc == 0)
			rc = error_sys(err, "%s", f->name);
	}
	return rc;
}

int
place_meta(const struct gen *g, uint32_t rank, const char *name,
	   const void *data, size_t len, const struct attr *attr,
	   struct error *err)
{
	struct place_file f;

	if (place_create(g, rank, NULL, name, &f, err) < 0 ||
	    place_write(&f, data, len, 0, err) < 0)
		return -1;
	return place_done(&f, attr, err);
}

int
place_node_file(const struct gen *g, uint32_t node, const char *dir,
		const char *name, const void *data, size_t len,
		struct error *err)
{
	struct place_file f = { .n = 0, .name = name };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "node%" PRIu32 "/%s/%s", node, dir, name);
	if (add_place(&f, g->nodes_fd, path, err) < 0 ||
	    place_write(&f, data, len, 0, err) < 0)
		return -1;
	return place_done(&f, NULL, err);
}
