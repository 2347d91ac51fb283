/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_trivial - what starting any program costs: the reference for start-up.
 */
#include <stdio.h>

int
main(void)
{
	puts("trivial 0");
	return 0;
}
