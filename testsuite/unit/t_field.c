/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of 2^8 and 2^16 against their definitions, all ways to multiply a
 * matrix, and recipes against a plain implementation.  (Parity that FTI wrote:
 * fti_rebuild.bats.) */
#include "encode/field.h"

#include "code_plain.h"
#include "encode/cauchy.h"
#include "encode/field16.h"
#include "uppers.h"

/* A pseudo-random word. */
static uint16_t
word(void)
{
	return (uint16_t)below(65536);
}

static unsigned char
byte_mul(unsigned char a, unsigned char b)
{
	unsigned char product = 0;

	plain_add(&product, &b, 1, a);
	return product;
}

TEST(bytes)
{
	static const unsigned char x[] = { 7, 0, 200, 9 };
	unsigned bad_mul = 0, bad_div = 0;
	unsigned char power = 1;

	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			unsigned char p =
				byte_mul((unsigned char)a, (unsigned char)b);

			bad_mul += field_mul((unsigned char)a,
					     (unsigned char)b) != p;
			if (b != 0)
				bad_div += field_div(p, (unsigned char)b) != a;
		}
	is_int(bad_mul, 0, "all products are those of the definition");
	is_int(bad_div, 0, "division undoes multiplication");
	is_int(field_div(1, 2), 142, "1/2 = 142");
	for (int i = 1; i <= 25; i++) {
		power = field_mul(power, 2);
		if (i == 8)
			is_int(power, 29, "2^8 = 29");
	}
	is_int(power, 3, "2^25 = 3");
	is_int(field_product(x, 0, 5), 1, "an empty product is 1");
	is_int(field_product(x, 4, 5),
	       byte_mul(byte_mul(7 ^ 5, 5), byte_mul(200 ^ 5, 9 ^ 5)),
	       "product of differences");
	is_int(field_product(x, 4, 200),
	       byte_mul(byte_mul(7 ^ 200, 200), 9 ^ 200),
	       "product leaves out the zero");
}

