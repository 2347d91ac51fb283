/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_place.c - when all ranks have copied: the containers get their
 * names, and rank2file records where all files are. */
#include <inttypes.h>
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "container/joint.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/rank2file.h"
#include "scr/flushing_impl.h"
#include "scr/held.h"
#include "scr/lists.h"
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
	if (joint_place(k->root_fd, name, k->how, len, &k->attr, err) < 0)
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

/* --- The lists of files --- */

int
flushing_gather(struct flushing *f, struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	const struct segmap *m = f->pack != NULL ? &f->pack->map : NULL;
	struct buf b = BUF_INIT;
	struct team_note note = {
		.rank = world->rank - world->rank % RANK2FILE_PART_RANKS,
	};
	const struct team_mail out = { 1, &note };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->nfiles; i++) {
		const struct flush_file *file = &f->files[i];
		struct rank2file_seg *to = NULL;
		struct rank2file_file is = { .path = file->rel,
					     .has_size = true,
					     .has_crc = file->has_crc,
					     .size = file->attr.size,
					     .crc = file->crc };

		if (m != NULL) {
			is.nsegs = m->files[i].nsegs;
			to = arena_alloc(f->arena, is.nsegs + 1, sizeof(*to));
			rc = to == NULL ? error_no_memory(err) : 0;
		}
		for (size_t k = 0; rc == 0 && k < is.nsegs; k++) {
			const struct segment *g =
				&m->segs[m->files[i].first + k];

			to[k] = (struct rank2file_seg){
				m->containers[g->container].name, g->off, g->len
			};
		}
		is.segs = to;
		if (rc == 0)
			lists_add(&b, &is, m != NULL ? &file->attr : NULL);
	}
	note.data = b.data;
	note.len = b.len;
	if (rc == 0)
		rc = buf_check(&b, err);
	rc = team_notes(world, rc, &out, f->arena, in, err);
	buf_free(&b);
	return rc;
}

/* A part of the map in containers, with the attributes of its files. */
static int
store_packed(const struct flushing *f, int fd, const struct rank2file *r,
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

/* The part leader: write the part.  The result is that of this rank. */
static int
write_part(struct flushing *f, const struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	struct rank2file r = { .nranks = world->size, .distinct = true };
	size_t count = 0;
	struct segmap m;
	int fd = -1, rc = 0;

	for (size_t i = 0; i < in->count; i++)
		count += lists_count(&in->notes[i]);
	r.ranks = arena_alloc(f->arena, r.nranks, sizeof(*r.ranks));
	if (r.ranks == NULL || segmap_init(&m, count, err) < 0)
		return error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < in->count; i++) {
		const struct team_note *n = &in->notes[i];
		const char *at = n->data, *end = at + n->len;
		struct rank2file_rank *is = &r.ranks[n->rank];

		is->present = true;
		is->files = arena_alloc(f->arena, lists_count(n) + 1,
					sizeof(*is->files));
		if (is->files == NULL)
			rc = error_no_memory(err);
		while (rc == 0 && at < end) {
			struct rank2file_file *file = &is->files[is->nfiles++];
			struct segmap_file *to = &m.files[m.nfiles++];

			at = lists_take(at, file, &to->attr, f->arena);
			to->rank = n->rank;
			to->path = file->path;
			if (at == NULL)
				rc = error_no_memory(err);
		}
	}
	if (rc == 0)
		fd = lists_open(f->run, f->s->d.id, err);
	if (f->pack != NULL)
		r.containers = f->pack->table;
	if (fd < 0)
		rc = -1;
	else if (f->pack != NULL)
		rc = store_packed(f, fd, &r, &m, err);
	else
		rc = rank2file_store_part(fd, &r, world->rank, NULL, err);
	/* Rank 0 also writes the top file and the summary, with which its
	 * directory is synced. */
	if (rc == 0 && world->rank != 0)
		rc = io_sync_dir(fd, RANK2FILE_FILE, err);
	io_close(fd);
	segmap_free(&m);
	return rc;
}

/* Rank 0: the top file in containers, with what all ranks have recorded. */
static int
store_top(const struct flushing *f, int fd, struct error *err)
{
	const struct params *p = &f->run->p;
	const struct flush_pack *k = f->pack;
	struct kvtree *red = kvtree_get(k->table, "RED");
	const struct rank2file r = { .nranks = f->run->world.size,
				     .containers = k->table };

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

int
flushing_record(struct flushing *f, const struct team_mail *in,
		struct error *err)
{
	const struct team *world = &f->run->world;
	const struct rank2file r = { .nranks = world->size };
	const uint32_t leader =
		world->rank - world->rank % RANK2FILE_PART_RANKS;
	struct flush_pack *k = f->pack;
	int fd = -1, rc = 0;

	/* The part leaders get the tables of the hidden files. */
	if (f->run->p.container_redundancy && k != NULL)
		rc = team_trees(world, leader,
				hidden_write(&k->hidden, k->others, err),
				&k->others, err);
	if (rc == 0 && world->rank == leader)
		rc = write_part(f, in, err);
	if (rc == 0 && world->rank == 0)
		rc = (fd = lists_open(f->run, f->s->d.id, err)) < 0 ? -1 : 0;
	rc = team_agree(world, rc, err);
	if (rc == 0 && k != NULL)
		rc = team_trees(world, 0, 0, &k->table, err);
	if (rc == 0 && world->rank == 0)
		rc = k != NULL ? store_top(f, fd, err)
			       : rank2file_store_top(fd, &r, NULL, err);
	rc = team_agree(world, rc, err);
	/* An earlier flush may have begun with containers. */
	if (rc == 0 && world->rank == 0)
		joint_end(fd, k != NULL ? k->table : NULL);
	io_close(fd);
	return rc;
}
