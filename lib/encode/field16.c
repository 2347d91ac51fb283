/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/field16.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "simd.h"

#define POLYNOMIAL 0x1100BU
#define DEGREE 16

uint16_t
field16_mul(uint16_t a, uint16_t b)
{
	uint32_t shifted = a, product = 0;

	for (; b != 0; b = (uint16_t)(b >> 1)) {
		product ^= shifted & -(uint32_t)(b & 1);
		shifted <<= 1;
		shifted ^= POLYNOMIAL & -(shifted >> DEGREE);
	}
	return (uint16_t)product;
}

/* The product of all a^(2^i), 0 < i < 16, is a^(2^16 - 2) = 1 / a. */
uint16_t
field16_inverse(uint16_t a)
{
	uint16_t inverse = 1;

	assert(a != 0);
	for (int i = 1; i < DEGREE; i++) {
		a = field16_mul(a, a);
		inverse = field16_mul(inverse, a);
	}
	return inverse;
}

/*
 * Multiplication by a coefficient is linear: the product of a word is the sum
 * of the products of its parts, which are looked up in tables.
 */

/* products[n] = n * unit[0], for all n of `bits` bits, where unit[i] is
 * 2^i * unit[0]. */
static void
multiples(const uint16_t *unit, unsigned bits, uint16_t *products)
{
	products[0] = 0;
	for (unsigned bit = 0; bit < bits; bit++)
		for (unsigned n = 0; n < 1U << bit; n++)
			products[(1U << bit) + n] = products[n] ^ unit[bit];
}

/* --- Any processor --- */

/* The products of all low and all high bytes. */
struct plain_table {
	uint16_t low[256], high[256];
};

/* Words of each output that are summed before they are stored. */
#define PLAIN_WORDS ((size_t)1024)

static void
dot_plain(const struct field16_matrix *m, size_t len, void *const *in,
	  void *const *out)
{
	uint16_t sum[PLAIN_WORDS];

	for (size_t at = 0, words = 0; at < len; at += words * FIELD16_WORD) {
		const struct plain_table *t = m->tables;

		words = (len - at) / FIELD16_WORD;
		words = words < PLAIN_WORDS ? words : PLAIN_WORDS;
		for (unsigned o = 0; o < m->nout; o++) {
			unsigned char *to = (unsigned char *)out[o] + at;

			memset(sum, 0, words * sizeof(*sum));
			for (unsigned i = 0; i < m->nin; i++, t++) {
				const unsigned char *p =
					(unsigned char *)in[i] + at;

				for (size_t w = 0; w < words; w++, p += 2)
					sum[w] ^= t->low[p[0]] ^ t->high[p[1]];
			}
			for (size_t w = 0; w < words; w++) {
				*to++ = (unsigned char)(sum[w] & 0xff);
				*to++ = (unsigned char)(sum[w] >> 8);
			}
		}
	}
}

/* --- AVX2 --- */

/* For the four bits n of a word, from the lowest: low and high bytes of their
 * products. */
struct avx2_table {
	struct {
		unsigned char low[16], high[16];
	} nibble[4];
};

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline

/* Bytes of a buffer that are computed at once: two registers. */
#define STRIP ((size_t)64)

/* Outputs computed in one pass over the inputs: all their sums are in
 * registers. */
#define PASS 4

/* With more outputs, the inputs are in the cache for the other passes. */
#define CACHE_BYTES ((size_t)256 << 10)
#define SEGMENT_UNIT ((size_t)4096)

/* The 32 words of a strip: four bits of each word in each byte. */
struct nibbles {
	__m256i n[4];
};

/* The low and the high bytes of 32 words.  Packing and unpacking work on the
 * halves of a register, so the order between them is that of the registers'
 * halves, which does not matter. */
struct sum {
	__m256i low, high;
};

