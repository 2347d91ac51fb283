/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti.h - files of FTI for people and programs: verdict, problems, structure,
 * variables (scr_fti(1), scrkit-json(5)).
 */
#ifndef REPORT_FTI_H
#define REPORT_FTI_H

#include <stdbool.h>

struct buf;
struct error;
struct fti_checked;
struct fti_set;
struct fti_sets;
struct json;

/* The exit status that a verdict gives. */
int report_fti_status(const struct fti_checked *c);

/* A line "FILE: verdict", and one for each problem: "  byte N: ...". */
void report_fti_verdict(const struct fti_checked *c, struct buf *out);

/* The same with sizes, and a table of the variables. */
void report_fti_list(const struct fti_checked *c, struct buf *out);

/* The same with a table of blocks and one of containers. */
void report_fti_dump(const struct fti_checked *c, struct buf *out);

/* All facts; `records`: with blocks and containers. */
struct json *report_fti_json(const struct fti_checked *c, bool records);

/* The blocks and containers as a picture: bytes in use, bytes reserved, and
 * which are damaged.  ERROR_USAGE: the file has none. */
int report_fti_svg(const struct fti_checked *c, struct buf *out,
		   struct error *err);

/* --- Checkpoints (fti_sets_text.c) --- */

/* A table of all checkpoints for each execution, the one that FTI would restart
 * from, and why it would skip the others; what to run next. */
void report_fti_sets(const struct fti_sets *s, struct buf *out);

/* All facts of them; `files`: with those of each rank. */
struct json *report_fti_sets_json(const struct fti_sets *s, bool files);

/* The files of each rank of a checkpoint; with `all` also of ranks that have
 * good ones. */
void report_fti_ranks(const struct fti_set *set, bool all, struct buf *out);

#endif /* REPORT_FTI_H */
