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
	*m = (struct segmap){
		.arena = arena_new(),
		.files = mem_calloc(nfiles + 1, sizeof(*m->files)),
	};
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

bool
segmap_gone(const struct segment *segs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (segs[i].gone)
			return true;
	return false;
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

	for (size_t i = m->nfiles; i-- > 0;)
		if (map_put(by, m->files[i].path, i) < 0) {
			map_free(by);
			return NULL;
		}
	return by;
}

/* --- Cutting --- */

static int
too_many(uint64_t size, uint64_t n, struct error *err)
{
	return error_set(err, ERROR_USAGE,
			 "container size of %" PRIu64 " bytes needs %" PRIu64
			 " containers: use a larger size",
			 size, n);
}

int
segmap_cut(struct segmap *m, const char *stem, uint64_t size, uint64_t start,
	   struct error *err)
{
	uint64_t n = 0;
	uint32_t group = 0;
	size_t containers_cap = 0, segs_cap = 0;

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
	n = start / size + m->bytes / size + (m->bytes % size > 0);
	if (n > SEGMAP_CONTAINERS_MAX)
		return too_many(size, n, err);
	m->container_size = size;
	for (size_t i = 0; i < m->nfiles; i++) {
		struct segmap_file *f = &m->files[i];

		f->first = m->nsegs;
		for (uint64_t left = f->size, len = 0; left > 0; left -= len) {
			size_t at = m->ncontainers - 1;
			struct segmap_container *to = NULL;

			if (m->ncontainers == 0 || group != f->group ||
			    m->containers[at].size == size) {
				at = m->ncontainers;
				if (at >= SEGMAP_CONTAINERS_MAX)
					return too_many(size, at + 1, err);
				if (!MEM_ROOM(m->containers, at,
					      containers_cap))
					return error_no_memory(err);
				m->containers[at] = (struct segmap_container){
					.name = arena_printf(
						m->arena,
						SEGMAP_DIR "/%s.%" PRIu64
							   ".scr",
						stem, start / size + at),
					.has_size = true,
					.size = at == 0 ? start % size : 0,
				};
				if (m->containers[at].name == NULL)
					return error_no_memory(err);
				m->ncontainers++;
				group = f->group;
			}
			if (!MEM_ROOM(m->segs, m->nsegs, segs_cap))
				return error_no_memory(err);
			to = &m->containers[at];
			len = size - to->size < left ? size - to->size : left;
			m->segs[m->nsegs++] =
				(struct segment){ .container = (uint32_t)at,
						  .off = to->size,
						  .len = len };
			to->used = to->size += len;
		}
		f->nsegs = m->nsegs - f->first;
	}
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

	if (m->align > 1 && kvtree_set_u64(t, "ALIGN", m->align, err) < 0)
		return -1;
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

int
segmap_write(const struct segmap *m, size_t nranks, bool plain,
	     struct rank2file *out, struct error *err)
{
	struct rank2file_file *files = NULL;
	struct rank2file_seg *segs = NULL;
	struct kvtree *t = NULL;

	*out = (struct rank2file){ .nranks = nranks, .arena = arena_new() };
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
	/* Each rank gets its part of the array, by its count. */
	for (size_t i = 0; i < nranks; i++) {
		out->ranks[i].present = true;
		out->ranks[i].files = files;
		files += out->ranks[i].expected;
	}
	for (size_t i = 0; i < m->nfiles; i++) {
		struct rank2file_rank *r = &out->ranks[m->files[i].rank];

		r->files[r->nfiles++] = entry_of(m, &m->files[i], plain, segs);
		segs += m->files[i].nsegs;
	}
	if (plain)
		return 0;
	out->top = kvtree_new(err);
	t = kvtree_put(out->top, "CTR", err);
	out->containers = t;
	if (t != NULL &&
	    kvtree_set_u64(t, "SIZE", m->container_size, err) == 0 &&
	    kvtree_set_u64(t, "BYTES", m->bytes, err) == 0 &&
	    (!m->moving || kvtree_set_u64(t, "MOVING", 1, err) == 0) &&
	    segmap_write_containers(m, t, err) == 0)
		return 0;
fail:
	rank2file_free(out);
	return -1;
}

/* --- Reading --- */

struct reader {
	struct segmap *m;
	struct map *names; /* container name -> index */
	size_t room;	   /* capacity of m->containers */
	/* Most segments lie in the same container as the previous one. */
	const char *last_name;
	uint32_t last;
};

static int
add_container(struct reader *r, const char *name, uint32_t *out,
	      struct error *err)
{
	struct segmap *m = r->m;
	size_t at = map_get(r->names, name);

