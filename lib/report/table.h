/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - text tables; each column is as wide as its widest cell.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct buf;

#define TABLE_COLUMNS 12 /* maximum */

/* Cells are added row by row.  A failure is remembered until table_end(). */
struct table {
	struct arena *arena;
	unsigned columns;
	unsigned right; /* bit i: column i is right-aligned */
	const char **cells;
	size_t count, cap;
	bool failed;
};

/* Start a table with a row of headings; bit i of `right`: column i is
 * right-aligned. */
void table_start(struct table *t, const char *const *heads, unsigned columns,
		 unsigned right);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a string from metadata, made printable. */
void table_name(struct table *t, const char *name);

/* Drop the headings if no row follows them. */
void table_drop_empty(struct table *t);

/* Append the table to `out`, each line indented by `indent` blanks, and free
 * it.  A failure becomes one of `out`. */
void table_end(struct table *t, unsigned indent, struct buf *out);

#endif /* REPORT_TABLE_H */