AVX2_INLINE struct nibbles
load(const unsigned char *p)
{
	const __m256i byte = _mm256_set1_epi16(0x00ff);
	const __m256i nibble = _mm256_set1_epi8(0x0f);
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i b = _mm256_loadu_si256(
		(const __m256i *)(const void *)(p + STRIP / 2));
	__m256i low = _mm256_packus_epi16(_mm256_and_si256(a, byte),
					  _mm256_and_si256(b, byte));
	__m256i high = _mm256_packus_epi16(_mm256_srli_epi16(a, 8),
					   _mm256_srli_epi16(b, 8));

	return (struct nibbles){ {
		_mm256_and_si256(low, nibble),
		_mm256_and_si256(_mm256_srli_epi16(low, 4), nibble),
		_mm256_and_si256(high, nibble),
		_mm256_and_si256(_mm256_srli_epi16(high, 4), nibble),
	} };
}

AVX2_INLINE __m256i
look_up(const unsigned char *table, __m256i index)
{
	const __m128i *p = (const __m128i *)(const void *)table;

	return _mm256_shuffle_epi8(
		_mm256_broadcastsi128_si256(_mm_load_si128(p)), index);
}

AVX2_INLINE struct sum
add_part(struct sum s, const unsigned char *low, const unsigned char *high,
	 __m256i index)
{
	s.low = _mm256_xor_si256(s.low, look_up(low, index));
	s.high = _mm256_xor_si256(s.high, look_up(high, index));
	return s;
}

AVX2_INLINE struct sum
add(struct sum s, const struct avx2_table *t, struct nibbles v)
{
	s = add_part(s, t->nibble[0].low, t->nibble[0].high, v.n[0]);
	s = add_part(s, t->nibble[1].low, t->nibble[1].high, v.n[1]);
	s = add_part(s, t->nibble[2].low, t->nibble[2].high, v.n[2]);
	return add_part(s, t->nibble[3].low, t->nibble[3].high, v.n[3]);
}

AVX2_INLINE void
store(struct sum s, unsigned char *p)
{
	_mm256_storeu_si256((__m256i *)(void *)p,
			    _mm256_unpacklo_epi8(s.low, s.high));
	_mm256_storeu_si256((__m256i *)(void *)(p + STRIP / 2),
			    _mm256_unpackhi_epi8(s.low, s.high));
}

/* A range of buffers, in whole strips. */
struct range {
	size_t at, end;
	void *const *in;
	void *const *out;
};

/* Compute `n` <= PASS outputs, whose rows of the matrix begin at `t`.  The
 * compiler makes a copy of this for each n, a constant. */
AVX2_INLINE void
rows_of(unsigned n, const struct avx2_table *t, unsigned nin, struct range r)
{
	const __m256i zero = _mm256_setzero_si256();

	for (; r.at < r.end; r.at += STRIP) {
		struct sum s0 = { zero, zero }, s1 = s0, s2 = s0, s3 = s0;

		for (unsigned i = 0; i < nin; i++) {
			struct nibbles v =
				load((const unsigned char *)r.in[i] + r.at);

			s0 = add(s0, t + i, v);
			s1 = n > 1 ? add(s1, t + nin + i, v) : s1;
			s2 = n > 2 ? add(s2, t + 2 * nin + i, v) : s2;
			s3 = n > 3 ? add(s3, t + 3 * nin + i, v) : s3;
		}
		store(s0, (unsigned char *)r.out[0] + r.at);
		if (n > 1)
			store(s1, (unsigned char *)r.out[1] + r.at);
		if (n > 2)
			store(s2, (unsigned char *)r.out[2] + r.at);
		if (n > 3)
			store(s3, (unsigned char *)r.out[3] + r.at);
	}
}

AVX2 static void
rows(unsigned n, const struct avx2_table *t, unsigned nin, struct range r)
{
	switch (n) {
	case 1:
		rows_of(1, t, nin, r);
		break;
	case 2:
		rows_of(2, t, nin, r);
		break;
	case 3:
		rows_of(3, t, nin, r);
		break;
	default:
		rows_of(PASS, t, nin, r);
	}
}

