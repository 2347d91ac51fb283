/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/field.h"

#include <assert.h>

#include <isa-l.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * Bytes of each vector given to ISA-L in one call: its lengths are int, and
 * with more outputs than it computes in one pass (4 or 6) the inputs of the
 * later passes should still be in the cache.
 */
#define SEGMENT ((size_t)64 << 10)

unsigned char
field_mul(unsigned char a, unsigned char b)
{
	return gf_mul(a, b);
}

unsigned char
field_div(unsigned char a, unsigned char b)
{
	assert(b != 0);
	return gf_mul(a, gf_inv(b));
}

unsigned char
field_product(const unsigned char *x, unsigned n, unsigned char y)
{
	unsigned char p = 1;

	for (unsigned i = 0; i < n; i++)
		if (x[i] != y)
			p = gf_mul(p, x[i] ^ y);
	return p;
}

void
field_expand(const unsigned char *matrix, unsigned nin, unsigned nout,
	     unsigned char *tables)
{
	/* ISA-L only reads the matrix, but does not say so. */
	ec_init_tables((int)nin, (int)nout, (unsigned char *)matrix, tables);
}

/* to[i] = from[i] + off: ISA-L wants arrays of its own, and no offset. */
static void
advance(void *const *from, unsigned n, size_t off, unsigned char **to)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (unsigned char *)from[i] + off;
}

/*
 * ISA-L's kernels return with the upper halves of the vector registers in
 * use.  On some processors every SSE instruction after that is slow, which is
 * what compilers make of plain code: 200 ns a call here, and more in whatever
 * the caller does next, were measured.
 */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void
clear_upper(void)
{
	_mm256_zeroupper();
}

static void
leave_vector_code(void)
{
	if (__builtin_cpu_supports("avx"))
		clear_upper();
}
#else
static void
leave_vector_code(void)
{
}
#endif

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void
field_dot(const struct field_matrix *m, size_t off, size_t len, void *const *in,
	  void *const *out)
{
	unsigned char *src[FIELD_VECTORS_MAX], *dst[FIELD_VECTORS_MAX];

	assert(m->nin <= FIELD_VECTORS_MAX && m->nout <= FIELD_VECTORS_MAX);
	for (size_t end = off + len; off < end; off += len) {
		len = smaller(end - off, SEGMENT);
		advance(in, m->nin, off, src);
		advance(out, m->nout, off, dst);
		ec_encode_data((int)len, (int)m->nin, (int)m->nout,
			       (unsigned char *)m->tables, src, dst);
		leave_vector_code();
	}
}

void
field_xor(unsigned nin, size_t off, size_t len, void *const *in, void *out)
{
	unsigned char *vec[FIELD_VECTORS_MAX + 1];

	assert(nin >= 2 && nin <= FIELD_VECTORS_MAX);
	assert(off % FIELD_ALIGN == 0 && len % FIELD_ALIGN == 0);
	for (size_t end = off + len; off < end; off += len) {
		int failed = 0;

		len = smaller(end - off, SEGMENT);
		advance(in, nin, off, vec);
		vec[nin] = (unsigned char *)out + off;
		failed = xor_gen((int)nin + 1, (int)len, (void **)vec);
		leave_vector_code();
		assert(!failed); /* it fails for less than 2 inputs alone */
		(void)failed;
	}
}
