/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.c - verb drain of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_drain(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("drain: not there yet");
	return STATUS_FAILED;
}
