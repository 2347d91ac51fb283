/* SPDX-License-Identifier: BSD-3-Clause */
/* fnv.h - FNV-1a, a hash of short strings that is the same on every machine and
 * in every run.  It does not resist strings that are chosen to collide. */
#ifndef FNV_H
#define FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
fnv_bytes(const char *s, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return h;
}

static inline uint64_t
fnv_text(const char *s)
{
	return fnv_bytes(s, strlen(s));
}

#endif /* FNV_H */
