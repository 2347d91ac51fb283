/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_packed.c - plans of packed datasets: where files and redundancy files
 * lie in containers, which segments are present (container-format(5)), and how
 * many containers can be lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "container/joint.h"
#include "container/marks.h"
#include "container/packed.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "transfer/stripe.h"

void
plan_packed_free(struct plan_packed *k)
{
	if (k == NULL)
		return;
	kvtree_free(k->marks);
	map_free(k->by_path);
	hidden_free(&k->hidden);
	segmap_free(&k->map);
	rank2file_free(&k->r2f);
	mem_free(k);
}

int
plan_load_packed(struct planner *w, struct error *err)
{
	const struct place *pl = &w->p.places[0];
	struct error why = ERROR_INIT;
	struct plan_packed *k = NULL;
	struct stat st;
	bool packed = false, good = false;

	/* Containers are in a directory of their own.  Without this directory
	 * nothing is packed, and rank2file need not be read. */
	if (dir_stat(pl->meta_fd, SEGMAP_DIR, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	k = mem_calloc(1, sizeof(*k));
	if (k == NULL)
		return error_no_memory(err);
	if (rank2file_load(pl->meta_fd, RANK2FILE_FILE, &k->r2f, &why) == 0)
		packed = segmap_is_packed(&k->r2f);
	else if (why.kind != ERROR_ABSENT)
		(void)packed_map_lost(pl->meta_fd, &why);
	else
		error_clear(&why);
	/* Nothing is rebuilt into places that the map itself contradicts, such
	 * as offset 2^62 of a container of 1 MB. */
	if (packed && segmap_read(&k->map, &k->r2f, &why) == 0 &&
	    segmap_refuse_flaws(&k->map, "rank2file", &why) == 0 &&
	    hidden_load(&k->hidden, pl->meta_fd, &k->r2f, &k->map, &why) == 0 &&
	    segmap_refuse_flaws(&k->hidden.map, "packed.N.scr", &why) == 0 &&
	    marks_load(&k->marks, pl->meta_fd, &why) == 0 &&
	    packed_reach(pl->meta_fd, &k->map, k->marks, &why) == 0 &&
	    packed_reach(pl->meta_fd, &k->hidden.map, k->marks, &why) == 0) {
		k->by_path = segmap_by_path(&k->map);
		good = k->by_path != NULL;
		if (!good)
			error_no_memory(&why);
	}
	/* What an unfinished flush left is evidence only if it is whole. */
	if (joint_is_unfinished(pl->meta_fd) &&
	    (why.kind != ERROR_NONE ||
	     segmap_gone(k->map.segs, k->map.nsegs))) {
		error_clear(&why);
		good = false;
	}
	if (good) {
		w->packed = k;
		w->p.packed = true;
		return 0;
	}
	plan_packed_free(k);
	if (why.kind == ERROR_NONE)
		return 0;
	error_pass(err, &why);
	return error_wrap(err, "%s", pl->meta);
}

bool
plan_map_flaw(const struct plan *p, char *to, size_t size, bool *incomplete)
{
	const struct plan_packed *k = plan_containers(p);

	if (k == NULL || !packed_map_flaw(&k->r2f, &k->hidden, to, size))
		return false;
	*incomplete = k->hidden.incomplete;
	return true;
}

bool
plan_long_container(const struct plan *p, char *to, size_t size)
{
	const struct plan_packed *k = plan_containers(p);

	for (int r = 0; k != NULL && r < 2; r++) {
		const struct segmap *m = r ? &k->hidden.map : &k->map;

		for (size_t i = 0; i < m->ncontainers; i++) {
			const struct segmap_container *c = &m->containers[i];

			/* 0: not recorded. */
			if (c->size == 0 || c->have <= c->size)
				continue;
			snprintf(to, size,
				 "%s: %" PRIu64 " bytes, should be %" PRIu64,
				 c->name, c->have, c->size);
			return true;
		}
	}
	return false;
}

/* --- Names --- */

int
plan_scan_packed(struct planner *w, struct error *err)
{
	const struct segmap *h = NULL;
	struct map *there = NULL;
	int rc = 0;

	if (w->packed == NULL)
		return 0;
	h = &w->packed->hidden.map;
	/* Names that exist as files take precedence over packed ones, because
	 * they were restored later. */
	there = map_new();
	for (size_t i = 0; i < w->nmaps && rc == 0; i++)
		rc = map_put(there, w->maps[i].name, 0);
	for (size_t i = 0; i < w->nreds && rc == 0; i++)
		rc = map_put(there, w->reds[i].name, 0);
	if (rc < 0)
		error_no_memory(err);
	for (size_t i = 0; i < h->nfiles && rc == 0; i++)
		if (map_get(there, h->files[i].path) == MAP_NONE)
			rc = plan_scan_one(w, 0, h->files[i].path, &h->files[i],
					   err);
	map_free(there);
	return rc;
}

const struct segmap_file *
plan_hidden_find(const struct plan *p, const char *name)
{
	const struct plan_packed *k = plan_containers(p);

	return k != NULL ? hidden_find(&k->hidden, name) : NULL;
}

void
plan_hidden_red(const struct plan *p, const struct segmap_file *f,
		struct plan_red *red)
{
	if (f == NULL || f->tree != NULL)
		return;
	red->segs = plan_containers(p)->hidden.map.segs + f->first;
	red->nsegs = f->nsegs;
	red->has_crc = f->has_crc;
	red->crc = f->crc;
}

const char *
plan_seg_path(const struct plan *p, const struct segment *s, bool red)
{
	const struct plan_packed *k = plan_containers(p);
	const struct segmap *m = red ? &k->hidden.map : &k->map;

	return m->containers[s->container].name;
}

uint64_t
plan_segs_size(const struct segment *segs, size_t n)
{
	uint64_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += segs[i].len;
	return size;
}

/* Append a range of the bytes of `n` segments of `m` to a string with room for
 * a part for each: at.len bytes from at.off on.  A part that cannot be read is
 * that of one file: they are not joined. */
static void
add_range(const struct segmap *m, const struct segment *segs, size_t n,
	  struct stripe_part at, struct stripe *out)
{
	uint64_t skip = at.off, left = at.len;

	for (size_t i = 0; i < n && left > 0; i++) {
		const struct segment *s = &segs[i];

		if (skip >= s->len) {
			skip -= s->len;
			continue;
		}
		at.path = m->containers[s->container].name;
		at.off = s->off + skip;
		at.len = s->len - skip < left ? s->len - skip : left;
		out->parts[out->nparts++] = at;
		at.start += at.len;
		at.sum_off += at.len;
		left -= at.len;
		skip = 0;
	}
}

int
plan_red_string(const struct plan *p, const struct plan_member *m,
		const struct solve_range *range, struct arena *arena,
		struct stripe *out, struct error *err)
{
	const struct plan_red *red = m->red;
	const struct stripe_part at = {
		.dirfd = p->places[m->place].meta_fd,
		.path = m->name,
		.off = range->from,
		.len = range->to - range->from,
		.sum = STRIPE_NO_SUM,
	};

	if (stripe_room(out, arena, red->nsegs + 1, err) < 0)
		return -1;
	if (red->nsegs > 0)
		add_range(&plan_containers(p)->hidden.map, red->segs,
			  red->nsegs, at, out);
	else
		stripe_add(out, &at);
	return 0;
}

int
plan_red_read(const struct plan *p, const struct plan_member *m, void *data,
	      size_t len, struct error *err)
{
	const struct solve_range start = { 0, len };
	struct stripe_cache *cache = stripe_cache_new(1, false, NULL);
	struct arena *arena = arena_new();
	struct stripe s = { 0, NULL };
	int rc = cache == NULL ? error_no_memory(err)
			       : plan_red_string(p, m, &start, arena, &s, err);

	if (rc == 0)
		rc = stripe_read(&s, cache, 0, data, len, err);
	stripe_cache_free(cache); /* before the parts, which it uses */
	arena_free(arena);
	return rc;
}

int
plan_hidden_image(const struct plan *p, const struct segmap_file *f,
		  struct buf *out, struct error *err)
{
	struct plan_red at = { .nsegs = 0 };
	const struct plan_member m = { .name = f->path, .red = &at };
	uint64_t size = 0;

	buf_clear(out);
	if (f->tree != NULL)
		return kvtree_encode(f->tree, out, err);
	plan_hidden_red(p, f, &at);
	size = plan_segs_size(at.segs, at.nsegs);
	if (size > PLAN_MAP_MAX || segmap_gone(at.segs, at.nsegs))
		return error_set(err, ERROR_CORRUPT,
				 "%s: its container is damaged", f->path);
	if (buf_reserve(out, (size_t)size) < 0)
		return error_no_memory(err);
	out->len = (size_t)size;
	return plan_red_read(p, &m, out->data, (size_t)size, err);
}

/* --- Files --- */

void
plan_place_packed(struct planner *w)
{
	const struct plan_packed *k = w->packed;

	if (k == NULL || w->p.outdated)
		return;
	for (size_t i = 0; i < w->p.nfiles; i++) {
		struct plan_file *f = &w->p.files[i];
		const size_t at = map_get(k->by_path, f->path);
		const struct segmap_file *s =
			at == MAP_NONE ? NULL : &k->map.files[at];

		/* Ranks do not share files. */
		if (s == NULL || s->rank != f->rank ||
		    f->state == FILE_INCOMPLETE)
			continue;
		if (s->has_crc && !f->has_crc && s->size == f->attr.size) {
			f->has_crc = true;
			f->crc = s->crc;
		}
		f->packed = true;
		f->segs = k->map.segs + s->first;
		f->nsegs = s->nsegs;
	}
}

int64_t
plan_packed_newest(const struct planner *w)
{
	const struct segmap *m = &w->packed->map;
	int64_t newest = -1;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct attr *a = &m->files[i].attr;

		if (a->has_times && a->mtime.tv_sec > newest)
			newest = a->mtime.tv_sec;
	}
	return newest < 0 || newest >= INT64_MAX / 1000000
		       ? newest
		       : (newest + 1) * 1000000;
}

bool
plan_packed_knows(const struct plan *p, const char *path, uint64_t size)
{
	const struct plan_packed *k = plan_containers(p);
	size_t at = 0;

	if (k == NULL || p->outdated)
		return false;
	at = map_get(k->by_path, path);
	return at != MAP_NONE && k->map.files[at].size == size;
}

void
plan_file_parts(const struct plan *p, size_t file, uint64_t start, size_t sum,
		struct stripe *out)
{
	const struct plan_file *f = &p->files[file];
	const struct place *pl = &p->places[f->place];
	const struct stripe_part at = {
		.start = start,
		.len = f->attr.size,
		.dirfd = f->nsegs > 0 ? pl->meta_fd : pl->root_fd,
		.readable = f->nsegs == 0 && !f->unreadable,
		.path = f->path,
		.sum = sum,
	};

	if (f->nsegs > 0)
		add_range(&plan_containers(p)->map, f->segs, f->nsegs, at, out);
	else if (at.len > 0)
		out->parts[out->nparts++] = at;
}

/* --- How many containers can be lost --- */

/* The share of one set in one container. */
struct share {
	size_t set;	    /* index of the set + 1; 0: none yet */
	uint32_t last;	    /* the member counted last, + 1 */
	uint32_t last_data; /* the same for its data */
	uint32_t members;   /* members with anything in the container */
	uint32_t data;	    /* members with data in it */
};

struct counting {
	const struct plan *p;
	size_t ndata;	      /* containers of data */
	struct share *shares; /* by container: of data, then of redundancy */
	bool *critical;	      /* by container of data */
	uint32_t spare;	      /* of the set being counted */
	uint32_t most;	      /* members of this set in one container */
};

/* Count a segment of data or redundancy of a member of a set. */
static void
count_seg(struct counting *c, bool data, const struct segment *s, size_t set,
	  uint32_t member)
{
	struct share *to = &c->shares[s->container + (data ? 0 : c->ndata)];

	if (to->set != set + 1)
		*to = (struct share){ .set = set + 1 };
	to->members += to->last != member + 1;
	to->last = member + 1;
	to->data += data && to->last_data != member + 1;
	to->last_data = data ? member + 1 : to->last_data;
	if (to->members > c->most)
		c->most = to->members;
	if (to->data > c->spare)
		c->critical[s->container] = true;
}

static void
count_rank(struct counting *c, uint32_t rank, size_t set, uint32_t member)
{
	const struct plan_rank *r = NULL;

	if (rank >= c->p->nranks)
		return;
	r = &c->p->ranks[rank];
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct plan_file *f = &c->p->files[r->first_file + i];

		for (size_t k = 0; k < f->nsegs; k++)
			count_seg(c, true, &f->segs[k], set, member);
	}
}

