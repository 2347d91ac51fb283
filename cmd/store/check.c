/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - verb check of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_check(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("check: not there yet");
	return STATUS_FAILED;
}
