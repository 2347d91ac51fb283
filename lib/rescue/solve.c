/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.c - from losses to jobs, for PARTNER (formats.md 5.5) and for the
 * codes (5.6, 5.7).
 */
#include "rescue/solve.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "encode/code.h"
#include "error.h"
#include "mem.h"

/* What is being filled in. */
struct work {
	const struct solve_set *set;
	struct solution *out;
	size_t jobs_cap, lost_cap, recipes_cap;
	uint64_t *cuts; /* of one stripe */
	size_t cuts_cap;
};

static struct solve_job *
add_job(struct work *w, uint64_t len, uint32_t nin, uint32_t nout,
	struct error *err)
{
	struct solution *s = w->out;
	struct solve_ref *refs = NULL;
	struct solve_job *j = NULL;

	refs = arena_alloc(s->arena, (size_t)nin + nout, sizeof(*refs));
	if (refs == NULL || !MEM_ROOM(s->jobs, s->njobs, w->jobs_cap)) {
		error_no_memory(err);
		return NULL;
	}
	j = &s->jobs[s->njobs++];
	j->recipe = NULL;
	j->len = len;
	j->nin = nin;
	j->nout = nout;
	j->in = refs;
	j->out = refs + nin;
	return j;
}

/* The refs of a job under construction; const only for readers. */
static struct solve_ref *
job_ref(const struct solve_job *j, uint32_t i)
{
	return (struct solve_ref *)(uintptr_t)j->in + i;
}

static int
add_lost(struct work *w, uint32_t member, bool body, uint64_t from, uint64_t to,
	 struct error *err)
{
	struct solution *s = w->out;

	if (s->nlost > 0) { /* perhaps it goes on where the last one ends */
		struct solve_lost *last = s->lost + s->nlost - 1;

		if (last->member == member && last->body == body &&
		    last->range.to == from) {
			last->range.to = to;
			return 0;
		}
	}
	if (!MEM_ROOM(s->lost, s->nlost, w->lost_cap))
		return error_no_memory(err);
	s->lost[s->nlost++] = (struct solve_lost){
		.member = member,
		.body = body,
		.range = { .from = from, .to = to },
	};
	return 0;
}

/* First lost range of `m` that ends behind `off`. */
static size_t
range_after(const struct solve_member *m, uint64_t off)
{
	size_t lo = 0, hi = m->nlost;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->lost[mid].to > off)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* --- PARTNER --- */

/* Where the copy of member (holder - d)'s data starts in the holder's body. */
static uint64_t
copy_offset(const struct solve_set *set, uint32_t holder, uint32_t d)
{
	uint64_t off = 0;

	for (uint32_t e = 1; e < d; e++)
		off += set->member[(holder + set->n - e) % set->n].bytes;
	return off;
}

static uint32_t
replicas(const struct solve_set *set)
{
	return set->failures < set->n ? set->failures : set->n - 1;
}

/* One stretch of member x's data, lost or there, towards all its lost
 * copies. */
static int
partner_stretch(struct work *w, uint32_t x, uint64_t from, uint64_t to,
		bool lost, struct error *err)
{
	const struct solve_set *set = w->set;
	uint32_t r = replicas(set), nout = lost ? 1 : 0, source = 0, i = 1;
	struct solve_job *j = NULL;

	if (to <= from)
		return 0;
	for (uint32_t d = 1; d <= r; d++) {
		if (set->member[(x + d) % set->n].body_lost)
			nout++;
		else if (source == 0)
			source = d;
	}
	if (nout == 0)
		return 0;
	if (lost && source == 0) {
		if (add_lost(w, x, false, from, to, err) < 0)
			return -1;
		for (uint32_t d = 1; d <= r; d++) {
			uint32_t h = (x + d) % set->n;
			uint64_t at = copy_offset(set, h, d);

			if (add_lost(w, h, true, at + from, at + to, err) < 0)
				return -1;
		}
		return 0;
	}
	j = add_job(w, to - from, 1, nout, err);
	if (j == NULL)
		return -1;
	if (lost) {
		uint32_t h = (x + source) % set->n;

		*job_ref(j, 0) = (struct solve_ref){
			h, true, copy_offset(set, h, source) + from
		};
		*job_ref(j, i++) = (struct solve_ref){ x, false, from };
	} else {
		*job_ref(j, 0) = (struct solve_ref){ x, false, from };
	}
	for (uint32_t d = 1; d <= r; d++) {
		uint32_t h = (x + d) % set->n;

		if (set->member[h].body_lost)
			*job_ref(j, i++) = (struct solve_ref){
				h, true, copy_offset(set, h, d) + from
			};
	}
	return 0;
}

