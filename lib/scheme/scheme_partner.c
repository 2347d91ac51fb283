/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme_partner.c - PARTNER: each member keeps one copy of the data of each of
 * its left neighbours; the number of replicas is the number of these neighbours
 * (scr-redset(5)).  And SINGLE, without redundancy: sets have one member, and
 * redundancy files have no body (scr-redset(5)).
 */
#include <string.h>

#include "arena.h"
#include "scheme/compute.h"
#include "scheme/scheme_impl.h"

static uint32_t
replicas(const struct solve_set *set)
{
	return set->failures < set->n ? set->failures : set->n - 1;
}

/* Where byte `off` of string d of member x is: its data (0), or copy d. */
static struct solve_ref
string_ref(const struct solve_set *set, uint32_t x, uint32_t d, uint64_t off)
{
	const uint32_t h = (x + d) % set->n;

	for (uint32_t e = 1; e < d; e++)
		off += set->member[(h + set->n - e) % set->n].bytes;
	return (struct solve_ref){ h, d > 0, off };
}

/*
 * Add a job for one range of member x's data, `lost` or not: restore its lost
 * strings from the first one that is left; or, to check, compare all that are
 * left.
 */
static int
solve_stretch(struct solving *w, uint32_t x, struct solve_range r, bool lost,
	      struct error *err)
{
	const struct solve_set *set = w->set;
	const uint32_t n = 1 + replicas(set);
	uint32_t gone = lost, source = 0;
	struct solve_ref *ref = NULL;
	struct solve_job *j = NULL;

	for (uint32_t d = 1; d < n; d++)
		gone += set->member[(x + d) % set->n].body_lost;
	if (r.to <= r.from || (gone == 0 && !(w->check && w->all)) ||
	    (w->check && n - gone < 2))
		return 0;
	for (uint32_t d = 0; gone == n && d < n; d++) {
		const struct solve_ref at = string_ref(set, x, d, r.from);

		if (solve_add_lost(w, &at, r.to - r.from, err) < 0)
			return -1;
	}
	if (gone == n)
		return 0;
	j = solve_add_job(w, 1, w->check ? n - gone - 1 : gone, err);
	if (j == NULL)
		return -1;
	j->stripe = x;
	j->from = r.from;
	j->len = r.to - r.from;
	while (source == 0 ? lost
			   : set->member[(x + source) % set->n].body_lost)
		source++;
	ref = j->in; /* out[] follows */
	*ref++ = string_ref(set, x, source, r.from);
	for (uint32_t d = 0; d < n; d++) {
		const bool is_gone =
			d == 0 ? lost : set->member[(x + d) % set->n].body_lost;

		if (d != source && is_gone != w->check)
			*ref++ = string_ref(set, x, d, r.from);
	}
	return 0;
}

static int
solve_partner(struct solving *w, struct error *err)
{
	for (uint32_t x = 0; x < w->set->n; x++) {
		const struct solve_member *m = &w->set->member[x];
		struct solve_range kept = { 0, m->bytes };

		for (size_t i = 0; i < m->nlost; i++) {
			kept.to = m->lost[i].from;
			if (solve_stretch(w, x, kept, false, err) < 0 ||
			    solve_stretch(w, x, m->lost[i], true, err) < 0)
				return -1;
			kept.from = m->lost[i].to;
		}
		kept.to = m->bytes;
		if (solve_stretch(w, x, kept, false, err) < 0)
			return -1;
	}
	return 0;
}

static uint32_t
spare(const struct solve_set *set)
{
	uint32_t r = replicas(set), least = UINT32_MAX;

	for (uint32_t x = 0; x < set->n; x++) {
		uint32_t copies = set->member[x].nlost == 0;

		for (uint32_t d = 1; d <= r; d++)
			copies += !set->member[(x + d) % set->n].body_lost;
		if (copies < least)
			least = copies;
	}
	return least > 0 && least != UINT32_MAX ? least - 1 : 0;
}

static const char *
explain(struct arena *a, const struct scheme_loss *l)
{
	return arena_printf(a,
			    "%zu of %u members (ranks %s) are missing: both a "
			    "rank and %s of its data",
			    l->count, l->members, l->ranks,
			    l->failures == 1 ? "the copy" : "every copy");
}

/* With more than one copy, the majority decides. */
static int
blame(const struct solve_set *s, const struct compute_block *b,
      const struct solve_ref **who, struct error *err)
{
	const struct solve_job *j = b->job;
	const unsigned char *data = compute_string(b, 0), *other = NULL;
	uint32_t differ = 0, first = 0;
	bool alike = true;

	(void)s;
	(void)err;
	if (j->nout < 2)
		return 0;
	for (uint32_t i = 0; i < j->nout; i++) {
		const unsigned char *copy = compute_string(b, 1 + i);

		if (memcmp(data, copy, b->len) == 0)
			continue;
		if (differ++ == 0) {
			first = i;
			other = copy;
		}
		alike &= memcmp(other, copy, b->len) == 0;
	}
	if (differ == j->nout && alike)
		*who = &j->in[0];
	else if (differ * 2 < j->nout + 1)
		*who = &j->out[first];
	return 0;
}

const struct scheme scheme_partner = {
	.label = "x",
	.label_from = 2,
	.apart = true,
	.solve = solve_partner,
	.spare = spare,
	.explain = explain,
	.blame = blame,
};

/* --- SINGLE --- */

static const char *
explain_single(struct arena *a, const struct scheme_loss *l)
{
	return arena_printf(a, "%s %s missing; SINGLE keeps no redundancy",
			    l->count == 1 ? "rank" : "ranks", l->ranks);
}

const struct scheme scheme_single = {
	.solve = solve_partner, /* with no copies */
	.spare = spare,
	.explain = explain_single,
};
