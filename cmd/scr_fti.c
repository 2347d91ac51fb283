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

static const struct app_action verbs[] = {
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
fti_start(const struct app_call *c, const struct opt *opts, int *count)
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

int
main(int argc, char **argv)
{
	const struct app_info info = {
		.name = "scr_fti",
		.summary = "look at, verify and rescue checkpoint files of FTI",
		.usage = "VERB [OPTION]... [ARGUMENT]...",
		.notes = exit_status,
	};

	return app_verb_run(&info, verbs, VERBS, argc, argv);
}
