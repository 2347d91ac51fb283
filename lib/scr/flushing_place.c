/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_place.c - a flush into containers: when all ranks have copied, the
 * containers get their names, and the map is written. */
#include <inttypes.h>
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "container/joint.h"
#include "crc.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/rank2file.h"
#include "scr/flushing_impl.h"
#include "scr/run.h"
#include "str.h"

/* --- The containers get their names --- */

/* What a rank wrote to a container. */
struct part {
	uint64_t container, off, len;
	uint32_t crc;
	uint32_t string;
	uint32_t by; /* the rank that places it */
};

static int
by_placer(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->by < y->by ? -1 : x->by > y->by;
}

static int
by_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->string != y->string)
		return x->string < y->string ? -1 : 1;
	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Tell the ranks that place the containers what this rank wrote to them. */
static int
tell(struct flushing *f, struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	const struct flush_pack *k = f->pack;
	const size_t most = k->map.ncontainers + k->hidden.map.ncontainers;
	struct part *list = arena_alloc(f->arena, most + 1, sizeof(*list));
	struct team_note *notes =
		arena_alloc(f->arena, most + 1, sizeof(*notes));
	struct team_mail out = { 0, notes };
	size_t count = 0;
	int rc = 0;

	if (list == NULL || notes == NULL)
		rc = error_no_memory(err);
	for (uint32_t n = 0; rc == 0 && n < STRINGS; n++) {
		const struct segmap *m = k->s[n].map;

		for (size_t i = 0; i < m->ncontainers; i++) {
			const uint64_t c = segmap_number(m->containers[i].name);

			list[count + i] = (struct part){
				.container = c,
				.string = n,
				.by = (uint32_t)(c % world->size),
			};
		}
		/* The pieces in a container follow each other. */
		for (size_t i = 0; i < m->nsegs; i++) {
			const struct segment *g = &m->segs[i];
			struct part *p = &list[count + g->container];

			if (p->len == 0)
				p->off = g->off;
			p->len += g->len;
			p->crc = crc_shift(p->crc, g->len) ^
				 k->s[n].pieces[i].crc;
		}
		count += m->ncontainers;
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), by_placer);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || list[i].by != list[i - 1].by)
			notes[out.count++] =
				(struct team_note){ list[i].by, &list[i], 0 };
		notes[out.count - 1].len += sizeof(*list);
	}
	return team_notes(world, rc, &out, f->arena, in, err);
}

/* Place the container that has all parts list[0 ... n - 1]; record it. */
static int
place_one(const struct flushing *f, const struct part *list, size_t n,
	  struct error *err)
{
	const struct flush_pack *k = f->pack;
	const uint64_t size = f->run->p.container_size;
	const uint64_t align = f->run->p.container_align;
	const uint64_t first = list->container * size;
	const struct span *g = k->s[list->string].groups;
	const char *name = str_printed(64, SEGMAP_DIR "/%s.%" PRIu64 ".scr",
				       list->string == RED ? SEGMAP_REDUNDANCY
							   : SEGMAP_DATA,
				       list->container);
	struct kvtree *table = k->table;
	uint64_t have = 0, len = 0;
	uint32_t crc = 0;

	/* It ends where its group does. */
	while (first - g->start >= g->bytes)
		g++;
	len = g->bytes - (first - g->start);
	len = len < size ? len : size;
	for (size_t i = 0; i <= n; i++) {
		const uint64_t to = i < n ? list[i].off : len;

		/* A gap, of zeros, goes up to a multiple. */
		if (to < have || to - have >= align ||
		    (to > have && to % align > 0))
			return error_set(err, ERROR_CORRUPT,
					 "%s: only %" PRIu64 " of %" PRIu64
					 " bytes were written",
					 name, have, len);
		crc = ~crc_shift(~crc, to - have);
		if (i < n)
			crc = crc_shift(crc, list[i].len) ^ list[i].crc;
		have = i < n ? to + list[i].len : to;
	}
	if (joint_place(k->root_fd, name, flushing_pack_how(k), len, &k->attr,
			err) < 0)
		return -1;
	if (list->string == RED)
		table = kvtree_put(table, "RED", err);
	table = kvtree_put(kvtree_put(table, "FILE", err), name, err);
	return table == NULL || kvtree_set_u64(table, "SIZE", len, err) < 0 ||
			       kvtree_set_crc(table, "CRC", crc, err) < 0
		       ? -1
		       : 0;
}

