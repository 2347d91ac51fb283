/* SPDX-License-Identifier: BSD-3-Clause */
/* populate.c - verb populate of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_populate(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("populate: not there yet");
	return STATUS_FAILED;
}
