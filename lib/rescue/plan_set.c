/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_set.c - group redundancy files into sets by their names, and assign
 * ranks to sets.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "rescue/plan_impl.h"

/* --- Names to sets --- */

/* Order by set: 0 if both names belong to the same set. */
static int
compare_set(const struct redset_name *a, const struct redset_name *b)
{
	const uint32_t x[] = { !a->map, a->type, a->sets, a->set, a->members };
	const uint32_t y[] = { !b->map, b->type, b->sets, b->set, b->members };

	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static int
compare_red(const void *x, const void *y)
{
	const struct red_entry *a = x, *b = y;
	int c = compare_set(&a->n, &b->n);

	if (c == 0 && a->n.member != b->n.member)
		c = a->n.member < b->n.member ? -1 : 1;
	if (c == 0 && a->place != b->place)
		c = a->place < b->place ? -1 : 1;
	return c ? c : strcmp(a->name, b->name);
}

int
plan_add_members(struct planner *w, struct plan_set *s, struct error *err)
{
	struct plan_red *red = arena_alloc(w->p.arena, s->n, sizeof(*red));

	s->members = arena_alloc(w->p.arena, s->n, sizeof(*s->members));
	if (s->members == NULL || red == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		s->members[i].rank = PLAN_NONE;
		s->members[i].state = RED_MISSING;
		s->members[i].red = &red[i];
	}
	return 0;
}

static int
start_set(struct planner *w, struct plan_set *s, const struct red_entry *e,
	  struct error *err)
{
	if (e->n.members > PLAN_SET_MAX)
		return error_set(
			err, ERROR_CORRUPT,
			"%s: a set of %u members is too large for any job",
			e->name, e->n.members);
	*s = (struct plan_set){
		.map = e->n.map,
		.type = e->n.type,
		.number = e->n.set,
		.sets = e->n.sets,
		.n = e->n.members,
	};
	return plan_add_members(w, s, err);
}

static int
add_member(struct planner *w, struct plan_set *s, const struct red_entry *e,
	   struct error *err)
{
	struct plan_member *m = &s->members[e->n.member - 1];

	if (m->name != NULL)
		return 0; /* present in another place already */
	if (plan_need_ranks(w, (int64_t)e->n.rank + 1, err) < 0)
		return -1;
	m->rank = e->n.rank;
	m->name = e->name;
	m->place = e->place;
	m->state = e->absent ? RED_MISSING : RED_UNCHECKED;
	m->red->report = e->report;
	plan_hidden_red(&w->p, e->hidden, m->red);
	if (!plan_segs_good(m->red->segs, m->red->nsegs)) {
		m->state = RED_DAMAGED;
		m->problem = "its container is damaged";
	}
	return 0;
}

static uint64_t
present(const struct plan_set *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->members[i].state != RED_MISSING;
	return n;
}

/* Does `a` have a larger share of its members' files than `b`? */
static bool
more_is_left(const struct plan_set *a, const struct plan_set *b)
{
	return present(a) * b->n > present(b) * a->n;
}

/*
 * Redundancy files of an older attempt, with other sets, may lie beside newer
 * ones.  So a rank belongs to the set with the larger share of present
 * redundancy files; if the shares are equal, to the first set.
 */
void
plan_claim_rank(struct planner *w, uint32_t set, uint32_t member)
{
	const struct plan_set *s = &w->p.sets[set];
	struct plan_rank *r = plan_rank_of(&w->p, &s->members[member]);
	uint32_t *claim = NULL;

	if (r == NULL)
		return;
	claim = s->map ? &r->map_set : &r->data_set;
	if (*claim != PLAN_NONE &&
	    (*claim == set || !more_is_left(s, &w->p.sets[*claim])))
		return;
	*claim = set;
	*(s->map ? &r->map_member : &r->data_member) = member;
}

void
plan_claim_ranks(struct planner *w)
{
	for (size_t i = 0; i < w->ranks_cap; i++)
		w->p.ranks[i].data_set = w->p.ranks[i].map_set = PLAN_NONE;
	for (size_t i = 0; i < w->p.nsets; i++)
		for (uint32_t m = 0; m < w->p.sets[i].n; m++)
			plan_claim_rank(w, (uint32_t)i, m);
}

struct plan_set *
plan_push_set(struct planner *w, struct error *err)
{
	if (!MEM_ROOM(w->p.sets, w->p.nsets, w->sets_cap)) {
		error_no_memory(err);
		return NULL;
	}
	memset(&w->p.sets[w->p.nsets], 0, sizeof(*w->p.sets));
	return &w->p.sets[w->p.nsets++];
}

/*
 * The names contain the number of sets.  Add the sets without any remaining
 * file, as sets without members.  The sets of this kind are those from `first`
 * to the end, sorted by number.
 */
static int
add_gone(struct planner *w, size_t first, struct error *err)
{
	size_t end = w->p.nsets, gone = 0;
	struct plan_set like = w->p.sets[first];
	uint32_t next = 1;

	if (w->by_hand)
		return 0;

	for (size_t i = first; i <= end; i++) {
		uint32_t upto = i < end ? w->p.sets[i].number : like.sets + 1;

		for (; next < upto && gone < PLAN_GONE_MAX; next++, gone++) {
			struct plan_set *s = plan_push_set(w, err);

			if (s == NULL)
				return -1;
			s->map = like.map;
			s->type = like.type;
			s->sets = like.sets;
			s->number = next;
		}
		next = upto + 1;
	}
	return 0;
}

static bool
same_kind(const struct redset_name *a, const struct redset_name *b)
{
	return a->map == b->map && a->type == b->type && a->sets == b->sets;
}

/* Start the set of entry i.  If entry i is the first one of a new kind of sets,
 * first complete the previous kind (add_gone()). */
static int
next_set(struct planner *w, size_t i, size_t *first, struct error *err)
{
	const struct red_entry *e = &w->reds[i];
	struct plan_set *s = NULL;

	if (i > 0 && !same_kind(&w->reds[i - 1].n, &e->n)) {
		if (add_gone(w, *first, err) < 0)
			return -1;
		*first = w->p.nsets;
	}
	s = plan_push_set(w, err);
	return s == NULL ? -1 : start_set(w, s, e, err);
}

bool
plan_concerns(const struct planner *w, const struct plan_rank *r)
{
	if (!w->by_hand)
		return true;
	return (w->maps_only ? r->map_set : r->data_set) != PLAN_NONE;
}

int
plan_make_sets(struct planner *w, struct error *err)
{
	size_t first = 0, members = 0;

	if (w->nreds == 0)
		return 0;
	qsort(w->reds, w->nreds, sizeof(*w->reds), compare_red);
	for (size_t i = 0; i < w->nreds; i++) {
		const struct red_entry *e = &w->reds[i];

		if (i == 0 || compare_set(&w->reds[i - 1].n, &e->n) != 0) {
			/* A crafted name must not make the plan allocate an
			 * unbounded number of members. */
			members += e->n.members;
			if (members > 64 * w->nreds + PLAN_SET_MAX)
				return error_set(err, ERROR_CORRUPT,
						 "%s: its set has far more "
						 "members than there are files",
						 e->name);
			if (next_set(w, i, &first, err) < 0)
				return -1;
		}
		if (add_member(w, &w->p.sets[w->p.nsets - 1], e, err) < 0)
			return -1;
	}
	if (add_gone(w, first, err) < 0)
		return -1;
	plan_claim_ranks(w);
	return 0;
}

/* --- Ranks without a set --- */

/* A set without remaining files is lost if a rank that may have been a member
 * of it has missing files.  Otherwise the set is not needed. */
static void
judge_gone(struct planner *w, bool map, bool matters)
{
	for (size_t i = 0; i < w->p.nsets; i++) {
		struct plan_set *s = &w->p.sets[i];

		if (s->n > 0 || s->map != map)
			continue;
		s->verdict = matters ? SET_LOST : SET_WHOLE;
		s->reason = matters ? "no redundancy file of it survived"
				    : "no redundancy file of it is left";
	}
}

void
plan_set_fates(struct planner *w)
{
	bool map_lost = false, data_lost = false;

	for (int64_t i = 0; i < w->p.nranks; i++) {
		struct plan_rank *r = &w->p.ranks[i];

		if (!plan_concerns(w, r))
			continue;
		if (!r->map_known && !w->bare &&
		    !(w->reported && r->map.fate == FATE_REBUILD))
			r->map.fate = FATE_LOST;
		map_lost |= (!r->map_known || r->unplaced) &&
			    r->map_set == PLAN_NONE;
		data_lost |= !r->map_known && r->data_set == PLAN_NONE;
		for (size_t f = 0; f < r->nfiles; f++) {
			struct plan_file *pf = &w->p.files[r->first_file + f];

			if (!plan_file_lost(pf))
				continue;
			/* The file is in no set, or its set does not list
			 * it. */
			if (pf->fate == FATE_KEEP)
				pf->fate = FATE_LOST;
			data_lost |= r->data_set == PLAN_NONE;
		}
	}
	judge_gone(w, true, map_lost);
	judge_gone(w, false, data_lost);
}