int
flushing_pack_place(struct flushing *f, struct error *err)
{
	struct team_mail in = { 0, NULL };
	struct buf all = BUF_INIT;
	struct part *list = NULL;
	size_t count = 0, n = 0;
	int rc = 0;

	if (tell(f, &in, err) < 0)
		return -1;
	for (size_t i = 0; i < in.count; i++)
		(void)buf_add(&all, in.notes[i].data, in.notes[i].len);
	rc = buf_check(&all, err);
	list = (struct part *)(void *)all.data;
	count = all.len / sizeof(*list);
	if (rc == 0 && count > 0)
		qsort(list, count, sizeof(*list), by_place);
	for (size_t i = 0; rc == 0 && i < count; i += n) {
		for (n = 1; i + n < count &&
			    list[i + n].container == list[i].container &&
			    list[i + n].string == list[i].string;)
			n++;
		rc = place_one(f, &list[i], n, err);
	}
	buf_free(&all);
	if (rc == 0 && count > 0)
		rc = joint_sync(f->pack->root_fd, err);
	return team_agree(&f->run->world, rc, err);
}

/* --- The map --- */

int
flushing_pack_segs(const struct flushing *f, size_t file,
		   struct rank2file_file *is, struct error *err)
{
	const struct segmap *m = &f->pack->map;
	const struct segmap_file *s = &m->files[file];
	struct rank2file_seg *to =
		arena_alloc(f->arena, s->nsegs + 1, sizeof(*to));

	if (to == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < s->nsegs; i++) {
		const struct segment *g = &m->segs[s->first + i];

		to[i] = (struct rank2file_seg){
			m->containers[g->container].name, g->off, g->len
		};
	}
	is->segs = to;
	is->nsegs = s->nsegs;
	return 0;
}

int
flushing_pack_hidden(struct flushing *f, struct error *err)
{
	const struct team *world = &f->run->world;
	struct flush_pack *k = f->pack;

	if (!f->run->p.container_redundancy)
		return 0;
	return team_trees(
		world, world->rank - world->rank % RANK2FILE_PART_RANKS,
		hidden_write(&k->hidden, k->others, err), &k->others, err);
}

int
flushing_pack_part(const struct flushing *f, int fd, const struct rank2file *r,
		   const struct segmap *m, struct error *err)
{
	const struct flush_pack *k = f->pack;
	const struct hidden_part part = {
		.dirfd = fd,
		.first = f->run->world.rank,
		.list = kvtree_put(k->table, "HIDDEN", err),
	};
	struct hidden h;
	int rc = hidden_init(&h, err);

	if (rc == 0) {
		h.has_attrs = true;
		h.others = k->others;
		rc = hidden_store_part(&h, &part, m, r, err);
		if (rc == 0)
			rc = rank2file_store_part(
				fd, r, part.first,
				kvtree_put(k->table, "COPY", err), err);
		hidden_free(&h);
	}
	return rc;
}

int
flushing_pack_top(const struct flushing *f, int fd, struct error *err)
{
	const struct team *world = &f->run->world;
	const struct params *p = &f->run->p;
	struct flush_pack *k = f->pack;
	struct rank2file r = { .nranks = world->size };
	struct kvtree *red = NULL;

	if (team_trees(world, 0, 0, &k->table, err) < 0)
		return -1;
	if (world->rank != 0)
		return 0;
	r.containers = k->table;
	red = kvtree_get(k->table, "RED");
	if (kvtree_set_u64(k->table, "SIZE", p->container_size, err) < 0 ||
	    kvtree_set_u64(k->table, "BYTES", k->s[DATA].bytes, err) < 0)
		return -1;
	if (p->container_align >= 2 &&
	    (kvtree_set_u64(k->table, "ALIGN", p->container_align, err) < 0 ||
	     (red != NULL &&
	      kvtree_set_u64(red, "ALIGN", p->container_align, err) < 0)))
		return -1;
	if (kvtree_put(k->table, "FILE", err) == NULL ||
	    rank2file_store_top(fd, &r, kvtree_get(k->table, "COPY"), err) < 0)
		return -1;
	return hidden_sweep(fd, &r, err);
}