	if (at != MAP_NONE) {
		*out = (uint32_t)at;
		return 0;
	}
	if (!path_is_clean(name))
		return error_set(err, ERROR_UNSAFE,
				 "container %s: not a plain path below the "
				 "dataset's directory",
				 str_shown(name));
	if (m->ncontainers >= SEGMAP_CONTAINERS_MAX)
		return error_set(err, ERROR_CORRUPT, "too many containers");
	if (!MEM_ROOM(m->containers, m->ncontainers, r->room) ||
	    map_put(r->names, name, m->ncontainers) < 0)
		return error_no_memory(err);
	m->containers[m->ncontainers] = (struct segmap_container){
		.name = name,
	};
	*out = (uint32_t)m->ncontainers++;
	return 0;
}

static int
read_file(struct reader *r, const struct rank2file_file *from,
	  struct segmap_file *to, struct error *err)
{
	struct segmap *m = r->m;
	uint64_t sum = 0;
	size_t i = 0;

	to->first = m->nsegs;
	to->nsegs = from->nsegs;
	to->start = m->bytes;
	for (i = 0; i < from->nsegs; i++) {
		const struct rank2file_seg *s = &from->segs[i];
		const char *flaw = s->len == 0 ? "of no bytes"
				   : s->off > (uint64_t)INT64_MAX - s->len
					   ? "beyond 2^63"
				   : s->len > (uint64_t)INT64_MAX - m->bytes
					   ? "more than 2^63 bytes in all"
					   : NULL;
		const uint32_t before = r->last;
		struct segmap_container *c = NULL;

		/* Equal names of one part usually are the same string. */
		if (r->last_name != s->file &&
		    (r->last_name == NULL ||
		     strcmp(r->last_name, s->file) != 0) &&
		    add_container(r, s->file, &r->last, err) < 0)
			goto bad;
		r->last_name = s->file;
		m->segs[m->nsegs++] = (struct segment){ .container = r->last,
							.off = s->off,
							.len = s->len };
		if (flaw != NULL) {
			error_set(err, ERROR_CORRUPT, "%s", flaw);
			goto bad;
		}
		c = &m->containers[r->last];
		if (s->off + s->len > c->used)
			c->used = s->off + s->len;
		c->bytes += s->len;
		c->files += i == 0 || r->last != before;
		m->bytes += s->len;
		sum += s->len;
	}
	if (!to->has_size && from->nsegs > 0)
		to->size = sum;
	return 0;
bad:
	return error_wrap(err, "rank %" PRIu32 ", %s, segment %zu", to->rank,
			  str_shown(to->path), i);
}

/* CTR; its child FILE: recorded size and checksum of containers. */
static int
read_table(struct reader *r, const struct kvtree *t, struct error *err)
{
	const struct kvtree *size = kvtree_get(t, "SIZE"), *k = NULL;
	const struct kvtree *align = kvtree_get(t, "ALIGN");

	r->m->moving = kvtree_get(t, "MOVING") != NULL;
	if ((size != NULL &&
	     value_u64(size, INT64_MAX, &r->m->container_size, err) < 0) ||
	    (align != NULL &&
	     value_u64(align, INT64_MAX, &r->m->align, err) < 0))
		return error_wrap(err, "CTR");
	kvtree_foreach (k, kvtree_get(t, "FILE")) {
		const struct kvtree *crc = kvtree_get(k, "CRC");
		struct segmap_container *c = NULL;
		uint32_t at = 0;

		if (add_container(r, kvtree_key(k), &at, err) < 0)
			return error_wrap(err, "CTR");
		size = kvtree_get(k, "SIZE");
		c = &r->m->containers[at];
		c->has_size = size != NULL;
		c->has_crc = crc != NULL;
		if ((size != NULL &&
		     value_u64(size, INT64_MAX, &c->size, err) < 0) ||
		    (crc != NULL &&
		     value_u32(crc, UINT32_MAX, &c->crc, err) < 0))
			return error_wrap(err, "CTR");
	}
	return 0;
}

int
segmap_read(struct segmap *m, const struct rank2file *from, struct error *err)
{
	struct reader r = { .m = m, .names = map_new() };
	size_t files = 0, segs = 0;
	int rc = -1;

	for (size_t i = 0; i < from->nranks; i++) {
		files += from->ranks[i].nfiles;
		for (size_t k = 0; k < from->ranks[i].nfiles; k++)
			segs += from->ranks[i].files[k].nsegs;
	}
	if (segmap_init(m, files, err) == 0) {
		m->segs = mem_calloc(segs + 1, sizeof(*m->segs));
		if (m->segs == NULL)
			error_no_memory(err);
		else
			rc = read_table(&r, from->containers, err);
	}
	for (size_t i = 0; i < from->nranks && rc == 0; i++) {
		for (size_t k = 0; k < from->ranks[i].nfiles && rc == 0; k++) {
			const struct rank2file_file *f =
				&from->ranks[i].files[k];
			struct segmap_file *to = &m->files[m->nfiles++];

			*to = (struct segmap_file){
				.rank = (uint32_t)i,
				.path = f->path,
				.size = f->size,
				.has_size = f->has_size,
				.has_crc = f->has_crc,
				.crc = f->crc,
			};
			rc = read_file(&r, f, to, err);
		}
	}
	map_free(r.names);
	if (rc < 0)
		segmap_free(m);
	return rc;
}
