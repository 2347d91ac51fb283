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
#include "meta/dataset_dir.h"
#include "meta/redset.h"
#include "scr/flushing_impl.h"
#include "scr/flushing_pack.h"
#include "scr/held.h"
#include "scr/lists.h"
#include "scr/run.h"
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
	segmap_free(&k->map);
	hidden_free(&k->hidden);
}

/* --- The plan --- */

/* Find the metadata files of this rank in the cache, and which member of its
 * set it is. */
static int
find_hidden(struct flushing *f, struct flush_pack *k, uint64_t *member,
	    struct error *err)
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
		    !red.map && red.members > 1)
			*member = red.member;
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
list_files(struct flushing *f, struct flush_pack *k, uint64_t *member,
	   struct error *err)
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
	return f->run->p.container_redundancy ? find_hidden(f, k, member, err)
					      : 0;
}

/* The next multiple. */
static uint64_t
pad(uint64_t bytes, uint64_t of)
{
	return bytes + (of - bytes % of) % of;
}

static uint64_t
group_of(const struct flush_pack *k, uint32_t rank)
{
	return k->member != NULL ? k->member[rank] : 0;
}

/* The first of the ranks whose bytes follow this one's without a gap: of its
 * node, if all are in one group. */
static uint32_t
unit_of(const struct flushing *f, uint32_t rank)
{
	return f->pack->member != NULL
		       ? rank
		       : groups_find(&f->run->groups, GROUPS_NODE)->of[rank];
}

/* Find the place of this rank, and the groups. */
static int
place(struct flushing *f, struct flush_pack *k, struct string *s,
      struct error *err)
{
	const struct team *world = &f->run->world;
	uint64_t *all = arena_alloc(f->arena, world->size, sizeof(*all));
	uint64_t *units = arena_alloc(f->arena, world->size, sizeof(*units));
	const uint32_t me = world->rank;
	uint64_t mine = 0, at = 0;

	s->groups = arena_alloc(f->arena, k->ngroups, sizeof(*s->groups));
	if (team_agree(world,
		       all == NULL || units == NULL || s->groups == NULL
			       ? error_no_memory(err)
			       : 0,
		       err) < 0)
		return -1;
	for (size_t i = 0; i < s->map->nfiles; i++)
		mine += s->map->files[i].size;
	team_gather64(world, mine, all);
	for (uint32_t r = 0; r < world->size; r++) {
		const uint32_t u = unit_of(f, r);

		/* With its gap it is less than twice as much. */
		if (all[r] > INT64_MAX / 2 - s->bytes)
			return error_set(err, ERROR_CORRUPT,
					 "more than 2^62 bytes");
		s->bytes += all[r];
		units[u] += all[r];
		if (u == unit_of(f, me) && r < me)
			s->start += all[r];
	}
	for (uint32_t u = 0; u < world->size; u++) {
		const uint64_t g = group_of(k, u);
		const uint64_t len = pad(units[u], f->run->p.container_align);

		s->groups[g].bytes += len;
		if (g == group_of(k, me) && u < unit_of(f, me))
			s->start += len;
	}
	for (size_t g = 0; g < k->ngroups; g++) {
		s->groups[g].start = at;
		at += pad(s->groups[g].bytes, f->run->p.container_size);
	}
	s->start += s->groups[group_of(k, me)].start;
	return 0;
}

/* The members of all ranks, if redundancy is packed, too. */
static int
find_groups(struct flushing *f, struct flush_pack *k, uint64_t mine,
	    struct error *err)
{
	const struct team *world = &f->run->world;

	k->ngroups = 1;
	if (!f->run->p.container_redundancy)
		return 0;
	k->member = arena_alloc(f->arena, world->size, sizeof(*k->member));
	if (team_agree(world, k->member == NULL ? error_no_memory(err) : 0,
		       err) < 0)
		return -1;
	team_gather64(world, mine, k->member);
	for (uint32_t r = 0; r < world->size; r++)
		if (k->member[r] >= k->ngroups)
			k->ngroups = k->member[r] + 1;
	if (k->ngroups == 1)
		say_warn_first("SCR_CONTAINER_REDUNDANCY: dataset %" PRId64
			       " has no redundancy: who loses a container "
			       "loses its files",
			       f->s->d.id);
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

int
flushing_pack(struct flushing *f, struct error *err)
{
	static const char *const stems[STRINGS] = { SEGMAP_DATA,
						    SEGMAP_REDUNDANCY };
	const struct team *world = &f->run->world;
	struct flush_pack *k = arena_alloc(f->arena, 1, sizeof(*k));
	uint64_t member = 0;
	int rc = k == NULL ? error_no_memory(err) : 0;

	if (k != NULL) {
		*k = (struct flush_pack){ .root_fd = -1, .resume = f->resume };
		f->pack = k;
		rc = list_files(f, k, &member, err);
	}
	if (team_agree(world, rc, err) < 0 ||
	    find_groups(f, k, member, err) < 0)
		return -1;
	share_attr(f, k);
	for (int i = 0; rc == 0 && i < STRINGS; i++) {
		rc = place(f, k, &k->s[i], err);
		if (rc == 0)
			rc = cut(f, &k->s[i], stems[i], err);
		rc = team_agree(world, rc, err);
	}
	if (rc == 0)
		k->root_fd = lists_open(f->run, f->s->d.id, err);
	if (rc == 0 && k->root_fd < 0)
		rc = -1;
	if (rc == 0 && world->rank == 0)
		rc = joint_begin(k->root_fd, k->resume, err);
	if (team_agree(world, rc, err) < 0)
		return -1;
	for (int i = 0; rc == 0 && i < STRINGS; i++) {
		k->s[i].joint = joint_new(k->root_fd, k->s[i].map,
					  k->attr.has_owner ? 0600 : 0666, err);
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