static int
solve_partner(struct work *w, struct error *err)
{
	for (uint32_t x = 0; x < w->set->n; x++) {
		const struct solve_member *m = &w->set->member[x];
		uint64_t at = 0;

		for (size_t i = 0; i < m->nlost; i++) {
			const struct solve_range *l = &m->lost[i];

			if (partner_stretch(w, x, at, l->from, false, err) <
				    0 ||
			    partner_stretch(w, x, l->from, l->to, true, err) <
				    0)
				return -1;
			at = l->to;
		}
		if (partner_stretch(w, x, at, m->bytes, false, err) < 0)
			return -1;
	}
	return 0;
}

/* --- XOR and RS --- */

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int
add_cut(struct work *w, size_t *count, uint64_t at, struct error *err)
{
	if (!MEM_ROOM(w->cuts, *count, w->cuts_cap))
		return error_no_memory(err);
	w->cuts[(*count)++] = at;
	return 0;
}

/* Positions of the stripe at which what is lost changes, ascending, 0 and the
 * chunk size included. */
static int
cut_stripe(struct work *w, const struct code *c, unsigned stripe, size_t *count,
	   struct error *err)
{
	const struct solve_set *set = w->set;
	size_t n = 0, kept = 1;

	if (add_cut(w, &n, 0, err) < 0 || add_cut(w, &n, set->chunk, err) < 0)
		return -1;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct solve_member *m = &set->member[i];
		struct code_slot slot = code_slot(c, i, stripe);
		uint64_t base = slot.index * set->chunk;

		if (slot.check || m->nlost == 0)
			continue;
		for (size_t r = range_after(m, base);
		     r < m->nlost && m->lost[r].from < base + set->chunk; r++) {
			if (m->lost[r].from > base &&
			    add_cut(w, &n, m->lost[r].from - base, err) < 0)
				return -1;
			if (m->lost[r].to < base + set->chunk &&
			    add_cut(w, &n, m->lost[r].to - base, err) < 0)
				return -1;
		}
	}
	qsort(w->cuts, n, sizeof(*w->cuts), compare_u64);
	for (size_t i = 1; i < n; i++)
		if (w->cuts[i] != w->cuts[kept - 1])
			w->cuts[kept++] = w->cuts[i];
	*count = kept;
	return 0;
}

/* Which members' chunks of the stripe are lost between from and the next
 * cut?  Returns how many. */
static unsigned
lost_at(const struct solve_set *set, const struct code *c, unsigned stripe,
	uint64_t from, bool *lost)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		const struct solve_member *m = &set->member[i];
		struct code_slot slot = code_slot(c, i, stripe);

		if (slot.check) {
			lost[i] = m->body_lost;
		} else if (m->nlost == 0) {
			lost[i] = false;
		} else {
			uint64_t at = slot.index * set->chunk + from;
			size_t r = range_after(m, at);

			lost[i] = r < m->nlost && m->lost[r].from <= at;
		}
		count += lost[i];
	}
	return count;
}

static int
code_lost(struct work *w, const struct code *c, unsigned stripe,
	  const bool *lost, uint64_t from, uint64_t to, struct error *err)
{
	for (uint32_t i = 0; i < w->set->n; i++) {
		struct code_slot slot = code_slot(c, i, stripe);
		uint64_t base = slot.index * w->set->chunk;

		if (lost[i] &&
		    add_lost(w, i, slot.check, base + from, base + to, err) < 0)
			return -1;
	}
	return 0;
}

