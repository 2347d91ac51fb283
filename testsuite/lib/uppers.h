/* SPDX-License-Identifier: BSD-3-Clause */
/* uppers.h - does this thread have the upper halves of vector registers in use
 * (simd.h)?  False where the processor does not tell. */
#ifndef UPPERS_H
#define UPPERS_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

static inline bool
uppers_used(void)
{
	enum { OSXSAVE = 1 << 27, TELLS = 1 << 2, AVX_STATE = 1 << 2 };
	unsigned a = 0, b = 0, c = 0, d = 0;

	if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & OSXSAVE) == 0 ||
	    __get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a & TELLS) == 0)
		return false;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
	return (a & AVX_STATE) != 0;
}
#else
static inline bool
uppers_used(void)
{
	return false;
}
#endif

#endif /* UPPERS_H */
