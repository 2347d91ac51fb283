/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_outvote.c - the headers of one set, and the filemaps of its ranks: one
 * of them that most others contradict is that of another dataset.
 */
#include <string.h>

#include "error.h"
#include "mem.h"
#include "rescue/plan_impl.h"

/* How far a filemap agrees with the list in a header. */
enum agreement { BY_NAME, BY_SIZE, BY_TIME };

/* Are the recorded times those of one version of a file?  Whole seconds: not
 * all file systems keep more. */
static bool
same_time(const struct attr *a, const struct attr *b)
{
	return !a->has_times || !b->has_times ||
	       (a->mtime.tv_sec <= b->mtime.tv_sec + 1 &&
		b->mtime.tv_sec <= a->mtime.tv_sec + 1);
}

static bool
map_names_list(const struct planner *w, const struct plan_rank *r,
	       const struct redset_member *l, enum agreement how)
{
	if (!r->map_known || r->composed || r->nfiles != l->nfiles)
		return false;
	for (size_t i = 0; i < l->nfiles; i++) {
		/* Mostly in reverse order. */
		const size_t guess = l->nfiles - 1 - i;
		size_t k = 0;

		for (; k < r->nfiles; k++) {
			const struct plan_file *f =
				&w->p.files[r->first_file +
					    (guess + k) % r->nfiles];

			if ((how < BY_SIZE ||
			     f->attr.size == l->files[i].attr.size) &&
			    (how < BY_TIME ||
			     same_time(&f->attr, &l->files[i].attr)) &&
			    strcmp(f->cache_path, l->files[i].path) == 0)
				break;
		}
		if (k == r->nfiles)
			return false;
	}
	return true;
}

bool
plan_map_has_list(const struct planner *w, const struct plan_rank *r,
		  const struct redset_member *l)
{
	return map_names_list(w, r, l, BY_SIZE);
}

/* --- Headers of one set --- */

static bool
same_list(const struct redset_member *a, const struct redset_member *b)
{
	if (a->nfiles != b->nfiles)
		return false;
	for (size_t i = 0; i < a->nfiles; i++)
		if (a->files[i].attr.size != b->files[i].attr.size ||
		    !same_time(&a->files[i].attr, &b->files[i].attr) ||
		    strcmp(a->files[i].path, b->files[i].path) != 0)
			return false;
	return true;
}

/* Count for each member the lists of its header that others contradict: their
 * own headers, and if there are any, the filemap of its rank. */
static void
count_disputes(const struct planner *w, const struct plan_set *s,
	       uint32_t *disputes)
{
	memset(disputes, 0, s->n * sizeof(*disputes));
	for (uint32_t i = 0; i < s->n; i++) {
		const struct redset_header *h = s->members[i].red->read;

		for (uint32_t d = 1;
		     h != NULL && d < s->n && d <= redset_neighbours(&h->desc);
		     d++) {
			const uint32_t j = redset_left(&h->desc, i, d);
			const struct redset_header *g = s->members[j].red->read;

			if (g == NULL || !h->members[j].known ||
			    same_list(&h->members[j], &g->members[j]))
				continue;
			disputes[i]++;
			disputes[j]++;
		}
	}
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		const struct plan_rank *r = plan_rank_of(&w->p, m);

		disputes[i] += disputes[i] > 0 && !s->map && r != NULL &&
			       r->map_known && !r->composed &&
			       !map_names_list(w, r, &m->red->read->members[i],
					       BY_TIME);
	}
}

int
plan_outvote_headers(const struct planner *w, struct plan_set *s,
		     struct error *err)
{
	uint32_t *disputes = mem_calloc(s->n, sizeof(*disputes));
	bool one = disputes != NULL;

	while (one) {
		uint32_t worst = 0;

		count_disputes(w, s, disputes);
		for (uint32_t i = 1; i < s->n; i++)
			if (disputes[i] > disputes[worst])
				worst = i;
		one = disputes[worst] > 0;
		for (uint32_t i = 0; i < s->n; i++)
			one = one &&
			      (i == worst || disputes[i] < disputes[worst]);
		if (!one)
			break;
		s->members[worst].state = RED_DAMAGED;
		s->members[worst].problem = "belongs to another dataset";
		s->members[worst].red->foreign = true;
		s->members[worst].red->read = NULL;
		s->members[worst].list.known = false;
	}
	mem_free(disputes);
	return disputes == NULL ? error_no_memory(err) : 0;
}

/* Is the filemap of a rank that of another member? */
static bool
is_misplaced(const struct planner *w, const struct plan_set *s,
	     const struct plan_rank *r)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].list.known &&
		    plan_map_has_list(w, r, &s->members[i].list))
			return true;
	return false;
}

bool
plan_outvote_maps(struct planner *w, const struct plan_set *s)
{
	uint32_t agree = 0, contradict = 0, misplaced = 0;

	/* First count, then forget. */
	for (uint32_t i = 0; i < 2 * s->n; i++) {
		const struct plan_member *m = &s->members[i % s->n];
		struct plan_rank *r = plan_rank_of(&w->p, m);

		if (i == s->n && (contradict + misplaced == 0 ||
				  agree + misplaced <= contradict))
			return false;
		if (r == NULL || !r->map_known || r->composed || !m->list.known)
			continue;
		if (map_names_list(w, r, &m->list, BY_NAME)) {
			agree += i < s->n;
		} else if (i >= s->n) {
			r->doubted = true;
			plan_owner_forget(w, m->rank);
		} else if (r->doubted) {
			return false; /* its own redundancy made it again */
		} else if (is_misplaced(w, s, r)) {
			misplaced++;
		} else {
			contradict++;
		}
	}
	plan_owner_sweep(w);
	return true;
}