static int
code_job(struct work *w, const struct code *c, unsigned stripe,
	 const struct recipe *r, uint64_t from, uint64_t to, struct error *err)
{
	struct solve_job *j = add_job(w, to - from, r->nin, r->nout, err);

	if (j == NULL)
		return -1;
	j->recipe = r;
	for (unsigned i = 0; i < r->nin + r->nout; i++) {
		unsigned m = i < r->nin ? r->in[i] : r->out[i - r->nin];
		struct code_slot slot = code_slot(c, m, stripe);

		*job_ref(j, i) =
			(struct solve_ref){ m, slot.check,
					    slot.index * w->set->chunk + from };
	}
	return 0;
}

static int
solve_stripe(struct work *w, const struct code *c, unsigned stripe,
	     struct error *err)
{
	bool lost[CODE_MAX] = { false }, before[CODE_MAX] = { false };
	struct recipe *r = NULL;
	size_t ncuts = 0;

	if (cut_stripe(w, c, stripe, &ncuts, err) < 0)
		return -1;
	for (size_t i = 0; i + 1 < ncuts; i++) {
		uint64_t from = w->cuts[i], to = w->cuts[i + 1];
		unsigned count = lost_at(w->set, c, stripe, from, lost);

		if (count == 0)
			continue;
		if (count > c->k) {
			if (code_lost(w, c, stripe, lost, from, to, err) < 0)
				return -1;
			continue;
		}
		/* Neighbouring stretches mostly lack the same members. */
		if (r == NULL || memcmp(lost, before, w->set->n) != 0) {
			if (!MEM_ROOM(w->out->recipes, w->out->nrecipes,
				      w->recipes_cap))
				return error_no_memory(err);
			r = recipe_new(c, stripe, lost, err);
			if (r == NULL)
				return -1;
			w->out->recipes[w->out->nrecipes++] = r;
			memcpy(before, lost, w->set->n);
		}
		if (code_job(w, c, stripe, r, from, to, err) < 0)
			return -1;
	}
	return 0;
}

static int
solve_code(struct work *w, struct error *err)
{
	const struct code c = {
		.type = w->set->type == REDSET_RS ? CODE_RS : CODE_XOR,
		.n = w->set->n,
		.k = w->set->failures,
	};

	if (code_check(&c, err) < 0)
		return -1;
	for (unsigned s = 0; s < c.n; s++)
		if (solve_stripe(w, &c, s, err) < 0)
			return -1;
	return 0;
}

/* --- All --- */

/* SINGLE keeps nothing but the data itself, and a body of no bytes. */
static int
solve_single(struct work *w, struct error *err)
{
	for (uint32_t i = 0; i < w->set->n; i++) {
		const struct solve_member *m = &w->set->member[i];

		for (size_t r = 0; r < m->nlost; r++)
			if (add_lost(w, i, false, m->lost[r].from,
				     m->lost[r].to, err) < 0)
				return -1;
	}
	return 0;
}

int
solve(const struct solve_set *set, struct solution *out, struct error *err)
{
	struct work w = { .set = set, .out = out };
	int rc = -1;

	*out = (struct solution){ .njobs = 0 };
	out->arena = arena_new();
	if (out->arena == NULL)
		return error_no_memory(err);
	switch (set->type) {
	case REDSET_PARTNER:
		rc = solve_partner(&w, err);
		break;
	case REDSET_XOR:
	case REDSET_RS:
		rc = solve_code(&w, err);
		break;
	default:
		rc = solve_single(&w, err);
	}
	mem_free(w.cuts);
	if (rc < 0)
		solution_free(out);
	return rc;
}

void
solution_free(struct solution *s)
{
	for (size_t i = 0; i < s->nrecipes; i++)
		recipe_free(s->recipes[i]);
	mem_free(s->recipes);
	mem_free(s->lost);
	mem_free(s->jobs);
	arena_free(s->arena);
	*s = (struct solution){ .njobs = 0 };
}

static uint32_t
spare_partner(const struct solve_set *set)
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

uint32_t
solve_spare(const struct solve_set *set)
{
	uint32_t missing = 0;

	if (set->type == REDSET_SINGLE)
		return 0;
	if (set->type == REDSET_PARTNER)
		return spare_partner(set);
	for (uint32_t i = 0; i < set->n; i++)
		missing += set->member[i].body_lost || set->member[i].nlost > 0;
	return missing < set->failures ? set->failures - missing : 0;
}
