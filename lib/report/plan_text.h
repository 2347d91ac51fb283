/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_text.h - plans, rebuilds and deep checks as text.
 *
 * Everything is appended to a buf.  Names from metadata are made printable.
 * The same facts as JSON: plan_json() of plan.h, and plan_json_deep().
 */
#ifndef REPORT_PLAN_TEXT_H
#define REPORT_PLAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct containers;
struct dataset;
struct deep_result;
struct json;
struct plan;
struct rebuild_result;
struct style;

/* "whole", "damaged" or "lost" for a status of the toolkit; else "unknown". */
const char *report_state(int status);

/* Where the text of a labelled line begins. */
#define REPORT_LABEL 14

/*
 * Labelled lines: kind, place, missing files, and further losses that the
 * dataset tolerates.  `d`: its descriptor, or NULL; `k`: its containers, or
 * NULL; `status`: of all of it, which may be worse than that of the plan.
 */
void report_summary(const struct plan *p, const struct dataset *d,
		    const struct containers *k, int status, struct buf *out);

/* A table of the redundancy sets, one row each; a long run of whole, equal sets
 * shares a row. */
void report_sets(const struct plan *p, struct buf *out);

/* A table with a row for each file, filemap and redundancy file that is missing
 * or damaged, with its fate; with `all`, also for whole ones.  At most `limit`
 * rows (0: any number). */
void report_files(const struct plan *p, bool all, size_t limit,
		  struct buf *out);

/* Draw the ranks as a grid: a row for each set, a column for each member. */
void report_map(const struct plan *p, const struct style *style,
		struct buf *out);

/* What a rebuild would compute, from which ranks. */
void report_actions(const struct plan *p, struct buf *out);

/* The result of a rebuild: one line. */
void report_rebuilt(const struct rebuild_result *r, struct buf *out);

/* The result of a deep check. */
void report_deep(const struct plan *p, const struct deep_result *r,
		 struct buf *out);

/* The same as JSON: sets checked and skipped, bytes read, findings (see
 * scr_inspect(1)). */
struct json *plan_json_deep(const struct plan *p, const struct deep_result *r);

/* Has a dataset of this status all its data, so that more could be lost? */
bool report_may_lose(const struct plan *p, int status);

/* Clauses, each as an argument of printf, valid until the end of the block. */
#define REPORT_CLAUSE 512
#define report_spare(p, rebuilt) \
	report_spare_text(p, rebuilt, (char[REPORT_CLAUSE]){ 0 })
#define report_scheme(p) report_scheme_text(p, (char[REPORT_CLAUSE]){ 0 })
#define report_lacks(p) report_lacks_text(p, (char[REPORT_CLAUSE]){ 0 })

/*
 * Further losses that the sets tolerate: "any 1 rank of each set", "no rank";
 * only for a dataset that report_may_lose().  `rebuilt`: after a rebuild of all
 * that is missing.  Returns `to`.
 */
char *report_spare_text(const struct plan *p, bool rebuilt,
			char to[static REPORT_CLAUSE]);

/* The schemes in use: "XOR, 2 sets of 4".  Returns `to`. */
char *report_scheme_text(const struct plan *p, char to[static REPORT_CLAUSE]);

/* What is missing: "3 files (1.5 MiB), 1 filemap and 2 redundancy files";
 * "nothing".  Returns `to`. */
char *report_lacks_text(const struct plan *p, char to[static REPORT_CLAUSE]);

#endif /* REPORT_PLAN_TEXT_H */
