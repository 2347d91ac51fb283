/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage.c - collect what nodes have, choose which node copies what, and judge
 * whether missing files can be rebuilt.
 */
#include "scavenge/salvage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "scavenge/scavenge_impl.h"

const char *
salvage_state_name(enum salvage_state s)
{
	static const char *const names[] = { "complete", "recoverable",
					     "lost" };

	return names[s];
}

void
salvage_init(struct salvage *p, uint32_t nnodes)
{
	*p = (struct salvage){
		.nnodes = nnodes,
		.arena = arena_new(),
		.gone = mem_calloc((size_t)nnodes + 1, sizeof(*p->gone)),
	};
}

void
salvage_free(struct salvage *p)
{
	for (size_t i = 0; i < p->count; i++)
		mem_free(p->datasets[i].ranks);
	mem_free(p->datasets);
	mem_free(p->gone);
	arena_free(p->arena);
	*p = (struct salvage){ .count = 0 };
}

struct salvage_dataset *
salvage_find(const struct salvage *p, int64_t id)
{
	/* A cache holds few datasets: a linear search is enough. */
	for (size_t i = 0; i < p->count; i++)
		if (p->datasets[i].id == id)
			return &p->datasets[i];
	return NULL;
}

struct salvage_dataset *
salvage_dataset(struct salvage *p, const struct nodecache_dataset *like,
		struct error *err)
{
	struct salvage_dataset *d = salvage_find(p, like->id);

	if (d == NULL) {
		(void)MEM_ROOM(p->datasets, p->count, p->cap);
		d = &p->datasets[p->count++];
		*d = (struct salvage_dataset){ .id = like->id, .world = -1 };
	}
	if (d->name == NULL && like->name != NULL)
		d->name = arena_strdup(p->arena, like->name);
	if (d->created == 0)
		d->created = like->created;
	d->ckpt |= like->ckpt;
	d->output |= like->output;
	d->bypass |= like->bypass;
	d->unread |= like->unread != NULL;
	d->nameless |= like->nameless;
	if (like->world < 0 || d->world == like->world)
		return d;
	if (d->world >= 0 || like->world > SALVAGE_MAX_RANKS)
		return error_set_null(err, ERROR_CORRUPT,
				      "dataset %" PRId64 ": %" PRId64
				      " ranks, others say %" PRId64,
				      d->id, like->world, d->world);
	d->world = like->world;
	return d;
}

static bool
is_possible(const struct nodecache_red *r)
{
	return !r->there ||
	       (r->type < REDSET_TYPES && r->set >= 1 && r->set <= r->sets &&
		r->member >= 1 && r->member <= r->members &&
		r->sets <= SALVAGE_MAX_RANKS &&
		r->members <= SALVAGE_MAX_RANKS);
}

/* Copy the lost ranges to the arena. */
static void
keep_ranges(struct arena *a, struct nodecache_red *r)
{
	struct solve_range *lost = arena_alloc(a, r->nlost + 1, sizeof(*lost));

	if (r->nlost > 0)
		memcpy(lost, r->lost, r->nlost * sizeof(*lost));
	r->lost = lost;
}

int
salvage_found(struct salvage *p, struct salvage_dataset *d, uint32_t node,
	      const struct nodecache_rank *f, struct error *err)
{
	uint32_t cap = d->nranks ? d->nranks : 16;
	struct salvage_holder *h = NULL;

	if (f->rank < 0 || f->rank >= SALVAGE_MAX_RANKS || node >= p->nnodes ||
	    (d->world >= 0 && f->rank >= d->world) || !is_possible(&f->red) ||
	    !is_possible(&f->mapred))
		return error_set(err, ERROR_CORRUPT,
				 "dataset %" PRId64 ": rank %" PRId64
				 " with an impossible place in its set",
				 d->id, f->rank);
	while (cap <= f->rank)
		cap *= 2;
	if (cap > d->nranks) {
		d->ranks = mem_realloc(d->ranks, cap, sizeof(*d->ranks));
		memset(&d->ranks[d->nranks], 0,
		       (cap - d->nranks) * sizeof(*d->ranks));
		d->nranks = cap;
	}
	h = arena_alloc(p->arena, 1, sizeof(*h));
	*h = (struct salvage_holder){ *f, node, d->ranks[f->rank].holders };
	h->found.problem = NULL;
	keep_ranges(p->arena, &h->found.red);
	keep_ranges(p->arena, &h->found.mapred);
	d->ranks[f->rank].holders = h;
	return 0;
}

