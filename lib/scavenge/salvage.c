/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * salvage.c - collect what nodes have, and choose which node copies what.
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
