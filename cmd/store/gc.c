/* SPDX-License-Identifier: BSD-3-Clause */
/* gc.c - verb gc of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_gc(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("gc: not there yet");
	return STATUS_FAILED;
}