void
salvage_lose(struct salvage *p, uint32_t node)
{
	if (node < p->nnodes)
		p->gone[node] = true;
}

void
salvage_leave(struct salvage_dataset *d)
{
	mem_free(d->ranks);
	d->ranks = NULL;
	d->nranks = 0;
}

/* --- Choice of the copying node --- */

/* Is `a` the better source?  Of equal holders, the one with less to copy. */
static bool
is_better(const struct salvage_holder *a, const struct salvage_holder *b,
	  const uint64_t *load)
{
	const struct nodecache_rank *x = &a->found, *y = &b->found;

	if (x->map != y->map)
		return x->map;
	if (x->bad != y->bad)
		return x->bad < y->bad;
	if (x->files != y->files)
		return x->files > y->files;
	if (x->red.there != y->red.there)
		return x->red.there;
	if (load[a->node] != load[b->node])
		return load[a->node] < load[b->node];
	return a->node < b->node;
}

void
salvage_plan(struct salvage *p)
{
	uint64_t *load = mem_calloc((size_t)p->nnodes + 1, sizeof(*load));

	if (p->count > 0)
		qsort(p->datasets, p->count, sizeof(*p->datasets), num_by_id);
	for (size_t k = 0; k < p->count; k++) {
		struct salvage_dataset *d = &p->datasets[k];

		memset(load, 0, p->nnodes * sizeof(*load));
		d->files = d->bytes = 0;
		for (uint32_t i = 0; i < d->nranks; i++) {
			struct salvage_rank *r = &d->ranks[i];
			struct salvage_holder *h = r->holders;
			uint64_t bytes = 0;

			r->best = NULL;
			for (; h != NULL; h = h->next)
				if (!p->gone[h->node] &&
				    (r->best == NULL ||
				     is_better(h, r->best, load)))
					r->best = h;
			if (r->best == NULL)
				continue;
			/* Count a rank without bytes as work, too. */
			bytes = r->best->found.bytes +
				r->best->found.redundancy;
			load[r->best->node] += bytes + 1;
			d->files += r->best->found.files;
			d->bytes += bytes;
		}
		scavenge_judge(p, d);
	}
	mem_free(load);
}

bool
salvage_is_shared(const struct salvage *p, const struct salvage_dataset *d)
{
	for (uint32_t i = 0; i < d->nranks; i++) {
		size_t n = 0;

		for (const struct salvage_holder *h = d->ranks[i].holders;
		     h != NULL; h = h->next)
			n += !p->gone[h->node];
		if (n > 1)
			return true;
	}
	return false;
}

size_t
salvage_nodes(const struct salvage *p, const struct salvage_dataset *d,
	      uint32_t **nodes)
{
	bool *has = mem_calloc((size_t)p->nnodes + 1, sizeof(*has));
	size_t n = 0;

	*nodes = arena_alloc(p->arena, (size_t)p->nnodes + 1, sizeof(**nodes));
	for (uint32_t i = 0; i < d->nranks; i++)
		if (d->ranks[i].best != NULL)
			has[d->ranks[i].best->node] = true;
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (has[i])
			(*nodes)[n++] = i;
	mem_free(has);
	return n;
}

void
salvage_ranks(const struct salvage_dataset *d, uint32_t node, struct buf *out)
{
	const char *comma = "";

	for (uint32_t i = 0, end = 0; i < d->nranks; i = end) {
		end = i + 1;
		if (d->ranks[i].best == NULL || d->ranks[i].best->node != node)
			continue;
		while (end < d->nranks && d->ranks[end].best != NULL &&
		       d->ranks[end].best->node == node)
			end++;
		buf_printf(out, "%s%" PRIu32, comma, i);
		if (end - i > 1)
			buf_printf(out, "-%" PRIu32, end - 1);
		comma = ",";
	}
}

/* At most this many ranks are named in a message. */
#define RANKS_NAMED 12

/* A set member whose redundancy file some node has. */
struct seat {
	const struct nodecache_red *red;
	bool whole; /* its protected files are whole */
};

