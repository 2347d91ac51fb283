/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_store - directories of memory file systems in which programs write files
 * at the speed of memory (store/store.h).
 */
#include <stdio.h>

#include "app.h"
#include "store/verbs.h"
#include "str.h"

static const struct store_verb verbs[] = {
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
store_start(const struct store_call *c, const struct opt *opts, int *count)
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

static int
without_verb(int argc, char **argv)
{
	const struct opt opts[] = { OPT_END };
	struct app_verb list[VERBS + 1] = { { NULL, NULL } };
	const char *names[VERBS + 1] = { NULL }, *meant = NULL;
	const struct app_info info = {
		.name = "scr_store",
		.summary = "make and look after stores: checkpoints in memory "
			   "at the speed of memory",
		.usage = "VERB [OPTION]... [ARGUMENT]...",
		.verbs = list,
		.notes = exit_status,
	};
	int count = 0;

	for (size_t i = 0; i < VERBS; i++) {
		list[i] = (struct app_verb){ verbs[i].name, verbs[i].summary };
		names[i] = verbs[i].name;
	}
	argv = app_start(&info, argc, argv, opts, &count);
	if (count == 0)
		app_usage("no verb given");
	meant = str_meant(argv[0], names);
	if (meant != NULL && str_eq(meant, argv[0]))
		app_usage("%s: give the verb before all options", meant);
	if (meant != NULL)
		app_usage("%s: no such verb; did you mean %s?", argv[0], meant);
	app_usage("%s: no such verb", argv[0]);
}

int
main(int argc, char **argv)
{
	struct store_call c = { .argc = argc - 1, .argv = argv + 1 };

	for (size_t i = 0; argc > 1 && i < VERBS; i++)
		if (str_eq(argv[1], verbs[i].name)) {
			c.verb = &verbs[i];
			app_catch_signals();
			return app_finish(c.verb->run(&c));
		}
	return without_verb(argc, argv);
}
