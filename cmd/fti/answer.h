/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.h - what the verbs of scr_fti that write files answer with --json.
 *
 *	struct fti_answer a = { .dry_run = o.dry_run };
 *
 *	fti_answer_file(&a, &(struct report_fti_done){
 *		.path = path, .action = "write", .rank = -1, .size = size });
 *	a.bytes_written = bytes;
 *	fti_answer_end(&a);
 *
 * Without --json the functions do nothing.  Texts printed by app_print() become
 * the member "answer" by themselves.  A verb that writes data to stdout calls
 * app_answer_stop() instead.
 */
#ifndef CMD_FTI_ANSWER_H
#define CMD_FTI_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftijob/renew.h"
#include "report/fti.h"

struct fti_answer {
	bool dry_run;
	uint64_t bytes_read; /* 0: not known */
	uint64_t bytes_written;
	const char *next;   /* the command to run next, or NULL */
	struct json *more;  /* members of this verb alone, or NULL; is taken */
	struct json *files; /* for the functions only */
};

/* Add a file that was written, moved or removed, or would be. */
void fti_answer_file(struct fti_answer *a, const struct report_fti_done *d);

/* Add the files of a plan. */
void fti_answer_plan(struct fti_answer *a, const char *action,
		     const struct fti_rebuild_file *files, size_t count);

/* Give the answer, also after a failure: what was done until then. */
void fti_answer_end(struct fti_answer *a);

#endif /* CMD_FTI_ANSWER_H */