static void
strips(const struct field16_matrix *m, struct range r)
{
	const struct avx2_table *t = m->tables;
	size_t segment = CACHE_BYTES / m->nin / SEGMENT_UNIT * SEGMENT_UNIT;
	size_t end = r.end;

	for (; r.at < end; r.at = r.end) {
		r.end = end - r.at > segment ? r.at + segment : end;
		for (unsigned o = 0; o < m->nout; o += PASS) {
			struct range some = r;
			unsigned n = m->nout - o;

			some.out += o;
			rows(n < PASS ? n : PASS, t + (size_t)o * m->nin,
			     m->nin, some);
		}
	}
}

/* The end of the buffers is computed in copies of the size of a strip. */
static void
dot_avx2(const struct field16_matrix *m, size_t len, void *const *in,
	 void *const *out)
{
	unsigned char from[FIELD16_VECTORS_MAX][STRIP];
	unsigned char to[FIELD16_VECTORS_MAX][STRIP];
	void *src[FIELD16_VECTORS_MAX], *dst[FIELD16_VECTORS_MAX];
	size_t rest = len % STRIP, whole = len - rest;

	strips(m, (struct range){ 0, whole, in, out });
	if (rest == 0)
		return;
	for (unsigned i = 0; i < m->nin; i++) {
		src[i] = memset(from[i], 0, STRIP);
		memcpy(from[i], (unsigned char *)in[i] + whole, rest);
	}
	for (unsigned o = 0; o < m->nout; o++)
		dst[o] = to[o];
	strips(m, (struct range){ 0, STRIP, src, dst });
	for (unsigned o = 0; o < m->nout; o++)
		memcpy((unsigned char *)out[o] + whole, to[o], rest);
}

enum field16_way
field16_best(void)
{
	return __builtin_cpu_supports("avx2") ? FIELD16_AVX2 : FIELD16_PLAIN;
}
#else
static void
dot_avx2(const struct field16_matrix *m, size_t len, void *const *in,
	 void *const *out)
{
	(void)m, (void)len, (void)in, (void)out;
	assert(!"not on this processor");
}

enum field16_way
field16_best(void)
{
	return FIELD16_PLAIN;
}
#endif

/* --- The choice --- */

size_t
field16_expanded(enum field16_way way)
{
	return way == FIELD16_AVX2 ? sizeof(struct avx2_table)
				   : sizeof(struct plain_table);
}

void
field16_expand(enum field16_way way, const uint16_t *matrix, unsigned cells,
	       void *tables)
{
	for (unsigned c = 0; c < cells; c++) {
		struct plain_table *plain = (struct plain_table *)tables + c;
		struct avx2_table *avx2 = (struct avx2_table *)tables + c;
		uint16_t unit[DEGREE], product[16];

		for (unsigned i = 0; i < DEGREE; i++)
			unit[i] = field16_mul(matrix[c], (uint16_t)(1U << i));
		if (way != FIELD16_AVX2) {
			multiples(unit, 8, plain->low);
			multiples(unit + 8, 8, plain->high);
			continue;
		}
		for (unsigned n = 0; n < 4; n++) {
			multiples(unit + (size_t)4 * n, 4, product);
			for (unsigned i = 0; i < 16; i++) {
				avx2->nibble[n].low[i] =
					(unsigned char)(product[i] & 0xff);
				avx2->nibble[n].high[i] =
					(unsigned char)(product[i] >> 8);
			}
		}
	}
}

void
field16_dot(const struct field16_matrix *m, size_t len, void *const *in,
	    void *const *out)
{
	assert(m->nin >= 1 && m->nin <= FIELD16_VECTORS_MAX);
	assert(m->nout <= FIELD16_VECTORS_MAX);
	assert(len % FIELD16_WORD == 0);
	if (m->way == FIELD16_AVX2)
		dot_avx2(m, len, in, out);
	else
		dot_plain(m, len, in, out);
	simd_leave();
}
