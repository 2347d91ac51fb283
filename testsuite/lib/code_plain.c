/* SPDX-License-Identifier: BSD-3-Clause */
#include "code_plain.h"

/* All products in the field; filled by fill_product(). */
static unsigned char product[256][256];

void
fill_product(void)
{
	if (product[1][1] == 1)
		return;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			unsigned p = 0, x = a;

			for (unsigned bits = b; bits != 0; bits >>= 1) {
				p ^= bits & 1 ? x : 0;
				x = x << 1 ^ (x & 0x80 ? 0x11d : 0);
			}
			product[a][b] = (unsigned char)p;
		}
}

static unsigned char
inverse(unsigned char a)
{
	unsigned char b = 1;

	while (product[a][b] != 1)
		b++;
	return b;
}

void *
need(void *p)
{
	must(p != NULL);
	return p;
}

/* Add `f` times column `r` to column `q`. */
static void
add_column(unsigned char *v, unsigned rows, unsigned n, unsigned r, unsigned q)
{
	unsigned char f = v[(size_t)r * n + q];

	for (unsigned i = 0; i < rows && f != 0; i++)
		v[(size_t)i * n + q] ^= product[f][v[(size_t)i * n + r]];
}

static void
swap_columns(unsigned char *v, unsigned rows, unsigned n, unsigned a,
	     unsigned b)
{
	for (unsigned i = 0; i < rows; i++) {
		unsigned char t = v[(size_t)i * n + a];

		v[(size_t)i * n + a] = v[(size_t)i * n + b];
		v[(size_t)i * n + b] = t;
	}
}

unsigned char *
plain_rows(const struct code *c)
{
	unsigned n = c->n, rows = n + c->k;
	unsigned char *v = need(malloc((size_t)rows * n));

	fill_product();
	if (c->type == CODE_XOR)
		return memset(v, 1, n);
	for (unsigned r = 0; r < rows; r++)
		for (unsigned q = 0; q < n; q++)
			v[r * n + q] = q ? product[v[r * n + q - 1]][r] : 1;
	for (unsigned r = 0; r < n; r++) {
		unsigned pivot = r;
		unsigned char f = 0;

		while (v[r * n + pivot] == 0)
			pivot++;
		swap_columns(v, rows, n, r, pivot);
		f = inverse(v[r * n + r]);
		for (unsigned i = 0; i < rows; i++)
			v[i * n + r] = product[f][v[i * n + r]];
		for (unsigned q = 0; q < n; q++)
			if (q != r)
				add_column(v, rows, n, r, q);
	}
	memmove(v, v + (size_t)n * n, (size_t)c->k * n);
	return v;
}

int
plain_row(const struct code *c, unsigned member, unsigned stripe)
{
	int e = (int)stripe - (int)member;

	if (e < 0)
		e += (int)c->n;
	return e < (int)c->k ? e : -1;
}

unsigned
plain_index(const struct code *c, unsigned member, unsigned stripe)
{
	unsigned index = 0;

	for (unsigned s = 0; s < stripe; s++)
		index += plain_row(c, member, s) < 0;
	return index;
}

void
plain_add(unsigned char *sum, const unsigned char *from, size_t len,
	  unsigned char factor)
{
	uint64_t a = 0, b = 0;
	size_t i = 0;

	/* Most factors are 1, for which eight bytes are added at once. */
	for (; factor == 1 && i + sizeof(a) <= len; i += sizeof(a)) {
		memcpy(&a, sum + i, sizeof(a));
		memcpy(&b, from + i, sizeof(b));
		a ^= b;
		memcpy(sum + i, &a, sizeof(a));
	}
	for (; i < len; i++)
		sum[i] ^= product[factor][from[i]];
}

/* --- A stripe that is whole --- */

unsigned
noise(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

void
stripe_init(struct stripe *s, const struct code *c, unsigned number,
	    const unsigned char *rows, size_t len)
{
	uint32_t state = number + c->n * 1000;

	*s = (struct stripe){ *c, number, len, { NULL } };
	for (unsigned m = 0; m < c->n; m++) {
		s->chunk[m] = need(calloc(1, len + 1));
		if (plain_row(c, m, number) < 0)
			for (size_t i = 0; i < len; i++)
				s->chunk[m][i] = (unsigned char)noise(&state);
	}
	for (unsigned m = 0; m < c->n; m++) {
		int row = plain_row(c, m, number);

		for (unsigned j = 0; j < c->n && row >= 0; j++) {
			if (plain_row(c, j, number) < 0)
				plain_add(s->chunk[m], s->chunk[j], len,
					  rows[(unsigned)row * c->n + j]);
		}
	}
}

void
stripe_fini(struct stripe *s)
{
	for (unsigned m = 0; m < s->code.n; m++)
		free(s->chunk[m]);
}

bool
recipe_right(const struct recipe *r, const struct stripe *s)
{
	const size_t each = s->len + 1;
	void *in[CODE_MAX], *out[CODE_MAX];
	unsigned char *space = need(calloc(r->nout + 1, each));
	bool right = true;

	for (unsigned i = 0; i < r->nin; i++)
		in[i] = s->chunk[r->in[i]];
	for (unsigned i = 0; i < r->nout; i++)
		out[i] = memset(space + i * each, 0x5a, each);
	recipe_run(r, s->len, in, out);
	for (unsigned i = 0; i < r->nout && right; i++)
		right = memcmp(out[i], s->chunk[r->out[i]], s->len) == 0 &&
			((unsigned char *)out[i])[s->len] == 0x5a;
	free(space);
	return right;
}

/* --- GF(2^16) --- */

uint16_t
plain_mul(uint16_t a, uint16_t b)
{
	uint32_t r = 0;

	for (int bit = 0; bit < 16; bit++)
		if (b >> bit & 1)
			r ^= (uint32_t)a << bit;
	for (int bit = 31; bit >= 16; bit--)
		if (r >> bit & 1)
			r ^= (uint32_t)0x1100b << (bit - 16);
	return (uint16_t)r;
}

uint16_t
plain_inverse(uint16_t a)
{
	static uint16_t known[64];
	uint16_t b = a < 64 && known[a] != 0 ? known[a] : 1;

	while (plain_mul(a, b) != 1)
		b++;
	if (a < 64)
		known[a] = b;
	return b;
}
