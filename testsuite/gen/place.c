/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.c - what the files contain, and where they are written: below the
 * prefix, in the cache of the rank's node, or in both; nowhere if the node is
 * lost.
 */
#include "gen/gen.h"
#include "scratch.h"

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

/* End the program, unless `good`: the system says why. */
static void
must_have(bool good, const char *path)
{
	if (good)
		return;
	fprintf(stderr, "gen_dataset: %s: %s\n", path, strerror(errno));
	exit(1);
}

/* "NODES/node3/cache/genuser/scr.1000/scr.dataset.7/" and `rest`. */
static const char *
cache_path(const struct gen *g, uint32_t node, const char *rest)
{
	return fmt("%s/node%" PRIu32 "/cache/" GEN_USER "/scr." GEN_JOB
		   "/scr.dataset.%" PRId64 "/%s",
		   g->nodes_dir, node, g->id, rest);
}

/* The prefix is always made, because flush.scr is below it. */
void
place_open(struct gen *g)
{
	const char *dir =
		g->in_prefix ? fmt("scr.dataset.%" PRId64 "/", g->id) : "";

	make_parents(fmt("%s/.scr/%s", g->prefix, dir));
	for (uint32_t node = 0; g->in_cache && node < g->nnodes; node++)
		if (!g->lost[node])
			make_parents(cache_path(g, node, ".scr/"));
}

/* Create `path` as another place of `f`. */
static void
add_place(struct place_file *f, const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	int fd = open(path, flags, 0666);

	if (fd < 0 && errno == ENOENT) {
		make_parents(path);
		fd = open(path, flags, 0666);
	}
	must_have(fd >= 0, path);
	f->fd[f->n++] = fd;
}

void
place_create(const struct gen *g, uint32_t rank, const char *rel,
	     const char *base, struct place_file *out)
{
	const uint32_t node = g->ranks[rank].node;

	*out = (struct place_file){ .n = 0, .name = base };
	if (!g->lost[node] && g->in_prefix)
		add_place(out, rel != NULL ? fmt("%s/%s", g->prefix, rel)
					   : fmt("%s/.scr/scr.dataset.%" PRId64
						 "/%s",
						 g->prefix, g->id, base));
	if (!g->lost[node] && g->in_cache)
		add_place(out,
			  cache_path(g, node,
				     fmt("%s%s", rel ? "" : ".scr/", base)));
}

void
place_write(struct place_file *f, const void *data, size_t len, uint64_t off)
{
	for (int i = 0; i < f->n; i++)
		must_have(io_pwrite(f->fd[i], f->name, data, len, off, NULL) ==
				  0,
			  f->name);
}

void
place_done(struct place_file *f, const struct attr *a)
{
	while (f->n > 0) {
		const int fd = f->fd[--f->n];

		must_have(a == NULL ||
				  (fchmod(fd, a->mode & 07777) == 0 &&
				   futimens(fd,
					    (struct timespec[]){
						    a->atime, a->mtime }) == 0),
			  f->name);
		must_have(close(fd) == 0, f->name);
	}
}

void
place_meta(const struct gen *g, uint32_t rank, const char *name,
	   const struct buf *data, const struct attr *attr)
{
	struct place_file f;

	place_create(g, rank, NULL, name, &f);
	place_write(&f, data->data, data->len, 0);
	place_done(&f, attr);
}

void
place_tree(const char *path, const struct kvtree *t)
{
	struct place_file f = { .n = 0, .name = path };
	auto_buf out = BUF_INIT;

	must(kvtree_encode(t, &out, NULL) == 0);
	add_place(&f, path);
	place_write(&f, out.data, out.len, 0);
	place_done(&f, NULL);
}
