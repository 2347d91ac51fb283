/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_store - directories of memory file systems in which programs write files
 * at the speed of memory (store/store.h).
 */
#include <stdio.h>

#include "app.h"
#include "store/verbs.h"

static const struct app_action verbs[] = {
	{ "mount", "[OPTION]... DIR",
	  "make a directory a store, mounting a memory file system if allowed",
	  store_run_mount },
	{ "umount", "[OPTION]... DIR...",
	  "remove stores with their files, and unmount them", store_run_rm },
	{ "rm", "[OPTION]... DIR...", "the same", store_run_rm },
	{ "status", "[OPTION]... [DIR]...",
	  "report page size, pool and use of stores", store_run_status },
	{ "populate", "--file-size SIZE --count N [OPTION]... DIR",
	  "fill the pool before the first checkpoint", store_run_populate },
	{ "gc", "[OPTION]... [DIR]...",
	  "clean and repair stores, and remove those of jobs that have ended",
	  store_run_gc },
	{ "run", "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	  "run a program that writes its files in a store", store_run_run },
	{ "drain", "[OPTION]... DIR TARGET",
	  "copy finished files to a disk or parallel file system",
	  store_run_drain },
	{ "extents", "[OPTION]... FILE...",
	  "print where the bytes of files are in memory", store_run_extents },
	{ "check", "[OPTION]... FILE",
	  "report which calls of a program pass by the store",
	  store_run_check },
	{ "bench", "[OPTION]... [DIR]",
	  "measure how fast this node writes files in memory",
	  store_run_bench },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const char exit_status[] =
	"Exit status: 0 done; 1 failed or unknown; 2 usage; run: that of the "
	"program.";

char **
store_start(const struct app_call *c, const struct opt *opts, int *count)
{
	char usage[256];
	const struct app_info info = {
		.name = "scr_store",
		.summary = c->verb->summary,
		.usage = usage,
		.verb = c->verb->name,
		.notes = exit_status,
		.raw = c->verb->run == store_run_run,
		.command = c->verb->run == store_run_run,
	};

	snprintf(usage, sizeof(usage), "%s %s", c->verb->name, c->verb->usage);
	return app_start(&info, c->argc, c->argv, opts, count);
}

bool
store_stop(void *unused)
{
	(void)unused;
	return app_stop();
}

int
main(int argc, char **argv)
{
	const struct app_info info = {
		.name = "scr_store",
		.summary = "make and look after stores: checkpoints in memory "
			   "at the speed of memory",
		.usage = "VERB [OPTION]... [ARGUMENT]...",
		.notes = exit_status,
	};

	return app_verb_run(&info, verbs, VERBS, argc, argv);
}