size_t
plan_container_spare(const struct plan *p, bool rebuilt, size_t *critical)
{
	const struct plan_packed *k = plan_containers(p);
	struct counting c = { .p = p };
	size_t least = SIZE_MAX, n = 0;

	*critical = 0;
	if (k == NULL)
		return 0;
	c.ndata = k->map.ncontainers;
	c.shares = mem_calloc(c.ndata + k->hidden.map.ncontainers + 1,
			      sizeof(*c.shares));
	c.critical = mem_calloc(c.ndata + 1, sizeof(*c.critical));
	for (size_t i = 0;
	     i < p->nsets && c.critical != NULL && c.shares != NULL; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->map || (!s->opened && !s->sampled))
			continue;
		c.most = 0;
		c.spare = s->verdict == SET_LOST ? 0
			  : rebuilt		 ? s->failures
						 : s->spare;
		for (uint32_t m = 0; m < s->n; m++) {
			const struct plan_red *red = s->members[m].red;

			count_rank(&c, s->members[m].rank, i, m);
			for (size_t j = 0; j < red->nsegs; j++)
				count_seg(&c, false, &red->segs[j], i, m);
		}
		/* The set can lose this number, whichever they are, if none is
		 * critical: at least one, as a container of redundancy holds no
		 * data. */
		n = c.most == 0 ? SIZE_MAX : c.spare / c.most;
		n = n == 0 ? 1 : n;
		least = n < least ? n : least;
	}
	if (c.shares == NULL || c.critical == NULL)
		least = 0;
	/* Data of ranks in no set cannot be computed. */
	c.spare = 0;
	for (int64_t i = 0; least > 0 && i < p->nranks; i++)
		if (p->ranks[i].data_set == PLAN_NONE)
			count_rank(&c, (uint32_t)i, p->nsets + (size_t)i, 0);
	for (size_t i = 0; i < c.ndata && c.critical; i++)
		*critical += c.critical[i];
	mem_free(c.shares);
	mem_free(c.critical);
	return *critical > 0 || least == SIZE_MAX ? 0 : least;
}
