/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes against a plain implementation.  (t_fti_recover: parity that FTI
 * wrote.)
 */
#include "encode/cauchy.h"

#include "field16_plain.h"
#include "scratch.h"

static void *
need(size_t len)
{
	void *p = malloc(len);

	must(p != NULL);
	return p;
}

/* --- The code by definition --- */

/* The members of a group, each of `len` bytes. */
struct group {
	unsigned k;
	size_t len;
	unsigned char *member[CAUCHY_MEMBERS_MAX];
};

/* Parity `i` of the group's data. */
static void
plain_parity(const struct group *g, unsigned i, unsigned char *parity)
{
	memset(parity, 0, g->len);
	for (unsigned j = 0; j < g->k; j++) {
		uint16_t factor = plain_inverse((uint16_t)(i ^ (g->k + j)));
		const unsigned char *data = g->member[j];

		for (size_t b = 0; b < g->len; b += 2) {
			unsigned word = data[b] | (unsigned)data[b + 1] << 8;
			uint16_t p = plain_mul(factor, (uint16_t)word);

			parity[b] ^= (unsigned char)(p & 0xff);
			parity[b + 1] ^= (unsigned char)(p >> 8);
		}
	}
}

static void
group_init(struct group *g, unsigned k, size_t len)
{
	g->k = k;
	g->len = len;
	for (unsigned m = 0; m < 2 * k; m++) {
		g->member[m] = need(len);
		for (size_t b = 0; m < k && b < len; b++)
			g->member[m][b] = (unsigned char)below(256);
	}
	for (unsigned i = 0; i < k; i++)
		plain_parity(g, i, g->member[k + i]);
}

static void
group_fini(struct group *g)
{
	for (unsigned m = 0; m < 2 * g->k; m++)
		free(g->member[m]);
}

/* --- Recipes --- */

/* Are inputs and outputs those that the header promises? */
static bool
members_right(const struct cauchy *c, unsigned k, const bool *lost,
	      const bool *wanted)
{
	unsigned nin = 0, nout = 0;

	for (unsigned m = 0; m < 2 * k; m++) {
		if (wanted[m] && (nout >= c->nout || c->out[nout++] != m))
			return false;
		if (!wanted[m] && !lost[m] && nin < c->nin && c->in[nin++] != m)
			return false;
	}
	return nout == c->nout && nin == c->nin && nin == (nout > 0 ? k : 0);
}

/* Does the recipe compute the group's members? */
static bool
computes(const struct cauchy *c, const struct group *g)
{
	void *in[CAUCHY_MAX], *out[CAUCHY_MAX];
	bool right = true;

	for (unsigned i = 0; i < c->nin; i++)
		in[i] = g->member[c->in[i]];
	for (unsigned o = 0; o < c->nout; o++)
		out[o] = need(g->len);
	cauchy_run(c, g->len, in, out);
	for (unsigned o = 0; o < c->nout; o++) {
		right &= memcmp(out[o], g->member[c->out[o]], g->len) == 0;
		free(out[o]);
	}
	for (unsigned i = 0; i < c->nin * c->nout; i++)
		right &= c->matrix[i] != 0;
	return right;
}

/* Compute `wanted` without them and without `lost`, or expect ERROR_LOST. */
static bool
recipe_right(const struct group *g, const bool *lost, const bool *wanted)
{
	struct error err = ERROR_INIT;
	struct cauchy *c = cauchy_new(g->k, lost, wanted, &err);
	unsigned left = 0;
	bool right = false;

	for (unsigned m = 0; m < 2 * g->k; m++)
		left += !lost[m] && !wanted[m];
	if (left < g->k)
		right = c == NULL && err.kind == ERROR_LOST;
	else
		right = c != NULL && members_right(c, g->k, lost, wanted) &&
			computes(c, g);
	cauchy_free(c);
	return right;
}

/* Every set of lost members: all of them wanted, and the first of them. */
static void
test_patterns(unsigned k)
{
	struct group g;
	unsigned bad = 0;

	group_init(&g, k, 66);
	for (unsigned set = 0; set < 1U << 2 * k; set++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };
		bool first[CAUCHY_MEMBERS_MAX] = { false };

		for (unsigned m = 0; m < 2 * k; m++)
			lost[m] = set >> m & 1;
		if (set != 0)
			first[__builtin_ctz(set)] = true;
		bad += !recipe_right(&g, lost, lost);
		bad += !recipe_right(&g, lost, first);
	}
	group_fini(&g);
	is_int(bad, 0, fmt("k = %u: all losses", k));
}

/* Random sets of lost members, and of wanted ones, lost or not. */
static void
test_random(unsigned k, unsigned times)
{
	struct group g;
	unsigned bad = 0;

	group_init(&g, k, 130);
	for (unsigned i = 0; i < times; i++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };
		bool wanted[CAUCHY_MEMBERS_MAX] = { false };

		for (unsigned n = below(k + 2); n > 0; n--) {
			unsigned m = below(2 * k);

			lost[m] = below(4) != 0;
			wanted[m] = !lost[m] || below(4) != 0;
		}
		bad += !recipe_right(&g, lost, wanted);
		bad += !recipe_right(&g, lost, lost);
	}
	for (unsigned shift = 0; shift <= k; shift++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };

		memset(lost + shift, true, k);
		bad += !recipe_right(&g, lost, lost);
	}
	group_fini(&g);
	is_int(bad, 0, fmt("k = %u: random losses", k));
}

TEST(limits)
{
	static const unsigned bad[] = { 0, 1, 32, -1U };
	bool none[CAUCHY_MEMBERS_MAX] = { false };
	bool lost[CAUCHY_MEMBERS_MAX] = { true, true, false, true };
	struct cauchy *c = NULL;

	each (b, bad) {
		refuses(cauchy_new(*b, none, none, &why), ERROR_CORRUPT, NULL,
			fmt("no group of %u", *b));
	}
	refuses(cauchy_new(2, lost, none, &why), ERROR_LOST, NULL,
		"three of four lost");
	is_str(why.text,
	       "group of 2: 1 of 4 members left to compute from: 2 are needed",
	       "it says why");
	c = cauchy_new(2, none, none, &why);
	must(c != NULL);
	ok(c->nin == 0 && c->nout == 0, "nothing wanted");
	cauchy_run(c, 64, NULL, NULL);
	cauchy_free(c);
	cauchy_free(NULL);
}

static int
make_one(void *arg, struct error *err)
{
	const bool lost[CAUCHY_MEMBERS_MAX] = { true, false, true };
	struct cauchy *c = cauchy_new(4, lost, lost, err);

	(void)arg;
	cauchy_free(c);
	return c != NULL ? 0 : -1;
}

TEST(recipes)
{
	for (unsigned k = CAUCHY_MIN; k <= 5; k++)
		test_patterns(k);
	test_random(8, 300);
	test_random(16, 60);
	test_random(CAUCHY_MAX, 20);
	is_int(fail_each_alloc(make_one, NULL), 2, "allocations fail");
}
