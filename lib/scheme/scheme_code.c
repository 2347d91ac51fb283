/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme_code.c - XOR and RS: erasure codes over the data of all members
 * (scr-redset(5); encode/code.h).
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "encode/code.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "scheme/compute.h"
#include "scheme/scheme_impl.h"

static struct code
code_of(enum redset_type type, uint32_t members, uint32_t failures)
{
	return (struct code){
		.type = type == REDSET_XOR ? CODE_XOR : CODE_RS,
		.n = members,
		.k = failures,
	};
}

/* --- Solving --- */

/* The stripe that is being solved. */
struct striping {
	struct solving *w;
	const struct solve_set *set;
	struct code c;
	unsigned stripe;
	uint32_t *damaged; /* members that have lost anything */
	uint32_t ndamaged;
	/* Positions in the stripe between which the same chunks are lost:
	 * ascending, including 0 and the chunk size. */
	uint64_t *cuts;
	size_t ncuts;
	/* The last recipe, and the chunks that it computes; NULL: none. */
	const struct recipe *recipe;
	bool lost[CODE_MAX];
};

/* Index of the first lost range of `m` that ends after `off`. */
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

/* Where position `off` of member m's chunk of the stripe is. */
static struct solve_ref
chunk_ref(const struct striping *s, unsigned m, uint64_t off)
{
	const struct code_slot slot = code_slot(&s->c, m, s->stripe);

	return (struct solve_ref){ m, slot.check,
				   slot.index * s->set->chunk + off };
}

static void
cut_stripe(struct striping *s)
{
	const uint64_t chunk = s->set->chunk;
	size_t kept = 1;

	s->cuts[0] = 0;
	s->cuts[1] = chunk;
	s->ncuts = 2;
	for (uint32_t i = 0; i < s->ndamaged; i++) {
		const struct solve_member *m = &s->set->member[s->damaged[i]];
		const struct solve_ref at = chunk_ref(s, s->damaged[i], 0);

		if (at.body)
			continue;
		for (size_t r = range_after(m, at.off);
		     r < m->nlost && m->lost[r].from < at.off + chunk; r++) {
			if (m->lost[r].from > at.off)
				s->cuts[s->ncuts++] = m->lost[r].from - at.off;
			if (m->lost[r].to < at.off + chunk)
				s->cuts[s->ncuts++] = m->lost[r].to - at.off;
		}
	}
	qsort(s->cuts, s->ncuts, sizeof(*s->cuts), num_by_u64);
	for (size_t i = 1; i < s->ncuts; i++)
		if (s->cuts[i] != s->cuts[kept - 1])
			s->cuts[kept++] = s->cuts[i];
	s->ncuts = kept;
}

/* Set lost[i] of each damaged member: is its chunk lost between `from` and the
 * next cut?  Returns the number of lost chunks. */
static unsigned
lost_at(const struct striping *s, uint64_t from, bool *lost)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < s->ndamaged; i++) {
		const uint32_t at = s->damaged[i];
		const struct solve_member *m = &s->set->member[at];
		const struct solve_ref ref = chunk_ref(s, at, from);

		if (ref.body) {
			lost[at] = m->body_lost;
		} else {
			size_t r = range_after(m, ref.off);

			lost[at] = r < m->nlost && m->lost[r].from <= ref.off;
		}
		count += lost[at];
	}
	return count;
}

/* A recipe that computes the chunks that are left from n - k of them: data
 * before check chunks. */
static struct recipe *
check_recipe(const struct striping *s, const bool *lost, struct error *err)
{
	const unsigned need = code_data_chunks(&s->c);
	unsigned char in[CODE_MAX], out[CODE_MAX];
	unsigned nin = 0, nout = 0, checks = need;

	for (unsigned m = 0; m < s->c.n; m++)
		checks -= !lost[m] && !code_slot(&s->c, m, s->stripe).check;
	for (unsigned m = 0; m < s->c.n; m++) {
		if (lost[m])
			continue;
		if (!code_slot(&s->c, m, s->stripe).check ||
		    (checks > 0 && checks-- > 0))
			in[nin++] = (unsigned char)m;
		else
			out[nout++] = (unsigned char)m;
	}
	return recipe_from(&s->c, s->stripe,
			   &(struct recipe_members){ in, nin, out, nout }, err);
}

