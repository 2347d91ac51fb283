/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/field.h"

#include <assert.h>
#include <isa-l.h>

#include "simd.h"

/*
 * ISA-L is called on segments of the vectors.  One reason is that its lengths
 * are int.  The other is that more outputs than it computes in one pass (4 or
 * 6) need another pass, and the inputs should still be in the cache then.  The
 * inputs of one call are CACHE_BYTES in total, in whole SEGMENT_UNITs, but at
 * least one.
 */
#define CACHE_BYTES ((size_t)512 << 10)
#define SEGMENT_UNIT ((size_t)4096)

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
	/* ISA-L's prototype lacks const, but it only reads the matrix. */
	ec_init_tables((int)nin, (int)nout, (unsigned char *)matrix, tables);
}

/* Size of the next segment, if `left` bytes remain. */
static size_t
segment(unsigned nin, size_t left)
{
	size_t len = CACHE_BYTES / nin / SEGMENT_UNIT * SEGMENT_UNIT;

	if (len < SEGMENT_UNIT)
		len = SEGMENT_UNIT;
	return len < left ? len : left;
}

/* to[i] = from[i] + off, because ISA-L takes no offset. */
static void
advance(void *const *from, unsigned n, size_t off, unsigned char **to)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (unsigned char *)from[i] + off;
}

void
field_dot(const struct field_matrix *m, size_t off, size_t len, void *const *in,
	  void *const *out)
{
	unsigned char *src[FIELD_VECTORS_MAX], *dst[FIELD_VECTORS_MAX];

	assert(m->nin >= 1 && m->nin <= FIELD_VECTORS_MAX);
	assert(m->nout <= FIELD_VECTORS_MAX);
	for (size_t end = off + len; off < end; off += len) {
		len = segment(m->nin, end - off);
		advance(in, m->nin, off, src);
		advance(out, m->nout, off, dst);
		ec_encode_data((int)len, (int)m->nin, (int)m->nout,
			       (unsigned char *)m->tables, src, dst);
		simd_leave();
	}
}

void
field_xor(unsigned nin, size_t len, void *const *in, void *out)
{
	unsigned char *vec[FIELD_VECTORS_MAX + 1];

	assert(nin >= 2 && nin <= FIELD_VECTORS_MAX);
	assert(len % FIELD_ALIGN == 0);
	for (size_t end = len, off = 0; off < end; off += len) {
		int failed = 0;

		len = segment(nin, end - off);
		advance(in, nin, off, vec);
		vec[nin] = (unsigned char *)out + off;
		failed = xor_gen((int)nin + 1, (int)len, (void **)vec);
		simd_leave();
		assert(!failed); /* fails only if there are fewer than 2
				    inputs */
		(void)failed;
	}
}
