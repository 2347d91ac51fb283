/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - verb run of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_run(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("run: not there yet");
	return STATUS_FAILED;
}
