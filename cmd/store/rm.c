/* SPDX-License-Identifier: BSD-3-Clause */
/* rm.c - verb rm of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_rm(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("rm: not there yet");
	return STATUS_FAILED;
}
