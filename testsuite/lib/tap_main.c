/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap_main.c - main() of the unit tests that have none of their own.
 */
#include "tap.h"

int
main(void)
{
	return tap_run();
}
