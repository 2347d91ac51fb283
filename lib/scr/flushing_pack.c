/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing_pack.c - a flush into containers (containers.md 1).
 *
 * The place of a rank's bytes is the sum of those of the ranks before it: node
 * after node, on each rank after rank.  Every rank writes its own into the
 * containers, and tells what it wrote to the rank that places the container.
 * That one knows then that no byte is missing, and its checksum.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/hidden.h"
#include "container/joint.h"
#include "container/segmap.h"
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
#include "team/say.h"
#include "transfer/pump.h"

/* A segment of a file of this rank. */
struct piece {
	size_t file;
	uint64_t begin; /* in the file */
	uint32_t crc;
};

struct flush_pack {
	struct segmap map; /* of the files of this rank */
	struct piece *pieces;
	struct joint *joint;
	int root_fd;
	bool resume;
	uint64_t start;	  /* of this rank's bytes */
	uint64_t bytes;	  /* of all ranks */
	struct attr attr; /* of containers */
};

void
flushing_pack_free(struct flush_pack *k)
{
	if (k == NULL)
		return;
	joint_free(k->joint);
	io_close(k->root_fd);
	segmap_free(&k->map);
}

/* --- The plan --- */

/* Sum up the bytes of the ranks before this one, and of all. */
static int
place(struct flushing *f, struct flush_pack *k, struct error *err)
{
	const struct team *world = &f->run->world;
	const uint32_t *node = groups_find(&f->run->groups, GROUPS_NODE)->of;
	uint64_t *all = arena_alloc(f->arena, world->size, sizeof(*all));
	const uint32_t me = world->rank;
	uint64_t mine = 0;

	if (team_agree(world, all == NULL ? error_no_memory(err) : 0, err) < 0)
		return -1;
	for (size_t i = 0; i < f->nfiles; i++)
		mine += f->files[i].attr.size;
	team_gather64(world, mine, all);
	for (uint32_t r = 0; r < world->size; r++) {
		if (all[r] > INT64_MAX - k->bytes)
			return error_set(err, ERROR_CORRUPT,
					 "more than 2^63 bytes");
		k->bytes += all[r];
		if (node[r] < node[me] || (node[r] == node[me] && r < me))
			k->start += all[r];
	}
	return 0;
}

/* Only users who may access all files may access the containers. */
static void
share_attr(const struct flushing *f, struct flush_pack *k)
{
	static const uint32_t bits[] = { 0040, 0020, 0004, 0002 };
	const struct team *world = &f->run->world;
	uint64_t may[4] = { 1, 1, 1, 1 }, least = UINT32_MAX, most = 0;

	if (!f->run->p.copy_metadata)
		return;
	for (size_t i = 0; i < f->nfiles; i++) {
		const struct attr *a = &f->files[i].attr;

		if (!a->has_owner)
			continue;
		for (int b = 0; b < 4; b++)
			may[b] &= (a->mode & bits[b]) != 0;
		least = a->gid < least ? a->gid : least;
		most = a->gid > most ? a->gid : most;
	}
	team_sum(world, may, 4);
	least = team_least(world, least);
	most = team_most(world, most);
	k->attr = (struct attr){ .has_owner = true,
				 .mode = 0600,
				 .uid = geteuid(),
				 .gid = (uint32_t)most };
	for (int b = 0; b < 4; b++)
		if (may[b] == world->size &&
		    (least == most || (bits[b] & 0060) == 0))
			k->attr.mode |= bits[b];
}

/* Cut the bytes of this rank. */
static int
cut(struct flushing *f, struct flush_pack *k, struct error *err)
{
	struct segmap *m = &k->map;

	if (segmap_init(m, f->nfiles, err) < 0)
		return -1;
	for (; m->nfiles < f->nfiles; m->nfiles++)
		m->files[m->nfiles] = (struct segmap_file){
			.rank = f->run->world.rank,
			.path = f->files[m->nfiles].rel,
			.size = f->files[m->nfiles].attr.size,
		};
	if (segmap_cut(m, SEGMAP_DATA, f->run->p.container_size, k->start,
		       err) < 0)
		return -1;
	k->pieces = arena_alloc(f->arena, m->nsegs + 1, sizeof(*k->pieces));
	if (k->pieces == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->nfiles; i++) {
		uint64_t at = 0;

		for (size_t s = 0; s < m->files[i].nsegs; s++) {
			k->pieces[m->files[i].first + s] =
				(struct piece){ .file = i, .begin = at };
			at += m->segs[m->files[i].first + s].len;
		}
	}
	return 0;
}

