/* SPDX-License-Identifier: BSD-3-Clause */
/* mount.c - verb mount of scr_store. */
#include "error.h"
#include "verbs.h"

int
store_run_mount(const struct store_call *c)
{
	const struct opt opts[] = { OPT_END };

	store_start(c, opts, NULL);
	app_error("mount: not there yet");
	return STATUS_FAILED;
}
