/* SPDX-License-Identifier: BSD-3-Clause */
/* The field against its definition, and all ways to multiply a matrix. */
#include "encode/field16.h"

#include <stdlib.h>

#include "field16_plain.h"
#include "tap.h"

/* Reproducible pseudo-random words. */
static uint16_t
noise(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (uint16_t)(*state >> 16);
}

static void
test_products(void)
{
	unsigned bad = 0;
	uint32_t state = 1;

	for (unsigned a = 0; a < 65536; a++)
		for (int bit = 0; bit < 16; bit++) {
			uint16_t b = (uint16_t)(1U << bit);

			bad += field16_mul((uint16_t)a, b) !=
			       plain_mul((uint16_t)a, b);
		}
	is_int(bad, 0, "products by powers of 2 are those of the definition");
	bad = 0;
	for (int i = 0; i < 100000; i++) {
		uint16_t a = noise(&state), b = noise(&state);

		bad += field16_mul(a, b) != plain_mul(a, b);
	}
	is_int(bad, 0, "so are random products");
	is_int(field16_mul(0x8000, 2), 0x100b, "2^16 = 0x100b");
}

static void
test_axioms(void)
{
	unsigned bad[5] = { 0 };
	uint32_t state = 7;

	for (int i = 0; i < 20000; i++) {
		uint16_t a = noise(&state), b = noise(&state);
		uint16_t c = noise(&state);

		bad[0] += field16_mul(a, b) != field16_mul(b, a);
		bad[1] += field16_mul(field16_mul(a, b), c) !=
			  field16_mul(a, field16_mul(b, c));
		bad[2] += field16_mul(a, b ^ c) !=
			  (field16_mul(a, b) ^ field16_mul(a, c));
		bad[3] += field16_mul(a, 1) != a || field16_mul(1, a) != a;
		bad[4] += field16_mul(a, 0) != 0 || field16_mul(0, a) != 0;
	}
	is_int(bad[0], 0, "a b = b a");
	is_int(bad[1], 0, "(a b) c = a (b c)");
	is_int(bad[2], 0, "a (b + c) = a b + a c");
	is_int(bad[3], 0, "1 a = a");
	is_int(bad[4], 0, "0 a = 0");
}

static void
test_inverses(void)
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
	uint16_t *want; /* the output that is checked */
};

static void *
need(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) / 64 * 64);

	if (p == NULL)
		abort();
	return p;
}

static void
vectors_init(struct vectors *v)
{
	uint32_t state = 1;

	for (int i = 0; i < IN_MAX; i++) {
		v->in[i] = need(LEN_MAX + 2 * MARGIN);
		for (size_t j = 0; j < LEN_MAX + 2 * MARGIN; j++)
			v->in[i][j] = (unsigned char)(noise(&state) >> 8);
	}
	for (int i = 0; i < OUT_MAX; i++)
		v->out[i] = need(LEN_MAX + 2 * MARGIN);
	for (int i = 0; i < IN_MAX * OUT_MAX; i++)
		v->matrix[i] = noise(&state);
	v->matrix[1] = 0;
	v->matrix[2] = 1;
	v->tables = need(field16_expanded(FIELD16_PLAIN) * IN_MAX * OUT_MAX);
	v->want = need(LEN_MAX * sizeof(*v->want));
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

/* sum[i] += factor * word i of `from`. */
static void
plain_add(uint16_t *sum, const unsigned char *from, size_t words,
	  uint16_t factor)
{
	for (size_t i = 0; i < words; i++)
		sum[i] ^= plain_mul(
			factor, (uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
}

static bool
all_are(const unsigned char *p, size_t len, unsigned char value)
{
	while (len > 0 && *p == value)
		p++, len--;
	return len == 0;
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
	const unsigned char *from = v->out[o] + s->shift + o % MARGIN / 2;
	size_t words = s->len / 2;

	memset(v->want, 0, words * sizeof(*v->want));
	for (unsigned i = 0; i < s->nin; i++)
		plain_add(v->want, v->in[i] + s->shift, words,
			  v->matrix[o * s->nin + i]);
	for (size_t i = 0; i < words; i++)
		if ((from[2 * i] | from[2 * i + 1] << 8) != v->want[i])
			return false;
	return all_are(v->out[o], (size_t)(from - v->out[o]), 0xee) &&
	       all_are(from + s->len, 8, 0xee);
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
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (size_t shift = 0; shift < 5; shift++)
			bad += !dot_right(
				v, way,
				&(struct shape){ 4, 3, shift, lens[i] });
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

int
main(void)
{
	struct vectors v;

	test_products();
	test_axioms();
	test_inverses();
	vectors_init(&v);
	test_dot(&v, FIELD16_PLAIN, "plain");
	if (field16_best() == FIELD16_AVX2) {
		test_dot(&v, FIELD16_AVX2, "AVX2");
		test_same(&v);
	} else {
		skip("AVX2", "not on this processor");
	}
	vectors_fini(&v);
	return tap_done();
}
