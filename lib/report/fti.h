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

#endif /* REPORT_FTI_H */
