/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - verb list of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_list(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("list: not there yet");
	return STATUS_FAILED;
}
