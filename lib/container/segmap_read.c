/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segmap_read.c - read a segment map from a rank2file.
 */
#include <inttypes.h>
#include <string.h>

#include "container/segmap.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "path.h"
#include "str.h"

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
	if (!MEM_ROOM(m->containers, m->ncontainers, r->room))
		return error_no_memory(err);
	if (map_put(r->names, name, m->ncontainers) < 0)
		return error_no_memory(err);
	m->containers[m->ncontainers] = (struct segmap_container){
		.name = name,
	};
	*out = (uint32_t)m->ncontainers++;
	return 0;
}

/* Equal names of one part usually are the same string. */
static bool
same_name(const char *last, const char *name)
{
	return last == name || (last != NULL && strcmp(last, name) == 0);
}

static int
read_seg(struct reader *r, const struct rank2file_seg *from, struct segment *to,
	 struct error *err)
{
	struct segmap_container *c = NULL;

	if (!same_name(r->last_name, from->file)) {
		if (add_container(r, from->file, &r->last, err) < 0)
			return -1;
		r->last_name = from->file;
	}
	*to = (struct segment){ r->last, from->off, from->len };
	if (from->len == 0)
		return error_set(err, ERROR_CORRUPT, "of no bytes");
	if (from->off > (uint64_t)INT64_MAX - from->len)
		return error_set(err, ERROR_CORRUPT, "beyond 2^63");
	if (from->len > (uint64_t)INT64_MAX - r->m->bytes)
		return error_set(err, ERROR_CORRUPT,
				 "more than 2^63 bytes in all");
	c = &r->m->containers[r->last];
	if (from->off + from->len > c->used)
		c->used = from->off + from->len;
	return 0;
}

static int
read_file(struct reader *r, const struct rank2file_file *from,
	  struct segmap_file *to, struct error *err)
{
	struct segmap *m = r->m;
	struct segmap_container *c = NULL;
	uint64_t sum = 0;

	to->first = m->nsegs;
	to->nsegs = from->nsegs;
	to->start = m->bytes;
	for (size_t i = 0; i < from->nsegs; i++) {
		struct segment *s = &m->segs[m->nsegs++];

		if (read_seg(r, &from->segs[i], s, err) < 0)
			return error_wrap(err,
					  "rank %" PRIu32 ", %s, segment %zu",
					  to->rank, str_shown(to->path), i);
		c = &m->containers[s->container];
		c->bytes += s->len;
		c->files += i == 0 || s->container != s[-1].container;
		m->bytes += s->len;
		sum += s->len;
	}
	if (!to->has_size && from->nsegs > 0)
		to->size = sum;
	return 0;
}

/* Child FILE of CTR: recorded size and checksum of containers. */
static int
read_containers(struct reader *r, const struct kvtree *table, struct error *err)
{
	const struct kvtree *k = NULL;

	kvtree_foreach (k, table) {
		const struct kvtree *size = kvtree_get(k, "SIZE");
		const struct kvtree *crc = kvtree_get(k, "CRC");
		struct segmap_container *c = NULL;
		uint32_t at = 0;

		if (add_container(r, kvtree_key(k), &at, err) < 0)
			return -1;
		c = &r->m->containers[at];
		c->has_size = size != NULL;
		c->has_crc = crc != NULL;
		if ((size != NULL &&
		     value_u64(size, INT64_MAX, &c->size, err) < 0) ||
		    (crc != NULL &&
		     value_u32(crc, UINT32_MAX, &c->crc, err) < 0))
			return -1;
	}
	return 0;
}

static int
read_table(struct reader *r, const struct kvtree *t, struct error *err)
{
	const struct kvtree *size = kvtree_get(t, "SIZE");

	r->m->moving = kvtree_get(t, "MOVING") != NULL;
	if (size != NULL &&
	    value_u64(size, INT64_MAX, &r->m->container_size, err) < 0)
		return error_wrap(err, "CTR");
	if (read_containers(r, kvtree_get(t, "FILE"), err) < 0)
		return error_wrap(err, "CTR");
	return 0;
}

static int
read_files(struct reader *r, const struct rank2file *from, struct error *err)
{
	struct segmap *m = r->m;

	for (size_t i = 0; i < from->nranks; i++) {
		for (size_t k = 0; k < from->ranks[i].nfiles; k++) {
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
			if (read_file(r, f, to, err) < 0)
				return -1;
		}
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
		if (r.names == NULL || m->segs == NULL)
			error_no_memory(err);
		else if (read_table(&r, from->containers, err) == 0)
			rc = read_files(&r, from, err);
	}
	map_free(r.names);
	if (rc < 0)
		segmap_free(m);
	return rc;
}
