/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/field.h"

#include "code_plain.h"

static unsigned char
plain_mul(unsigned char a, unsigned char b)
{
	unsigned char product = 0;

	plain_add(&product, &b, 1, a);
	return product;
}

TEST(arithmetic)
{
	unsigned bad_mul = 0, bad_div = 0;
	unsigned char power = 1;

	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			unsigned char p =
				plain_mul((unsigned char)a, (unsigned char)b);

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
}

TEST(product)
{
	static const unsigned char x[] = { 7, 0, 200, 9 };

	is_int(field_product(x, 0, 5), 1, "an empty product is 1");
	is_int(field_product(x, 4, 5),
	       plain_mul(plain_mul(7 ^ 5, 5), plain_mul(200 ^ 5, 9 ^ 5)),
	       "product of differences");
	is_int(field_product(x, 4, 200),
	       plain_mul(plain_mul(7 ^ 200, 200), 9 ^ 200),
	       "product leaves out the zero");
}

static void
fill(unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)below(256);
}

#define IN_MAX 20
#define OUT_MAX 10
#define LEN_MAX 270016 /* several blocks even with the fewest inputs */
#define MARGIN 64

struct vectors {
	unsigned char *in[IN_MAX], *out[OUT_MAX]; /* with MARGIN both sides */
	unsigned char *want; /* the output that is checked */
	unsigned char matrix[IN_MAX * OUT_MAX];
	unsigned char tables[IN_MAX * OUT_MAX * FIELD_EXPANDED];
};

static void
vectors_fini(struct vectors *v)
{
	for (int i = 0; i < IN_MAX; i++)
		free(v->in[i]);
	for (int i = 0; i < OUT_MAX; i++)
		free(v->out[i]);
	free(v->want);
}

/* Is output `o` right in the `len` bytes at MARGIN + off, and 0xEE
 * elsewhere? */
static bool
output_right(const struct vectors *v, const struct field_matrix *m, unsigned o,
	     size_t from, size_t len)
{
	const unsigned char *row = v->matrix + o * m->nin;

	memset(v->want, 0xee, from + len + MARGIN);
	memset(v->want + from, 0, len);
	for (unsigned j = 0; j < m->nin; j++)
		plain_add(v->want + from, v->in[j] + from, len, row[j]);
	return memcmp(v->want, v->out[o], from + len + MARGIN) == 0;
}

/* The product, of all inputs at once or added one by one to zeros. */
static void
multiply(const struct field_matrix *m, size_t off, size_t len, void **in,
	 void **out, bool add)
{
	void *to[OUT_MAX];

	for (unsigned o = 0; add && o < m->nout; o++)
		to[o] = memset((char *)out[o] + off, 0, len);
	for (unsigned i = 0; add && i < m->nin; i++)
		field_add(m, i, len, (char *)in[i] + off, to);
	if (!add)
		field_dot(m, off, len, in, out);
}

static bool
dot_right(struct vectors *v, unsigned nin, unsigned nout, size_t off,
	  size_t len)
{
	struct field_matrix m = { nin, nout, v->tables };
	void *in[IN_MAX], *out[OUT_MAX];

	field_expand(v->matrix, nin, nout, v->tables);
	for (unsigned i = 0; i < nin; i++)
		in[i] = v->in[i] + MARGIN / 2;
	for (int add = 0; add < 2; add++) {
		for (unsigned o = 0; o < nout; o++) {
			out[o] = v->out[o] + MARGIN / 2;
			memset(v->out[o], 0xee, MARGIN + off + len + MARGIN);
		}
		multiply(&m, off, len, in, out, add);
		for (unsigned o = 0; o < nout; o++)
			if (!output_right(v, &m, o, MARGIN / 2 + off, len))
				return false;
	}
	return true;
}

static void
test_dot(struct vectors *v)
{
	unsigned bad = 0;

	for (unsigned nin = 1; nin <= IN_MAX; nin += 3)
		for (unsigned nout = 1; nout <= OUT_MAX; nout++)
			bad += !dot_right(v, nin, nout, nin, 90 + nout);
	is_int(bad, 0, "matrices of all shapes");
	bad = 0;
	for (size_t len = 0; len < 200; len++)
		bad += !dot_right(v, 5, 2, len % 7, len);
	is_int(bad, 0, "short vectors of all lengths and alignments");
	ok(dot_right(v, 2, 1, 3, LEN_MAX - MARGIN),
	   "vectors of several segments");
	ok(dot_right(v, IN_MAX, 7, 1, 60000),
	   "the same with many inputs and outputs");
}

static bool
xor_right(struct vectors *v, unsigned nin, size_t len)
{
	struct field_matrix m = { nin, 1, NULL };
	void *in[IN_MAX];

	memset(v->matrix, 1, nin);
	memset(v->out[0], 0xee, MARGIN + len + MARGIN);
	for (unsigned i = 0; i < nin; i++)
		in[i] = v->in[i] + FIELD_ALIGN;
	field_xor(nin, len, in, v->out[0] + FIELD_ALIGN);
	return output_right(v, &m, 0, FIELD_ALIGN, len);
}

static void
test_xor(struct vectors *v)
{
	unsigned bad = 0;

	for (unsigned nin = 2; nin <= IN_MAX; nin++)
		for (size_t len = 0; len < 700; len += FIELD_ALIGN)
			bad += !xor_right(v, nin, len);
	is_int(bad, 0, "exclusive-or of 2 to 20 vectors");
	ok(xor_right(v, 2, LEN_MAX / FIELD_ALIGN * FIELD_ALIGN - MARGIN),
	   "exclusive-or of several segments");
}

TEST(vectors)
{
	struct vectors v;

	for (int i = 0; i < IN_MAX; i++) {
		v.in[i] = need(aligned_alloc(64, LEN_MAX + 2 * MARGIN));
		fill(v.in[i], LEN_MAX + 2 * MARGIN);
	}
	for (int i = 0; i < OUT_MAX; i++)
		v.out[i] = need(aligned_alloc(64, LEN_MAX + 2 * MARGIN));
	v.want = need(malloc(LEN_MAX + 2 * MARGIN));
	fill(v.matrix, sizeof(v.matrix));
	v.matrix[1] = 0; /* the field supports 0; recipes do not use it */
	test_dot(&v);
	test_xor(&v);
	vectors_fini(&v);
}

int
main(void)
{
	fill_product();
	return tap_run();
}
