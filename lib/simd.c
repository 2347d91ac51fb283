/* SPDX-License-Identifier: BSD-3-Clause */
#include "simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx"))) static void
clear_upper_halves(void)
{
	_mm256_zeroupper();
}

void
simd_leave(void)
{
	if (__builtin_cpu_supports("avx"))
		clear_upper_halves();
}
#else
void
simd_leave(void)
{
}
#endif
