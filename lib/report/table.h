/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - tables of text: columns as wide as their widest cell.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct buf;

#define TABLE_COLUMNS 12 /* at most */

/* Fill cell after cell, row after row; failures are kept until table_end(). */
struct table {
	struct arena *arena;
	unsigned columns;
	unsigned right; /* bit i: column i is set flush right */
	const char **cells;
	size_t count, cap;
	bool failed;
};

/* With a row of headings. */
void table_start(struct table *t, const char *const *heads, unsigned columns,
		 unsigned right);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for a string from metadata. */
void table_name(struct table *t, const char *name);

/* Drop the headings if no row follows them. */
void table_drop_empty(struct table *t);

/* Append the table, each line after `indent` blanks, and free it. */
void table_end(struct table *t, unsigned indent, struct buf *out);

#endif /* REPORT_TABLE_H */