/* Has the prefix the files (`map`: the filemap) of the rank, or a cache all of
 * them? */
static bool
is_whole(const struct salvage_dataset *d, bool map, int64_t rank)
{
	const struct salvage_rank *r = NULL;

	if (rank < d->nhere && d->here[rank].whole)
		return true;
	if (rank >= d->nranks)
		return false;
	r = &d->ranks[rank];
	if (r->best == NULL ||
	    !(r->best->found.map || (!map && r->best->found.listed)))
		return false;
	return map || d->bypass || r->best->found.bad == 0;
}

/* Order by set, then by member. */
static int
by_seat(const void *a, const void *b)
{
	const struct nodecache_red *x = ((const struct seat *)a)->red;
	const struct nodecache_red *y = ((const struct seat *)b)->red;
	const uint32_t kx[] = { x->type, x->sets, x->set, x->members,
				x->member };
	const uint32_t ky[] = { y->type, y->sets, y->set, y->members,
				y->member };

	for (int i = 0; i < 5; i++)
		if (kx[i] != ky[i])
			return kx[i] < ky[i] ? -1 : 1;
	return 0;
}

/* Members of a set. */
struct tally {
	uint32_t missing;  /* their files or redundancy file are not whole */
	uint32_t nameless; /* no header names their files, nor the rank */
	bool lost;	   /* data cannot be computed */
};

/*
 * Solve the set of these `n` seats.  A set that cannot be solved is left to the
 * rebuild.
 */
static void
solve_seats(const struct salvage_dataset *d, bool map, const struct seat *s,
	    size_t n, struct tally *out)
{
	const struct nodecache_red *r = s[0].red;
	const struct redset_format *f = redset_format(r->type);
	const uint32_t failures = f->key != NULL ? r->failures : f->failures;
	struct {
		struct solve_range all; /* of its data */
		bool seat, whole;
	} *is = mem_calloc(r->members, sizeof(*is));
	struct solve_member *m = mem_calloc(r->members, sizeof(*m));
	const struct solve_set set = { r->type, r->members, failures, r->chunk,
				       m };
	struct solution solution = { .nlost = 0 };

	*out = (struct tally){ .missing = set.n };
	for (uint32_t i = 0; i < set.n; i++)
		m[i].body_lost = true;
	for (size_t i = 0; i < n; i++) {
		const struct nodecache_red *red = s[i].red;
		const uint32_t at = red->member - 1;
		const uint32_t left = (at + set.n - 1) % set.n;

		out->missing -= s[i].whole && !is[at].whole;
		is[at].whole |= s[i].whole;
		is[at].seat = true;
		m[at] = (struct solve_member){
			.bytes = red->bytes,
			.nlost = s[i].whole ? 0 : red->nlost,
			.lost = red->lost,
		};
		if (is[left].seat || red->left_rank < 0)
			continue;
		is[left].all.to = m[left].bytes = red->left;
		m[left].lost = &is[left].all;
		m[left].nlost =
			red->left > 0 && !is_whole(d, map, red->left_rank);
	}
	/* The files of a member are named in its header, and in those of its
	 * right neighbours. */
	for (uint32_t i = 0; i < set.n; i++) {
		bool named = is[i].seat;

		for (uint32_t k = 1; k <= failures && k < set.n; k++)
			named = named || is[(i + k) % set.n].seat;
		out->nameless += !named;
	}
	if (out->missing > 0 && solve(&set, &solution, NULL) == 0) {
		for (size_t i = 0; i < solution.nlost; i++)
			out->lost |= !solution.lost[i].body;
		solution_free(&solution);
	}
	mem_free(m);
	mem_free(is);
}

/* Returns why files, or with `map` filemaps, are lost.  NULL: all protected
 * files are whole, or may be rebuilt.  *lost: ranks with missing ones. */
