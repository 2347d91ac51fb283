/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_packed_spare.c - how many containers a packed dataset can lose.
 */
#include "mem.h"
#include "rescue/plan_packed_impl.h"

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
	const struct plan_packed *k;
	struct share *shares; /* by container: of data, then of redundancy */
	bool *critical;	      /* by container of data */
	uint32_t spare;	      /* of the set being counted */
	uint32_t most;	      /* members of this set in one container */
};

/* Count segment `s` of view `v`, which belongs to a member of a set. */
static void
count_seg(struct counting *c, const struct plan_view *v,
	  const struct plan_seg *s, size_t set, uint32_t member)
{
	const bool data = v == &c->k->data;
	const size_t at = v->map->segs[s - v->segs].container;
	struct share *to =
		&c->shares[at + (data ? 0 : c->k->data.map->ncontainers)];

	if (to->set != set + 1)
		*to = (struct share){ .set = set + 1 };
	to->members += to->last != member + 1;
	to->last = member + 1;
	to->data += data && to->last_data != member + 1;
	to->last_data = data ? member + 1 : to->last_data;
	if (to->members > c->most)
		c->most = to->members;
	if (to->data > c->spare)
		c->critical[at] = true;
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
			count_seg(c, &c->k->data, &f->segs[k], set, member);
	}
}

/*
 * Returns the number of containers that set `i` can lose, whichever they are,
 * if none is critical.  This is at least one, as a container of redundancy
 * holds no data.
 */
static size_t
count_set(struct counting *c, size_t i, bool rebuilt)
{
	const struct plan_set *s = &c->p->sets[i];

	c->most = 0;
	c->spare = s->verdict == SET_LOST ? 0
		   : rebuilt		  ? s->failures
					  : s->spare;
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_red *red = s->members[m].red;

		count_rank(c, s->members[m].rank, i, m);
		for (size_t k = 0; k < red->nsegs; k++)
			count_seg(c, &c->k->red, &red->segs[k], i, m);
	}
	if (c->most == 0)
		return SIZE_MAX;
	return c->spare / c->most > 1 ? c->spare / c->most : 1;
}

/* Data of ranks in no set cannot be computed. */
static void
count_others(struct counting *c)
{
	c->spare = 0;
	for (int64_t i = 0; i < c->p->nranks; i++)
		if (c->p->ranks[i].data_set == PLAN_NONE)
			count_rank(c, (uint32_t)i, c->p->nsets + (size_t)i, 0);
}

size_t
plan_container_spare(const struct plan *p, bool rebuilt, size_t *critical)
{
	const struct plan_packed *k = plan_containers(p);
	struct counting c = { .p = p, .k = k };
	size_t least = SIZE_MAX, n = 0;

	*critical = 0;
	if (k == NULL)
		return 0;
	c.shares = mem_calloc(k->data.map->ncontainers +
				      k->red.map->ncontainers + 1,
			      sizeof(*c.shares));
	c.critical =
		mem_calloc(k->data.map->ncontainers + 1, sizeof(*c.critical));
	for (size_t i = 0;
	     i < p->nsets && c.critical != NULL && c.shares != NULL; i++) {
		if (p->sets[i].map ||
		    (!p->sets[i].opened && !p->sets[i].sampled))
			continue;
		n = count_set(&c, i, rebuilt);
		least = n < least ? n : least;
	}
	if (c.shares != NULL && c.critical != NULL)
		count_others(&c);
	else
		least = 0;
	for (size_t i = 0; i < k->data.map->ncontainers && c.critical; i++)
		*critical += c.critical[i];
	mem_free(c.shares);
	mem_free(c.critical);
	return *critical > 0 || least == SIZE_MAX ? 0 : least;
}
