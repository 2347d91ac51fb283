/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/segmap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"

/* --- Create and free --- */

int
segmap_init(struct segmap *m, size_t nfiles, struct error *err)
{
	*m = (struct segmap){ .arena = arena_new() };
	if (m->arena != NULL)
		m->files = mem_calloc(nfiles + 1, sizeof(*m->files));
	if (m->files != NULL)
		return 0;
	segmap_free(m);
	return error_no_memory(err);
}

void
segmap_free(struct segmap *m)
{
	mem_free(m->files);
	mem_free(m->segs);
	mem_free(m->containers);
	arena_free(m->arena);
	*m = (struct segmap){ .arena = NULL };
}

bool
segmap_is_container(const char *name)
{
	return value_in_name(name, SEGMAP_DATA ".", INT64_MAX, ".scr") >= 0 ||
	       value_in_name(name, SEGMAP_REDUNDANCY ".", INT64_MAX, ".scr") >=
		       0;
}

uint64_t
segmap_number(const char *name)
{
	const char *dot = strchr(path_base(name), '.');
	uint64_t n = 0;

	while (dot != NULL && dot[1] >= '0' && dot[1] <= '9') {
		n = n * 10 + (uint64_t)(dot[1] - '0');
		dot++;
	}
	return n;
}

struct map *
segmap_by_path(const struct segmap *m)
{
	struct map *by = map_new();

	for (size_t i = m->nfiles; by != NULL && i-- > 0;) {
		if (map_put(by, m->files[i].path, i) < 0) {
			map_free(by);
			by = NULL;
		}
	}
	return by;
}

/* --- Cutting --- */

struct cutting {
	const char *stem;
	uint64_t size;
	size_t first; /* number of the first container */
	uint32_t group;
	size_t containers_cap, segs_cap;
};

static int
too_many(uint64_t size, uint64_t n, struct error *err)
{
	return error_set(err, ERROR_USAGE,
			 "container size of %" PRIu64 " bytes needs %" PRIu64
			 " containers: use a larger size",
			 size, n);
}

/* Begin a container for files of the group. */
static int
add_container(struct segmap *m, struct cutting *c, uint32_t group,
	      struct error *err)
{
	const char *name = arena_printf(m->arena, SEGMAP_DIR "/%s.%zu.scr",
					c->stem, c->first + m->ncontainers);

	if (m->ncontainers >= SEGMAP_CONTAINERS_MAX)
		return too_many(c->size, m->ncontainers + 1, err);
	if (name == NULL ||
	    !MEM_ROOM(m->containers, m->ncontainers, c->containers_cap))
		return error_no_memory(err);
	m->containers[m->ncontainers++] = (struct segmap_container){
		.name = name,
		.has_size = true,
	};
	c->group = group;
	return 0;
}

static int
cut_file(struct segmap *m, struct segmap_file *f, struct cutting *c,
	 struct error *err)
{
	f->first = m->nsegs;
	for (uint64_t left = f->size, len = 0; left > 0; left -= len) {
		struct segmap_container *to = NULL;

		if ((m->ncontainers == 0 || c->group != f->group ||
		     m->containers[m->ncontainers - 1].size == c->size) &&
		    add_container(m, c, f->group, err) < 0)
			return -1;
		if (!MEM_ROOM(m->segs, m->nsegs, c->segs_cap))
			return error_no_memory(err);
		to = &m->containers[m->ncontainers - 1];
		len = c->size - to->size < left ? c->size - to->size : left;
		m->segs[m->nsegs++] =
			(struct segment){ (uint32_t)(m->ncontainers - 1),
					  to->size, len };
		to->used = to->size += len;
	}
	f->nsegs = m->nsegs - f->first;
	return 0;
}

int
segmap_cut(struct segmap *m, const char *stem, uint64_t size, size_t first,
	   struct error *err)
{
	struct cutting c = { .stem = stem, .size = size, .first = first };
	uint64_t n = 0;

	m->bytes = 0;
	for (size_t i = 0; i < m->nfiles; i++) {
		struct segmap_file *f = &m->files[i];

		f->start = m->bytes;
		f->has_size = true;
		if (f->size > (uint64_t)INT64_MAX - m->bytes)
			return error_set(err, ERROR_CORRUPT,
					 "segment map: more than 2^63 bytes");
		m->bytes += f->size;
	}
	n = m->bytes / size + (m->bytes % size > 0);
	if (n > SEGMAP_CONTAINERS_MAX)
		return too_many(size, n, err);
	m->container_size = size;
	for (size_t i = 0; i < m->nfiles; i++)
		if (cut_file(m, &m->files[i], &c, err) < 0)
			return -1;
	return 0;
}