int
flushing_pack(struct flushing *f, struct error *err)
{
	const struct team *world = &f->run->world;
	struct flush_pack *k = arena_alloc(f->arena, 1, sizeof(*k));
	int rc = k == NULL ? error_no_memory(err) : 0;

	if (team_agree(world, rc, err) < 0)
		return -1;
	*k = (struct flush_pack){ .root_fd = -1, .resume = f->resume };
	f->pack = k;
	if (team_agree(world, place(f, k, err), err) < 0)
		return -1;
	share_attr(f, k);
	rc = cut(f, k, err);
	if (rc == 0)
		k->root_fd = lists_open(f->run, f->s->d.id, err);
	if (rc == 0 && k->root_fd < 0)
		rc = -1;
	if (rc == 0 && world->rank == 0)
		rc = joint_begin(k->root_fd, k->resume, err);
	if (team_agree(world, rc, err) < 0)
		return -1;
	k->joint = joint_new(k->root_fd, &k->map,
			     k->attr.has_owner ? 0600 : 0666, err);
	return team_agree(world, k->joint == NULL ? -1 : 0, err);
}

/* --- Transfers --- */

static uint64_t
piece_size(void *arg, size_t i)
{
	return ((struct flush_copy *)arg)->f->pack->map.segs[i].len;
}

static int
open_piece(void *arg, size_t i, struct pump *p, struct error *err)
{
	struct flush_copy *c = arg;
	struct flush_pack *k = c->f->pack;
	const struct segment *s = &k->map.segs[i];
	const struct piece *is = &k->pieces[i];
	const struct flush_file *file = &c->f->files[is->file];

	*p = (struct pump){
		.from = io_open_read(AT_FDCWD, file->from, err),
		.name = file->from,
		.begin = is->begin,
		.size = is->begin + s->len,
		.has_crc = file->has_crc && s->len == file->attr.size,
		.crc = file->crc,
		.to_name = k->map.containers[s->container].name,
		.shared = true,
		.place = s->off,
		.resumed = k->resume,
		.step = flushing_pace,
		.arg = c,
	};
	if (p->from < 0)
		return -1;
	p->to = joint_open(k->joint, s->container, err);
	if (p->to >= 0)
		return 1;
	close(p->from);
	return -1;
}

static int
close_piece(void *arg, size_t i, const struct pump *p, int rc,
	    struct error *err)
{
	struct flush_pack *k = ((struct flush_copy *)arg)->f->pack;

	close(p->from);
	k->pieces[i].crc = p->crc;
	if (rc == 1 && joint_wrote(k->joint, k->map.segs[i].container, err) < 0)
		rc = -1;
	return rc;
}

void
flushing_pack_list(const struct flushing *f, struct pump_list *l)
{
	l->count = f->pack->map.nsegs;
	l->size = piece_size;
	l->open = open_piece;
	l->close = close_piece;
}

int
flushing_pack_sums(struct flushing *f, struct error *err)
{
	const struct segmap *m = &f->pack->map;

	for (size_t i = 0; i < f->nfiles; i++) {
		struct flush_file *file = &f->files[i];
		const struct segmap_file *is = &m->files[i];
		uint32_t crc = 0;

		for (size_t s = is->first; s < is->first + is->nsegs; s++)
			crc = crc_shift(crc, m->segs[s].len) ^
			      f->pack->pieces[s].crc;
		if (file->has_crc && file->crc != crc)
			return error_set(err, ERROR_DAMAGED,
					 "%s: checksum 0x%08" PRIx32
					 ", expected 0x%08" PRIx32,
					 file->from, crc, file->crc);
		file->has_crc = true;
		file->crc = crc;
	}
	return 0;
}

/* --- The containers get their names --- */