static int
solve_stripe(struct striping *s, struct error *err)
{
	bool lost[CODE_MAX] = { false };
	const struct recipe *r = NULL;
	struct recipe *made = NULL;
	struct solve_job *j = NULL;

	/* XOR: the sum of all others is the same in any stripe. */
	if (s->c.type != CODE_XOR || s->w->check)
		s->recipe = NULL;
	cut_stripe(s);
	for (size_t i = 0; i + 1 < s->ncuts; i++) {
		uint64_t from = s->cuts[i], to = s->cuts[i + 1];
		unsigned count = lost_at(s, from, lost);

		if (s->w->check ? count >= s->c.k : count == 0)
			continue;
		for (uint32_t m = 0; count > s->c.k && m < s->ndamaged; m++) {
			const struct solve_ref at =
				chunk_ref(s, s->damaged[m], from);

			if (lost[at.member] &&
			    solve_add_lost(s->w, &at, to - from, err) < 0)
				return -1;
		}
		if (count > s->c.k)
			continue;
		/* Adjacent ranges mostly have lost the same members: then the
		 * last recipe serves. */
		if (s->recipe == NULL ||
		    memcmp(lost, s->lost, s->set->n) != 0) {
			made = s->w->check ? check_recipe(s, lost, err)
					   : recipe_new(&s->c, s->stripe, lost,
							err);
			if (solve_keep_recipe(s->w, made, err) < 0)
				return -1;
			memcpy(s->lost, lost, s->set->n);
			s->recipe = made;
		}
		r = s->recipe;
		j = solve_add_job(s->w, r->nin, r->nout, err);
		if (j == NULL)
			return -1;
		j->recipe = r;
		j->stripe = s->stripe;
		j->from = from;
		j->len = to - from;
		for (unsigned k = 0; k < r->nin; k++)
			j->in[k] = chunk_ref(s, r->in[k], from);
		for (unsigned k = 0; k < r->nout; k++)
			j->out[k] = chunk_ref(s, r->out[k], from);
	}
	return 0;
}

static int
solve_code(struct solving *w, struct error *err)
{
	const struct solve_set *set = w->set;
	struct striping s = { .w = w, .set = set };
	size_t most = 2;
	int rc = 0;

	s.c = code_of(set->type, set->n, set->failures);
	if (code_check(&s.c, err) < 0)
		return -1;
	s.damaged = mem_alloc(set->n, sizeof(*s.damaged));
	for (uint32_t i = 0; s.damaged != NULL && i < set->n; i++) {
		most += 2 * set->member[i].nlost;
		if (set->member[i].body_lost || set->member[i].nlost > 0)
			s.damaged[s.ndamaged++] = i;
	}
	s.cuts = mem_alloc(most, sizeof(*s.cuts));
	if (s.damaged == NULL || s.cuts == NULL)
		rc = error_no_memory(err);
	for (; s.stripe < s.c.n && rc == 0; s.stripe++)
		rc = solve_stripe(&s, err);
	mem_free(s.cuts);
	mem_free(s.damaged);
	return rc;
}

/* --- Verdicts --- */

static uint32_t
spare(const struct solve_set *set)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < set->n; i++)
		missing += set->member[i].body_lost || set->member[i].nlost > 0;
	return missing < set->failures ? set->failures - missing : 0;
}

static const char *
explain(struct arena *a, const struct scheme_loss *l)
{
	return arena_printf(a,
			    "%zu of %u members (ranks %s) are missing; %s can "
			    "restore %u",
			    l->count, l->members, l->ranks,
			    redset_type_name(l->type), l->failures);
}

static int
chunk_size(const struct solve_set *set, uint64_t longest, uint64_t *chunk,
	   struct error *err)
{
	const struct code c = code_of(set->type, set->n, set->failures);

	if (code_check(&c, err) < 0)
		return -1;
	*chunk = code_chunk_size(&c, longest);
	return 0;
}

/* --- Finding the wrong member --- */

/* A recipe without member `without`: computes the other members that have a
 * chunk from n - k of them. */