static const char *
judge_kind(const struct salvage *p, const struct salvage_dataset *d, bool map,
	   uint32_t *lost)
{
	const uint32_t most = d->nranks > d->nhere ? d->nranks : d->nhere;
	struct seat *seats = mem_alloc((size_t)most + 1, sizeof(*seats));
	size_t nseats = 0;
	uint32_t alone = 0, covered = 0, named = 0;
	uint64_t members = 0;
	struct buf list = BUF_INIT;
	const char *why = NULL;

	for (uint32_t i = 0; i < most; i++) {
		const struct nodecache_red *red = NULL;

		/* Its redundancy file in a cache, or on the prefix. */
		if (i < d->nranks && d->ranks[i].best != NULL)
			red = map ? &d->ranks[i].best->found.mapred
				  : &d->ranks[i].best->found.red;
		if ((red == NULL || !red->there) && i < d->nhere)
			red = map ? &d->here[i].mapred : &d->here[i].red;
		if (red != NULL && red->there)
			seats[nseats++] =
				(struct seat){ red, is_whole(d, map, i) };
		else
			alone += is_whole(d, map, i);
	}
	for (int64_t i = 0; i < d->world; i++)
		*lost += !is_whole(d, map, i);
	if (*lost == 0)
		goto out;
	if (nseats > 0)
		qsort(seats, nseats, sizeof(*seats), by_seat);
	for (size_t i = 0, end = 0; i < nseats; i = end) {
		const struct nodecache_red *r = seats[i].red;
		struct tally t;

		for (end = i + 1; end < nseats; end++) {
			const struct nodecache_red *x = seats[end].red;

			if (x->type != r->type || x->sets != r->sets ||
			    x->set != r->set || x->members != r->members)
				break;
		}
		/* Names that claim more members than the job has ranks are
		 * wrong: leave the verdict to the rebuild. */
		members += r->members;
		if (members > (uint64_t)d->world)
			goto out;
		solve_seats(d, map, &seats[i], end - i, &t);
		/* Ranks without a redundancy file may be those that no header
		 * names. */
		if (t.lost || t.nameless > alone) {
			why = arena_printf(
				p->arena,
				"set %" PRIu32 " of %" PRIu32
				" (%s%s): %" PRIu32 " of %" PRIu32
				" members are missing",
				r->set, r->sets, redset_type_name(r->type),
				map ? ", filemaps" : "", t.missing, r->members);
			goto out;
		}
		covered += t.missing;
	}
	for (int64_t i = 0;
	     i < d->world && covered < *lost && named <= RANKS_NAMED; i++) {
		if (is_whole(d, map, i))
			continue;
		if (named++ < RANKS_NAMED)
			buf_printf(&list, " %" PRId64, i);
		else
			buf_add_str(&list, " ...");
	}
	if (covered < *lost)
		why = arena_printf(
			p->arena,
			"%s%s%s: no redundancy is left that could rebuild %s",
			*lost == 1 ? "rank" : "ranks", list.data,
			map ? " (filemaps)" : "",
			*lost == 1 ? "it" : "all of them");
	buf_free(&list);
out:
	mem_free(seats);
	return why;
}

void
scavenge_judge(struct salvage *p, struct salvage_dataset *d)
{
	const char *whys[2] = { NULL, NULL }; /* of data, of filemaps */

	d->state = SALVAGE_COMPLETE;
	/* Is it lost without a look at its sets? */
	d->why = d->world < 0 && d->nameless
			 ? "no filemap and no redundancy file is left that "
			   "names the files in the caches"
		 : d->world < 0 ? "no filemap and no redundancy file is left"
		 : d->astray	? "files that the job wrote to the prefix "
				  "itself are missing or damaged"
				: NULL;
	d->missing = 0;
	d->hidden = p->hidden;
	d->unplaced = d->nameless && !d->unread;
	for (int map = 1; map >= 0 && d->why == NULL; map--) {
		uint32_t lost = 0;

		whys[map] = judge_kind(p, d, map, &lost);
		if (lost > d->missing)
			d->missing = lost;
		if (lost > 0)
			d->state = SALVAGE_RECOVERABLE;
	}
	if (whys[1] != NULL && whys[0] == NULL && !d->unread) {
		d->unplaced = true;
		/* Only filemaps are lost. */
		whys[1] =
			arena_printf(p->arena,
				     "%s; the files can be had, but only "
				     "filemaps tell their places on the prefix",
				     whys[1]);
	}
	if (d->why == NULL)
		d->why = whys[1] != NULL ? whys[1] : whys[0];
	if (d->why != NULL)
		d->state = SALVAGE_LOST;
}
