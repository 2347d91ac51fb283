/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_text.h - plans and what was done with them, as text for people.
 *
 * Everything is appended to a buf, which remembers a failure: buf_check().
 * Names that come from metadata are made printable.  The same facts for
 * programs: plan_json().
 */
#ifndef REPORT_PLAN_TEXT_H
#define REPORT_PLAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct containers;
struct dataset;
struct deep_result;
struct plan;
struct rebuild_result;

struct report_style {
	bool utf8, color;
	unsigned width; /* columns of the terminal; 0: no limit */
};

/* "whole", "damaged" or "lost" for a status of the toolkit; else "unknown". */
const char *report_state(int status);

/*
 * A few labelled lines: what the dataset is, where it lies, what it lacks, what
 * may be lost next.  `d`: its descriptor, or NULL; `k`: its containers, or
 * NULL.
 */
void report_summary(struct plan *p, const struct dataset *d,
		    const struct containers *k, struct buf *out);

/* A table of the redundancy sets, one row each; runs of sets that are whole
 * and alike share a row. */
void report_sets(struct plan *p, struct buf *out);

/* One line for each file, filemap and redundancy file that is not as it should
 * be, and what can be done about it; with `all` also for those that are.  At
 * most `limit` lines (0: any number), the last then says how many are not
 * shown. */
void report_files(const struct plan *p, bool all, size_t limit,
		  struct buf *out);

/* The ranks, drawn as a grid: a row for each set, a column for each member. */
void report_map(const struct plan *p, const struct report_style *style,
		struct buf *out);

/* What a rebuild would compute from what. */
void report_actions(struct plan *p, struct buf *out);

/* What a rebuild did: one line. */
void report_rebuilt(const struct rebuild_result *r, struct buf *out);

/* What a comparison of redundancy and data found. */
void report_deep(const struct plan *p, const struct deep_result *r,
		 struct buf *out);

/*
 * What could be lost next without losing data, as one clause: "any 1 rank of
 * each set", "nothing".  `rebuilt`: after a rebuild of what is missing.
 * Returns `to`.
 */
char *report_spare(const struct plan *p, bool rebuilt, char *to, size_t size);

/* The schemes in use: "XOR, 2 sets of 4".  Returns `to`. */
char *report_scheme(const struct plan *p, char *to, size_t size);

/* "3 files (1.5 MiB), 1 filemap and 2 redundancy files"; "nothing".  Returns
 * `to`. */
char *report_lacks(const struct plan *p, char *to, size_t size);

/*
 * A command line to be typed: "scr_index -p DIR --build 5", without the option
 * where `prefix` is the working directory; quoted for the shell.  Returns
 * `to`.
 */
char *report_command(const char *command, const char *prefix, int64_t id,
		     char *to, size_t size);

#endif /* REPORT_PLAN_TEXT_H */
