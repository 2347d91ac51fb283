/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_set.c - group redundancy files into sets by their names, and assign
 * ranks to sets.  The tolerance of a set that lacks nothing, from one header:
 * opening all headers would take two more files for each rank.  Instead, the
 * sizes and times of the other redundancy files are compared.  If one does not
 * fit, all headers of the set are read.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "container/segmap.h"
#include "dir.h"
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
	if (segmap_gone(m->red->segs, m->red->nsegs)) {
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
	    (*claim == set || present(s) * w->p.sets[*claim].n <=
				      present(&w->p.sets[*claim]) * s->n))
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
	if (!MEM_ROOM(w->p.sets, w->p.nsets, w->sets_cap))
		return error_no_memory_null(err);
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
		const struct red_entry *e = &w->reds[i],
				       *before = i > 0 ? e - 1 : e;
		struct plan_set *s = NULL;

		if (i == 0 || compare_set(&before->n, &e->n) != 0) {
			/* A crafted name must not make the plan allocate an
			 * unbounded number of members. */
			members += e->n.members;
			if (members > 64 * w->nreds + PLAN_SET_MAX)
				return error_set(err, ERROR_CORRUPT,
						 "%s: its set has far more "
						 "members than there are files",
						 e->name);
			if (before->n.map != e->n.map ||
			    before->n.type != e->n.type ||
			    before->n.sets != e->n.sets) {
				if (add_gone(w, first, err) < 0)
					return -1;
				first = w->p.nsets;
			}
			s = plan_push_set(w, err);
			if (s == NULL)
				return -1;
			if (e->n.members > PLAN_SET_MAX)
				return error_set(
					err, ERROR_CORRUPT,
					"%s: a set of %u members is too "
					"large for any job",
					e->name, e->n.members);
			s->map = e->n.map;
			s->type = e->n.type;
			s->number = e->n.set;
			s->sets = e->n.sets;
			s->n = e->n.members;
			if (plan_add_members(w, s, err) < 0)
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

#define SECOND INT64_C(1000000)

/* --- Does a set have losses? --- */

bool
plan_rank_lacks(const struct planner *w, const struct plan_member *m, bool map)
{
	const struct plan_rank *r = plan_rank_of(&w->p, m);

	if (r == NULL || (!r->map_known && !w->bare))
		return true;
	for (size_t i = 0; !map && i < r->nfiles; i++)
		if (plan_file_lost(&w->p.files[r->first_file + i]))
			return true;
	return false;
}

bool
plan_set_lacks(const struct planner *w, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		/* The list of a filemap that is made again is needed, too. */
		if (m->state == RED_MISSING || m->state == RED_DAMAGED ||
		    plan_rank_lacks(w, m, s->map) ||
		    w->p.ranks[m->rank].composed ||
		    (!s->map && w->p.ranks[m->rank].map.fate == FATE_REBUILD))
			return true;
	}
	return false;
}

/* Are size and time of the redundancy file plausible?  It must have room for a
 * header and its `body`, and not be older than the dataset.  The headers of a
 * set differ little in size. */
static bool
fits(const struct planner *w, const struct plan_set *s,
     const struct plan_member *m, uint64_t body)
{
	const uint64_t header = s->members[0].red->body_start;
	struct stat st;

	if (m->red->report != NULL || m->red->nsegs > 0)
		return true;
	return dir_stat(w->p.places[m->place].meta_fd, m->name, &st,
			AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size >= body + header - header / 4 &&
	       (!w->owner.known ||
		st.st_mtim.tv_sec >= w->owner.floor / SECOND);
}

/* Read a header of a set that lacks nothing.  s->sampled: the filemaps confirm
 * it, and everything fits. */
static int
sample_set(struct planner *w, struct plan_set *s, struct arena *arena,
	   struct error *err)
{
	const struct plan_member *m = &s->members[0];
	const struct redset_header *h = NULL;
	struct redset_table table = { .arena = arena };
	struct redset_member *all = NULL;
	struct solve_member *none = NULL;
	struct solve_set whole;
	uint32_t known = 0;
	uint64_t body = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].state != RED_UNCHECKED)
			return 0;
	if (plan_read_header(w, s, 0, &table, err) < 0)
		return -1;
	plan_owner_set(w, s);
	s->foreign = false; /* all headers together decide */
	if (m->state != RED_PRESENT)
		return 0;
	h = m->red->read;
	s->failures = h->desc.failures;
	s->chunk = h->chunk;
	/* What the filemaps and this header tell about all members. */
	all = arena_alloc(arena, s->n, sizeof(*all));
	none = arena_alloc(arena, s->n, sizeof(*none));
	if (all == NULL || none == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_rank *r = &w->p.ranks[s->members[i].rank];

		known += h->members[i].known;
		all[i].desc = h->desc;
		all[i].desc.member = i;
		all[i].known = true;
		for (size_t k = 0; !s->map && k < r->nfiles; k++)
			all[i].bytes += w->p.files[r->first_file + k].attr.size;
	}
	s->sampled = h->desc.ranks == w->p.nranks &&
		     plan_confirmed(w, s, h, PLAN_BY_TIME) == known &&
		     redset_body_size(all, s->chunk, 0, &body, NULL) == 0 &&
		     m->file_size >= m->red->body_start + body;
	for (uint32_t i = 1; s->sampled && i < s->n; i++)
		s->sampled =
			redset_body_size(all, s->chunk, i, &body, NULL) == 0 &&
			fits(w, s, &s->members[i], body);
	whole = plan_solve_of(s, none);
	if (s->sampled)
		s->spare = scheme_of(s->type)->spare(&whole);
	return 0;
}

int
plan_sample_sets(struct planner *w, size_t *sets, size_t *count,
		 struct error *err)
{
	size_t *whole = mem_alloc(*count + 1, sizeof(*whole));
	size_t n = 0, kept = 0;
	int rc = 0;

	if (whole == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < *count; i++)
		if (plan_set_lacks(w, &w->p.sets[sets[i]]))
			sets[kept++] = sets[i];
		else
			whole[n++] = sets[i];
	rc = plan_each_set(w, whole, n, sample_set, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (!w->p.sets[whole[i]].sampled)
			sets[kept++] = whole[i];
	mem_free(whole);
	*count = kept;
	return rc;
}
