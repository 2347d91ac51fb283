/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * content.c - contents of the generated files: pseudo-random bytes, computable
 * at any offset.
 */
#include <string.h>

#include "gen/gen.h"

/* Mix the bits of a counter (the finalizer of MurmurHash3). */
static uint64_t
mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

void
content_fill(uint64_t variant, uint32_t rank, uint32_t file, uint64_t off,
	     size_t len, unsigned char *to)
{
	uint64_t seed = mix(((uint64_t)rank << 32 | file) + 1 + mix(variant));
	uint64_t i = seed + off / 8, word = mix(i++);
	size_t skip = off % 8, part = 8 - skip < len ? 8 - skip : len;

	/* First part of a word, whole words, last part of a word. */
	memcpy(to, (const char *)&word + skip, part);
	for (to += part, len -= part; len >= 8; to += 8, len -= 8) {
		word = mix(i++);
		memcpy(to, &word, 8);
	}
	word = mix(i);
	memcpy(to, &word, len);
}