/* What a rank wrote to a container. */
struct part {
	uint64_t container, off, len;
	uint32_t crc, by; /* the rank that places it */
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

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Tell the ranks that place the containers. */
static int
tell(struct flushing *f, struct team_mail *in, struct error *err)
{
	const struct team *world = &f->run->world;
	const struct flush_pack *k = f->pack;
	const struct segmap *m = &k->map;
	struct part *list =
		arena_alloc(f->arena, m->ncontainers + 1, sizeof(*list));
	struct team_mail out = { 0, arena_alloc(f->arena, m->ncontainers + 1,
						sizeof(*out.notes)) };
	int rc = 0;

	if (list == NULL || out.notes == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < m->ncontainers; i++) {
		list[i].container = segmap_number(m->containers[i].name);
		list[i].by = (uint32_t)(list[i].container % world->size);
	}
	/* The pieces in a container follow each other. */
	for (size_t i = 0; rc == 0 && i < m->nsegs; i++) {
		struct part *p = &list[m->segs[i].container];

		if (p->len == 0)
			p->off = m->segs[i].off;
		p->len += m->segs[i].len;
		p->crc = crc_shift(p->crc, m->segs[i].len) ^ k->pieces[i].crc;
	}
	if (rc == 0)
		qsort(list, m->ncontainers, sizeof(*list), by_placer);
	for (size_t i = 0; rc == 0 && i < m->ncontainers; i++) {
		struct team_note *n = &out.notes[out.count];

		if (i == 0 || list[i].by != list[i - 1].by) {
			*n = (struct team_note){ list[i].by, &list[i], 0 };
			out.count++;
		}
		out.notes[out.count - 1].len += sizeof(*list);
	}
	return team_notes(world, rc, &out, f->arena, in, err);
}

/* Place the container that has all parts list[0 ... n - 1]; record it. */
static int
place_one(const struct flush_pack *k, uint64_t size, const struct part *list,
	  size_t n, struct kvtree *table, struct error *err)
{
	const uint64_t first = list->container * size;
	const uint64_t len = k->bytes - first < size ? k->bytes - first : size;
	const char *name =
		str_printed(64, SEGMAP_DIR "/" SEGMAP_DATA ".%" PRIu64 ".scr",
			    list->container);
	struct kvtree *entry = NULL;
	uint64_t have = 0;
	uint32_t crc = 0;

	for (size_t i = 0; i < n && list[i].off == have; i++) {
		have += list[i].len;
		crc = crc_shift(crc, list[i].len) ^ list[i].crc;
	}
	if (have != len)
		return error_set(err, ERROR_CORRUPT,
				 "%s: only %" PRIu64 " of %" PRIu64
				 " bytes were written",
				 name, have, len);
	if (joint_place(k->root_fd, name, len, &k->attr, err) < 0)
		return -1;
	entry = kvtree_put(table, name, err);
	return entry == NULL || kvtree_set_u64(entry, "SIZE", len, err) < 0 ||
			       kvtree_set_crc(entry, "CRC", crc, err) < 0
		       ? -1
		       : 0;
}

int
flushing_pack_place(struct flushing *f, struct kvtree *ctr, struct error *err)
{
	const uint64_t size = f->run->p.container_size;
	struct team_mail in = { 0, NULL };
	struct kvtree *table = NULL;
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
	if (rc == 0 && count > 0) {
		qsort(list, count, sizeof(*list), by_place);
		table = kvtree_put(ctr, "FILE", err);
		rc = table == NULL ? -1 : 0;
	}
	for (size_t i = 0; rc == 0 && i < count; i += n) {
		for (n = 1; i + n < count &&
			    list[i + n].container == list[i].container;)
			n++;
		rc = place_one(f->pack, size, &list[i], n, table, err);
	}
	buf_free(&all);
	if (rc == 0 && count > 0)
		rc = joint_sync(f->pack->root_fd, err);
	return team_agree(&f->run->world, rc, err);
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

int
flushing_pack_part(const struct flushing *f, int fd, const struct rank2file *r,
		   const struct segmap *m, struct kvtree *ctr,
		   struct error *err)
{
	const uint32_t rank = f->run->world.rank;
	struct hidden h;
	int rc = hidden_init(&h, err);

	if (rc < 0)
		return -1;
	h.has_attrs = true;
	if (hidden_store_part(&h, fd, m, r, rank,
			      kvtree_put(ctr, "HIDDEN", err), err) < 0 ||
	    rank2file_store_part(fd, r, rank, kvtree_put(ctr, "COPY", err),
				 err) < 0)
		rc = -1;
	hidden_free(&h);
	return rc;
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
	for (size_t i = 0; rc == 0 && i < in.count; i++) {
		struct kvtree *t = kvtree_decode(in.notes[i].data,
						 in.notes[i].len, NULL, err);

		rc = t == NULL ? -1 : kvtree_merge(ctr, t, err);
		kvtree_free(t);
	}
	if (rc < 0 ||
	    kvtree_set_u64(ctr, "SIZE", f->run->p.container_size, err) < 0 ||
	    kvtree_set_u64(ctr, "BYTES", f->pack->bytes, err) < 0 ||
	    kvtree_put(ctr, "FILE", err) == NULL ||
	    rank2file_store_top(fd, &r, kvtree_get(ctr, "COPY"), err) < 0)
		return -1;
	return hidden_sweep(fd, &r, err);
}

void
flushing_pack_undo(const struct flushing *f)
{
	if (f->run->world.rank == 0 && f->pack->root_fd >= 0)
		joint_undo(f->pack->root_fd);
}
