/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/past.h"

#include <stdint.h>
#include <string.h>

#include "simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * Four pages are copied in turn, a line of each: one stream of stores past the
 * cache after the other gets less.  The rest is copied line by line.
 */
#define PAGE ((size_t)4096)
#define PAGES 4
#define LINE ((size_t)64)

#define COPY_PAST(name, isa, type, load, store) \
	__attribute__((target(isa))) static inline void name##_line( \
		unsigned char *to, const unsigned char *from) \
	{ \
		for (size_t k = 0; k < LINE; k += sizeof(type)) \
			store((void *)(to + k), \
			      load((const void *)(from + k))); \
	} \
	__attribute__((target(isa))) static void name( \
		unsigned char *to, const unsigned char *from, size_t n) \
	{ \
		size_t at = 0; \
\
		for (; n - at >= PAGES * PAGE; at += (PAGES - 1) * PAGE) \
			for (size_t end = at + PAGE; at < end; at += LINE) \
				for (size_t p = at; p < at + PAGES * PAGE; \
				     p += PAGE) \
					name##_line(to + p, from + p); \
		for (; n - at >= LINE; at += LINE) \
			name##_line(to + at, from + at); \
		_mm_sfence(); \
		memcpy(to + at, from + at, n - at); \
	}

COPY_PAST(by_64, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512)
COPY_PAST(by_32, "avx2", __m256i, _mm256_loadu_si256, _mm256_stream_si256)
COPY_PAST(by_16, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128)

void
past_copy(void *to, const void *from, size_t n)
{
	/* Stores past the cache are of whole lines. */
	const size_t head = -(uintptr_t)to & 63;
	unsigned char *t = to;
	const unsigned char *f = from;

	if (n < PAGE) {
		memcpy(to, from, n);
		return;
	}
	memcpy(t, f, head);
	if (__builtin_cpu_supports("avx512f"))
		by_64(t + head, f + head, n - head);
	else if (__builtin_cpu_supports("avx2"))
		by_32(t + head, f + head, n - head);
	else
		by_16(t + head, f + head, n - head);
	simd_leave();
}

const char *
past_name(void)
{
	return __builtin_cpu_supports("avx512f") ? "avx512"
	       : __builtin_cpu_supports("avx2")	 ? "avx2"
						 : "sse2";
}

#else

void
past_copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
}

const char *
past_name(void)
{
	return "memcpy";
}

#endif
