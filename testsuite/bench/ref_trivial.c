/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_trivial - a program that does nothing: the reference for start-up time.
 */
#include <stdio.h>

int
main(void)
{
	puts("trivial 0");
	return 0;
}
