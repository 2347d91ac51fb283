/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - verb status of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_status(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("status: not there yet");
	return STATUS_FAILED;
}
