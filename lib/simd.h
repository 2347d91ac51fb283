/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd.h - after code that uses the vector registers.
 *
 * ISA-L's kernels leave the upper halves of the registers in use.  On some
 * processors this slows down all SSE code of the thread that follows, which
 * compilers make of plain C: the application's, eight times, until something
 * clears them.  So each call of ISA-L is followed by simd_leave(), and our own
 * vector code ends with it, as compilers clear them only if they optimise.
 */
#ifndef SIMD_H
#define SIMD_H

void simd_leave(void);

#endif /* SIMD_H */
