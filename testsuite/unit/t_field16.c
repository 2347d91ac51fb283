/* SPDX-License-Identifier: BSD-3-Clause */
/* The field of 2^16 against its definition, all ways to multiply a matrix, and
 * recipes against a plain implementation.  (t_fti_recover: parity that FTI
 * wrote.) */
#include "encode/cauchy.h"
#include "encode/field16.h"
#include "field16_plain.h"
#include "scratch.h"

/* A pseudo-random word. */
static uint16_t
noise(void)
{
	return (uint16_t)below(65536);
}

TEST(products)
{
	unsigned bad = 0;

	for (unsigned a = 0; a < 65536; a++)
		for (int bit = 0; bit < 16; bit++) {
			uint16_t b = (uint16_t)(1U << bit);

			bad += field16_mul((uint16_t)a, b) !=
			       plain_mul((uint16_t)a, b);
		}
	is_int(bad, 0, "products by powers of 2 are those of the definition");
	bad = 0;
	for (int i = 0; i < 100000; i++) {
		uint16_t a = noise(), b = noise();

		bad += field16_mul(a, b) != plain_mul(a, b);
	}
	is_int(bad, 0, "so are random products");
	is_int(field16_mul(0x8000, 2), 0x100b, "2^16 = 0x100b");
}

TEST(inverses)
{
	unsigned bad = 0, order = 0;
	uint16_t power = 1;

	for (unsigned a = 1; a < 65536; a++)
		bad += plain_mul((uint16_t)a, field16_inverse((uint16_t)a)) !=
		       1;
	is_int(bad, 0, "every element but 0 has an inverse");
	do {
		power = field16_mul(power, 2);
		order++;
	} while (power != 1 && order < 65536);
	is_int(order, 65535, "2 generates all elements but 0");
}

/* --- Matrices --- */

#define IN_MAX 31
#define OUT_MAX 13
#define LEN_MAX 140000 /* several segments even with the fewest inputs */
#define MARGIN 64

struct vectors {
	unsigned char *in[IN_MAX], *out[OUT_MAX]; /* with MARGIN both sides */
	uint16_t matrix[IN_MAX * OUT_MAX];
	void *tables;
	unsigned char *want; /* the output that is checked */
};

static void *
need(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) / 64 * 64);

	must(p != NULL);
	return p;
}

static void
vectors_fini(struct vectors *v)
{
	for (int i = 0; i < IN_MAX; i++)
		free(v->in[i]);
	for (int i = 0; i < OUT_MAX; i++)
		free(v->out[i]);
	free(v->tables);
	free(v->want);
}

/* A product of `len` bytes, with buffers that begin `shift` bytes off their
 * alignment, output i another i bytes. */
struct shape {
	unsigned nin, nout;
	size_t shift, len;
};

static bool
output_right(struct vectors *v, const struct shape *s, unsigned o)
{
	const size_t at = s->shift + o % MARGIN / 2;

	memset(v->want, 0xee, at + s->len + 8);
	for (size_t b = 0; b < s->len; b += 2) {
		uint16_t sum = 0;

		for (unsigned i = 0; i < s->nin; i++) {
			const unsigned char *from = v->in[i] + s->shift + b;

			sum ^= plain_mul(v->matrix[o * s->nin + i],
					 (uint16_t)(from[0] | from[1] << 8));
		}
		v->want[at + b] = (unsigned char)(sum & 0xff);
		v->want[at + b + 1] = (unsigned char)(sum >> 8);
	}
	return memcmp(v->out[o], v->want, at + s->len + 8) == 0;
}

static void
dot(struct vectors *v, const struct shape *s, enum field16_way way)
{
	struct field16_matrix m = { way, s->nin, s->nout, v->tables };
	void *in[IN_MAX], *out[OUT_MAX];

	field16_expand(way, v->matrix, s->nin * s->nout, v->tables);
	for (unsigned i = 0; i < s->nin; i++)
		in[i] = v->in[i] + s->shift;
	for (unsigned o = 0; o < s->nout; o++) {
		memset(v->out[o], 0xee, s->len + 2 * MARGIN);
		out[o] = v->out[o] + s->shift + o % MARGIN / 2;
	}
	field16_dot(&m, s->len, in, out);
}