static struct recipe *
suspect_recipe(const struct code *c, uint32_t stripe, void *const *chunk,
	       unsigned without, struct error *err)
{
	unsigned char in[CODE_MAX], out[CODE_MAX];
	unsigned nin = 0, nout = 0;

	for (unsigned m = 0; m < c->n; m++) {
		if (m == without || chunk[m] == NULL)
			continue;
		if (nin < c->n - c->k)
			in[nin++] = (unsigned char)m;
		else
			out[nout++] = (unsigned char)m;
	}
	return recipe_from(c, stripe,
			   &(struct recipe_members){ in, nin, out, nout }, err);
}

/* Do `len` bytes of the chunks (by member) equal those that the recipe
 * computes? */
static bool
adds_up(const struct compute_block *b, const struct recipe *r,
	unsigned char *const *chunk, size_t off, size_t len)
{
	void *in[CODE_MAX], *made[CODE_MAX];
	bool same = true;

	for (unsigned i = 0; i < r->nin; i++)
		in[i] = chunk[r->in[i]] + off;
	for (unsigned i = 0; i < r->nout; i++)
		made[i] = compute_made(b, i);
	recipe_run(r, len, in, made);
	for (unsigned i = 0; i < r->nout; i++)
		same &= memcmp(chunk[r->out[i]] + off, made[i], len) == 0;
	return same;
}

/* Is the stripe consistent if the data of two members are exchanged?  Two
 * files that were swapped look like one wrong chunk of another member. */
static int
is_swapped(const struct compute_block *b, const struct code *c,
	   unsigned char **chunk, size_t at, struct error *err)
{
	const struct solve_job *j = b->job;
	const uint32_t count = j->nin + j->nout;
	const size_t some = b->len - at < 16 ? b->len - at : 16;
	struct recipe *all =
		suspect_recipe(c, j->stripe, (void **)chunk, CODE_MAX, err);
	bool found = false;

	for (uint32_t i = 0; all != NULL && i < count && !found; i++)
		for (uint32_t k = i + 1; k < count && !found; k++) {
			unsigned char **one = &chunk[j->in[i].member];
			unsigned char **two = &chunk[j->in[k].member];
			unsigned char *was = *one;

			if (j->in[i].body || j->in[k].body)
				continue;
			*one = *two;
			*two = was;
			found = adds_up(b, all, chunk, at, some) &&
				adds_up(b, all, chunk, 0, b->len);
			*two = *one;
			*one = was;
		}
	if (all == NULL)
		return -1;
	recipe_free(all);
	return found;
}

/* Find the member without which the rest of the stripe is consistent.  If two
 * more chunks are left than are needed, at most one member has this property:
 * the chunks that two candidates have in common are enough to compute all
 * others. */
static int
blame(const struct solve_set *s, const struct compute_block *b,
      const struct solve_ref **who, struct error *err)
{
	const struct solve_job *j = b->job;
	const struct code c = code_of(s->type, s->n, s->failures);
	unsigned char *chunk[CODE_MAX] = { NULL };
	size_t at = b->len;
	int swapped = 0;

	if (j->nout < 2)
		return 0;
	for (uint32_t i = 0; i < j->nin + j->nout; i++)
		chunk[j->in[i].member] = compute_string(b, i);
	for (uint32_t i = 0; i < j->nout; i++) {
		const unsigned char *is = compute_string(b, j->nin + i);
		const unsigned char *must = compute_expected(b, i);

		for (size_t n = 0; n < at; n++)
			at = is[n] != must[n] ? n : at;
	}
	for (uint32_t i = 0; i < j->nin + j->nout && *who == NULL; i++) {
		struct recipe *r = suspect_recipe(&c, j->stripe, (void **)chunk,
						  j->in[i].member, err);

		if (r == NULL)
			return -1;
		if (adds_up(b, r, chunk, 0, b->len))
			*who = &j->in[i];
		recipe_free(r);
	}
	if (*who != NULL)
		swapped = is_swapped(b, &c, chunk, at, err);
	*who = swapped > 0 ? NULL : *who;
	return swapped < 0 ? -1 : 0;
}

const struct scheme scheme_xor = {
	.solve = solve_code,
	.spare = spare,
	.explain = explain,
	.chunk = chunk_size,
	.most = CODE_MAX,
	.blame = blame,
};

const struct scheme scheme_rs = {
	.label = "k=",
	.label_from = 1,
	.solve = solve_code,
	.spare = spare,
	.explain = explain,
	.chunk = chunk_size,
	.most = CODE_MAX,
	.blame = blame,
};
