/* SPDX-License-Identifier: BSD-3-Clause */
/* extents.c - verb extents of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_extents(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("extents: not there yet");
	return STATUS_FAILED;
}