static bool
dot_right(struct vectors *v, enum field16_way way, const struct shape *s)
{
	dot(v, s, way);
	for (unsigned o = 0; o < s->nout; o++)
		if (!output_right(v, s, o))
			return false;
	return true;
}

static void
test_dot(struct vectors *v, enum field16_way way, const char *name)
{
	static const size_t lens[] = { 0, 2, 62, 64, 66, 126, 128, 130, 4098 };
	unsigned bad = 0;

	printf("# %s\n", name);
	for (unsigned nin = 1; nin <= IN_MAX; nin += 5)
		for (unsigned nout = 1; nout <= 13; nout++)
			bad += !dot_right(v, way,
					  &(struct shape){ nin, nout, 0,
							   100 + 2UL * nout });
	is_int(bad, 0, "matrices of all shapes");
	bad = 0;
	each (l, lens)
		for (size_t shift = 0; shift < 5; shift++)
			bad += !dot_right(v, way,
					  &(struct shape){ 4, 3, shift, *l });
	is_int(bad, 0, "lengths and alignments");
	ok(dot_right(v, way, &(struct shape){ 2, 1, 1, LEN_MAX }),
	   "several segments");
	ok(dot_right(v, way, &(struct shape){ IN_MAX, 6, 3, 9000 }),
	   "the same with most inputs");
}

/* Do the ways give the same bytes? */
static void
test_same(struct vectors *v)
{
	const struct shape s = { 8, 5, 1, 60002 };
	unsigned char *plain[OUT_MAX];
	unsigned bad = 0;

	dot(v, &s, FIELD16_PLAIN);
	for (unsigned o = 0; o < s.nout; o++)
		plain[o] = memcpy(need(s.len + 2 * MARGIN), v->out[o],
				  s.len + 2 * MARGIN);
	dot(v, &s, FIELD16_AVX2);
	for (unsigned o = 0; o < s.nout; o++) {
		bad += memcmp(plain[o], v->out[o], s.len + 2 * MARGIN) != 0;
		free(plain[o]);
	}
	is_int(bad, 0, "both ways give the same bytes");
}

TEST(any_dot)
{
	struct vectors v;

	for (int i = 0; i < IN_MAX; i++) {
		v.in[i] = need(LEN_MAX + 2 * MARGIN);
		for (size_t j = 0; j < LEN_MAX + 2 * MARGIN; j++)
			v.in[i][j] = (unsigned char)(below(256));
	}
	for (int i = 0; i < OUT_MAX; i++)
		v.out[i] = need(LEN_MAX + 2 * MARGIN);
	for (int i = 0; i < IN_MAX * OUT_MAX; i++)
		v.matrix[i] = noise();
	v.matrix[1] = 0;
	v.matrix[2] = 1;
	v.tables = need(field16_expanded(FIELD16_PLAIN) * IN_MAX * OUT_MAX);
	v.want = need(LEN_MAX + 2 * MARGIN);
	test_dot(&v, FIELD16_PLAIN, "plain");
	if (field16_best() == FIELD16_AVX2) {
		test_dot(&v, FIELD16_AVX2, "AVX2");
		test_same(&v);
	} else {
		skip("AVX2", "not on this processor");
	}
	vectors_fini(&v);
}

/* --- Recipes --- */

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

TEST(cauchy_limits)
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

TEST(cauchy_recipes)
{
	for (unsigned k = CAUCHY_MIN; k <= 5; k++)
		test_patterns(k);
	test_random(8, 300);
	test_random(16, 60);
	test_random(CAUCHY_MAX, 20);
	without_memory (m, 2, "allocations fail") {
		const bool lost[CAUCHY_MEMBERS_MAX] = { true, false, true };
		struct cauchy *c = cauchy_new(4, lost, lost, &m.err);

		cauchy_free(c);
		m.rc = c != NULL ? 0 : -1;
	}
}
