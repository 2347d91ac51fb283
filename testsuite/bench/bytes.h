/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h - for references that walk the bytes of a kvtree, without a tree.
 */
#ifndef BENCH_BYTES_H
#define BENCH_BYTES_H

#include <stdint.h>
#include <string.h>

/* What is read next. */
static const unsigned char *p;

static inline uint32_t
count(void)
{
	uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		     (uint32_t)p[2] << 8 | p[3];

	p += 4;
	return n;
}

static inline const char *
key(void)
{
	const char *k = (const char *)p;

	p += strlen(k) + 1;
	return k;
}

#endif /* BENCH_BYTES_H */
