/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_text.h - plans and what was done with them, as text for people.
 *
 * Everything is appended to a buf; on failure (ERROR_NOMEM) what was appended
 * so far may be incomplete.  Names that come from metadata are made printable.
 * The same facts for programs: plan_json().
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct dataset;
struct deep_result;
struct error;
struct plan;
struct rebuild_result;
struct overview;
struct condition;

struct report_style {
	bool utf8, color;
	unsigned width; /* columns of the terminal; 0: no limit */
};

/* "whole", "damaged" or "lost" for a status of the toolkit; else "unknown". */
const char *report_state(int status);

/*
 * A few labelled lines: what the dataset is, where it lies, what it lacks, what
 * may be lost next.  `d`: its descriptor, or NULL.
 */
int report_summary(struct plan *p, const struct dataset *d, struct buf *out,
		   struct error *err);

/* A table of the redundancy sets, one row each; runs of sets that are whole
 * and alike share a row. */
int report_sets(struct plan *p, struct buf *out, struct error *err);

/* One line for each file, filemap and redundancy file that is not as it should
 * be, and what can be done about it; with `all` also for those that are.  At
 * most `limit` lines (0: any number), the last then says how many are not
 * shown. */
int report_files(const struct plan *p, bool all, size_t limit, struct buf *out,
		 struct error *err);

/* The ranks, drawn as a grid: a row for each set, a column for each member. */
int report_map(const struct plan *p, const struct report_style *style,
	       struct buf *out, struct error *err);

/* What a rebuild would compute from what. */
int report_actions(struct plan *p, struct buf *out, struct error *err);

/* What a rebuild did: one line. */
int report_rebuilt(const struct rebuild_result *r, struct buf *out,
		   struct error *err);

/* What a comparison of redundancy and data found. */
int report_deep(const struct plan *p, const struct deep_result *r,
		struct buf *out, struct error *err);

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

/* --- Tables --- */

#define REPORT_COLUMNS 12

/* Columns as wide as their widest cell.  Fill cell after cell, row after row;
 * failures are kept until report_table_end(). */
struct report_table {
	struct arena *arena;
	unsigned columns;
	unsigned right; /* bit i: column i is set flush right */
	const char **cells;
	size_t count, cap;
	bool failed;
};

void report_table_start(struct report_table *t, unsigned columns,
			unsigned right);
void report_cell(struct report_table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for a string from metadata. */
void report_cell_name(struct report_table *t, const char *name);

/* Append the table, each line after `indent` blanks, and free it. */
int report_table_end(struct report_table *t, unsigned indent, struct buf *out,
		     struct error *err);

/* --- Several datasets --- */

/* A prefix: index, halt conditions, nodes. */
int report_prefix(const struct overview *s, struct buf *out, struct error *err);

/* The rows of a table of datasets: headings, and one dataset. */
void report_overview_start(struct report_table *t);
void report_overview_row(struct report_table *t, const struct condition *h);

/* Why a dataset is not as it should be, a line for each reason; maybe none. */
int report_reasons(const struct condition *h, struct buf *out,
		   struct error *err);

struct report_choice {
	bool map, all_files;
	struct report_style style;
};

/* All about one dataset. */
int report_detail(struct condition *h, const struct report_choice *c,
		  struct buf *out, struct error *err);

#endif /* REPORT_REPORT_H */