bool
segmap_is_packed(const struct rank2file *r)
{
	if (r->containers != NULL)
		return true;
	for (size_t i = 0; i < r->nranks; i++)
		for (size_t k = 0; k < r->ranks[i].nfiles; k++)
			if (r->ranks[i].files[k].nsegs > 0)
				return true;
	return false;
}

/* --- Writing --- */

int
segmap_write_containers(const struct segmap *m, struct kvtree *t,
			struct error *err)
{
	struct kvtree *list = kvtree_put(t, "FILE", err);

	for (size_t i = 0; list != NULL && i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		struct kvtree *k = NULL;

		if (c->used == 0 && !c->has_size)
			continue; /* nothing is in it */
		k = kvtree_put(list, c->name, err);
		if (k == NULL ||
		    (c->has_size &&
		     kvtree_set_u64(k, "SIZE", c->size, err) < 0) ||
		    (c->has_crc && kvtree_set_crc(k, "CRC", c->crc, err) < 0))
			return -1;
	}
	return list == NULL ? -1 : 0;
}

static int
write_table(const struct segmap *m, struct rank2file *out, struct error *err)
{
	struct kvtree *t = NULL;

	out->top = kvtree_new(err);
	t = kvtree_put(out->top, "CTR", err);
	if (t == NULL ||
	    kvtree_set_u64(t, "SIZE", m->container_size, err) < 0 ||
	    kvtree_set_u64(t, "BYTES", m->bytes, err) < 0 ||
	    (m->moving && kvtree_set_u64(t, "MOVING", 1, err) < 0))
		return -1;
	out->containers = t;
	return segmap_write_containers(m, t, err);
}

/* The rank2file entry of file `f`; its segments are stored in `segs`. */
static struct rank2file_file
entry_of(const struct segmap *m, const struct segmap_file *f, bool plain,
	 struct rank2file_seg *segs)
{
	for (size_t k = 0; !plain && k < f->nsegs; k++) {
		const struct segment *s = &m->segs[f->first + k];

		segs[k] = (struct rank2file_seg){
			.file = m->containers[s->container].name,
			.off = s->off,
			.len = s->len,
		};
	}
	return (struct rank2file_file){
		.path = f->path,
		.has_size = f->has_size || f->nsegs > 0,
		.has_crc = f->has_crc,
		.size = f->size,
		.crc = f->crc,
		.nsegs = plain ? 0 : f->nsegs,
		.segs = plain ? NULL : segs,
	};
}

int
segmap_write_file(const struct segmap *m, size_t file, struct kvtree *t,
		  struct error *err)
{
	const struct segmap_file *f = &m->files[file];
	struct rank2file_seg *segs = mem_alloc(f->nsegs + 1, sizeof(*segs));
	struct rank2file_file e;
	int rc = -1;

	if (segs == NULL)
		return error_no_memory(err);
	e = entry_of(m, f, false, segs);
	rc = rank2file_build_file(t, &e, err);
	mem_free(segs);
	return rc;
}

/* Give each rank its part of the array `files`, by its count. */
static void
share_out(struct rank2file *out, struct rank2file_file *files)
{
	for (size_t i = 0; i < out->nranks; i++) {
		out->ranks[i].present = true;
		out->ranks[i].files = files;
		files += out->ranks[i].expected;
		out->ranks[i].nfiles = 0;
	}
}

static void
write_files(const struct segmap *m, bool plain, struct rank2file *out,
	    struct rank2file_seg *segs)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		struct rank2file_rank *r = &out->ranks[f->rank];

		r->files[r->nfiles++] = entry_of(m, f, plain, segs);
		segs += f->nsegs;
	}
}

int
segmap_write(const struct segmap *m, size_t nranks, bool plain,
	     struct rank2file *out, struct error *err)
{
	struct rank2file_file *files = NULL;
	struct rank2file_seg *segs = NULL;

	*out = (struct rank2file){ .nranks = nranks, .arena = arena_new() };
	if (out->arena == NULL)
		return error_no_memory(err);
	out->ranks = arena_alloc(out->arena, nranks + 1, sizeof(*out->ranks));
	files = arena_alloc(out->arena, m->nfiles + 1, sizeof(*files));
	segs = arena_alloc(out->arena, m->nsegs + 1, sizeof(*segs));
	if (out->ranks == NULL || files == NULL || segs == NULL) {
		error_no_memory(err);
		goto fail;
	}
	for (size_t i = 0; i < m->nfiles; i++) {
		if (m->files[i].rank >= nranks) {
			error_set(err, ERROR_CORRUPT,
				  "segment map: no rank %" PRIu32,
				  m->files[i].rank);
			goto fail;
		}
		out->ranks[m->files[i].rank].expected++;
	}
	share_out(out, files);
	write_files(m, plain, out, segs);
	if (plain || write_table(m, out, err) == 0)
		return 0;
fail:
	rank2file_free(out);
	return -1;
}
