/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti.h - files and checkpoints of FTI as text (scr_fti(1)), and the same facts
 * as JSON (scrkit-json(5)).
 */
#ifndef REPORT_FTI_H
#define REPORT_FTI_H

#include <stdbool.h>

#include "ftijob/set.h"

struct buf;
struct fti_checked;
struct fti_rankfile;
struct fti_rebuild;
struct fti_rebuild_file;
struct json;

/* The exit status that a verdict gives. */
int report_fti_status(const struct fti_rankfile *r);

/* How much of a file. */
enum report_fti_depth {
	/* a line "FILE: verdict", and one for each problem: "  byte N: ..." */
	REPORT_FTI_VERDICT,
	/* also sizes, and a table of the variables */
	REPORT_FTI_VARIABLES,
	/* also the structure: blocks and containers of FTI-FF files, layers of
	 * differential ones, and where the bytes of variables are */
	REPORT_FTI_RECORDS,
};

/* These lines alone. */
void report_fti_problems(const struct fti_checked *c, struct buf *out);

void report_fti_text(const struct fti_rankfile *r, enum report_fti_depth depth,
		     struct buf *out);

/* An object for the array checkpoint_files. */
struct json *report_fti_file_json(const struct fti_rankfile *r,
				  enum report_fti_depth depth);

/* --- Checkpoints (fti_sets.c) --- */

/* A table of all checkpoints for each execution, and the one that FTI would
 * restart from. */
void report_fti_sets(const struct fti_sets *s, struct buf *out);

/* The files of each rank of a checkpoint. */
void report_fti_ranks(const struct fti_set *set, struct buf *out);

/* The array executions; with `files` also the files of each rank. */
struct json *report_fti_sets_json(const struct fti_sets *s, bool files);

/* --- Rebuilding --- */

/* "data", "copy" or "parity". */
extern const char *const report_fti_parts[];

/* "L3, checkpoint 3 of EXECUTION" */
void report_fti_name(const struct fti_set *set, struct buf *out);

/* A line: how many files, and bytes to read and write; with `done` what was
 * rebuilt. */
void report_fti_plan(const struct fti_rebuild *r, bool done, struct buf *out);

/* A table of the files of such a plan; `now`: with the state of each before the
 * run. */
void report_fti_plan_files(const struct fti_rebuild_file *files, size_t count,
			   bool now, struct buf *out);

/* The same for the protection of a checkpoint. */
void report_fti_protect(const struct fti_rebuild *p, bool done,
			struct buf *out);

#endif /* REPORT_FTI_H */