TEST(words)
{
	unsigned bad = 0, order = 0;
	uint16_t power = 1;

	if (getenv("SCRKIT_VALGRIND") != NULL) {
		skip("words", "no memory that valgrind could know");
		return;
	}
	for (unsigned a = 0; a < 65536; a++)
		for (int bit = 0; bit < 16; bit++) {
			uint16_t b = (uint16_t)(1U << bit);

			bad += field16_mul((uint16_t)a, b) !=
			       plain_mul((uint16_t)a, b);
		}
	is_int(bad, 0, "products by powers of 2 are those of the definition");
	bad = 0;
	for (int i = 0; i < 100000; i++) {
		uint16_t a = word(), b = word();

		bad += field16_mul(a, b) != plain_mul(a, b);
	}
	is_int(bad, 0, "so are random products");
	is_int(field16_mul(0x8000, 2), 0x100b, "2^16 = 0x100b");
	bad = 0;
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
#define CELLS (IN_MAX * OUT_MAX)
#define LEN_MAX 270016 /* several segments even with the fewest inputs */
#define MARGIN 64

/* The ways to multiply: bytes, all inputs at once or added one by one; words;
 * and the exclusive or, the matrix of ones. */
enum way { BYTES, XOR, WORDS, AVX2 };

/* With MARGIN on both sides. */
static unsigned char *ins[IN_MAX], *outs[OUT_MAX], *want;
static uint16_t matrix[CELLS];
static void *tables;

/* A product of `len` bytes, with buffers that begin `shift` bytes off their
 * alignment; of words, output i another i bytes. */
struct shape {
	unsigned nin, nout;
	size_t shift, len;
};

static size_t
start_of(const struct shape *s, enum way way, unsigned o)
{
	return s->shift + (way >= WORDS ? o % MARGIN / 2 : 0);
}

static bool
output_right(const struct shape *s, enum way way, unsigned o)
{
	const size_t at = start_of(s, way, o);

	memset(want, 0xee, at + s->len + MARGIN);
	memset(want + at, 0, s->len);
	for (unsigned i = 0; i < s->nin; i++) {
		const unsigned char *from = ins[i] + s->shift;
		const uint16_t factor = way == XOR ? 1 : matrix[o * s->nin + i];

		if (way < WORDS)
			plain_add(want + at, from, s->len,
				  (unsigned char)factor);
		for (size_t b = 0; way >= WORDS && b < s->len; b += 2) {
			const uint16_t p = plain_mul(
				factor, (uint16_t)(from[b] | from[b + 1] << 8));

			want[at + b] ^= (unsigned char)(p & 0xff);
			want[at + b + 1] ^= (unsigned char)(p >> 8);
		}
	}
	return memcmp(outs[o], want, at + s->len + MARGIN) == 0;
}

static void
multiply(const struct shape *s, enum way way)
{
	const struct field_matrix m = { s->nin, s->nout, tables };
	const struct field16_matrix m16 = { way == AVX2 ? FIELD16_AVX2
							: FIELD16_PLAIN,
					    s->nin, s->nout, tables };
	unsigned char cells[CELLS];
	void *in[IN_MAX], *out[OUT_MAX], *base[IN_MAX], *first[OUT_MAX];

	for (unsigned i = 0; i < s->nin; i++) {
		base[i] = ins[i];
		in[i] = ins[i] + s->shift;
	}
	for (unsigned o = 0; o < s->nout; o++) {
		memset(outs[o], 0xee, s->len + 2 * MARGIN);
		first[o] = outs[o];
		out[o] = outs[o] + start_of(s, way, o);
	}
	for (unsigned i = 0; i < CELLS; i++)
		cells[i] = (unsigned char)matrix[i];
	if (way >= WORDS)
		field16_expand(m16.way, matrix, s->nin * s->nout, tables);
	else
		field_expand(cells, s->nin, s->nout, tables);
	switch (way) {
	case BYTES:
		field_dot(&m, s->shift, s->len, base, first);
		break;
	case XOR:
		field_xor(s->nin, s->len, in, out[0]);
		break;
	default:
		field16_dot(&m16, s->len, in, out);
	}
}

static bool
right(enum way way, unsigned nin, unsigned nout, size_t shift, size_t len)
{
	const struct shape s = { nin, nout, shift, len };
	bool good = true;

	multiply(&s, way);
	good = !uppers_used();
	for (unsigned o = 0; o < nout; o++)
		good = good && output_right(&s, way, o);
	return good;
}

static void
test_way(enum way way, const char *name)
{
	const bool brief = getenv("SCRKIT_VALGRIND") != NULL;
	const unsigned step = (way >= WORDS ? 5 : 3) * (brief ? 3 : 1);
	unsigned bad = 0;

	printf("# %s\n", name);
	for (unsigned nin = 1; nin <= IN_MAX; nin += step)
		for (unsigned nout = 1; nout <= OUT_MAX; nout++)
			bad += !right(way, nin, nout, nin % 21,
				      100 + 2UL * nout);
	is_int(bad, 0, "matrices of all shapes");
	bad = 0;
	for (size_t len = 0; len < 200; len += way >= WORDS ? 2 : 1)
		bad += !right(way, 5, 2, len % 7, len);
	is_int(bad, 0, "short vectors of all lengths and alignments");
	ok(right(way, 4, 3, 4, 4098) && right(way, 2, 1, 3, LEN_MAX - MARGIN),
	   "vectors of several segments");
	ok(right(way, IN_MAX, brief ? 2 : 7, 1, way >= WORDS ? 9000 : 60000),
	   "the same with many inputs and outputs");
}

TEST(vectors)
{
	unsigned bad = 0;

	for (int i = 0; i < IN_MAX; i++) {
		ins[i] = need(aligned_alloc(64, LEN_MAX + 2 * MARGIN));
		for (size_t j = 0; j < LEN_MAX + 2 * MARGIN; j++)
			ins[i][j] = (unsigned char)below(256);
	}
	for (int i = 0; i < OUT_MAX; i++)
		outs[i] = need(aligned_alloc(64, LEN_MAX + 2 * MARGIN));
	for (int i = 0; i < CELLS; i++)
		matrix[i] = word();
	matrix[1] = 0; /* the field supports 0; recipes do not use it */
	matrix[2] = 1;
	tables = need(
		aligned_alloc(64, field16_expanded(FIELD16_PLAIN) * CELLS));
	want = need(malloc(LEN_MAX + 2 * MARGIN));
	test_way(BYTES, "bytes");
	test_way(WORDS, "words");
	if (field16_best() == FIELD16_AVX2) {
		test_way(AVX2, "words, AVX2");
	} else {
		skip("AVX2", "not on this processor");
	}
	for (unsigned nin = 2; nin <= 20; nin++)
		for (size_t len = 0; len < 700; len += FIELD_ALIGN)
			bad += !right(XOR, nin, 1, FIELD_ALIGN, len);
	is_int(bad, 0, "exclusive-or of 2 to 20 vectors");
	ok(right(XOR, 2, 1, FIELD_ALIGN,
		 LEN_MAX / FIELD_ALIGN * FIELD_ALIGN - MARGIN),
	   "exclusive-or of several segments");
	for (int i = 0; i < IN_MAX; i++)
		free(ins[i]);
	for (int i = 0; i < OUT_MAX; i++)
		free(outs[i]);
	free(tables);
	free(want);
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
group_parity(const struct group *g, unsigned i, unsigned char *parity)
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
		g->member[m] = need(aligned_alloc(64, (len + 63) / 64 * 64));
		for (size_t b = 0; m < k && b < len; b++)
			g->member[m][b] = (unsigned char)below(256);
	}
	for (unsigned i = 0; i < k; i++)
		group_parity(g, i, g->member[k + i]);
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
		out[o] = need(aligned_alloc(64, (g->len + 63) / 64 * 64));
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
cauchy_right(const struct group *g, const bool *lost, const bool *wanted)
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
		bad += !cauchy_right(&g, lost, lost);
		bad += !cauchy_right(&g, lost, first);
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
		bad += !cauchy_right(&g, lost, wanted);
		bad += !cauchy_right(&g, lost, lost);
	}
	for (unsigned shift = 0; shift <= k; shift++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };

		memset(lost + shift, true, k);
		bad += !cauchy_right(&g, lost, lost);
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
	test_random(8, getenv("SCRKIT_VALGRIND") != NULL ? 30 : 300);
	test_random(16, getenv("SCRKIT_VALGRIND") != NULL ? 10 : 60);
	test_random(CAUCHY_MAX, 20);
	without_memory (m, 2, "allocations fail") {
		const bool lost[CAUCHY_MEMBERS_MAX] = { true, false, true };
		struct cauchy *c = cauchy_new(4, lost, lost, &m.err);

		cauchy_free(c);
		m.rc = c != NULL ? 0 : -1;
	}
}

int
main(void)
{
	fill_product();
	return tap_run();
}
