/* SPDX-License-Identifier: BSD-3-Clause */
/* The field against its definition, and all ways to multiply a matrix. */
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
