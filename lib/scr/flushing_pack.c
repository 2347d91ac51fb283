/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_pack.c - a flush into containers: the plan, and the transfers. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "container/joint.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/redset.h"
#include "scr/flushing_impl.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"
#include "transfer/pump.h"

void
flushing_pack_free(struct flush_pack *k)
{
	if (k == NULL)
		return;
	for (int i = 0; i < STRINGS; i++)
		joint_free(k->s[i].joint);
	io_close(k->root_fd);
	kvtree_free(k->table);
	kvtree_free(k->others);
	segmap_free(&k->map);
	hidden_free(&k->hidden);
}

/* --- The plan --- */

/* Find the metadata files of this rank in the cache, and which member of its
 * set it is. */
static int
find_hidden(struct flushing *f, struct flush_pack *k, struct error *err)
{
	const char *dir = arena_printf(f->arena, "%s/" SCR_DIR, f->s->dir);
	const int fd =
		dir == NULL ? error_no_memory(err) : held_open_dir(dir, err);
	struct string *s = &k->s[RED];
	const char **from = NULL;
	const char *name = NULL;
	struct dir_walk w;
	int rc = 0;

	if (fd < 0)
		return -1;
	rc = dir_walk(&w, fd, dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		struct segmap_file e = { .rank = UINT32_MAX };
		struct redset_name red;
		struct stat st;

		(void)dataset_dir_kind(name, &e.rank);
		if (!dataset_dir_is_recovery(name) ||
		    e.rank != f->run->world.rank)
			continue;
		if (redset_name_parse(name, &red, NULL) && !red.descriptor &&
		    !red.map && red.members > 1 &&
		    red.member < f->run->world.size)
			k->member = red.member;
		e.path = arena_strdup(f->arena, name);
		rc = e.path == NULL ? error_no_memory(err)
				    : hidden_take(&k->hidden, fd, e, &st, err);
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	from = arena_alloc(f->arena, k->hidden.map.nfiles + 1, sizeof(*from));
	if (rc == 0 && from == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < k->hidden.map.nfiles; i++) {
		from[i] = arena_printf(f->arena, "%s/%s", dir,
				       k->hidden.map.files[i].path);
		rc = from[i] == NULL ? error_no_memory(err) : 0;
	}
	s->from = from;
	return rc;
}

/* The files of this rank. */
static int
list_files(struct flushing *f, struct flush_pack *k, struct error *err)
{
	struct segmap *m = &k->map;
	const char **from = arena_alloc(f->arena, f->nfiles + 1, sizeof(*from));

	if (from == NULL)
		return error_no_memory(err);
	if (segmap_init(m, f->nfiles, err) < 0 ||
	    hidden_init(&k->hidden, err) < 0)
		return -1;
	k->hidden.has_attrs = true;
	for (; m->nfiles < f->nfiles; m->nfiles++) {
		from[m->nfiles] = f->files[m->nfiles].from;
		m->files[m->nfiles] = (struct segmap_file){
			.rank = f->run->world.rank,
			.path = f->files[m->nfiles].rel,
			.size = f->files[m->nfiles].attr.size,
		};
	}
	k->s[DATA].map = m;
	k->s[DATA].from = from;
	k->s[RED].map = &k->hidden.map;
	return f->run->p.container_redundancy ? find_hidden(f, k, err) : 0;
}

/* The next multiple. */
static uint64_t
pad(uint64_t bytes, uint64_t of)
{
	return bytes + (of - bytes % of) % of;
}

/* Without members, node after node: find the bytes before this rank. */
static int
place_nodes(const struct flushing *f, struct string *s, uint64_t mine,
	    struct error *err)
{
	const struct team *node = &f->run->node;
	uint64_t *all = arena_alloc(f->arena, node->size, sizeof(*all));
	uint64_t sum = 0, before = 0;

	if (team_agree(&f->run->world, all == NULL ? error_no_memory(err) : 0,
		       err) < 0)
		return -1;
	team_gather64(node, mine, all);
	for (uint32_t r = 0; r < node->size; r++) {
		if (r == node->rank)
			s->start = sum;
		sum += all[r];
	}
	/* The nodes in the order of their leaders. */
	sum = pad(sum, f->run->p.container_align);
	before = node->rank == 0 ? sum : 0;
	s->groups[0].bytes = before;
	team_sum(&f->run->world, &s->groups[0].bytes, 1);
	team_before(&f->run->world, &before, 1);
	team_bytes(node, 0, &before, sizeof(before));
	s->start += before;
	return 0;
}

/* Member after member, of each rank after rank. */
static int
place_members(const struct flushing *f, const struct flush_pack *k,
	      struct string *s, uint64_t mine, struct error *err)
{
	const struct team *world = &f->run->world;
	uint64_t *before = arena_alloc(f->arena, k->ngroups, sizeof(*before));

	if (team_agree(world, before == NULL ? error_no_memory(err) : 0, err) <
	    0)
		return -1;
	mine = pad(mine, f->run->p.container_align);
	before[k->member] = mine;
	team_before(world, before, (int)k->ngroups);
	s->start = before[k->member];
	/* On the last rank, with its own, they are those of all. */
	before[k->member] += mine;
	team_bytes(world, world->size - 1, before,
		   k->ngroups * sizeof(*before));
	for (size_t g = 0; g < k->ngroups; g++)
		s->groups[g].bytes = before[g];
	return 0;
}

/* Find the place of this rank, and the groups. */
static int
place(struct flushing *f, struct flush_pack *k, struct string *s,
      struct error *err)
{
	const struct team *world = &f->run->world;
	uint64_t mine = 0, at = 0;
	int rc = 0;

	for (size_t i = 0; i < s->map->nfiles; i++)
		mine += s->map->files[i].size;
	/* So the sums cannot overflow. */
	if (mine > (uint64_t)INT64_MAX / 2 / world->size)
		rc = error_set(err, ERROR_USAGE,
			       "%" PRIu64 " bytes of a rank are too many for "
			       "containers",
			       mine);
	s->groups = arena_alloc(f->arena, k->ngroups, sizeof(*s->groups));
	if (rc == 0 && s->groups == NULL)
		rc = error_no_memory(err);
	if (team_agree(world, rc, err) < 0)
		return -1;
	s->bytes = mine;
	team_sum(world, &s->bytes, 1);
	rc = f->run->p.container_redundancy ? place_members(f, k, s, mine, err)
					    : place_nodes(f, s, mine, err);
	for (size_t g = 0; rc == 0 && g < k->ngroups; g++) {
		s->groups[g].start = at;
		if (s->groups[g].bytes > INT64_MAX / 2 || at > INT64_MAX / 2)
			return error_set(err, ERROR_USAGE,
					 "SCR_CONTAINER_SIZE is too large for "
					 "%zu groups",
					 k->ngroups);
		at += pad(s->groups[g].bytes, f->run->p.container_size);
	}
	if (rc == 0)
		s->start += s->groups[k->member].start;
	return rc;
}

/* Only users who may access all files, and all packed metadata, may access the
 * containers. */
static void
share_attr(const struct flushing *f, struct flush_pack *k)
{
	static const uint32_t bits[] = { 0040, 0020, 0004, 0002 };
	const struct team *world = &f->run->world;
	uint64_t may[4] = { 1, 1, 1, 1 }, least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < f->nfiles + k->hidden.map.nfiles; i++) {
		const struct attr *a =
			i < f->nfiles
				? &f->files[i].attr
				: &k->hidden.map.files[i - f->nfiles].attr;

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
	/* With SCR_COPY_METADATA=0, or without files: as any new file. */
	if (!f->run->p.copy_metadata || least > most)
		return;
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
cut(const struct flushing *f, struct string *s, const char *stem,
    struct error *err)
{
	struct segmap *m = s->map;

	if (segmap_cut(m, stem, f->run->p.container_size, s->start, err) < 0)
		return -1;
	s->pieces = arena_alloc(f->arena, m->nsegs + 1, sizeof(*s->pieces));
	if (s->pieces == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->nfiles; i++) {
		uint64_t at = 0;

		for (size_t g = 0; g < m->files[i].nsegs; g++) {
			s->pieces[m->files[i].first + g] =
				(struct piece){ .file = i, .begin = at };
			at += m->segs[m->files[i].first + g].len;
		}
	}
	return 0;
}

/* Has an interrupted flush written the map, with the same files and segments?
 * Then its containers are whole, and may be the last copy of the dataset: they
 * are compared where they are. */
static bool
find_map(const struct flushing *f, const struct flush_pack *k)
{
	const struct segmap *m = &k->map;
	struct lists l = { .count = 0 };
	bool same = f->resume && lists_read(f->run, &f->s->d, false, f->arena,
					    &l, NULL) == 0;

	same = same && l.packed && l.count == m->nfiles;
	for (size_t i = 0; same && i < l.count; i++) {
		const struct rank2file_file *there = &l.files[i];
		const struct segmap_file *is = &m->files[i];

		same = there->has_size && there->size == is->size &&
		       there->nsegs == is->nsegs &&
		       str_eq(there->path, is->path);
		for (size_t g = 0; same && g < is->nsegs; g++) {
			const struct segment *s = &m->segs[is->first + g];

			same = there->segs[g].off == s->off &&
			       there->segs[g].len == s->len &&
			       str_eq(there->segs[g].file,
				      m->containers[s->container].name);
		}
	}
	return !team_any(&f->run->world, !same);
}

int
flushing_pack(struct flushing *f, enum catalogue_map *map, struct error *err)
{
	static const char *const stems[STRINGS] = { SEGMAP_DATA,
						    SEGMAP_REDUNDANCY };
	const struct team *world = &f->run->world;
	struct flush_pack *k = arena_alloc(f->arena, 1, sizeof(*k));
	int rc = k == NULL ? error_no_memory(err) : 0;

	if (k != NULL) {
		*k = (struct flush_pack){ .root_fd = -1 };
		f->pack = k;
		k->table = kvtree_new(err);
		k->others = kvtree_new(err);
		rc = k->table == NULL || k->others == NULL
			     ? -1
			     : list_files(f, k, err);
	}
	if (team_agree(world, rc, err) < 0)
		return -1;
	k->ngroups = (size_t)team_most(world, k->member) + 1;
	if (f->run->p.container_redundancy && k->ngroups == 1 &&
	    !f->run->no_redundancy)
		say_warn_first("SCR_CONTAINER_REDUNDANCY: dataset %" PRId64
			       " has no redundancy: who loses a container "
			       "loses its files",
			       f->s->d.id);
	f->run->no_redundancy = k->ngroups == 1;
	share_attr(f, k);
	for (int i = 0; rc == 0 && i < STRINGS; i++) {
		rc = place(f, k, &k->s[i], err);
		if (rc == 0)
			rc = cut(f, &k->s[i], stems[i], err);
		rc = team_agree(world, rc, err);
	}
	if (rc < 0)
		return -1;
	for (uint64_t i = 0; i < STRINGS; i++)
		if (i == DATA || f->run->p.container_redundancy)
			k->how.layout +=
				joint_layout(world->rank | i << 32,
					     k->s[i].start, k->s[i].map->bytes);
	team_sum(world, &k->how.layout, 1);
	k->how.layout += joint_layout(f->run->p.container_size,
				      f->run->p.container_align,
				      (uint64_t)f->s->d.created_us);
	k->how.mode = k->attr.has_owner ? 0600 : 0666;
	k->how.placed = find_map(f, k);
	*map = k->how.placed ? CATALOGUE_MAP_KEPT : CATALOGUE_MAP_GONE;
	return 0;
}

int
flushing_pack_begin(struct flushing *f, struct error *err)
{
	const struct team *world = &f->run->world;
	struct flush_pack *k = f->pack;
	int rc = 0;

	k->root_fd = lists_open(f->run, f->s->d.id, err);
	rc = k->root_fd < 0 ? -1 : 0;
	k->resume = k->how.placed;
	if (rc == 0 && world->rank == 0 && !k->how.placed)
		rc = joint_begin(k->root_fd, k->how.layout, f->resume,
				 &k->resume, err);
	if (team_agree(world, rc, err) < 0)
		return -1;
	k->resume = team_any(world, k->resume);
	for (int i = 0; rc == 0 && i < STRINGS; i++) {
		k->s[i].joint = joint_new(k->root_fd, k->s[i].map, k->how, err);
		rc = k->s[i].joint == NULL ? -1 : 0;
	}
	return team_agree(world, rc, err);
}

/* --- Transfers --- */

/* The string of the i-th segment, and its number in it. */
static struct string *
string_of(void *arg, size_t *i)
{
	struct flush_pack *k = ((struct flush_copy *)arg)->f->pack;
	const size_t data = k->map.nsegs;

	if (*i < data)
		return &k->s[DATA];
	*i -= data;
	return &k->s[RED];
}

static uint64_t
piece_size(void *arg, size_t i)
{
	return string_of(arg, &i)->map->segs[i].len;
}

static int
open_piece(void *arg, size_t i, struct pump *p, struct error *err)
{
	struct flush_copy *c = arg;
	struct string *s = string_of(arg, &i);
	const struct segment *g = &s->map->segs[i];
	const struct piece *is = &s->pieces[i];

	*p = (struct pump){
		.from = io_open_read(AT_FDCWD, s->from[is->file], err),
		.name = s->from[is->file],
		.begin = is->begin,
		.size = is->begin + g->len,
		.to_name = s->map->containers[g->container].name,
		.shared = true,
		.place = g->off,
		.resumed = c->f->pack->resume,
		.step = flushing_pace,
		.arg = c,
	};
	if (p->from < 0)
		return -1;
	p->to = joint_open(s->joint, g->container, err);
	if (p->to >= 0)
		return 1;
	close(p->from);
	return -1;
}

static int
close_piece(void *arg, size_t i, const struct pump *p, int rc,
	    struct error *err)
{
	struct string *s = string_of(arg, &i);

	close(p->from);
	s->pieces[i].crc = p->crc;
	if (rc == 1 &&
	    joint_wrote(s->joint, s->map->segs[i].container, err) < 0)
		rc = -1;
	return rc;
}

void
flushing_pack_list(const struct flushing *f, struct pump_list *l)
{
	l->count = f->pack->map.nsegs + f->pack->hidden.map.nsegs;
	l->size = piece_size;
	l->open = open_piece;
	l->close = close_piece;
}

int
flushing_pack_sums(struct flushing *f, struct error *err)
{
	struct flush_pack *k = f->pack;

	for (int n = 0; n < STRINGS; n++)
		for (size_t i = 0; i < k->s[n].map->nfiles; i++) {
			struct segmap_file *is = &k->s[n].map->files[i];
			const struct segment *segs = k->s[n].map->segs;

			is->crc = 0;
			for (size_t g = is->first; g < is->first + is->nsegs;
			     g++)
				is->crc = crc_shift(is->crc, segs[g].len) ^
					  k->s[n].pieces[g].crc;
			is->has_crc = true;
		}
	for (size_t i = 0; i < f->nfiles; i++) {
		struct flush_file *file = &f->files[i];
		const uint32_t crc = k->map.files[i].crc;

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
