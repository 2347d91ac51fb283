/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scr_fti - checkpoint files of FTI: look at them, verify them, rescue them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "app.h"
#include "error.h"
#include "fti/fti.h"
#include "hash.h"
#include "str.h"

static const struct fti_verb verbs[] = {
	{ "scan", "[OPTION]... [DIR]",
	  "report the checkpoints below a directory", fti_run_scan },
	{ "list", "[OPTION]... FILE|DIR...", "print the variables of files",
	  fti_run_look },
	{ "dump", "[OPTION]... FILE|DIR...",
	  "print the structure of files: blocks and containers", fti_run_look },
	{ "verify", "[OPTION]... FILE|DIR...",
	  "compare files with their checksums and sizes", fti_run_look },
	{ "extract", "[OPTION]... FILE", "write variables of a file",
	  fti_run_extract },
	{ "diff", "[OPTION]... FILE FILE",
	  "report the variables and bytes in which two files differ",
	  fti_run_diff },
	{ "repair", "[OPTION]... FILE...",
	  "compute the checksums of intact files again, so that FTI accepts "
	  "them",
	  fti_run_repair },
	{ "compact", "[OPTION]... FILE...",
	  "write files again with one container for each variable",
	  fti_run_compact },
	{ "convert", "--to LAYOUT -o OUT [OPTION]... FILE... | DIR",
	  "write checkpoints in another layout, or as POSIX files",
	  fti_run_convert },
	{ "pack", "--to LAYOUT --id N -o OUT [OPTION]... ID=FILE...",
	  "write a checkpoint file from raw variables", fti_run_pack },
	{ "rebuild", "[OPTION]... [DIR]",
	  "rebuild missing and damaged files of levels 2 and 3",
	  fti_run_rebuild },
	{ "protect", "--level 2|3 [OPTION]... [DIR]",
	  "make copies or parity for a checkpoint of level 1 or 4",
	  fti_run_protect },
	{ "restart", "[OPTION]... --select ID | --undo [DIR]",
	  "make an older checkpoint the one that FTI restarts from",
	  fti_run_restart },
	{ "archive", "[OPTION]... [DIR]",
	  "keep checkpoints of level 4, which FTI replaces", fti_run_archive },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const char exit_status[] =
	"Exit status: 0 whole; 1 failed or unknown; 2 usage; 3 damaged or "
	"refused by FTI,\nbut no data are lost; 4 data are lost.";

char **
fti_start(const struct fti_call *c, const struct opt *opts, int *count)
{
	char usage[256];
	const struct app_info info = {
		.name = "scr_fti",
		.summary = c->verb->summary,
		.usage = usage,
		.verb = c->verb->name,
		.notes = exit_status,
	};

	struct error err = ERROR_INIT;
	struct hash *md5 = NULL;
	char **args = NULL;

	snprintf(usage, sizeof(usage), "%s %s", c->verb->name, c->verb->usage);
	args = app_start(&info, c->argc, c->argv, opts, count);
	/* FTI protects all files by MD5: from here on it does not fail. */
	md5 = hash_new(HASH_MD5, &err);
	if (md5 == NULL)
		exit(app_finish(app_report(STATUS_OK, &err)));
	hash_free(md5);
	return args;
}

static int
without_verb(int argc, char **argv)
{
	const struct opt opts[] = { OPT_END };
	struct app_verb list[VERBS + 1] = { { NULL, NULL } };
	const char *names[VERBS + 1] = { NULL }, *meant = NULL;
	const struct app_info info = {
		.name = "scr_fti",
		.summary = "look at, verify and rescue checkpoint files of FTI",
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
	struct fti_call c = { .argc = argc - 1, .argv = argv + 1 };

	for (size_t i = 0; argc > 1 && i < VERBS; i++)
		if (str_eq(argv[1], verbs[i].name)) {
			c.verb = &verbs[i];
			app_catch_signals();
			return app_finish(c.verb->run(&c));
		}
	return without_verb(argc, argv);
}
