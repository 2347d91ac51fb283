/* SPDX-License-Identifier: BSD-3-Clause */
/* fnv.h - FNV-1a, a hash of short strings that is the same on every machine and
 * in every run.  It does not resist strings that are chosen to collide. */
#ifndef FNV_H
#define FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t
fnv_byte(uint64_t h, char c)
{
	return (h ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

static inline uint64_t
fnv_bytes(const char *s, size_t len)
{
	uint64_t h = FNV_START;

	for (size_t i = 0; i < len; i++)
		h = fnv_byte(h, s[i]);
	return h;
}

static inline uint64_t
fnv_text(const char *s)
{
	return fnv_bytes(s, strlen(s));
}

#endif /* FNV_H */
