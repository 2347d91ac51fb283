/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c - verb bench of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_bench(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("bench: not there yet");
	return STATUS_FAILED;
}
