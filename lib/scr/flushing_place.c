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
#include "scr/flushing_pack.h"
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

/* List what this rank wrote of a string; returns the number of containers. */
static size_t
list_parts(const struct string *s, uint32_t string, uint32_t ranks,
	   struct part *list)
{
	const struct segmap *m = s->map;

	for (size_t i = 0; i < m->ncontainers; i++) {
		const uint64_t n = segmap_number(m->containers[i].name);

		list[i] = (struct part){
			.container = n,
			.string = string,
			.by = (uint32_t)(n % ranks),
		};
	}
	/* The pieces in a container follow each other. */
	for (size_t i = 0; i < m->nsegs; i++) {
		struct part *p = &list[m->segs[i].container];

		if (p->len == 0)
			p->off = m->segs[i].off;
		p->len += m->segs[i].len;
		p->crc = crc_shift(p->crc, m->segs[i].len) ^ s->pieces[i].crc;
	}
	return m->ncontainers;
}

/* Tell the ranks that place the containers. */
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
	for (uint32_t n = 0; rc == 0 && n < STRINGS; n++)
		count += list_parts(&k->s[n], n, world->size, list + count);
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
	  struct kvtree *ctr, struct error *err)
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
	struct kvtree *table = ctr;
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

/* Send the tables of the hidden files to the part leaders. */
static int
send_hidden(struct flushing *f, struct error *err)
{
	const struct team *world = &f->run->world;
	struct flush_pack *k = f->pack;
	struct buf image = BUF_INIT;
	struct team_note note = {
		.rank = world->rank - world->rank % RANK2FILE_PART_RANKS,
	};
	const struct team_mail out = { 1, &note };
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : hidden_write(&k->hidden, t, err);

	if (rc == 0)
		rc = kvtree_encode(t, &image, err);
	kvtree_free(t);
	note.data = image.data;
	note.len = image.len;
	rc = team_notes(world, rc, &out, f->arena, &k->tables, err);
	buf_free(&image);
	return rc;
}

int
flushing_pack_place(struct flushing *f, struct kvtree *ctr, struct error *err)
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
		rc = place_one(f, &list[i], n, ctr, err);
	}
	buf_free(&all);
	if (rc == 0 && count > 0)
		rc = joint_sync(f->pack->root_fd, err);
	if (team_agree(&f->run->world, rc, err) < 0)
		return -1;
	return f->run->p.container_redundancy ? send_hidden(f, err) : 0;
}

/* --- The map --- */

size_t
flushing_pack_count(const struct flushing *f, size_t file)
{
	return f->pack != NULL ? f->pack->map.files[file].nsegs : 0;
}

void
flushing_pack_segs(const struct flushing *f, size_t file,
		   struct rank2file_seg *to, struct rank2file_file *is)
{
	const struct segmap *m = &f->pack->map;
	const struct segmap_file *s = &m->files[file];

	for (size_t i = 0; i < s->nsegs; i++) {
		const struct segment *g = &m->segs[s->first + i];

		to[i] = (struct rank2file_seg){
			m->containers[g->container].name, g->off, g->len
		};
	}
	is->segs = to;
	is->nsegs = s->nsegs;
}

/* Take the tables of tables: returns a tree to be freed. */
static struct kvtree *
merge(const struct team_mail *in, struct error *err)
{
	struct kvtree *all = kvtree_new(err);
	int rc = all == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < in->count; i++) {
		struct kvtree *t = kvtree_decode(in->notes[i].data,
						 in->notes[i].len, NULL, err);

		rc = t == NULL ? -1 : kvtree_merge(all, t, err);
		kvtree_free(t);
	}
	if (rc == 0)
		return all;
	kvtree_free(all);
	return NULL;
}

int
flushing_pack_part(const struct flushing *f, int fd, const struct rank2file *r,
		   const struct segmap *m, struct kvtree *ctr,
		   struct error *err)
{
	const uint32_t rank = f->run->world.rank;
	struct kvtree *others = merge(&f->pack->tables, err);
	const struct hidden_part part = {
		.dirfd = fd,
		.first = rank,
		.list = kvtree_put(ctr, "HIDDEN", err),
	};
	struct hidden h;
	int rc = others == NULL ? -1 : hidden_init(&h, err);

	if (rc == 0) {
		h.has_attrs = true;
		h.others = others;
		if (hidden_store_part(&h, &part, m, r, err) < 0 ||
		    rank2file_store_part(fd, r, rank,
					 kvtree_put(ctr, "COPY", err), err) < 0)
			rc = -1;
		hidden_free(&h);
	}
	kvtree_free(others);
	return rc;
}

static int
set_align(const struct flushing *f, struct kvtree *t, struct error *err)
{
	const uint64_t align = f->run->p.container_align;

	return align < 2 ? 0 : kvtree_set_u64(t, "ALIGN", align, err);
}

int
flushing_pack_top(const struct flushing *f, int fd, struct kvtree *ctr,
		  struct error *err)
{
	const struct team *world = &f->run->world;
	struct rank2file r = { .nranks = world->size, .containers = ctr };
	struct buf image = BUF_INIT;
	struct team_note note = { .rank = 0 };
	struct team_mail out = { 0, &note }, in = { 0, NULL };
	struct kvtree *all = NULL, *red = NULL;
	int rc = 0;

	if (kvtree_count(ctr) > 0 && world->rank != 0) {
		rc = kvtree_encode(ctr, &image, err);
		note.data = image.data;
		note.len = image.len;
		out.count = 1;
	}
	rc = team_notes(world, rc, &out, f->arena, &in, err);
	buf_free(&image);
	if (rc < 0 || world->rank != 0)
		return rc;
	all = merge(&in, err);
	rc = all == NULL ? -1 : kvtree_merge(ctr, all, err);
	kvtree_free(all);
	red = kvtree_get(ctr, "RED");
	if (rc < 0 ||
	    kvtree_set_u64(ctr, "SIZE", f->run->p.container_size, err) < 0 ||
	    kvtree_set_u64(ctr, "BYTES", f->pack->s[DATA].bytes, err) < 0 ||
	    set_align(f, ctr, err) < 0 ||
	    (red != NULL && set_align(f, red, err) < 0) ||
	    kvtree_put(ctr, "FILE", err) == NULL ||
	    rank2file_store_top(fd, &r, kvtree_get(ctr, "COPY"), err) < 0)
		return -1;
	return hidden_sweep(fd, &r, err);
}

void
flushing_pack_undo(const struct flushing *f)
{
	if (f->pack != NULL && f->run->world.rank == 0)
		joint_give_up(f->pack->root_fd);
}
