/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - text tables; each column is as wide as its widest cell.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns.h"

struct arena;
struct buf;

/* A column that users can choose (columns.h); behind the last one is a NULL.  A
 * heading with '>' before it is that of a right-aligned column. */
struct table_column {
	const char *word, *head;
};

struct table_cell {
	const char *text;
	uint64_t key; /* sorts by it, if keyed; of a heading: the width; else
			 the caller's */
	bool keyed;
};

/* Cells are added row by row. */
struct table {
	struct arena *arena;
	unsigned columns;
	unsigned right;			  /* bit i: column i is right-aligned */
	const struct table_column *named; /* NULL: by headings only */
	size_t widest;			  /* columns are not wider */
	unsigned gap;			  /* blanks between two columns */
	bool empty;			  /* cells of chosen columns may be */
	struct table_cell *cells;
	size_t count, cap;
};

/* Start a table with a row of at most COLUMNS_MAX headings, such as
 * ">SIZE|NAME"; '>' as in table_column. */
void table_start(struct table *t, const char *heads);
void table_start_named(struct table *t, const struct table_column *columns);
/* Add a column to a table that has no rows. */
void table_column(struct table *t, const char *head);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Add several cells, separated by tabs. */
void table_cells(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a string that lives as long as the table; with a key, by which it is
 * sorted. */
void table_add(struct table *t, const char *text);
void table_key(struct table *t, const char *text, uint64_t key);
void table_number(struct table *t, uint64_t number);
/* Add a string from metadata, made printable. */
void table_name(struct table *t, const char *name);
/* Add a byte count for people, which is sorted as a number. */
void table_size(struct table *t, uint64_t bytes);

/* The words of the columns, as columns_choose() takes them.  Returns `to`. */
char *table_words(const struct table_column *columns,
		  char to[static COLUMNS_WORDS]);

/*
 * Sort the rows as `how` says: numbers in texts by their value, empty cells
 * last, "-" too, equal ones as they were added; then keep the first `most` rows (0:
 * all), and of these the chosen columns.  Chosen columns are for scripts, too:
 * no cell is empty, and no heading.
 */
void table_choose(struct table *t, const struct columns *how, size_t most);

size_t table_rows(const struct table *t);

/* Drop the headings if no row follows them. */
void table_drop_empty(struct table *t);

/* Append the table to `out`, each line indented by `indent` blanks, and free
 * it. */
void table_end(struct table *t, unsigned indent, struct buf *out);

void table_free(struct table *t);

#endif /* REPORT_TABLE_H */
